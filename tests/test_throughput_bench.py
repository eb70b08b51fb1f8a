"""The mix that `benchmarks/throughput.py` judges is what it says."""

import itertools
import sys
from collections import Counter
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import throughput  # noqa: E402  # pyright: ignore[reportMissingImports]

from tritonsmith.verify.policy import check_source  # noqa: E402
from tritonsmith.verify.static.unwrapped import unwrapped  # noqa: E402


def test_what_is_to_fail_the_static_rules_fails_them_and_nothing_else_does() -> None:
    drawn = throughput.mix(100)
    refused = Counter(kind for kind, (_, candidate) in drawn if check_source(unwrapped(candidate.source), "strict"))
    assert refused == {"static": round(throughput.SHARES["static"] * 100)}


def test_by_task_the_same_candidates_come_task_by_task() -> None:
    mixed, grouped = (throughput.mix(100, by_task) for by_task in (False, True))
    assert {candidate.source for _, (_, candidate) in mixed} == {candidate.source for _, (_, candidate) in grouped}
    order = [task.id for _, (task, _) in grouped]
    assert len([one for one, _ in itertools.groupby(order)]) == len(set(order)) < len(order)
