"""Sources that draw something besides weights, as their text shows: whether a number, or a truth, may hang on a seed.

Weights are drawn where they are filled, or made and handed on as a parameter or a buffer. Whether what else is drawn
comes to anything is found out by building a model under other seeds (`process.building`).
"""

import ast

from tritonsmith.source import parse, walk

_DRAWS = {
    "rand", "randn", "randint", "random", "randperm", "normal", "uniform", "bernoulli", "multinomial", "rand_like",
    "randn_like", "randint_like", "poisson", "choice", "choices", "shuffle", "sample", "gauss", "randrange",
    "normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_", "geometric_", "log_normal_",
}  # fmt: skip
"""Names of functions that draw."""
_WEIGHTS = {"Parameter", "register_buffer", "register_parameter", "Buffer"}
"""What makes a weight of what it is given."""


def draws(source: str) -> bool:
    """Whether a source draws something that does not become a weight right there."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # refused, and tried all the same without staging
        return False
    kept: set[int] = set()
    for node in walk(tree):
        fills = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _name(node.value).endswith("_")
        if fills or (isinstance(node, ast.Call) and _name(node) in _WEIGHTS):
            kept |= {id(part) for part in walk(node)}
    return any(isinstance(node, ast.Call) and _name(node) in _DRAWS and id(node) not in kept for node in walk(tree))


def _name(call: ast.Call) -> str:
    """What is called, without what it is of."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
