"""Where in a kernel a tensor of some shape is being computed, and how other tensors are read there.

A site has the offset of each element in its (contiguous) tensor; the element of another tensor, broadcast to the
same shape, follows from the offset by division. Kernels that know their coordinates anyway (rows and columns of a
product) say so and save the division.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tritonsmith.data.lower.pointwise import write
from tritonsmith.data.lower.schedule import Group
from tritonsmith.data.lower.text import Kernel
from tritonsmith.data.lower.trace import Op, Value

Tensor = Callable[[Value], "Held"]
"""Looks a value up among those that are in memory."""


@dataclass(frozen=True)
class Held:
    """A tensor in memory."""

    name: str
    """Its variable in `forward`."""
    shape: tuple[int, ...]
    """Sizes as traced."""
    label: str
    """What it is called in kernels."""
    contiguous: bool = True
    floating: bool = True
    sizes: tuple[str, ...] = ()
    """Expressions of the sizes in `forward`, where they are not simply the variable's."""

    def size(self, dim: int) -> str:
        """The size of a dimension, as an expression in `forward`."""
        return self.sizes[dim] if self.sizes else f"{self.name}.shape[{dim}]"


@dataclass(frozen=True)
class Block:
    """Neighbouring dimensions of the site that an operand has alike, or lacks alike."""

    dims: tuple[int, ...]
    full: bool
    """Whether the operand has them; else it is broadcast along them."""


@dataclass
class Site:
    """A place in a kernel where a tensor is computed."""

    shape: tuple[int, ...]
    like: str
    """A variable in `forward` with this shape, or the expression of its shape's elements: see `dim`."""
    offs: str
    mask: str | None
    """None where every element exists."""
    depth: int = 0
    """Blocks deep in the kernel's body."""
    coordinates: Callable[[list[Block]], tuple[str, str | None] | None] = lambda blocks: None
    """Offset and mask of an operand with these blocks, where the kernel knows them without dividing."""
    dim: Callable[[int], str] | None = None
    """The size of dimension i in `forward`; by default `like.shape[i]`."""
    index: Callable[[int], str | None] = lambda dim: None
    """The coordinate along a dimension, where the kernel knows it without dividing."""

    def size(self, dims: tuple[int, ...]) -> str:
        """The product of the dimensions' sizes, as an expression in `forward`."""
        one = self.dim or (lambda i: f"{self.like}.shape[{i}]")
        return " * ".join(one(i) for i in dims)


def blocks(shape: tuple[int, ...], operand: tuple[int, ...]) -> list[Block]:
    """How an operand's shape lies in the site's: dimensions of size one count as whatever is beside them."""
    padded = (1,) * (len(shape) - len(operand)) + operand
    found: list[Block] = []
    for i, (size, own) in enumerate(zip(shape, padded, strict=True)):
        full = own == size if size != 1 else (found[-1].full if found else own == size and len(operand) == len(shape))
        if found and found[-1].full == full:
            found[-1] = Block((*found[-1].dims, i), full)
        else:
            found.append(Block((i,), full))
    return found


def load(kernel: Kernel, site: Site, tensor: Held, neutral: str = "0.0") -> str:
    """Read a tensor at a site, `neutral` where there is no element; the new value's name."""
    pointer = kernel.pointer(tensor.label, tensor.name)
    cast = ".to(tl.float32)" if tensor.floating else ""
    walked = tensor.shape == site.shape and site.mask is not None  # a block of which one element exists is a block
    if all(size == 1 for size in tensor.shape) and not walked:
        return _named(kernel, site, tensor, f"tl.load({pointer}){cast}")
    layout = blocks(site.shape, tensor.shape)
    known = site.coordinates(layout) if tensor.contiguous else None
    if known:
        offset, mask = known
    elif tensor.contiguous:
        offset, mask = _offset(kernel, site, layout), site.mask
    else:
        offset, mask = _strided(kernel, site, tensor), site.mask
    masked = f", mask={mask}, other={neutral if tensor.floating else 0}" if mask else ""
    return _named(kernel, site, tensor, f"tl.load({pointer} + {offset}{masked}){cast}")


