"""Attributes of `self` that are set and read by a name made up as it goes: `f"weight_{i}"`, `"fc" + str(i)`, or one of
a list.

What such a name begins with is written out, and no name that is refused elsewhere begins so.
"""

import ast
from collections.abc import Collection, Mapping, Sequence

from tritonsmith.source import walk
from tritonsmith.verify.static.innards import FRAMES, own_selves
from tritonsmith.verify.static.listed import listed
from tritonsmith.verify.static.module import calls
from tritonsmith.verify.static.names import HOST


def numbered(tree: ast.Module, *names: str) -> set[int]:
    """The functions of calls (by these names, of `setattr`'s form) whose attribute is one of `self` and is numbered, or
    one of a list (`listed`); `self` stands for nothing else."""
    if any(
        isinstance(node, ast.Name) and node.id == "self" and not isinstance(node.ctx, ast.Load) for node in walk(tree)
    ):
        return set()
    found = [node for node in walk(tree) if isinstance(node, ast.Call) and calls(node, *names)]
    found = [node for node in found if len(node.args) >= 2 and not node.keywords]
    names_of = listed(tree) if any(isinstance(node.args[1], ast.Name) for node in found) else {}
    selves = own_selves(tree) if found else frozenset[int]()
    return {
        id(node.func)
        for node in found
        if _is_numbered(node.args[0], node.args[1], selves) or _is_listed(node.args[0], node.args[1], names_of, selves)
    }


def _is_listed(owner: ast.expr, name: ast.expr, names_of: Mapping[str, Sequence[str]], selves: Collection[int]) -> bool:
    values = names_of.get(name.id, ()) if isinstance(name, ast.Name) else ()
    return id(owner) in selves and bool(values) and not {*values} & (FRAMES | HOST | {"register"})


def _is_numbered(owner: ast.expr, name: ast.expr, selves: Collection[int]) -> bool:
    first = _beginning(name)
    if not first[:1].isalpha():
        return False
    whole = isinstance(name, ast.Constant)
    refused = () if whole else (one for one in FRAMES | HOST | {"register"} if one.startswith(first))
    if isinstance(owner, ast.Attribute) and id(owner.value) in selves:
        return first.startswith(("weight_", "bias_"))  # as torch names the weights of recurrent layers
    return id(owner) in selves and not any(refused)


def _beginning(name: ast.expr) -> str:
    """What a text begins with whatever it is put together from; empty where that is not written.

    A text has the first say in its sums and in its `%`, but for a right operand that overrides these for itself, and no
    candidate may define `__radd__` or `__rmod__`.
    """
    match name:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
        case ast.BinOp(op=ast.Add(), left=left):
            return _beginning(left)
        case ast.BinOp(op=ast.Mod(), left=ast.Constant(value=str(text))):
            return text.partition("%")[0]
        case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str(text)))):
            return text.partition("{")[0]
    return ""
