"""Pairs for `sft.data`: verified, in order, on file, and not made twice."""

from pathlib import Path

import pytest
from judging import DOUBLE

from tritonsmith.data import pairs
from tritonsmith.prompts import messages
from tritonsmith.tasks import graphs
from tritonsmith.verify.pool import Verifier

TASKS = graphs.generate(3, seed=1, depth=(1, 2), families=["pointwise"])


class Idle:
    """A verifier that may not be needed."""

    def stream(self, jobs: object) -> None:
        raise AssertionError("everything is on file")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, verifier: Verifier) -> Path:
    """A file of the pairs of TASKS."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    rows = pairs.write_pairs(TASKS, verifier, path)
    assert [row.task for row in rows] == [task.id for task in TASKS]
    return path


def test_a_row_holds_the_task_and_its_answer(path: Path) -> None:
    row = next(row for row in pairs.read_pairs(path) if row.task == TASKS[0].id)
    assert (row.prompt, row.graph) == (messages(TASKS[0], "bare"), TASKS[0].graph)
    assert "class ModelNew" in row.completion[0]["content"]


def test_what_is_on_file_is_not_made_again(path: Path) -> None:
    before = path.read_bytes()
    backwards = TASKS[::-1]
    assert [row.task for row in pairs.write_pairs(backwards, Idle(), path)] == [task.id for task in backwards]
    assert path.read_bytes() == before


def test_only_right_answers_leave_rows(tmp_path: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "SOURCE", "data_sources:hostile")
    tasks = [DOUBLE.model_copy(update={"id": id}) for id in ("raises", "wrong", "fine", "misses")]
    rows = pairs.write_pairs(tasks, verifier, tmp_path / "pairs.jsonl")
    assert [row.task for row in rows] == ["fine"] == [row.task for row in pairs.read_pairs(tmp_path / "pairs.jsonl")]
