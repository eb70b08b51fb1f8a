"""What a verdict says, and that it depends on the candidate alone: form and values of outputs, precision, isolation."""

import json

import pytest
import torch
from judging import DOUBLE, FORWARD, KERNEL, SUITE, another, double, judge, kernel, rules, small

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate
from tritonsmith.verify.pool import Verifier

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
    task = small("return 2.0 * x.mean(dim=1, keepdim=True)", "torch.ones(64, 48)")
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
    task = small(forward, "torch.randn(64, 48)")
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
    verdict = judge(verifier, small("return 2 * x", drawn), double(kernel=kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_non_contiguous_input_arrives_as_it_is(verifier: Verifier) -> None:
    task = small("return 2.0 * x", "torch.randn(48, 64).t()")
    blind = FORWARD.replace("empty_like(x)", "empty(x.shape, device=x.device)")
    assert judge(verifier, task, double(blind)).mismatch is not None
    assert judge(verifier, task, double("        x = x.contiguous()\n" + blind)).correct


def test_integer_overflow_wraps_as_on_a_gpu(verifier: Verifier) -> None:
    task = small("return 2 * x", "torch.full((64, 48), 2000000000, dtype=torch.int32)")
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


# Isolation.


def _crash() -> str:
    return double("        import ctypes\n        ctypes.string_at(0)\n" + FORWARD)


def test_a_crashing_neighbour_harms_nobody(verifier: Verifier) -> None:
    unstaged = another(verifier, VerifyConfig(device="cpu"), ExtensionsConfig(staged=False))
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
    verdict = judge(another(verifier, VerifyConfig(device="cpu", timing=False)), DOUBLE, double())
    assert verdict.correct and verdict.speedup is None and verdict.stage == "full"


@pytest.mark.parametrize("target", ["sm_80", "sm_100", "gfx942"])
def test_other_targets_compile(verifier: Verifier, target: str) -> None:
    verdict = judge(another(verifier, VerifyConfig(device="cpu", target=target)), DOUBLE, double())
    assert verdict.correct and verdict.target == target and verdict.kernels[0].registers


def test_task_whose_reference_fails_is_said_to_be_so(verifier: Verifier) -> None:
    task = small("raise RuntimeError('broken')", "torch.randn(64, 48)")
    for staged in (True, False):
        one = another(verifier, VerifyConfig(device="cpu"), ExtensionsConfig(staged=staged))
        assert rules(judge(one, task, double())) == {"task"}


def test_inputs_are_left_alone_by_the_reference(verifier: Verifier) -> None:
    task = small("return x.mul_(2.0)", "torch.randn(64, 48)")
    assert judge(verifier, task, double()).correct


def test_generators_of_the_caller_are_left_alone(verifier: Verifier) -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    judge(verifier, DOUBLE, double())
    assert torch.equal(torch.rand(3), wanted)
