"""Rows for the mid-end's SFT: asked as the agent is asked, kept as they come, judged once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from small_tasks import small_task

from tritonsmith.config import VerifyConfig
from tritonsmith.data.faster import Gain, Improvement, faster
from tritonsmith.data.faster_rows import _gained, write_rows
from tritonsmith.data.lower import templates
from tritonsmith.data.pair import Pair
from tritonsmith.extract import extract
from tritonsmith.prompts import midend_messages
from tritonsmith.types import Candidate, Interval, Task, Timing, Verdict
from tritonsmith.verify.pool import Verifier

TASKS = [
    small_task("", "torch.softmax(x, dim=-1)", "6, 40"),
    small_task("", "torch.relu(x)", "6, 40"),  # nothing faster is known
    small_task("", "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)", "6, 40"),
]


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(VerifyConfig(device="cpu", ir_lines=2)) as own:
        yield own


def test_rows_are_asked_as_the_agent_is_and_made_once(tmp_path: Path, verifier: Verifier) -> None:
    path = tmp_path / "rows.jsonl"
    rows = write_rows(TASKS, verifier, path, "bare")
    assert [row.task for row in rows] == [TASKS[0].id, TASKS[2].id]
    before = templates(TASKS[0])
    assert isinstance(before, Pair)
    verdict = verifier.verify(TASKS[0], Candidate(task=TASKS[0].id, source=before.source))
    assert rows[0].prompt == midend_messages(TASKS[0], before.source, verdict)
    assert "occupancy" in rows[0].prompt[0]["content"] and "ld.global" in rows[0].prompt[0]["content"]
    found = faster(TASKS[0], before)
    assert isinstance(found, Improvement)
    answer = extract(rows[0].completion[0]["content"])
    assert "def launch_" in found.before.source and "def launch_" in found.after.source
    assert answer.source == found.after.source and answer.plan == found.reason
    known = path.read_bytes()
    assert write_rows([TASKS[0], TASKS[2]], Refusing(), path, "bare") == rows  # type: ignore[arg-type]
    assert path.read_bytes() == known


class Refusing:
    """Judges nothing."""

    def stream(self, jobs: Iterator[tuple[Task, Candidate]]) -> Iterator[tuple[int, Verdict]]:
        assert not list(jobs)
        yield from ()


def timed(kind: str, median: float, correct: bool = True) -> Verdict:
    speed = Interval(median=median, low=median - 0.05, high=median + 0.05)
    fields = {"kind": kind, "reference_ms": 1.0, "candidate_ms": 1.0, "speedup": speed}
    return Verdict(
        task="t", device="cpu", target="sm_90", policy="strict", correct=correct, speedup=speed,
        timing=Timing.model_validate(fields),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "before", "after", "kept"),
    [
        ("measured", 1.0, 1.2, True),
        ("measured", 1.0, 1.03, False),
        ("predicted", 1.0, 1.0, True),
        ("predicted", 1.0, 0.9, False),
    ],
)
def test_a_measured_gain_is_clear_and_a_predicted_one_no_loss(
    kind: str, before: float, after: float, kept: bool
) -> None:
    assert _gained(Gain(timed(kind, before), timed(kind, after))) is kept


def test_what_is_wrong_is_no_gain() -> None:
    assert not _gained(Gain(timed("measured", 1.0), timed("measured", 2.0, correct=False)))
