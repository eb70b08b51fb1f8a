"""Records of candidates that nobody has drawn or judged, for tests of what is made of records."""

from tritonsmith.types import Interval, Record, Timing, Verdict


def right(task: str, sample: int, source: str, turn: int = 1, speed: float = 1.0) -> Record:
    """A correct record, measured."""
    interval = Interval(median=speed, low=speed - 0.01, high=speed + 0.01)
    timing = Timing(kind="measured", reference_ms=1.0, candidate_ms=1.0, speedup=interval)
    verdict = Verdict(
        task=task, device="cuda", target="sm_90", policy="strict", correct=True, valid=True, speedup=interval,
        timing=timing,
    )  # fmt: skip
    return Record(
        phase="rl", task=task, level=1, sample=sample, turn=turn, completion=source, source=source, verdict=verdict
    )
