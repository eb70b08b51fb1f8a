"""Data sets written out as task files."""

import json
from pathlib import Path

import pytest
from judging import DOUBLE

from tritonsmith.data.importing import write
from tritonsmith.errors import UserError
from tritonsmith.tasks.format import load_spec

ROWS = [{"code": DOUBLE.source, "level": 2, "name": "3_Double it", "problem_id": 3}, {"code": "", "name": "4_x"}]


def _jsonl(folder: Path, rows: list[dict[str, object]] = ROWS) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"kernelbench:{path}"


def test_what_is_written_is_a_spec(tmp_path: Path) -> None:
    counts = write(_jsonl(tmp_path), tmp_path / "out")
    (task,) = load_spec(str(tmp_path / "out"))
    assert (task.id, task.level, task.source) == ("level2/3_Double_it", 2, DOUBLE.source)
    assert counts.tasks == 1 and counts.skipped == {"no text in column code": 1}


def test_a_checkout_is_written_too(tmp_path: Path) -> None:
    """Its results were read as rows of a data set."""
    level = tmp_path / "bench" / "KernelBench" / "level1"
    level.mkdir(parents=True)
    (level / "1_Double.py").write_text(DOUBLE.source)
    (tmp_path / "bench" / "results.json").write_text("{}")
    assert write(f"kernelbench:{tmp_path / 'bench'}", tmp_path / "out").tasks == 1
    assert [task.source for task in load_spec(str(tmp_path / "out"))] == [DOUBLE.source]


def test_what_is_left_out_says_why(tmp_path: Path) -> None:
    write(_jsonl(tmp_path), tmp_path / "out")
    assert json.loads((tmp_path / "out" / "skipped.jsonl").read_text()) == {
        "name": "4_x", "reason": "no text in column code",
    }  # fmt: skip


def test_a_second_call_gives_the_same(tmp_path: Path) -> None:
    for _ in range(2):
        write(_jsonl(tmp_path), tmp_path / "out")
    assert len(load_spec(str(tmp_path / "out"))) == 1


@pytest.mark.parametrize("spec", ["suite", "nowhere:x", "kernelbook:/nowhere", "tritonbench:/nowhere"])
def test_other_specs_are_one_line(tmp_path: Path, spec: str) -> None:
    with pytest.raises(UserError) as caught:
        write(spec, tmp_path / "out")
    assert "\n" not in str(caught.value)


def test_a_data_set_without_tasks_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no tasks there"):
        write(_jsonl(tmp_path, ROWS[1:]), tmp_path / "out")


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UserError, match="cannot write to"):
        write(_jsonl(tmp_path), tmp_path / "out")
