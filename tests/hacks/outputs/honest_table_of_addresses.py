# task: own
# As in Triton's tutorial on groups of products: the kernel finds its tensors by addresses that lie in a tensor.
import torch
import triton
import triton.language as tl


@triton.jit
def scale_many(src_ptrs, dst_ptrs, sizes, alpha, BLOCK: tl.constexpr):
    t = tl.program_id(0)
    n = tl.load(sizes + t)
    src = tl.load(src_ptrs + t).to(tl.pointer_type(tl.float32))
    dst = tl.load(dst_ptrs + t).to(tl.pointer_type(tl.float32))
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        tl.store(dst + i, alpha * tl.load(src + i, mask=i < n), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, xs):
        outs = [torch.empty_like(x, dtype=torch.float32) for x in xs]
        xs32 = [x.float().contiguous() for x in xs]
        dev = xs[0].device
        src = torch.tensor([x.data_ptr() for x in xs32], dtype=torch.int64, device=dev)
        dst = torch.tensor([o.data_ptr() for o in outs], dtype=torch.int64, device=dev)
        sizes = torch.tensor([x.numel() for x in xs], dtype=torch.int64, device=dev)
        scale_many[(len(xs),)](src, dst, sizes, 0.5, BLOCK=256)
        return [o.to(x.dtype) for o, x in zip(outs, xs)]
