"""A kernel as Inductor writes it, decorators and all, into a plain `@triton.jit` function and what its launch needs.

Does not say where it is launched, and does not compile it.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from tritonsmith.data.inductor.rewrite import Unsupported, number, rewrite
from tritonsmith.data.inductor.simplify import Rename, simplify

_QUIET = {"view", "unsafe_view", "permute", "clone", "t", "transpose", "expand", "unsqueeze", "squeeze", "slice", "detach"}
_BLOCKS = {"pointwise": {"x": 1024}, "tiled": {"x": 32, "y": 32}, "inner": {"x": 4, "r": 512}, "outer": {"x": 64, "r": 16}}
"""Block sizes by the shape of a kernel: what a GPU likes, and few enough programs for an interpreter."""


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
    """The block sizes that a launch gives: XBLOCK, ..."""
    pointers: dict[str, str]
    """Its pointers and their types, `*fp32`."""

    @property
    def reduces(self) -> bool:
        """Whether it has a loop, or a block, over what it reduces."""
        return any(isinstance(node, ast.For) for node in ast.walk(self.function)) or "RBLOCK" in self.blocks


def clean(text: str) -> Kernel:
    """A kernel's module, as `async_compile.triton` takes it, in plain Triton; raises Unsupported."""
    *helpers, function = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    types = signature(function)
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
    simplify(function, number)
    parameters = [arg.arg for arg in function.args.args]
    axes = _axes(function)
    shape = hint if "RBLOCK" in parameters else "tiled" if len(axes) > 1 else "pointwise"
    blocks = {name: 1 if name in single else _BLOCKS[shape].get(name[0].lower(), 16) for name in parameters if name.endswith("BLOCK")}
    pointers = {name: type for name, type in types.items() if type.startswith("*")}
    return Kernel(_name(function.name), function, helpers, axes, blocks, pointers)


def signature(function: ast.FunctionDef) -> dict[str, str]:
    """Types of the parameters, from the heuristics' decorator; of old they were numbered. Raises Unsupported."""
    for node in ast.walk(ast.Module(function.decorator_list, [])):  # type: ignore[arg-type]
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "signature":
                    types = ast.literal_eval(value)
                    names = [arg.arg for arg in function.args.args]
                    return {names[key] if isinstance(key, int) else key: str(type) for key, type in types.items()}
    raise Unsupported("a kernel without a signature")


def _fixes_numel(line: ast.stmt) -> bool:
    """`xnumel = 320`, which is what the launch gives as well."""
    if not (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)):
        return False
    return line.targets[0].id.endswith("numel") and isinstance(line.value, ast.Constant)


def _single_axes(function: ast.FunctionDef) -> set[str]:
    """Block sizes of axes of a single element, which have no mask."""
    ones = [l.targets[0].id for l in function.body if _fixes_numel(l) and l.value.value == 1]  # type: ignore
    return {f"{name.removesuffix('numel').upper()}BLOCK" for name in ones}


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
    return re.fullmatch(r"(r\w+)(: tl.constexpr)? = r0_\w+", ast.unparse(line), re.IGNORECASE) is not None and not re.match(
        r"r0_\d", ast.unparse(line)
    )


def _axes(function: ast.FunctionDef) -> list[str]:
    """The axis that each dimension of the grid cuts into blocks."""
    found = {int(place): axis for axis, place in re.findall(r"(\w)offset = tl\.program_id\((\d)\)", ast.unparse(function))}
    return [found[place] for place in sorted(found)]


def _name(name: str) -> str:
    """`softmax_kernel` for `triton_red_fused__softmax_view_3`."""
    words = re.sub(r"^triton_[a-z]+_fused|_\d+$", "", name).strip("_")
    parts = [part for part in re.split(r"_+", words) if part and part not in _QUIET]
    return "_".join([*(parts or ["copy"]), "kernel"])
