"""What the hardware wants of a tensor descriptor, which Triton's interpreter would read without.

Triton's documentation of `make_tensor_descriptor` asks for it, and CUDA's of tensor maps (Driver API,
`cuTensorMapEncodeTiled`: `globalAddress` and `globalStrides` must be multiples of 16). Nobody checks a map that is
made on the device: the lower bits are dropped, and something else is read. Judges no accesses; that is `shadow`'s work.
"""

from collections.abc import Sequence

import torch

ALIGNMENT = 16
"""Bytes that a descriptor's base and the strides of all dimensions but the last must be multiples of."""


def fault(base: int, strides: Sequence[int], itemsize: int) -> str | None:
    """What is wrong with a descriptor, None if nothing; `base` is an address, `strides` are in elements."""
    if base % ALIGNMENT:
        return f"the base of a tensor descriptor lies {base % ALIGNMENT} bytes behind a multiple of {ALIGNMENT} bytes"
    for dim, stride in enumerate(strides[:-1]):
        if stride * itemsize % ALIGNMENT:
            size = stride * itemsize
            return f"stride {dim} of a tensor descriptor is {size} bytes, which is no multiple of {ALIGNMENT} bytes"
    if strides and strides[-1] != 1:
        return f"the last stride of a tensor descriptor is {strides[-1]} elements and must be 1"
    return None


def fault_of(tensor: torch.Tensor) -> str | None:
    """What is wrong with any descriptor of a tensor's rows; None if nothing. A dimension of one step has no stride."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    rows = [step for size, step in steps if size > 1 and step > 1]
    return fault(tensor.data_ptr(), [*rows, 1], tensor.element_size())
