"""What of a candidate's code may run where its kernel can."""

import ast
from collections.abc import Collection, Iterator

from tritonsmith.source import walk


def taken(node: ast.AST, made: Collection[str] = ()) -> Iterator[ast.AST]:
    """The nodes that may run where the kernel can: a fallback for tensors that are not on the GPU is left out.

    Such a branch is never taken here; if it were, the dynamic net would see it. A test that asks for anything else
    besides is none of those, and neither is one of a tensor of `made` (`made_here`).
    """
    if isinstance(node, ast.IfExp) and _asks_for_the_device(node.test, made):
        return
    yield node
    for _, value in ast.iter_fields(node):
        below = [child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)]
        for child in below:
            asks = isinstance(child, ast.If) and _asks_for_the_device(child.test, made)
            if not asks:
                yield from taken(child, made)
            elif any(isinstance(part, ast.Return) for part in walk(child)):
                break  # `if x.is_cuda: return launch(x)`: what follows is the fallback, or the other way round


def made_here(tree: ast.Module) -> frozenset[str]:
    """What a module or a model makes for itself and is no weight: `.cuda()` leaves a tensor there where it was made, so
    that it is never on a user's GPU, whatever it is here."""
    classes = [node for node in walk(tree) if isinstance(node, ast.ClassDef)]
    shared = {name for name, value in _bound(tree.body) if not _of_a_class(value)}
    own = {f"self.{name}" for node in classes for name, value in _bound(node.body) if not _of_a_class(value)}
    inside = (node for one in classes for node in walk(one) if isinstance(node, ast.Assign | ast.AnnAssign))
    kept = {name for name, value in _bound(inside) if name.startswith("self.") and not _of_a_class(value)}
    return frozenset(shared | own | kept)


def _bound(statements: Collection[ast.stmt] | Iterator[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in statements:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        for target in targets if value is not None else ():
            if isinstance(target, ast.Name | ast.Attribute):
                yield ast.unparse(target), value  # type: ignore[misc]


def _of_a_class(value: ast.expr) -> bool:
    """Whether it is called as a class is, as `nn.Parameter` and layers are."""
    called = value.func if isinstance(value, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name[:1].isupper()


def _asks_for_the_device(test: ast.expr, made: Collection[str]) -> bool:
    """Whether a test asks where tensors are, and for nothing else."""
    if isinstance(test, ast.BoolOp):
        return all(_asks_for_the_device(part, made) for part in test.values)
    if isinstance(test, ast.UnaryOp):
        return _asks_for_the_device(test.operand, made)
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
        return any(_is_device(side, made) for side in sides) and all(
            _is_device(side, made) or _is_constant(side) for side in sides
        )
    return _is_device(test, made)


def _is_device(value: ast.expr, made: Collection[str]) -> bool:
    """Whether it is a device, or where a tensor is, or of which kind its device is."""
    if isinstance(value, ast.Call):  # `torch.cuda.is_available()`, `x.device.type.startswith("cuda")`
        called = value.func
        known = isinstance(called, ast.Attribute) and (called.attr == "is_available" or _is_device(called.value, made))
        return known and all(map(_is_constant, value.args))
    if not isinstance(value, ast.Attribute):
        return False
    if value.attr in ("is_cuda", "is_cpu", "device"):
        return _is_given(value.value, made)
    return value.attr in ("type", "index") and _is_device(value.value, made)


def _is_given(tensor: ast.expr, made: Collection[str]) -> bool:
    """Whether it is by its name an argument, a local tensor or a weight."""
    path = tensor
    while isinstance(path, ast.Attribute):
        path = path.value
    parts = ast.unparse(tensor).split(".")
    return isinstance(path, ast.Name) and parts[0] not in made and ".".join(parts[:2]) not in made


def _is_constant(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return all(map(_is_constant, value.args))
    parts = value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]
    return all(isinstance(part, ast.Constant) for part in parts)
