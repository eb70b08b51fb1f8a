"""Repairs: a recorded wrong answer, what the verifier said of it, and the right answer that is most like it."""

from pathlib import Path

from judging import DOUBLE, double
from typer.testing import CliRunner

from tritonsmith.cli import app
from tritonsmith.config import Config
from tritonsmith.data.repairs import likeness, repairs
from tritonsmith.data.rows import Row
from tritonsmith.prompts import feedback_message, messages
from tritonsmith.train.sft import pairs
from tritonsmith.types import Finding, Record, StageResult, Task, Verdict
from tritonsmith.verify.pool import Verifier

TASKS = {name: DOUBLE.model_copy(update={"id": name}) for name in ("one", "two")}


def _record(task: str, completion: str, correct: bool, turn: int = 1) -> Record:
    verdict = Verdict(
        task=task,
        device="cpu",
        target="sm_90",
        policy="strict",
        stage="full" if correct else None,
        valid=correct,
        correct=correct,
        stages=[StageResult(name="ast", ok=correct, seconds=0.0, detail="")],
        findings=[] if correct else [Finding(rule="syntax", message="not Python", line=3)],
    )
    return Record(
        phase="eval", task=task, level=1, sample=0, turn=turn, completion=completion, source=None, verdict=verdict
    )


RIGHT, OTHER, WRONG = "plan\na\nb\nc\nd", "plan\nq\nr\ns\nt", "plan\na\nb\nc\noops"


def test_a_wrong_answer_is_followed_by_what_was_said_and_the_right_answer_most_like_it() -> None:
    failure = _record("one", WRONG, False)
    records = [_record("one", OTHER, True), failure, _record("one", RIGHT, True)]
    mended, first = repairs(records, TASKS, "bare")
    asked = messages(TASKS["one"], "bare")
    assert mended.prompt == [*asked, {"role": "assistant", "content": WRONG}, feedback_message(failure.verdict)]
    assert "not Python" in mended.prompt[-1]["content"]
    assert mended.completion[0]["content"] == RIGHT == first.completion[0]["content"]
    assert first.prompt == asked


def test_what_has_no_right_answer_or_is_no_task_of_ours_gives_no_row() -> None:
    assert repairs([_record("one", WRONG, False)], TASKS, "bare") == []
    assert repairs([_record("three", WRONG, False), _record("three", RIGHT, True)], TASKS, "bare") == []


def test_an_answer_to_another_writing_of_a_task_gives_no_row() -> None:
    """A generator's task has the same id in each; the answer's names, and what is said of it, are of the other one."""
    own, other = TASKS["one"].writing, TASKS["one"].model_copy(update={"source": "# another\n" + double()}).writing
    written = [
        one.model_copy(update={"writing": own}) for one in (_record("one", WRONG, False), _record("one", RIGHT, True))
    ]
    assert len(repairs(written, TASKS, "bare")) == 2
    for at in range(2):
        changed = [one.model_copy(update={"writing": other}) if i == at else one for i, one in enumerate(written)]
        assert repairs(changed, TASKS, "bare") == []


def test_a_right_answer_alone_gives_no_row() -> None:
    assert repairs([_record("one", RIGHT, True)], TASKS, "bare") == []


def test_an_answer_from_elsewhere_may_be_the_right_one() -> None:
    rows = repairs([_record("one", WRONG, False)], TASKS, "bare", answers={"one": RIGHT})
    assert [row.completion[0]["content"] for row in rows] == [RIGHT, RIGHT]


def test_equal_wrong_answers_and_more_than_asked_for_count_once() -> None:
    wrong = [_record("one", text, False) for text in (WRONG, WRONG, "plan\nx", "plan\ny")]
    rows = repairs([*wrong, _record("one", RIGHT, True)], TASKS, "bare", most=2)
    assert [row.prompt[1]["content"] for row in rows if len(row.prompt) > 1] == [WRONG, "plan\nx"]


def test_failures_of_later_turns_are_left_out() -> None:
    assert repairs([_record("one", WRONG, False, turn=2), _record("one", RIGHT, True)], TASKS, "bare") == []


