"""A kernel as Inductor writes it, decorators and all, into a plain `@triton.jit` function and what its launch needs.

Does not say where it is launched, and does not compile it.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tritonsmith.data.inductor.rewrite import Unsupported, number, rewrite
from tritonsmith.data.inductor.simplify import Rename, simplify

_QUIET = {
    "view", "unsafe", "permute", "clone", "t", "transpose", "expand", "unsqueeze", "squeeze", "slice", "detach",
}  # fmt: skip
"""Words in Inductor's names of kernels that say nothing of what they compute."""
_BLOCKS = {
    "pointwise": {"x": 1024},
    "tiled": {"x": 32, "y": 32, "z": 1},
    "outer": {"x": 64, "r": 32, "y": 1, "z": 1},
    "inner": {"y": 1, "z": 1},
}
"""Block sizes by the shape of a kernel; a reduction along rows has its own, by the rows' length."""
TILE = 2048
"""Elements of a block of rows."""


@dataclass
class Kernel:
    """A kernel in plain Triton."""

    name: str
    function: ast.FunctionDef
    helpers: list[ast.FunctionDef]
    """Functions that its scans and reductions are made of."""
    axes: list[str]
    """`x`, `y`, ... in the order of the grid's dimensions."""
    blocks: dict[str, int]
    """The block sizes that a launch gives: XBLOCK, ...; 0 for one that depends on the length of what is reduced."""
    pointers: dict[str, str]
    """Its pointers and their types, `*fp32`."""

    @property
    def reduces(self) -> bool:
        """Whether it has a loop, or a block, over what it reduces."""
        return any(isinstance(node, ast.For) for node in ast.walk(self.function)) or "RBLOCK" in self.blocks


def clean(text: str, given: Sequence[str] = ()) -> Kernel:
    """A kernel's module, as `async_compile.triton` takes it, in plain Triton; raises Unsupported.

    `given` are the types of what it is launched on, for a kernel that has lost its decorator.
    """
    *helpers, function = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    types = signature(function) or dict(zip((arg.arg for arg in function.args.args), given, strict=False))
    hint = "outer" if "ReductionHint.OUTER" in text or "ReductionHint.DEFAULT" in text else "inner"
    return plain(function, helpers, types, hint)


def plain(function: ast.FunctionDef, helpers: list[ast.FunctionDef], types: Mapping[str, str], hint: str) -> Kernel:
    """Likewise from its parts: `types` are its parameters', `hint` says which way a reduction lies in memory."""
    single = _single_axes(function)
    for part in [*helpers, function]:
        part.decorator_list = [ast.parse("triton.jit", mode="eval").body]
    function.body = [line for line in function.body if not _fixes_numel(line)]
    rewrite(function, types, helpers)
    _short_reduction_names(function)
    axes = _axes(function)
    simplify(function, number)
    parameters = [arg.arg for arg in function.args.args]
    shape = hint if "RBLOCK" in parameters else "tiled" if len(axes) > 1 else "pointwise"
    names = [name for name in parameters if name.endswith("BLOCK")]
    blocks = {name: 1 if name in single else _BLOCKS.get(shape, {}).get(name[0].lower(), 0) for name in names}
    pointers = {name: type for name, type in types.items() if type.startswith("*")}
    return Kernel(_name(function.name), function, helpers, axes, blocks, pointers)


def signature(function: ast.FunctionDef) -> dict[str, str]:
    """Types of the parameters, from the heuristics' decorator, if it has one; of old they were numbered."""
    for node in ast.walk(ast.Module(function.decorator_list, [])):  # type: ignore[arg-type]
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "signature":
                    types = ast.literal_eval(value)
                    names = [arg.arg for arg in function.args.args]
                    return {names[key] if isinstance(key, int) else key: str(type) for key, type in types.items()}
    return {}


def _fixes_numel(line: ast.stmt) -> bool:
    """`xnumel = 320`, which is what the launch gives as well."""
    if not (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)):
        return False
    return line.targets[0].id.endswith("numel") and isinstance(line.value, ast.Constant)


def _single_axes(function: ast.FunctionDef) -> set[str]:
    """Block sizes of axes of a single element, which have no mask."""
    lines = (ast.unparse(line) for line in function.body if _fixes_numel(line))
    return {f"{line.partition('numel')[0].upper()}BLOCK" for line in lines if line.endswith(" = 1")}


def _short_reduction_names(function: ast.FunctionDef) -> None:
    """`rindex` for `r0_index`, where there is one reduced axis only."""
    names = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} | {a.arg for a in function.args.args}
    if any(name.lower().startswith("r1_") for name in names):
        raise Unsupported("a reduction over two axes")
    function.body = [line for line in function.body if not _renames_reduction(line)]
    for block in (node.body for node in ast.walk(function) if isinstance(node, ast.For)):
        block[:] = [line for line in block if not _renames_reduction(line)]
    words = ("index", "mask", "numel", "base", "offset")
    Rename({f"r0_{word}": f"r{word}" for word in words} | {"R0_BLOCK": "RBLOCK"}).visit(function)


def _renames_reduction(line: ast.stmt) -> bool:
    return re.fullmatch(r"(?!r0_\d)r\w+(: tl.constexpr)? = r0_\w+", ast.unparse(line), re.IGNORECASE) is not None


def _axes(function: ast.FunctionDef) -> list[str]:
    """The axis that each dimension of the grid cuts into blocks."""
    lines = re.findall(r"(\w)offset = tl\.program_id\((\d)\)", ast.unparse(function))
    found = {int(place): axis for axis, place in lines}
    return [found[place] for place in sorted(found)]


def _name(name: str) -> str:
    """`softmax_kernel` for `triton_red_fused__softmax_view_3`."""
    words = re.sub(r"^triton_[a-z]+_fused|_\d+$", "", name).strip("_")
    parts = [part for part in re.split(r"_+", words) if part and part not in _QUIET]
    return "_".join([*(parts or ["copy"]), "kernel"])
