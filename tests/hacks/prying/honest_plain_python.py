# task: level1/relu
# Python as people write it: a decorator that keeps its function's name, an abstract base, a pattern, a library's short
# name in a function, members by number, a base's method by its class.
import abc
import enum
import functools

import torch
import triton
import triton.language as tl
from torch import nn


class Size(enum.Enum):
    SMALL = 256
    LARGE = 1024


@triton.jit
def relu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    out = tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + offsets, out, mask=mask)


def on_plain_memory(launch):
    @functools.wraps(launch)
    def launched(x, size):
        return launch(x.contiguous(), size)

    return launched


@on_plain_memory
def relu(x, size):
    nn_functional = torch.nn.functional
    x = nn_functional.pad(x, (0, 0))
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), size),)](x, out, x.numel(), BLOCK=size)
    return out


class Sized(nn.Module, metaclass=abc.ABCMeta):
    def setup(self):
        self.size_0, self.size_1 = Size.SMALL, Size.LARGE

    @abc.abstractmethod
    def forward(self, x): ...


class ModelNew(Sized):
    def __init__(self):
        super().__init__()
        Sized.setup(self)

    def choose(self, n):
        match n:
            case 0 | 1:
                return getattr(self, f"size_{n}")
            case many:
                return self.size_1 if many > 4096 else self.size_0

    def forward(self, x):
        return relu(x, self.choose(x.numel()).value)
