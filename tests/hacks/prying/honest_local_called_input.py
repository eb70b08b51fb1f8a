# task: level1/sigmoid
# What a function assigns is its own, whatever builtin is called so too.
import torch
import triton
import triton.language as tl


@triton.jit
def sigmoid_kernel(input_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    input = tl.load(input_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    output = 1.0 / (1.0 + tl.exp(-input))
    tl.store(output_ptr + offsets, output, mask=mask)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        input = x.contiguous()
        out = torch.empty_like(input)
        n = input.numel()
        sigmoid_kernel[(triton.cdiv(n, 1024),)](input, out, n, BLOCK_SIZE=1024)
        return out