def _named(kernel: Kernel, site: Site, tensor: Held, expression: str) -> str:
    name = kernel.pointer(tensor.label, tensor.name).removesuffix("_ptr")
    kernel.line(f"{name} = {expression}", site.depth)
    return name


def _offset(kernel: Kernel, site: Site, layout: list[Block]) -> str:
    """The operand's offset out of the site's, by division, as few as it takes."""
    if all(block.full for block in layout):
        return site.offs
    terms: list[str] = []
    stride: tuple[int, ...] = ()
    for place in reversed(range(len(layout))):
        block = layout[place]
        if not block.full:
            continue
        inner = tuple(d for later in layout[place + 1 :] for d in later.dims)
        term = f"{site.offs} // {_size(kernel, site, inner)}" if inner else site.offs
        if place > 0:
            term = f"{term} % {_size(kernel, site, block.dims)}"
        if stride:
            wrapped = f"({term})" if "%" in term or "//" in term else term
            term = f"{wrapped} * {_size(kernel, site, stride)}"
        terms.insert(0, term)
        stride = (*block.dims, *stride)
    return " + ".join(terms)


def _strided(kernel: Kernel, site: Site, tensor: Held) -> str:
    """The offset of a tensor whose elements do not lie in order: a coordinate and a stride a dimension."""
    lead = len(site.shape) - len(tensor.shape)
    terms = []
    for i, own in enumerate(tensor.shape):
        if own == 1:
            continue
        place = lead + i
        inner = tuple(range(place + 1, len(site.shape)))
        term = f"{site.offs} // {_size(kernel, site, inner)}" if inner else site.offs
        if place > 0:
            term = f"{term} % {_size(kernel, site, (place,))}"
        label = kernel.pointer(tensor.label, tensor.name).removesuffix("_ptr")
        stride = kernel.size(f"{label}_s{i}", f"{tensor.name}.stride({i})")
        terms.append(f"({term}) * {stride}")
    return " + ".join(terms)


def _size(kernel: Kernel, site: Site, dims: tuple[int, ...]) -> str:
    name = "D" + "".join(map(str, dims))
    return kernel.size(name, site.size(dims))


def _coordinate(kernel: Kernel, site: Site, op: Op) -> str:
    """The coordinate that an `index` stands for; its shape ends where the site's does."""
    dim = op.args["dim"]
    assert isinstance(dim, int)
    place = len(site.shape) - len(op.result.shape) + dim
    if known := site.index(place):
        return known
    inner = tuple(range(place + 1, len(site.shape)))
    text = f"{site.offs} // {_size(kernel, site, inner)}" if inner else site.offs
    return kernel.value(f"{text} % {_size(kernel, site, (place,))}" if place else text, site.depth)


def compute(
    kernel: Kernel,
    site: Site,
    group: Group | None,
    held: Tensor,
    bound: dict[Value, str],
    number: Callable[[Kernel, Op, str, object], str],
) -> None:
    """Write a group's operators at a site; `bound` maps values to names, and grows.

    `number` spells an argument that is no tensor.
    """
    if group is None:
        return
    for value in group.externals:
        if value not in bound:
            bound[value] = load(kernel, site, held(value))
    for op in group.ops:
        if op.name == "copy":
            bound[op.result] = bound[op.tensor("self")]
            continue
        if op.name == "index":
            bound[op.result] = _coordinate(kernel, site, op)
            continue
        arguments = {
            name: bound[given] if isinstance(given, Value) else number(kernel, op, name, given)
            for name, given in op.args.items()
        }
        if op.name == "full":
            bound[op.result] = arguments["fill_value"]
            continue
        bound[op.result] = kernel.value(write(op, arguments), site.depth)
