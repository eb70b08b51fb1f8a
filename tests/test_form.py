"""What is one program for the verifier, and how cheaply that is known."""

import ast
import time

import pytest

from tritonsmith.verify import form

SOURCE = '''
import triton


@triton.jit
def kernel(x_ptr, n, BLOCK: "tl.constexpr"):
    """What it does."""
    if n < 1_000 and not (n in (1, 2)):
        x = 1e3
    elif n:
        y = 'a' f"{n}"
    else:
        z = r"\\\\" + b"'".decode()
'''
NESTED = """else:
     if n:
        y = 'a' f'{n}'
     else:
          z ="""
ALIKE = [
    SOURCE.replace("1_000", "1000").replace("1e3", "1000.0"),
    SOURCE.replace("    x = 1e3", "    x = (1e3)  # it's a comment with words, and \"quotes"),
    SOURCE.replace("elif n:\n        y = 'a' f\"{n}\"\n    else:\n        z =", NESTED),
    SOURCE.replace("x_ptr, n", "x_ptr,\n    n").replace(", BLOCK", ", \\\n  BLOCK").replace('"""', "'''"),
]
assert len({*ALIKE, SOURCE}) == 5


@pytest.mark.parametrize("head", ["def \\\n kernel", "\fdef kernel"])
def test_a_head_that_triton_does_not_find_makes_another_program(head: str) -> None:
    # Each got the other's verdict, whichever was judged first.
    other = SOURCE.replace("def kernel", head)
    assert ast.dump(ast.parse(other)) == ast.dump(ast.parse(SOURCE))
    assert form.program(other) != form.program(SOURCE)


def test_a_text_that_is_another_ones_tree_is_another_program() -> None:
    assert form.program("tree: " + ast.dump(ast.parse("x = 1"))) != form.program("x = 1")


@pytest.mark.parametrize("other", ALIKE)
def test_one_program_has_one_sketch(other: str) -> None:
    """A sketch that differed would let equal candidates be judged twice."""
    assert ast.dump(ast.parse(other)) == ast.dump(ast.parse(SOURCE))
    assert form.sketch(other) == form.sketch(SOURCE)
    assert form.program(other) == form.program(SOURCE)


@pytest.mark.parametrize("other", [SOURCE.replace("x_ptr", "y_ptr"), SOURCE.replace("import triton", "import torch")])
def test_other_names_have_another_sketch(other: str) -> None:
    assert form.sketch(other) != form.sketch(SOURCE)


def test_other_numbers_are_another_program_under_the_same_sketch() -> None:
    other = SOURCE.replace("1_000", "1_001")
    assert form.sketch(other) == form.sketch(SOURCE)
    assert form.program(other) != form.program(SOURCE)


@pytest.mark.parametrize("text", ['"""\\' * 25_000, "'''\\" * 25_000, '"\\' * 50_000, "\\" * 100_001, "a" * 100_000])
def test_a_hostile_text_is_sketched_at_once(text: str) -> None:
    began = time.process_time()
    form.sketch(text)
    assert time.process_time() - began < 1.0


def test_a_function_with_an_indented_decorator_is_itself_alone() -> None:
    """Triton reads such a function's text, and indentation can mislead it: whatever form the decorator has."""
    plain = "class A:\n    @staticmethod\n    def f(x):\n        return x\n"
    continued = "class A:\n  \\\n@staticmethod\n  def f(x):\n        return x\n"
    for source in (plain, continued, plain.replace("\n", "\r")):
        assert form.program(source) != form.program(source.replace("return x", "return x  # said"))
