"""Some programs of a forward at the task's own sizes, whose values are compared."""

import pytest
from judging import DOUBLE, FORWARD, KERNEL, double, judge, small

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Task, Verdict
from tritonsmith.verify import own_sizes
from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.dynamic.sampled import Sample
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier

LARGE = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("(64, 48)", "(2048, 4096)")})
HALF = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("(64, 48)", "(1024, 4096)")})
"""All of its programs can be seen in a few seconds of a slow processor."""


def _verdict(verifier: Verifier, forward: str = FORWARD, kernel: str = KERNEL, task: Task = LARGE) -> Verdict:
    config, extensions = VerifyConfig(device="cpu", timing=False), ExtensionsConfig(multi_input=True)
    return judge(Judge(config, extensions, verifier.device, verifier._zygotes), task, double(forward, kernel))


@pytest.mark.parametrize("where", ["tl.num_programs(0) > 1000", "tl.program_id(0) >= 1000"])
def test_what_is_wrong_where_there_are_many_programs_is_refused(verifier: Verifier, where: str) -> None:
    verdict = _verdict(verifier, kernel=KERNEL.replace("2.0 *", f"tl.where({where}, 3.0, 2.0) *"))
    assert verdict.mismatch is not None and verdict.mismatch.variant == "some programs at the task's own sizes"


SCRATCH = FORWARD.replace("out = ", "scratch = torch.zeros(4, device=x.device)\n        out = ").replace(
    "(x,", "(x, scratch,"
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    tl.atomic_add(out_ptr + offsets, 1.0, mask=mask & (offsets < 0))\n", ""),
        ("", "    tl.atomic_add(scratch_ptr, 0.0)\n"),
        ("    count = tl.atomic_add(scratch_ptr, 1.0)\n    mask = mask & (count > -1.0)\n", ""),
        ("", "    tl.atomic_add(scratch_ptr, 1.0)\n"),
        ("    mask = mask & (tl.load(scratch_ptr, volatile=True) > -1.0)\n", ""),
    ],
    ids=["of no lane", "that adds nothing", "before the store", "after the store", "volatile load"],
)
def test_an_idle_atomic_hides_nothing(verifier: Verifier, before: str, after: str) -> None:
    wrong = KERNEL.replace("2.0 *", "tl.where(n > 4_000_000, 3.0, 2.0) *").replace(
        "out_ptr, n,", "scratch_ptr, out_ptr, n,"
    )
    kernel = wrong.replace("    tl.store(", f"{before}    tl.store(").rstrip("\n") + f"\n{after}\n\n"
    verdict = _verdict(verifier, SCRATCH, kernel, HALF)
    assert verdict.mismatch is not None and verdict.mismatch.variant == "some programs at the task's own sizes"


def test_what_is_right_there_is_accepted(verifier: Verifier) -> None:
    assert _verdict(verifier).correct


@pytest.mark.parametrize(("kind", "light"), [("", True), (".half()", False), (".bfloat16()", False)])
def test_products_of_halves_are_no_light_work_for_a_processor(kind: str, light: bool) -> None:
    task = small("return x @ x.T", f"torch.randn(2048, 2048){kind}")
    assert own_sizes._light(task.source) is light
    assert own_sizes._light(task.source.replace("2048, 2048", "256, 2048"))


def test_the_first_and_the_last_program_are_among_them() -> None:
    places = list(Sample(Launches(), 0, every=0.0)._chosen(4096))
    assert places[:2] == [4095, 0] and len(places) == len(set(places)) > 256
