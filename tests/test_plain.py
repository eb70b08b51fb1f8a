import ast

import pytest

from tritonsmith.plain import plain
from tritonsmith.tasks import graphs
from tritonsmith.tasks.format import TaskModule, load_spec
from tritonsmith.types import Task

TASKS = load_spec("suite") + graphs.generate(20, seed=2)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_what_computes_is_left_and_nothing_else(task: Task) -> None:
    tree = ast.parse(plain(task.source))
    wanted = ast.parse(task.source)
    for node in ast.walk(tree):
        assert getattr(node, "annotation", None) is None and getattr(node, "returns", None) is None
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            assert ast.get_docstring(node) is None
    for kind in (ast.Call, ast.BinOp, ast.Return, ast.FunctionDef, ast.ClassDef):
        assert _count(tree, kind) == _count(wanted, kind)


def test_what_is_plain_stays_as_it_is_and_loads() -> None:
    for task in TASKS:
        text = plain(task.source)
        assert plain(text) == text
        TaskModule.of(task.model_copy(update={"source": text}))


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("def f(x: int=3, *y: str) -> int:\n    return x  # said\n", "def f(x=3, *y):\n    return x"),
        ("class A:\n    '''doc'''\n\n    x: int = 1\n", "class A:\n    x = 1"),
        ("class A:\n    '''doc'''\n", "class A:\n    pass"),
        ("x = '# é'  # ü\n# alone\n\n\ny = 2\n", "x = '# é'\ny = 2"),
        (" not python at all", "not python at all"),
        ("", ""),
    ],
)
def test_corners(source: str, wanted: str) -> None:
    assert plain(source) == wanted


def _count(tree: ast.AST, kind: type[ast.AST]) -> int:
    """Nodes of a kind outside annotations."""
    inside = [a for node in ast.walk(tree) for a in (getattr(node, "annotation", None), getattr(node, "returns", None))]
    left_out = {id(node) for one in inside if one is not None for node in ast.walk(one)}
    return sum(isinstance(node, kind) and id(node) not in left_out for node in ast.walk(tree))
