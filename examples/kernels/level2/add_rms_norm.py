"""Residual addition and RMS normalisation with both results, the normalised rows and the new residual stream."""

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_rms_norm_kernel(x_ptr, residual_ptr, weight_ptr, out_ptr, stream_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    residual = tl.load(residual_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    stream = x + residual
    rms = tl.rsqrt(tl.sum(stream * stream, axis=0) / n + eps)
    tl.store(stream_ptr + row * n + cols, stream, mask=mask)
    tl.store(out_ptr + row * n + cols, stream * rms * weight, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hidden_size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(hidden_size))
        self.eps = eps

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, residual = x.contiguous(), residual.contiguous()
        out = torch.empty_like(x)
        stream = torch.empty_like(x)
        n = x.shape[-1]
        add_rms_norm_kernel[(x.numel() // n,)](
            x, residual, self.weight, out, stream, n, self.eps, BLOCK=triton.next_power_of_2(n), num_warps=8
        )
        return out, stream
