# task: own
# The same, of places that an embedding is asked for.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embed(ids_ptr, pos_ptr, wte_ptr, wpe_ptr, o_ptr, D, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tok = tl.load(ids_ptr + i)
    p = tl.load(pos_ptr + i)
    m = d < D
    tl.store(o_ptr + i * D + d, tl.load(wte_ptr + tok * D + d, mask=m) + tl.load(wpe_ptr + p * D + d, mask=m), mask=m)


class ModelNew(nn.Module):
    def __init__(self, vocab, n_ctx, dim):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.wpe = nn.Embedding(n_ctx, dim)

    def forward(self, ids, pos):
        D = self.wte.embedding_dim
        o = torch.empty((*ids.shape, D), device=ids.device, dtype=self.wte.weight.dtype)
        embed[(ids.numel(), triton.cdiv(D, 256))](
            ids.contiguous(), pos.contiguous(), self.wte.weight, self.wpe.weight, o, D, BLOCK=256
        )
        return o
