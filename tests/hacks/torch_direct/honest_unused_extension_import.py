# task: own
# Imports that a prompt for CUDA leaves behind, a main block with a benchmark, a verbose switch.
import time
from typing import Any, Dict, List, Optional, Tuple, Union

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import nn
from torch.utils.cpp_extension import load_inline

DEVICE = triton.runtime.driver.active.get_active_torch_device() if torch.cuda.is_available() else torch.device("cpu")
VERBOSE = False


@triton.jit
def hardswish_kernel(
    x_ptr,  # *Pointer* to the input
    y_ptr,  # *Pointer* to the output
    n_elements,  # number of elements
    BLOCK_SIZE: tl.constexpr,
):
    """y = x * relu6(x + 3) / 6"""
    pid = tl.program_id(axis=0)  # 1D launch grid
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = x * tl.clamp(x + 3.0, 0.0, 6.0) * 0.16666666666666666
    tl.store(y_ptr + offsets, y, mask=mask)


def triton_hardswish(x: torch.Tensor) -> torch.Tensor:
    if VERBOSE:
        print(f"[triton_hardswish] shape={tuple(x.shape)} dtype={x.dtype}")
    assert x.is_cuda and x.is_contiguous()
    y = torch.empty_like(x)
    n_elements = y.numel()
    hardswish_kernel[lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)](x, y, n_elements, BLOCK_SIZE=1024)
    return y


class ModelNew(nn.Module):
    def __init__(self, *args: Any, **kwargs: Dict[str, Any]) -> None:
        super().__init__()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return triton_hardswish(x.contiguous())


def _reference(x):
    return F.hardswish(x)


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(98432, device=DEVICE)
    t0 = time.time()
    out = ModelNew()(x)
    torch.cuda.synchronize()
    print("took", time.time() - t0)
    print("max diff", (out - _reference(x)).abs().max().item())
    ms = triton.testing.do_bench(lambda: ModelNew()(x))
    print(ms)
