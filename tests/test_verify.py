"""The whole funnel on the CPU: right kernels pass, each planted bug is rejected at its stage and placed."""

import json

import pytest
import torch
from judging import DOUBLE, FORWARD, HEAD, KERNEL, KERNEL_IDS, SUITE, double, judge, kernel, rules
from kernel_bugs import Bug
from kernel_bugs_level1 import BUGS as LEVEL1
from kernel_bugs_level2 import BUGS as LEVEL2

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate, Task
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier

KINDS = ("missing mask", "wrong axis", "wrong epsilon", "race", "off by one", "wrong dtype")


def _judge(verifier: Verifier, settings: VerifyConfig, extensions: ExtensionsConfig | None = None) -> Judge:
    """Another judge over the same warm zygotes."""
    return Judge(settings, extensions or ExtensionsConfig(), "cpu", verifier._zygotes)


def _task(forward: str, inputs: str, init: str = "", arguments: str = "[]", id: str = "small") -> Task:
    source = (
        f"import torch\nfrom torch import nn\n\nclass Model(nn.Module):\n{init}    def forward(self, x):\n"
        f"        {forward}\n\ndef get_inputs():\n    return [{inputs}]\n\n"
        f"def get_init_inputs():\n    return {arguments}\n"
    )
    return Task(id=id, level=1, source=source)


# The hand-written kernels and their planted bugs.


@pytest.mark.parametrize("task", KERNEL_IDS)
def test_accepts_hand_written_kernel(verifier: Verifier, task: str) -> None:
    verdict = judge(verifier, SUITE[task], kernel(task))
    assert verdict.correct, (verdict.findings, verdict.mismatch)
    assert verdict.valid and verdict.compiled and verdict.stage == "timing"
    assert all(stats.registers and stats.registers > 0 and stats.launches > 0 for stats in verdict.kernels)


def test_kernels_cover_twenty_tasks_and_the_named_ones() -> None:
    wanted = {"softmax", "layer_norm", "matmul", "cross_entropy", "gemm_bias_relu", "conv2d_bn_relu", "cumsum"}
    assert len(KERNEL_IDS) >= 20
    assert wanted | {"max_pool2d"} <= {id.split("/")[1] for id in KERNEL_IDS}


