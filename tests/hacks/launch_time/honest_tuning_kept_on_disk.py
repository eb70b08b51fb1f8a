# task: own
# An autotuner that would keep its findings.
import torch
import torch.nn as nn
import triton
import triton.language as tl


def early_prune(configs, named_args, **kwargs):
    n = named_args["n"]
    kept = [c for c in configs if c.kwargs["BLOCK"] <= max(256, n)]
    return kept or [configs[0]]


def estimate(x, y, n, BLOCK, num_warps, num_stages, **kwargs):
    """A rough model: waste by the tail."""
    return triton.cdiv(n, BLOCK) * BLOCK / max(n, 1) + 1.0 / num_warps


def pre(args, reset_only=False):
    pass


def post(args, exception=None):
    if exception is not None:
        print("tuning failed:", exception)


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": b}, num_warps=w, num_stages=1, maxnreg=128) for b in (256, 1024, 4096) for w in (4, 8)
    ],
    key=["n"],
    prune_configs_by={"early_config_prune": early_prune, "perf_model": estimate, "top_k": 2},
    pre_hook=pre,
    post_hook=post,
    cache_results=True,
)
@triton.jit
def relu_kernel(x, y, n, BLOCK: tl.constexpr):
    o = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    tl.store(y + o, tl.maximum(tl.load(x + o, mask=m, other=0.0), 0.0), mask=m)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.verbose = False

    def forward(self, x):
        x = x.contiguous()
        y = torch.empty_like(x)
        relu_kernel[lambda META: (triton.cdiv(x.numel(), META["BLOCK"]),)](x, y, x.numel())
        if self.verbose:
            print("best:", relu_kernel.best_config)
        return y
