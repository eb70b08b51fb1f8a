"""verify-batch: rows in, verdicts out, and nothing judged twice."""

import json
from pathlib import Path

import pytest
from judging import DOUBLE, FORWARD, double

from tritonsmith import batch, jsonl
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.errors import UserError

RIGHT, WRONG = double(), double(FORWARD.replace("return out", "return x"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "double.py").write_text(DOUBLE.source)
    return tmp_path


def _write(folder: Path, rows: list[dict[str, object]]) -> None:
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _run(folder: Path) -> batch.Counts:
    out = folder / "out.jsonl"
    return batch.verify_file(
        folder / "in.jsonl", str(folder / "double.py"), out, VerifyConfig(device="cpu"), ExtensionsConfig()
    )


def test_rows_are_judged_and_a_second_call_judges_none(folder: Path) -> None:
    answer = f"Double it.\n\n```python\n{RIGHT}```\n"
    rows = [{"task": "double", "sample": 0, "completion": answer}, {"task": "double", "sample": 1, "source": WRONG}]
    _write(
        folder,
        [
            *rows,
            {"task": "double", "sample": 2, "completion": "I cannot."},
            {"task": "double", "sample": 3, "source": RIGHT},
        ],
    )
    first = _run(folder)
    verdicts = {row["sample"]: row for row in jsonl.read(folder / "out.jsonl")}
    assert (first.total, first.known, first.judged, first.correct) == (4, 0, 4, 2)
    assert [verdicts[n]["correct"] for n in range(4)] == [True, False, False, True]
    assert verdicts[0]["reward"] == pytest.approx(0.7, abs=0.31) and verdicts[2]["findings"][0]["rule"] == "no-code"  # type: ignore[index]
    before = (folder / "out.jsonl").read_bytes()
    second = _run(folder)
    assert (second.known, second.judged, second.correct) == (4, 0, 2)
    assert (folder / "out.jsonl").read_bytes() == before


def test_only_what_is_missing_is_judged(folder: Path) -> None:
    """As after kill -9: one verdict whole, one torn."""
    _write(folder, [{"task": "double", "sample": n, "source": WRONG} for n in range(2)])
    key = batch.Row(task="double", sample=0, source=WRONG).key()
    (folder / "out.jsonl").write_text(json.dumps({"key": key, "correct": False}) + '\n{"key": "' + "0" * 8)
    counts = _run(folder)
    assert (counts.known, counts.judged) == (1, 1)
    assert [row.get("sample") for row in jsonl.read(folder / "out.jsonl")] == [None, 1]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("not json", "1: "),
        ('{"sample": 1}', "1: "),
        ('{"task": "double"}', "completion"),
        ('{"task": "nosuch", "source": ""}', "nosuch"),
        ('{"task": "double", "sample": "x", "source": ""}', "1: "),
    ],
)
def test_a_row_that_is_none_is_one_line(folder: Path, line: str, reason: str) -> None:
    (folder / "in.jsonl").write_text(line + "\n")
    with pytest.raises(UserError) as caught:
        _run(folder)
    assert reason in str(caught.value) and "\n" not in str(caught.value)


def test_equal_rows_in_one_file_are_one(folder: Path) -> None:
    """A key stands for a row: written twice, it is judged once and reported once."""
    _write(folder, [{"task": "double", "sample": 0, "source": "x"}] * 2)
    counts = _run(folder)
    assert len(list(jsonl.read(folder / "out.jsonl"))) == 1
    assert counts.total == 2


def test_the_key_tells_rows_apart() -> None:
    rows = [
        batch.Row(task="a", source="x"),
        batch.Row(task="b", source="x"),
        batch.Row(task="a", sample=1, source="x"),
        batch.Row(task="a", completion="x"),
        batch.Row(task="a", source="y"),
    ]
    assert len({row.key() for row in rows}) == len(rows)


def test_verdicts_of_other_settings_or_tasks_are_not_taken_for_these(folder: Path) -> None:
    """`--policy lenient` gave the numbers of `strict`."""
    _write(folder, [{"task": "double", "sample": 0, "source": WRONG}])
    _run(folder)
    arguments = folder / "in.jsonl", str(folder / "double.py"), folder / "out.jsonl"
    with pytest.raises(UserError, match="holds verdicts under other settings"):
        batch.verify_file(*arguments, VerifyConfig(device="cpu", policy="lenient"), ExtensionsConfig())
    batch.verify_file(*arguments, VerifyConfig(device="cpu", workers=1), ExtensionsConfig())
    (folder / "double.py").write_text(DOUBLE.source + "\n")
    with pytest.raises(UserError, match="holds verdicts on another task double"):
        _run(folder)
