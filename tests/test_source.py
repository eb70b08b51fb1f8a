import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tritonsmith.source import children, parse, walk


def test_threads_may_parse_at_once() -> None:
    source = "\n".join(f"x{i} = [{'(' * 20}{i}{')' * 20}, {{'a': lambda y: y + {i}}}]" for i in range(300))
    with ThreadPoolExecutor(8) as threads:
        trees = list(threads.map(parse, [source] * 64))
    assert {len(tree.body) for tree in trees} == {300}


def test_kept_nodes_are_those_of_ast_in_its_order_but_for_operators_and_contexts() -> None:
    tree = parse(Path(__file__).read_text())
    signs = ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop
    assert [id(node) for node in walk(tree)] == [id(node) for node in ast.walk(tree) if not isinstance(node, signs)]
    inner = tree.body[-1]
    theirs = [id(node) for node in ast.iter_child_nodes(inner) if not isinstance(node, signs)]
    assert [id(node) for node in children(inner)] == theirs
    assert walk(inner) is walk(inner)
