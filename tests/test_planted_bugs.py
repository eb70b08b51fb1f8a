"""Hand-written kernels pass, each bug planted in them is rejected at its stage and placed; staging changes nothing."""

import pytest
from judging import DOUBLE, FORWARD, KERNEL_IDS, SUITE, another, double, judge, kernel, rules
from kernel_bugs import Bug
from kernel_bugs_level1 import BUGS as LEVEL1
from kernel_bugs_level2 import BUGS as LEVEL2

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.verify.pool import Verifier

KINDS = ("missing mask", "wrong axis", "wrong epsilon", "race", "off by one", "wrong dtype")

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
        nowhere = {"decoy"}, {"constant"}  # kernels that store nothing, or read nothing, at tiny sizes: no one line
        assert any(finding.line is not None for finding in verdict.findings) or rules(verdict) in nowhere


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
    unstaged = another(verifier, VerifyConfig(device="cpu"), ExtensionsConfig(staged=False))
    with_staging = judge(verifier, SUITE[task], source)
    without = judge(unstaged, SUITE[task], source)
    for field in ("stage", "valid", "compiled", "correct"):
        assert getattr(with_staging, field) == getattr(without, field), field
    assert rules(with_staging) == rules(without)
    assert len(without.stages) == 5


def test_all_variants_are_tried_and_a_kernel_for_one_size_falls(verifier: Verifier) -> None:
    many = another(verifier, VerifyConfig(device="cpu"), ExtensionsConfig(multi_input=True))
    assert "17 variants" in judge(many, DOUBLE, double()).stages[3].detail
    fixed = double(FORWARD.replace("x.numel(), BLOCK", "64 * 48, BLOCK").replace("triton.cdiv(x.numel(), 256)", "12"))
    assert judge(verifier, DOUBLE, fixed).stages[-1].name == "tiny"
    small = double(FORWARD.replace("x.numel(), BLOCK", "min(x.numel(), 3072), BLOCK"))
    assert judge(verifier, DOUBLE, small).correct
    verdict = judge(many, DOUBLE, small)
    assert verdict.mismatch is not None and verdict.mismatch.variant == "larger dimensions"
