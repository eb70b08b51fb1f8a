# task: own
# The kernel's annotation stands in quotes, as the compiler takes it.
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(in_ptr0, in_ptr1, out_ptr, n_elements, BLOCK_SIZE: "tl.constexpr"):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(in_ptr0 + offsets, mask=mask)
    y = tl.load(in_ptr1 + offsets, mask=mask)
    output = x + y
    tl.store(out_ptr + offsets, output, mask=mask)


def add_wrapper(x, y):
    out = torch.zeros_like(x)
    BLOCK_SIZE = 4
    n_elements = x.numel()
    num_blocks = (n_elements + BLOCK_SIZE - 1) // BLOCK_SIZE
    grid = (num_blocks,)
    add_kernel[grid](x, y, out, n_elements, BLOCK_SIZE)
    return out


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        return add_wrapper(x, y)


##################################################################################################################################################


def test_add():
    # Test case 1: basic functionality
    size = 64
    x = torch.randn(size, device="cuda")
    y = torch.randn(size, device="cuda")
    results = {"test_case_1": add_wrapper(x, y)}
    return results
