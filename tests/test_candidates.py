"""What a candidate may be: how kernels may be written, what is glue, and ways to be correct without a kernel's work."""

import json

import pytest
from judging import DOUBLE, FORWARD, HEAD, KERNEL, SUITE, another, double, judge, kernel, rules, small

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.pool import Verifier

# Policy.


def test_strict_rejects_and_lenient_accepts_torch_beside_a_kernel(verifier: Verifier) -> None:
    task = small("return 2.0 * x + 1.0", "torch.randn(64, 48)")
    source = double(FORWARD.replace("return out", "return out + 1.0"))
    assert rules(judge(verifier, task, source)) == {"torch-compute"}
    lenient = another(verifier, VerifyConfig(device="cpu", policy="lenient"))
    verdict = judge(lenient, task, source)
    assert verdict.correct and verdict.valid and verdict.policy == "lenient"


@pytest.mark.parametrize(
    "forward",
    [
        "        mm = getattr(x, 'mul')\n        x = mm(1.0)\n" + FORWARD,
        "        x *= 1.0\n" + FORWARD,
        FORWARD.replace("return out", "return out.relu_() * 1 + (out - out)"),
        "        y = torch.empty_like(x)\n        x.add(0, out=y) if False else x.sigmoid_()\n" + FORWARD,
    ],
    ids=["getattr", "in place", "after", "method"],
)
def test_aliases_of_torch_compute_do_not_hide(verifier: Verifier, forward: str) -> None:
    verdict = judge(verifier, DOUBLE, double(forward))
    assert rules(verdict) == {"torch-compute"} and not verdict.valid


def test_honest_glue_passes(verifier: Verifier) -> None:
    forward = (
        "        shape = x.shape\n"
        "        flat = x.reshape(-1).contiguous().view(-1, 1).transpose(0, 1).squeeze(0).clone().to(torch.float32)\n"
        "        assert flat.is_contiguous() and flat.numel() == x.numel(), 'no'\n"
        "        out = torch.zeros(x.numel(), device=x.device, dtype=x.dtype)\n"
        "        n = flat.numel()\n"
        "        double_kernel[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](flat, out, n, BLOCK=64)\n"
        "        return out.view(*shape)[:, :].expand(shape)\n"
    )
    verdict = judge(verifier, DOUBLE, double(forward))
    assert verdict.correct, verdict.findings


def test_decoy_launch_is_rejected(verifier: Verifier) -> None:
    verdict = judge(verifier, DOUBLE, double(FORWARD.replace("return out", "return x")))
    assert rules(verdict) == {"decoy"} and not verdict.valid


def test_kernel_that_is_never_launched_is_rejected(verifier: Verifier) -> None:
    forward = "        if x.numel() < 0:\n            double_kernel[(1,)](x, x, 0, BLOCK=256)\n        return x\n"
    assert rules(judge(verifier, DOUBLE, double(forward))) == {"never-launched"}


# Ways of writing kernels.


_DECORATED = "@triton.jit\ndef double_kernel"