def test_likeness_is_of_lines() -> None:
    assert likeness(WRONG, RIGHT) == 0.8
    assert likeness(RIGHT, RIGHT) == 1.0


def test_the_command_writes_rows_that_sft_takes(tmp_path: Path, verifier: Verifier) -> None:
    task = tmp_path / "one.py"
    task.write_text(DOUBLE.source)
    name = Task.model_validate({**DOUBLE.model_dump(), "id": "one"}).id
    records = tmp_path / "records.jsonl"
    lines = [_record(name, text, text == RIGHT).model_dump_json() for text in (WRONG, RIGHT)]
    records.write_text("\n".join(lines) + "\n")
    out = tmp_path / "repairs.jsonl"
    done = CliRunner().invoke(app, ["data", "repairs", str(records), "--tasks", str(task), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "1 repairs and 1 first answers of 1 tasks" in done.output
    config = Config.model_validate({"sft": {"data": str(out)}})
    assert [len(row.prompt) for row in pairs(config, verifier)] == [3, 1]


def test_planted_bugs_are_judged_and_lead_back_to_the_answer(tmp_path: Path) -> None:
    task = tmp_path / "one.py"
    task.write_text(DOUBLE.source)
    out = tmp_path / "repairs.jsonl"
    wanted = ["data", "repairs", "--tasks", str(task), "--out", str(out), "--plant", "4"]
    done = CliRunner().invoke(app, wanted)
    assert done.exit_code == 0, done.output
    rows = [Row.model_validate_json(line) for line in out.read_text().splitlines()]
    mended = [row for row in rows if len(row.prompt) > 1]
    right = [row.completion[0]["content"] for row in rows if len(row.prompt) == 1]
    assert mended and len(right) == 1
    for row in mended:
        assert row.completion[0]["content"] == right[0] != row.prompt[1]["content"]
        assert likeness(row.prompt[1]["content"], right[0]) > 0.8


def test_bugs_are_planted_into_recorded_answers_first(tmp_path: Path) -> None:
    task = tmp_path / "one.py"
    task.write_text(DOUBLE.source)
    records, out = tmp_path / "records.jsonl", tmp_path / "repairs.jsonl"
    own = f"The model's own words.\n\n```python\n{double()}```\n"
    records.write_text(_record("one", own, True).model_dump_json() + "\n")
    wanted = ["data", "repairs", str(records), "--tasks", str(task), "--out", str(out), "--plant", "3"]
    done = CliRunner().invoke(app, wanted)
    assert done.exit_code == 0, done.output
    rows = [Row.model_validate_json(line) for line in out.read_text().splitlines()]
    assert any(len(row.prompt) > 1 for row in rows)
    assert {row.completion[0]["content"] for row in rows} == {own}
    assert not out.with_suffix(".pairs.jsonl").exists()


def test_nothing_to_mend_is_a_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["data", "repairs", "--tasks", "suite", "--out", str(tmp_path / "rows.jsonl")])
    assert done.exit_code == 2 and "--plant" in done.output


def test_a_missing_file_of_records_is_a_line(tmp_path: Path) -> None:
    wanted = ["data", "repairs", str(tmp_path / "none"), "--tasks", "suite", "--out", str(tmp_path / "rows.jsonl")]
    done = CliRunner().invoke(app, wanted)
    assert done.exit_code == 2
    assert "none does not exist" in done.output


def test_a_folder_for_a_file_is_a_line(tmp_path: Path) -> None:
    """Both were a traceback, and the second left a hidden file behind."""
    (tmp_path / "records.jsonl").write_text("")
    for given, out in ((tmp_path, tmp_path / "rows.jsonl"), (tmp_path / "records.jsonl", tmp_path)):
        done = CliRunner().invoke(app, ["data", "repairs", str(given), "--tasks", "suite", "--out", str(out)])
        assert done.exit_code == 2 and "is a folder, not a file" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["records.jsonl"]


def test_a_file_that_holds_no_records_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"key": "value"}\n')
    wanted = ["data", "repairs", str(tmp_path / "rows.jsonl"), "--tasks", "suite", "--out", str(tmp_path / "out.jsonl")]
    done = CliRunner().invoke(app, wanted)
    assert done.exit_code == 2 and "holds no records of answers" in done.output
