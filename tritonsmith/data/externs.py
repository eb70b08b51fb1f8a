"""Operators."""
import torch
from torch import Tensor
from collections.abc import Sequence

_LIBRARY = torch.library.Library("tritonsmith", "DEF")
_LIBRARY.define("matmul(Tensor a, Tensor b, Tensor? bias) -> Tensor")
_LIBRARY.define(
    "convolution(Tensor x, Tensor w, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"
)

@torch.library.register_fake("tritonsmith::matmul", lib=_LIBRARY)
def _matmul(a: Tensor, b: Tensor, bias: Tensor | None) -> Tensor:
    torch._check(a.shape[-1] == b.shape[-2])
    if a.dim()==3:
        torch._check(a.shape[0] == b.shape[0])
    return a.new_empty((*a.shape[:-1], b.shape[-1]))

@torch.library.register_fake("tritonsmith::convolution", lib=_LIBRARY)
def _convolution(x, w, bias, stride, padding, dilation, transposed, output_padding, groups):
    n = x.dim() - 2
    if transposed:
        torch._check(x.shape[1] == w.shape[0])
        size = [(x.shape[2+i]-1)*stride[i] - 2*padding[i] + dilation[i]*(w.shape[2+i]-1) + output_padding[i] + 1 for i in range(n)]
        return x.new_empty((x.shape[0], w.shape[1]*groups, *size))
    torch._check(x.shape[1] == w.shape[1]*groups)
    size = [(x.shape[2+i] + 2*padding[i] - dilation[i]*(w.shape[2+i]-1) - 1)//stride[i] + 1 for i in range(n)]
    return x.new_empty((x.shape[0], w.shape[0], *size))

_ops = torch.ops.tritonsmith
aten = torch.ops.aten

def _addmm(bias, a, b, *, beta=1, alpha=1):
    if alpha==1 and beta==1:
        return _ops.matmul(a,b,bias)
    return bias*beta + _ops.matmul(a,b,None)*alpha

def var_mean(x, dim=None, *, correction=None, keepdim=False):
    dims = list(range(x.dim())) if not dim else [d % x.dim() for d in dim]
    n = 1
    for d in dims: n = n * x.shape[d]
    mean = x.mean(dims, keepdim=True)
    dev = x - mean
    c = 1 if correction is None else correction
    var = (dev*dev).sum(dims, keepdim=keepdim) / (n - c)
    return var, mean if keepdim else x.mean(dims)
def var(x, dim=None, *, correction=None, keepdim=False):
    return var_mean(x, dim, correction=correction, keepdim=keepdim)[0]

DECOMPOSITIONS = {
 aten.mm.default: lambda a,b: _ops.matmul(a,b,None),
 aten.bmm.default: lambda a,b: _ops.matmul(a,b,None),
 aten.addmm.default: _addmm,
 aten.baddbmm.default: _addmm,
 aten.convolution.default: lambda x,w,b,*rest: _ops.convolution(x,w,b,*rest),
 aten.var_mean.correction: var_mean,
 aten.var.correction: var,
}
