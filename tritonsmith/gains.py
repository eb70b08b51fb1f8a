"""What is gained over kernels that were given: pure. The mid-end's tasks as plain data, and what its answers are worth.

Which kernels are given, and who is asked to make them faster, is decided in `train.midend`.
"""

from collections import defaultdict
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from tritonsmith import credit, metrics, reward
from tritonsmith.types import Record, Task, Verdict


class Given(BaseModel):
    """A task of the mid-end."""

    model_config = ConfigDict(extra="forbid")

    task: Task
    """The frontend's task, whose id ends in `@` and the kernel's number."""
    kernel: str
    """The source of a correct candidate."""
    verdict: Verdict


def improves(record: Record, given: Given) -> bool:
    """Whether an answer is clearly faster than the kernel it was given; no copy of that is, whatever a clock says."""
    if not reward.beats(record.verdict, given.verdict) or record.source is None:
        return False
    return credit.normalise(record.source) != credit.normalise(given.kernel)


def faster(givens: Sequence[Given], records: Sequence[Record]) -> list[Record | None]:
    """To each kernel the fastest of the answers that are clearly faster than it; None where none is."""
    answers: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        answers[record.task].append(record)
    found = []
    for one in givens:
        better = [record for record in answers[one.task.id] if improves(record, one)]
        found.append(max(better, key=lambda record: reward.speedup(record.verdict), default=None))
    return found


def speedups(givens: Sequence[Given], records: Sequence[Record]) -> list[tuple[float, float]]:
    """By kernel: its speedup over eager as it was given, and of what is best afterwards, never less."""
    pairs = []
    for one, better in zip(givens, faster(givens, records), strict=True):
        start = reward.speedup(one.verdict)
        pairs.append((start, start if better is None else max(start, reward.speedup(better.verdict))))
    return pairs


def gains(givens: Sequence[Given], records: Sequence[Record]) -> dict[str, metrics.Estimate]:
    """Geometric mean speedups over eager, resampled over kernels: of what was `given`, of the best answer where that is
    clearly faster (`best`), and how much faster that is (`gain`). NaN without kernels."""
    pairs = speedups(givens, records)
    found = {
        "given": [before for before, _ in pairs],
        "best": [after for _, after in pairs],
        "gain": [after / before for before, after in pairs],
    }
    return {name: metrics.geometric(values) for name, values in found.items()}
