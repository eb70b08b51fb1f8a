"""The benchmarks of the agents' gains and of feedback turns: what their tables make of records."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from records import right

from tritonsmith.types import Record

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.append(str(BENCHMARKS))  # what they share is beside them


def load(name: str) -> ModuleType:
    path = BENCHMARKS / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # pydantic looks a model's names up there
    spec.loader.exec_module(module)
    return module


midend, turns = load("midend"), load("turns")


def row(task: str, *speedups: float | None, correct: bool = True, kind: str = "measured") -> object:
    names = dict(zip(midend.STEPS, speedups, strict=False))
    seconds = dict.fromkeys(names, 1.0)
    return midend.Row(task=task, speedups=names, returned=True, correct=correct, kind=kind, seconds=seconds)


def test_each_steps_gain_is_paired_by_task() -> None:
    found = midend.gains([row("a", 1.0, 2.0, 2.0), row("b", 4.0, 4.0, 8.0), row("c", None, None, None)])
    assert [round(found[step][0].value, 3) for step in midend.STEPS] == [2.0, 2.828, 4.0]
    assert [found[step][1].value for step in midend.STEPS[1:]] == pytest.approx([2**0.5, 2**0.5])
    assert [found[step][2] for step in midend.STEPS] == [0, 1, 1]


def test_a_step_that_was_not_taken_changes_nothing() -> None:
    found = midend.gains([row("a", 2.0)])
    assert found["backend"][0].value == pytest.approx(2.0) and found["backend"][1].value == 1.0


@pytest.mark.parametrize(
    ("rows", "lacks"),
    [
        ([row("a", 1.0, 1.5, 2.0)], None),
        ([row("a", 1.0, 1.0, 2.0)], "the midend gains nothing"),
        ([row("a", 1.0, 1.0, 1.0, kind="predicted")], None),
        ([row("a", 1.0, 1.5, 2.0, correct=False)], "1 of the kernels that were returned are wrong, such as that for a"),
        ([], "0 tasks have a kernel, 1 are wanted"),
    ],
)
def test_the_claim_needs_a_gain_in_each_step_and_nothing_wrong(rows: list[object], lacks: str | None) -> None:
    found = midend.missed(rows, 1)
    assert found is None if lacks is None else found is not None and found.startswith(lacks)


def test_the_table_has_a_line_for_each_step() -> None:
    text = midend.report([row("a", 1.0, 1.5, 2.0)], "suite", None)
    assert "| midend | 1.50x (1.50-1.50) | 1.50x (1.50-1.50) | 1 of 1 | 1.0 |" in text
    assert "1 of 1 tasks have a kernel; 1 of these are correct." in text


def conversation() -> list[list[Record]]:
    """Task a: four conversations, one right at once, one at the second turn; task b: all right at the third."""

    def one(task: str, sample: int, turn: int, good: bool) -> Record:
        record = right(task, sample, "", turn)
        return record.model_copy(update={"verdict": record.verdict.model_copy(update={"correct": good})})

    first = [one(task, sample, 1, task == "a" and sample == 0) for task in "ab" for sample in range(4)]
    second = [one("a", sample, 2, sample == 1) for sample in (1, 2, 3)] + [one("b", s, 2, False) for s in range(4)]
    third = [one("a", sample, 3, False) for sample in (2, 3)] + [one("b", sample, 3, True) for sample in range(4)]
    return [first, second, third]


def test_what_is_solved_by_a_turn_stays_solved() -> None:
    found = conversation()
    assert [turns.by_turn(found, turn) for turn in (1, 2, 4)] == [
        {"a": 0.25, "b": 0.0},
        {"a": 0.5, "b": 0.0},
        {"a": 0.5, "b": 1.0},
    ]


def test_turns_are_compared_with_as_many_independent_draws() -> None:
    assert turns.independent(conversation()[0], 2) == {"a": pytest.approx(0.5), "b": 0.0}
    text = turns.table(conversation())
    assert "| 2 | 25 % " in text and "| 4 | 75 % (50-100) | 50 % (0-100) | +25.0 (-50.0 to +100.0) |" in text
