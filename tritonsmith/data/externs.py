"""What Inductor leaves to a library, as operators of our own: matrix products, convolutions, pools.

Traced graphs hold `tritonsmith::matmul`, `tritonsmith::convolution` and `tritonsmith::pool` in the place of aten's
(`DECOMPOSITIONS`); what candidates get for them is in `routines`. They are traced, never computed.
"""

import contextlib
import contextvars
from collections.abc import Callable, Iterable, Iterator, Sequence

import sympy
import torch
from torch import Tensor
from torch._dynamo.source import LocalSource
from torch.fx.experimental.symbolic_shapes import DimDynamic
from torch.utils._sympy.printers import PythonPrinter

_library = torch.library.Library("tritonsmith", "DEF")
_library.define("matmul(Tensor a, Tensor b, Tensor? bias, bool batched) -> Tensor")
_library.define(
    "convolution(Tensor x, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups, bool depthwise) -> Tensor"
)

_library.define(
    "pool(Tensor x, SymInt[] kernel, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool mean, bool padded) "
    "-> Tensor"
)


class Sizes:
    """Sizes of convolutions' and pools' outputs as symbols of their own, and what they are.

    They go into every index that is computed later: written out they make kernels that nobody reads, and sympy work
    for minutes.
    """

    def __init__(self) -> None:
        self._known: list[tuple[torch.SymInt, sympy.Expr]] = []

    def name(self, size: int | torch.SymInt) -> int | torch.SymInt:
        """The symbol for a size; sizes that are numbers or symbols stay as they are."""
        if not isinstance(size, torch.SymInt) or size.node.expr.is_Atom:
            return size
        env = size.node.shape_env
        expression = env.replace(size.node.expr)
        for number, meaning in self._known:
            if env.replace(meaning) == expression:
                return number
        source = LocalSource(f"size{len(self._known)}")
        symbol = env.create_symbol(size.node.hint, source, DimDynamic.DYNAMIC)
        number = env.create_symintnode(symbol, hint=size.node.hint, source=source)
        if not isinstance(number, torch.SymInt):
            return size
        self._known.append((number, expression))
        return number

    def meanings(self) -> dict[str, str]:
        """What the symbols stand for, as Python text, in an order in which each uses earlier ones alone."""
        return {str(number.node._expr): PythonPrinter().doprint(meaning) for number, meaning in self._known}


_sizes: contextvars.ContextVar[Sizes | None] = contextvars.ContextVar("sizes", default=None)


@contextlib.contextmanager
def naming(sizes: Sizes) -> Iterator[None]:
    """Have the operators' sizes named there."""
    token = _sizes.set(sizes)
    try:
        yield
    finally:
        _sizes.reset(token)


def _named(sizes: Iterable[int]) -> list[int | torch.SymInt]:
    names = _sizes.get()
    return [size if names is None else names.name(size) for size in sizes]


@torch.library.register_fake("tritonsmith::matmul", lib=_library)
def _(a: Tensor, b: Tensor, bias: Tensor | None, batched: bool) -> Tensor:
    torch._check(a.shape[-1] == b.shape[-2])
    for one, other in zip(a.shape[:-2], b.shape[:-2], strict=True):
        torch._check(one == other)
    return a.new_empty((*a.shape[:-1], b.shape[-1]))


@torch.library.register_fake("tritonsmith::convolution", lib=_library)
def _(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    depthwise: bool,
) -> Tensor:
    torch._check(x.shape[1] == (weight.shape[0] if transposed else weight.shape[1] * groups))
    size = []
    for i, (length, width) in enumerate(zip(x.shape[2:], weight.shape[2:], strict=True)):
        reach = dilation[i] * (width - 1)
        if transposed:
            size.append((length - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i] + 1)
        else:
            size.append((length + 2 * padding[i] - reach - 1) // stride[i] + 1)
    channels = weight.shape[1] * groups if transposed else weight.shape[0]
    return x.new_empty((x.shape[0], channels, *_named(size)))


@torch.library.register_fake("tritonsmith::pool", lib=_library)
def _(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    mean: bool,
    padded: bool,
) -> Tensor:
    sizes = zip(x.shape[2:], kernel, stride, padding, dilation, strict=True)
    return x.new_empty((*x.shape[:2], *_named((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)))


def _product(a: Tensor, b: Tensor) -> Tensor:
    return torch.ops.tritonsmith.matmul(a, b, None, a.dim() == 3) if a.is_floating_point() else NotImplemented


def _affine(bias: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    if not a.is_floating_point():
        return NotImplemented
    if alpha == 1 and beta == 1:
        return torch.ops.tritonsmith.matmul(a, b, bias, a.dim() == 3)
    return bias * beta + torch.ops.tritonsmith.matmul(a, b, None, a.dim() == 3) * alpha


def _convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    *rest: object,
) -> Tensor:
    depthwise = not transposed and type(weight.shape[1]) is int and weight.shape[1] == 1
    given = (x, weight, bias, stride, padding, dilation, transposed, *rest, depthwise)
    return torch.ops.tritonsmith.convolution(*given)


def _var_mean(
    x: Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """Variance in two passes, which keeps its digits where the mean is large; Inductor's own would be Welford's."""
    dims = [d % x.dim() for d in dim] if dim else list(range(x.dim()))
    count = 1
    for d in dims:
        count = count * x.shape[d]
    mean = x.mean(dims, keepdim=True)
    squares = ((x - mean) * (x - mean)).sum(dims, keepdim=keepdim)
    divisor = count - (1 if correction is None else correction)
    return squares / divisor, mean if keepdim else mean.reshape(squares.shape)


def _var(x: Tensor, dim: Sequence[int] | None = None, **words: object) -> Tensor:
    return _var_mean(x, dim, **words)[0]  # type: ignore[arg-type]


_aten = torch.ops.aten
DECOMPOSITIONS: dict[object, Callable[..., object]] = {
    _aten.mm.default: _product,
    _aten.bmm.default: _product,
    _aten.addmm.default: _affine,
    _aten.baddbmm.default: _affine,
    _aten.convolution.default: _convolution,
    _aten.var_mean.correction: _var_mean,
    _aten.var.correction: _var,
}
"""How a trace replaces aten's operators, besides Inductor's own decompositions."""
