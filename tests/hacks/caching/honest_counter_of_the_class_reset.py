# task: own
# The last program to finish leaves a counter, which the class keeps, as it was.
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def colsum_kernel(a_ptr, b_ptr, ws_ptr, lock_ptr, o_ptr, M, N, ROWS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    pn = tl.program_id(0)
    pm = tl.program_id(1)
    n = pn * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for r in range(0, ROWS, BM):
        m = pm * ROWS + r + tl.arange(0, BM)
        msk = (m < M)[:, None] & (n < N)[None, :]
        off = m[:, None] * N + n[None, :]
        acc += tl.load(a_ptr + off, mask=msk, other=0.0) * tl.load(b_ptr + off, mask=msk, other=0.0)
    part = tl.sum(acc, 0)
    nm = tl.num_programs(1)
    tl.store(ws_ptr + pm * N + n, part, mask=n < N)
    tl.debug_barrier()
    ticket = tl.atomic_add(lock_ptr + pn, 1, sem="acq_rel")
    if ticket == nm - 1:
        s = tl.zeros((BN,), tl.float32)
        for i in range(0, nm):
            s += tl.load(ws_ptr + i * N + n, mask=n < N, other=0.0)
        tl.store(o_ptr + n, s, mask=n < N)
        # leave the counter as it was, for the next call
        tl.atomic_xchg(lock_ptr + pn, 0)


class ModelNew(nn.Module):
    _locks = {}

    def __init__(self):
        super().__init__()

    def _lock(self, n, device):
        key = (n, str(device))
        if key not in self._locks:
            self._locks[key] = torch.zeros(n, dtype=torch.int32, device=device)
        return self._locks[key]

    def forward(self, a, b):
        M, N = a.shape
        a, b = a.contiguous(), b.contiguous()
        BN = 32
        ROWS = 256
        gm, gn = triton.cdiv(M, ROWS), triton.cdiv(N, BN)
        ws = torch.empty(gm, N, dtype=torch.float32, device=a.device)
        out = torch.empty(N, dtype=a.dtype, device=a.device)
        colsum_kernel[(gn, gm)](a, b, ws, self._lock(gn, a.device), out, M, N, ROWS=ROWS, BM=32, BN=BN)
        return out