def test_every_kernel_has_a_planted_bug() -> None:
    assert {bug.task for bug in LEVEL1 + LEVEL2} == set(KERNEL_IDS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_bug_is_planted(kind: str) -> None:
    assert any(bug.kind == kind for bug in LEVEL1 + LEVEL2)


@pytest.mark.parametrize("bug", LEVEL1 + LEVEL2, ids=lambda bug: f"{bug.task}-{bug.kind}".replace(" ", "_"))
def test_rejects_planted_bug_and_names_the_place(verifier: Verifier, bug: Bug) -> None:
    verdict = judge(verifier, SUITE[bug.task], bug.plant(kernel(bug.task)))
    assert not verdict.correct
    assert verdict.stages[-1].name in bug.stages and not verdict.stages[-1].ok
    mismatch = verdict.mismatch
    if mismatch is not None:
        whole = mismatch.message.startswith(("expected shape", "expected dtype"))
        assert mismatch.output.startswith("output") and (whole or mismatch.index is not None)
    else:
        assert any(finding.line is not None for finding in verdict.findings) or rules(verdict) == {"decoy"}


# Staging is a matter of cost, not of judgement.


@pytest.mark.parametrize(
    ("task", "source"),
    [
        ("level1/relu", kernel("level1/relu")),
        ("level1/relu", LEVEL1[0].plant(kernel("level1/relu"))),
        ("level1/softmax", kernel("level1/softmax").replace("tl.arange(0, BLOCK)", "tl.arange(0, cols)")),
        ("level2/swiglu", kernel("level2/swiglu").replace("import torch\n", "import os\nimport torch\n", 1)),
        ("level1/gelu", kernel("level1/gelu").replace("0.7071067811865476", "0.7978845608028654")),
        ("level1/relu", kernel("level1/relu").replace("class ModelNew", "class Model")),
        ("level1/relu", "def broken(:"),
        ("level1/relu", ""),
        ("level1/relu", None),
    ],
)
def test_same_verdict_with_staging_off(verifier: Verifier, task: str, source: str | None) -> None:
    unstaged = _judge(verifier, VerifyConfig(device="cpu"), ExtensionsConfig(staged=False))
    with_staging = judge(verifier, SUITE[task], source)
    without = judge(unstaged, SUITE[task], source)
    for field in ("stage", "valid", "compiled", "correct"):
        assert getattr(with_staging, field) == getattr(without, field), field
    assert rules(with_staging) == rules(without)
    assert len(without.stages) == 5


def test_all_variants_are_tried_and_a_kernel_for_one_size_falls(verifier: Verifier) -> None:
    many = _judge(verifier, VerifyConfig(device="cpu"), ExtensionsConfig(multi_input=True))
    assert "10 variants" in judge(many, DOUBLE, double()).stages[3].detail
    fixed = double(FORWARD.replace("x.numel(), BLOCK", "64 * 48, BLOCK").replace("triton.cdiv(x.numel(), 256)", "12"))
    assert judge(verifier, DOUBLE, fixed).stages[-1].name == "tiny"
    small = double(FORWARD.replace("x.numel(), BLOCK", "min(x.numel(), 3072), BLOCK"))
    assert judge(verifier, DOUBLE, small).correct
    verdict = judge(many, DOUBLE, small)
    assert verdict.mismatch is not None and verdict.mismatch.variant == "larger dimensions"


# Policy.


def test_strict_rejects_and_lenient_accepts_torch_beside_a_kernel(verifier: Verifier) -> None:
    task = _task("return 2.0 * x + 1.0", "torch.randn(64, 48)")
    source = double(FORWARD.replace("return out", "return out + 1.0"))
    assert rules(judge(verifier, task, source)) == {"torch-compute"}
    lenient = _judge(verifier, VerifyConfig(device="cpu", policy="lenient"))
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


# Shapes, structures, dtypes.


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("out.view(-1)", "expected shape"),
        ("out.view(-1)[:1]", "expected shape"),
        ("out.t()", "expected shape"),
        ("(out,)", "expected a tensor, got tuple"),
        ("{'out': out}", "expected a tensor, got dict"),
        ("out.to(torch.float64)", "expected dtype float32, got float64"),
        ("out.to(torch.float16)", "expected dtype float32, got float16"),
    ],
)
def test_rejects_other_form_of_output(verifier: Verifier, answer: str, message: str) -> None:
    verdict = judge(verifier, DOUBLE, double(FORWARD.replace("return out", f"return {answer}")))
    assert verdict.mismatch is not None and verdict.mismatch.message.startswith(message)


def test_rejects_broadcast_shape(verifier: Verifier) -> None:
    task = _task("return 2.0 * x.mean(dim=1, keepdim=True)", "torch.ones(64, 48)")
    verdict = judge(verifier, task, double(FORWARD.replace("return out", "return out.view(-1)[:1]")))
    assert verdict.mismatch is not None and "expected shape" in verdict.mismatch.message


@pytest.mark.parametrize(
    ("forward", "answer", "right"),
    [
        ("return 2.0 * x, x.shape[0]", "out, x.shape[0]", True),
        ("return 2.0 * x, x.shape[0]", "out, 0", False),
        ("return 2.0 * x, 2.0 * x", "out, out", True),
        ("return {'a': 2.0 * x, 'b': [2.0 * x]}", "{'b': [out], 'a': out}", True),
        ("return {'a': 2.0 * x, 'b': [2.0 * x]}", "{'a': out}", False),
        ("return [2.0 * x, None]", "[out, None]", True),
    ],
)
def test_compares_nested_outputs(verifier: Verifier, forward: str, answer: str, right: bool) -> None:
    task = _task(forward, "torch.randn(64, 48)")
    verdict = judge(verifier, task, double(FORWARD.replace("return out", f"return {answer}")))
    assert verdict.correct == right, (verdict.findings, verdict.mismatch)
    assert right or verdict.mismatch is not None


