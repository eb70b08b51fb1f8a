"""The simulation of who has the GPU when accounts for all of the time."""

import random
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import taking_turns  # noqa: E402  # pyright: ignore[reportMissingImports]


def _run(monkeypatch: pytest.MonkeyPatch, way: object) -> object:
    monkeypatch.setattr(taking_turns, "CANDIDATES", 300)
    return taking_turns.Simulation(way, random.Random(1)).run()


def test_at_each_time_the_gpu_is_had_alone_emptied_shared_or_free(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _run(monkeypatch, taking_turns.Way())
    assert sum(found.spent.values()) == pytest.approx(found.seconds)
    assert found.spent["alone"] == pytest.approx(0.35 * 300 * taking_turns.ALONE, rel=0.25)


def test_who_waits_for_others_empties_the_gpu_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    one, three = (_run(monkeypatch, taking_turns.Way(batch=batch, patience=0.2)) for batch in (1, 3))
    assert three.spent["emptied"] < 0.8 * one.spent["emptied"]