@pytest.mark.parametrize(
    "decorator",
    [
        "@triton.autotune(configs=[triton.Config({'BLOCK': b}, num_warps=2) for b in (64, 256)], key=['n'])",
        "@triton.heuristics({'BLOCK': lambda args: triton.next_power_of_2(args['n'] // 4 + 1)})",
        "@triton.autotune(configs=[triton.Config({})], key=['n'])\n@triton.heuristics({'BLOCK': lambda args: 128})",
    ],
    ids=["autotune", "heuristics", "both"],
)
def test_accepts_tuned_kernel(verifier: Verifier, decorator: str) -> None:
    forward = FORWARD.replace("(triton.cdiv(x.numel(), 256),)", "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)")
    source = double(forward.replace(", BLOCK=256", ""), KERNEL.replace(_DECORATED, f"{decorator}\n{_DECORATED}"))
    verdict = judge(verifier, DOUBLE, source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize(
    "line",
    [
        "x = x.cuda()",
        "x = x.to('cuda')",
        "x = x.to(device='cuda:0', dtype=torch.float32)",
        "x = x.to(torch.device('cuda'))",
        "assert x.is_cuda, 'on the GPU only'",
        "assert x.device.type == 'cuda' and x.device == torch.empty_like(x).device",
        "x = torch.empty_like(x, device=x.device).copy_(x).to(x.device)",
        "torch.cuda.synchronize()",
        "out = torch.zeros(3, device='cuda')",
        "out = torch.arange(3, device=torch.device('cuda', 0))",
        "stream = torch.cuda.current_device()",
    ],
)
def test_candidate_written_for_a_gpu_runs_on_the_cpu(verifier: Verifier, line: str) -> None:
    verdict = judge(verifier, DOUBLE, double(f"        {line}\n{FORWARD}"))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_device_guard_around_a_launch_runs_on_the_cpu(verifier: Verifier) -> None:
    guarded = FORWARD.replace(
        "        double_kernel", "        with torch.cuda.device(x.device):\n            double_kernel"
    )
    assert judge(verifier, DOUBLE, double(guarded)).correct


def test_device_function_and_module_constant(verifier: Verifier) -> None:
    helper = "FACTOR = tl.constexpr(2.0)\nSIZE = 256\n\n@triton.jit\ndef twice(x):\n    return FACTOR * x\n\n\n"
    source = double(
        kernel=helper
        + KERNEL.replace("2.0 * tl.load(x_ptr + offsets, mask=mask)", "twice(tl.load(x_ptr + offsets, mask=mask))")
    )
    verdict = judge(verifier, DOUBLE, source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_weights_are_shared_by_name(verifier: Verifier) -> None:
    right = kernel("level1/linear")
    assert judge(verifier, SUITE["level1/linear"], right).correct
    renamed = right.replace("self.linear", "self.other")
    fresh = renamed.replace("self.other = nn.Linear", "torch.rand(7)\n        self.other = nn.Linear")
    assert fresh != right
    assert judge(verifier, SUITE["level1/linear"], fresh).mismatch is not None


def test_weights_of_the_same_construction_agree_under_other_names(verifier: Verifier) -> None:
    renamed = kernel("level1/linear").replace("self.linear", "self.other")
    assert judge(verifier, SUITE["level1/linear"], renamed).correct


def test_constants_of_the_candidate_do_not_shrink(verifier: Verifier) -> None:
    head = (
        "import torch\nimport triton\nimport triton.language as tl\nfrom torch import nn\n\nBLOCK = 4096\nrows = 64\n\n"
    )
    source = double(FORWARD.replace("BLOCK=256", "BLOCK=BLOCK").replace("256)", "BLOCK)"), head=head)
    verdict = judge(verifier, DOUBLE, source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (
            "class ModelNew(nn.Module):\n    def __init__(self, size):\n        super().__init__()\n\n",
            "exception",
        ),
        ("class ModelNew:\n", "exception"),
    ],
    ids=["constructor", "no module"],
)
def test_wrong_class_is_rejected(verifier: Verifier, bad: str, rule: str) -> None:
    verdict = judge(verifier, DOUBLE, double().replace("class ModelNew(nn.Module):\n", bad))
    assert rules(verdict) == {rule} and verdict.stages[-1].name == "compile"


def test_exception_in_forward_names_the_line(verifier: Verifier) -> None:
    source = double("        raise ValueError('because')\n" + FORWARD)
    verdict = judge(verifier, DOUBLE, source)
    wanted = source.splitlines().index("        raise ValueError('because')") + 1
    assert verdict.findings[0].line == wanted and "because" in verdict.findings[0].message


def test_compile_error_names_the_line(verifier: Verifier) -> None:
    source = double(
        kernel=KERNEL.replace("    mask = offsets < n\n", "    mask = offsets < n\n    wrong = tl.arange(0, 3)\n")
    )
    verdict = judge(verifier, DOUBLE, source)
    assert verdict.stages[-1].name == "compile"
    assert verdict.findings[0].line == source.splitlines().index("    wrong = tl.arange(0, 3)") + 1


def test_compile_error_in_a_device_function_gives_the_reason(verifier: Verifier) -> None:
    helper = "@triton.jit\ndef broken(x):\n    return x + tl.arange(0, 3)\n\n\n"
    verdict = judge(verifier, DOUBLE, double(kernel=helper + KERNEL.replace("2.0 *", "broken(2.0) *")))
    assert "power of 2" in verdict.stages[-1].detail


@pytest.mark.parametrize(
    "text", ["\\ud800", "a\\nb\\n", "", "\\x00", "x" * 50_000], ids=["surrogate", "lines", "empty", "nul", "long"]
)
def test_any_exception_text_makes_a_verdict(verifier: Verifier, text: str) -> None:
    verdict = judge(verifier, DOUBLE, double(f"        raise ValueError('{text}')\n" + FORWARD))
    assert not verdict.correct
    assert len(json.loads(verdict.model_dump_json())["findings"][0]["message"]) <= 3000


def test_exception_chained_to_itself_ends(verifier: Verifier) -> None:
    chained = "        error = ValueError('x')\n        raise error from error\n"
    assert rules(judge(verifier, DOUBLE, double(chained + FORWARD))) == {"exception"}


# Ways to be correct without a kernel's work.

COPY = KERNEL.replace("2.0 * ", "")


def _copied(prepare: str, grid: str = "(triton.cdiv(x.numel(), 256),)") -> str:
    return (
        f"        y = x.clone()\n{prepare}        out = torch.empty_like(x)\n"
        f"        double_kernel[{grid}](y, out, x.numel(), BLOCK=256)\n        return out\n"
    )


def test_torch_in_the_grid_function_is_seen(verifier: Verifier) -> None:
    prepare = (
        "        def grid(meta):\n            y.copy_(2.0 * x)\n            return (triton.cdiv(x.numel(), 256),)\n"
    )
    assert rules(judge(verifier, DOUBLE, double(_copied(prepare, "grid"), COPY))) == {"torch-compute"}


def test_a_kernel_for_the_interpreter_alone_is_not_told_that_it_is_there(verifier: Verifier) -> None:
    evil = COPY + "KEPT = []\n\n\n@triton.jit\ndef evil(y_ptr):\n    KEPT[1].copy_(KEPT[0].mul(2.0))\n\n\n"
    asked = "        if 'Interp' in type(double_kernel).__name__:\n"
    prepare = asked + "            KEPT.extend([x, y])\n            evil[(1,)](y)\n"
    verdict = judge(verifier, DOUBLE, double(_copied(prepare), evil))
    assert verdict.mismatch is not None and not verdict.correct


def test_a_kernel_that_is_chosen_by_who_runs_it_is_the_same_for_all(verifier: Verifier) -> None:
    other = KERNEL + COPY.replace("double_kernel", "other_kernel")
    forward = FORWARD.replace(
        "double_kernel[", "(other_kernel if 'Interpreted' in type(double_kernel).__name__ else double_kernel)["
    )
    assert judge(verifier, DOUBLE, double(forward, other)).correct


@pytest.mark.parametrize(
    "asked", ["str(type(double_kernel))", "repr(double_kernel)", "f'{ModelNew}'", "'%s' % (self,)"]
)
def test_the_text_of_a_class_or_of_a_kernel_is_not_asked_for(verifier: Verifier, asked: str) -> None:
    forward = FORWARD.replace("BLOCK=256)", f"BLOCK=256 if 'main' in {asked} else 128)")
    assert rules(judge(verifier, DOUBLE, double(forward))) == {"observed"}


def test_the_text_of_a_class_may_be_in_what_is_raised(verifier: Verifier) -> None:
    forward = "        if x.dim() == 9:\n            raise TypeError(f'{type(self)} takes no {x.dim()}')\n" + FORWARD
    verdict = judge(verifier, DOUBLE, double(forward))
    assert verdict.correct, verdict.findings


def test_values_read_one_by_one_are_no_glue(verifier: Verifier) -> None:
    prepare = "        y = torch.tensor([2.0 * float(v) for v in x.view(-1)], device=x.device).view(x.shape)\n"
    assert rules(judge(verifier, DOUBLE, double(_copied(prepare), COPY))) == {"host-compute"}


def test_autograd_function_passes(verifier: Verifier) -> None:
    function = (
        KERNEL + "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n" + FORWARD + "\n\n"
    )
    verdict = judge(verifier, DOUBLE, double("        return Double.apply(x)\n", function))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_device_named_by_the_driver_passes(verifier: Verifier) -> None:
    head = HEAD + "DEVICE = triton.runtime.driver.active.get_active_torch_device()\n\n"
    assert judge(
        verifier, DOUBLE, double(FORWARD.replace("empty_like(x)", "empty_like(x, device=DEVICE)"), head=head)
    ).correct
