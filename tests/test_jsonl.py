"""JSONL rows survive a writer that is killed at any point."""

from pathlib import Path

import pytest

from tritonsmith import jsonl


def test_missing_file_is_empty(tmp_path: Path) -> None:
    assert list(jsonl.read(tmp_path / "none.jsonl")) == []


def test_rows_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rows.jsonl"
    for number in range(3):
        jsonl.append(path, f'{{"n": {number}}}')
    assert [row["n"] for row in jsonl.read(path)] == [0, 1, 2]


def test_rows_may_be_added_together(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"n": 0}\n{"n"')
    jsonl.append(path, '{"n": 1}', '{"n": 2}')
    assert [row["n"] for row in jsonl.read(path)] == [0, 1, 2]
    with pytest.raises(ValueError, match="one line"):
        jsonl.append(path, '{"n": 3}', "\n")


@pytest.mark.parametrize("cut", range(1, 9))
def test_torn_last_line_is_dropped_and_writing_goes_on(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "rows.jsonl"
    jsonl.append(path, '{"n": 0}')
    path.write_bytes(path.read_bytes() + b'{"n": 1}'[:cut])
    jsonl.append(path, '{"n": 2}')
    torn = [1] if cut == 8 else []
    assert [row["n"] for row in jsonl.read(path)] == [0, *torn, 2]


def test_a_torn_utf8_sequence_harms_no_other_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    jsonl.append(path, '{"n": "ä"}')
    path.write_bytes(path.read_bytes() + '{"n": "ä'.encode()[:-1])
    jsonl.append(path, '{"n": 2}')
    assert [row["n"] for row in jsonl.read(path)] == ["ä", 2]


def test_refuses_two_lines_as_one_row(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one line"):
        jsonl.append(tmp_path / "rows.jsonl", "{}\n{}")


def test_a_row_that_is_no_object_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('1\n[]\n"x"\n{"n": 3}\n')
    assert list(jsonl.read(path)) == [{"n": 3}]


def test_a_small_file_is_there_whole_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "state.json"
    jsonl.write(path, "first")
    jsonl.write(path, "second")
    assert path.read_text() == "second" and list(path.parent.iterdir()) == [path]