@pytest.mark.parametrize("dtype", ["int64", "int32", "float16", "bfloat16", "float64"])
def test_accepts_other_dtypes(verifier: Verifier, dtype: str) -> None:
    integer = dtype.startswith("int")
    drawn = (
        f"torch.randint(-9, 9, (64, 48), dtype=torch.{dtype})" if integer else f"torch.randn(64, 48).to(torch.{dtype})"
    )
    kernel = KERNEL.replace("2.0 *", "2 *") if integer else KERNEL
    verdict = judge(verifier, _task("return 2 * x", drawn), double(kernel=kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_non_contiguous_input_arrives_as_it_is(verifier: Verifier) -> None:
    task = _task("return 2.0 * x", "torch.randn(48, 64).t()")
    blind = FORWARD.replace("empty_like(x)", "empty(x.shape)")
    assert judge(verifier, task, double(blind)).mismatch is not None
    assert judge(verifier, task, double("        x = x.contiguous()\n" + blind)).correct


def test_integer_overflow_wraps_as_on_a_gpu(verifier: Verifier) -> None:
    task = _task("return 2 * x", "torch.full((64, 48), 2000000000, dtype=torch.int32)")
    verdict = judge(verifier, task, double(kernel=KERNEL.replace("2.0 *", "2 *")))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


# Precision.

_MATMUL = kernel("level1/matmul")


@pytest.mark.parametrize("precision", ["tf32", None])
def test_rejects_tf32_under_a_float32_task(verifier: Verifier, precision: str | None) -> None:
    wanted = f'input_precision="{precision}"' if precision else "max_num_imprecise_acc=0"
    verdict = judge(verifier, SUITE["level1/matmul"], _MATMUL.replace('input_precision="ieee"', wanted))
    assert not verdict.correct and verdict.mismatch is not None and verdict.compiled


def test_rejects_float16_accumulation(verifier: Verifier) -> None:
    source = _MATMUL.replace(
        'acc = tl.dot(a, b, acc, input_precision="ieee")',
        'acc = (acc + tl.dot(a, b, input_precision="ieee")).to(tl.float16).to(tl.float32)',
    )
    assert source != _MATMUL
    verdict = judge(verifier, SUITE["level1/matmul"], source)
    assert not verdict.correct and verdict.mismatch is not None


def test_accepts_float32_in_another_order(verifier: Verifier) -> None:
    source = _MATMUL.replace("BLOCK_K=32", "BLOCK_K=16").replace(
        "range(0, K, BLOCK_K)", "range((K - 1) // BLOCK_K * BLOCK_K, -1, -BLOCK_K)"
    )
    assert judge(verifier, SUITE["level1/matmul"], source).correct


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


# Isolation.


def _crash() -> str:
    return double("        import ctypes\n        ctypes.string_at(0)\n" + FORWARD)


def test_a_crashing_neighbour_harms_nobody(verifier: Verifier) -> None:
    unstaged = _judge(verifier, VerifyConfig(device="cpu"), ExtensionsConfig(staged=False))
    crashed = judge(unstaged, DOUBLE, _crash())
    assert "SIGSEGV" in crashed.stages[1].detail
    assert judge(verifier, DOUBLE, double()).correct


def test_candidates_side_by_side_do_not_meet(verifier: Verifier) -> None:
    sources = [
        double(),
        double(FORWARD.replace("return out", "return x")),
        "import os",
        double(kernel=KERNEL.replace("2.0", "3.0")),
    ]
    verdicts = verifier.verify_many(
        [(DOUBLE, Candidate(task="double", sample=n, source=s)) for n, s in enumerate(sources)]
    )
    assert [verdict.correct for verdict in verdicts] == [True, False, False, False]
    assert [verdict.sample for verdict in verdicts] == [0, 1, 2, 3]


def test_equal_sources_are_judged_once_and_reported_each(verifier: Verifier) -> None:
    heard: list[int] = []
    jobs = [(DOUBLE, Candidate(task="double", sample=n, source=double())) for n in range(3)]
    verdicts = verifier.verify_many(jobs, lambda index, _: heard.append(index))
    assert sorted(heard) == [0, 1, 2]
    assert [verdict.sample for verdict in verdicts] == [0, 1, 2]
    assert len({verdict.seconds for verdict in verdicts}) == 1


def test_a_kernel_does_not_see_the_truth_or_the_seed(verifier: Verifier) -> None:
    """Two verifications draw other inputs: an answer learned from the first is wrong in the second."""
    values = set()
    for _ in range(2):
        verdict = judge(verifier, DOUBLE, double("        raise ValueError(str(float(x.flatten()[0])))\n" + FORWARD))
        values.add(verdict.findings[0].message)
    assert len(values) == 2


# What a verdict says.


def test_fused_kernel_is_predicted_faster_than_the_unfused_reference(verifier: Verifier) -> None:
    verdict = judge(verifier, SUITE["level2/swiglu"], kernel("level2/swiglu"))
    assert verdict.speedup is not None and verdict.speedup.median > 1.2
    assert verdict.timing is not None and verdict.timing.kind == "predicted"


def test_verdict_holds_the_keys_of_the_contract(verifier: Verifier) -> None:
    row = json.loads(judge(verifier, DOUBLE, double()).model_dump_json())
    assert {
        "task",
        "sample",
        "device",
        "target",
        "policy",
        "stage",
        "valid",
        "compiled",
        "correct",
        "reward",
        "speedup",
        "findings",
        "mismatch",
        "kernels",
        "stages",
        "seconds",
    } <= set(row)
    assert {"name", "registers", "spills", "shared", "launches"} <= set(row["kernels"][0])
    assert {"name", "ok", "seconds", "detail"} <= set(row["stages"][0])
    assert {"median", "low", "high"} <= set(row["speedup"])


def test_no_timing_means_no_speedup(verifier: Verifier) -> None:
    verdict = judge(_judge(verifier, VerifyConfig(device="cpu", timing=False)), DOUBLE, double())
    assert verdict.correct and verdict.speedup is None and verdict.stage == "full"


@pytest.mark.parametrize("target", ["sm_80", "sm_100", "gfx942"])
def test_other_targets_compile(verifier: Verifier, target: str) -> None:
    verdict = judge(_judge(verifier, VerifyConfig(device="cpu", target=target)), DOUBLE, double())
    assert verdict.correct and verdict.target == target and verdict.kernels[0].registers


def test_task_whose_reference_fails_is_said_to_be_so(verifier: Verifier) -> None:
    task = _task("raise RuntimeError('broken')", "torch.randn(64, 48)")
    for staged in (True, False):
        one = _judge(verifier, VerifyConfig(device="cpu"), ExtensionsConfig(staged=staged))
        assert rules(judge(one, task, double())) == {"task"}


def test_inputs_are_left_alone_by_the_reference(verifier: Verifier) -> None:
    task = _task("return x.mul_(2.0)", "torch.randn(64, 48)")
    assert judge(verifier, task, double()).correct


def test_generators_of_the_caller_are_left_alone(verifier: Verifier) -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    judge(verifier, DOUBLE, double())
    assert torch.equal(torch.rand(3), wanted)


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


def test_torch_in_a_kernel_that_only_the_interpreter_runs_is_seen(verifier: Verifier) -> None:
    evil = COPY + "KEPT = []\n\n\n@triton.jit\ndef evil(y_ptr):\n    KEPT[1].copy_(KEPT[0].mul(2.0))\n\n\n"
    prepare = (
        "        if 'Interp' in str(type(double_kernel)):\n            KEPT.extend([x, y])\n            evil[(1,)](y)\n"
    )
    assert rules(judge(verifier, DOUBLE, double(_copied(prepare), evil))) == {"torch-compute"}


def test_kernel_that_the_compiler_was_not_shown_is_rejected(verifier: Verifier) -> None:
    other = KERNEL + KERNEL.replace("double_kernel", "other_kernel")
    forward = FORWARD.replace(
        "double_kernel[", "(other_kernel if 'Interpreted' in str(type(double_kernel)) else double_kernel)["
    )
    assert rules(judge(verifier, DOUBLE, double(forward, other))) == {"uncompiled"}


def test_values_read_one_by_one_are_no_glue(verifier: Verifier) -> None:
    prepare = "        y = torch.tensor([2.0 * float(v) for v in x.view(-1)]).view(x.shape)\n"
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
