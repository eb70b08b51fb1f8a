"""Some programs of a forward at the task's own sizes, whose values are compared."""

import pytest
from judging import DOUBLE, FORWARD, KERNEL, double, judge

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Verdict
from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.dynamic.sampled import Sample
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier

LARGE = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("(64, 48)", "(2048, 4096)")})


def _verdict(verifier: Verifier, forward: str = FORWARD, kernel: str = KERNEL) -> Verdict:
    config, extensions = VerifyConfig(device="cpu", timing=False), ExtensionsConfig(multi_input=True)
    return judge(Judge(config, extensions, verifier.device, verifier._zygotes), LARGE, double(forward, kernel))


@pytest.mark.parametrize("where", ["tl.num_programs(0) > 1000", "tl.program_id(0) >= 1000"])
def test_what_is_wrong_where_there_are_many_programs_is_refused(verifier: Verifier, where: str) -> None:
    verdict = _verdict(verifier, kernel=KERNEL.replace("2.0 *", f"tl.where({where}, 3.0, 2.0) *"))
    assert verdict.mismatch is not None and verdict.mismatch.variant == "some programs at the task's own sizes"


def test_what_is_right_there_is_accepted(verifier: Verifier) -> None:
    assert _verdict(verifier).correct


def test_the_first_and_the_last_program_are_among_them() -> None:
    places = list(Sample(Launches(), 0, every=False)._chosen(4096))
    assert {0, 4095} <= set(places) and len(places) == 8
