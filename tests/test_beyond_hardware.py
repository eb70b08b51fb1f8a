"""A kernel that only larger sizes than the task's make too large for a GPU is honest; who says so is Triton alone."""

from types import SimpleNamespace

import pytest
import torch
from judging import DOUBLE, double, judge
from triton.compiler import compiler
from triton.runtime.errors import OutOfResources

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding
from tritonsmith.verify import conversation
from tritonsmith.verify.conversation import RunnerFailed
from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import raised

LACKING = Finding(rule="resources", message="OutOfResources: out of resource: shared memory")


@pytest.mark.parametrize(
    ("label", "rule", "cuda", "excused"),
    [
        ("larger dimensions", "resources", True, True),
        ("larger dimensions", "resources", False, False),
        ("larger dimensions", "exception", True, False),
        ("larger dimensions", "cuda", True, False),
        ("as given", "resources", True, False),
        ("odd sizes", "resources", True, False),
        ("float16", "resources", True, False),
    ],
)
def test_only_larger_sizes_may_lack_resources_and_only_on_a_gpu(
    label: str, rule: str, cuda: bool, excused: bool
) -> None:
    assert conduct.beyond_hardware(label, Finding(rule=rule, message=""), cuda) is excused


def test_it_must_be_right_at_odd_sizes() -> None:
    assert conduct.told_at_other_sizes(["as given", "values x2", "odd sizes"])
    assert not conduct.told_at_other_sizes(["as given", "values x2", "another seed"])
    assert not conduct.told_at_other_sizes(["odd sizes"])


def _described(error: BaseException) -> Finding:
    return conversation.describe(raised.describe(error))


def test_triton_s_own_refusal_is_told_from_a_candidate_s(monkeypatch: pytest.MonkeyPatch) -> None:
    active = SimpleNamespace(get_current_device=lambda: 0, launcher_cls=lambda *_: None)
    monkeypatch.setattr(compiler, "driver", SimpleNamespace(active=active))
    monkeypatch.setattr(compiler, "max_shared_mem", lambda _: 232448)
    kernel = SimpleNamespace(module=None, src=None, metadata=SimpleNamespace(shared=393232))
    with pytest.raises(OutOfResources) as real:
        compiler.CompiledKernel._init_handles(kernel)  # type: ignore[arg-type]
    assert _described(real.value).rule == "resources"
    with pytest.raises(OutOfResources) as forged:
        raise OutOfResources(393232, 232448, "shared memory")
    assert _described(forged.value).rule == "exception"


@pytest.mark.parametrize("odd", [True, False])
def test_the_verdict_says_what_was_beyond_the_hardware(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch, odd: bool
) -> None:
    run, beyond = Forwards.run, conduct.beyond_hardware

    def lacking(self: Forwards, variant: Variant, *rest: object, **named: object) -> object:
        if variant.label == "larger dimensions":
            raise RunnerFailed(LACKING)
        return run(self, variant, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Forwards, "run", lacking)
    monkeypatch.setattr(conduct, "beyond_hardware", lambda label, finding, _: beyond(label, finding, True))
    task = DOUBLE if odd else DOUBLE.model_copy(update={"source": DOUBLE.source.replace("64, 48", "5, 7")})
    settings = VerifyConfig(device="cpu", timing=False)
    judged = Judge(settings, ExtensionsConfig(multi_input=True), "cpu", verifier._zygotes)
    verdict = judge(judged, task, double())
    assert verdict.correct is odd
    if odd:
        assert "larger dimensions are beyond the hardware" in verdict.stages[-1].detail
    else:
        assert [finding.rule for finding in verdict.findings] == ["resources"]


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 6 GiB"), "memory"),
        (torch.AcceleratorError("CUDA error: out of memory"), "memory"),
        (RuntimeError("Triton Error [CUDA]: out of memory"), "memory"),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "cuda"),
        (RuntimeError("there is no memory of this shape"), "exception"),
    ],
)
def test_memory_that_is_wanting_is_told_from_other_faults(error: Exception, rule: str) -> None:
    assert _described(error).rule == rule
