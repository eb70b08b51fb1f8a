import torch
import torch.nn as nn


class Model(nn.Module):
    """DeepSeek's blockwise float8 GEMM: activations scaled by 1x128, weights by 128x128; bfloat16 out."""

    def __init__(self):
        super().__init__()

    def forward(self, a, a_s, b, b_s):
        af = a.float() * a_s.repeat_interleave(128, 1)
        bf = b.float() * b_s.repeat_interleave(128, 0).repeat_interleave(128, 1)
        return (af @ bf.t()).to(torch.bfloat16)


def get_inputs():
    M, N, K = 256, 512, 1024
    f8 = torch.float8_e4m3fn
    return [torch.randn(M, K).to(f8), torch.rand(M, K // 128), torch.randn(N, K).to(f8), torch.rand(N // 128, K // 128)]


def get_init_inputs():
    return []
