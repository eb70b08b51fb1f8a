import ast
import inspect
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tritonsmith.source import children, lines, parse, walk, written_lines
from tritonsmith.verify.process.loading import forget, import_source


def test_threads_may_parse_at_once() -> None:
    source = "\n".join(f"x{i} = [{'(' * 20}{i}{')' * 20}, {{'a': lambda y: y + {i}}}]" for i in range(300))
    with ThreadPoolExecutor(8) as threads:
        trees = list(threads.map(parse, [source] * 64))
    assert {len(tree.body) for tree in trees} == {300}


@pytest.mark.parametrize("number", ["0x" + "f" * 4000, "0b" + "1" * 20_000, "0o" + "7_7" * 3000])
def test_a_number_that_cannot_be_written_out_again_is_no_source(number: str) -> None:
    with pytest.raises(ValueError, match="too many digits"):
        parse(f"x = 1 + {number}")
    assert parse(f"x = '{number}'  # {number}").body and parse("x = 0x" + "f" * 3000).body


def test_kept_nodes_are_those_of_ast_in_its_order_but_for_operators_and_contexts() -> None:
    tree = parse(Path(__file__).read_text())
    signs = ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop
    assert [id(node) for node in walk(tree)] == [id(node) for node in ast.walk(tree) if not isinstance(node, signs)]
    inner = tree.body[-1]
    theirs = [id(node) for node in ast.iter_child_nodes(inner) if not isinstance(node, signs)]
    assert [id(node) for node in children(inner)] == theirs
    assert walk(inner) is walk(inner)


@pytest.mark.parametrize("sign", ["\x0c", "\x0b", "\x1c", "\x85", "\u2028"])
def test_a_functions_text_is_that_of_its_lines(sign: str) -> None:
    """`str.splitlines` ends a line at these, and Triton was given what stood further up."""
    source = f"# {sign}{sign}\nNOTES = 'two\\nlines'\n\n\ndef inner(x):\n    return x\n"
    module = import_source(source)
    assert inspect.getsource(module.inner) == "def inner(x):\n    return x\n"
    forget()


def test_lines_are_pythons() -> None:
    assert lines("a\r\nb\x0c\rc") == ["a\n", "b\x0c\n", "c"]
    assert written_lines("a\r\nb\x0c\rc") == ["a\r\n", "b\x0c\r", "c"]
