"""The command line with a served model: `eval --endpoint`, `data distill`, `data import`."""

import json
import sys
from pathlib import Path

import pytest
from judging import DOUBLE, double
from serving import Reply, completion, serving

from tritonsmith import cli, jsonl
from tritonsmith.prompts import render_completion

RIGHT = render_completion("One pass.", double())
DEAD: Reply = (500, {})


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "double.py"
    path.write_text(DOUBLE.source)
    return path


def _main(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    """Run the entry point in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", ["tritonsmith", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.mark.slow
def test_a_served_model_is_evaluated_and_a_server_that_failed_may_move(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], task: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    given = ["--tasks", task, "--samples", 3, "--out", out, "--device", "cpu", "--set", "endpoint.retries=0"]
    with serving(lambda number, body: completion(RIGHT) if number < 2 else DEAD) as server:
        code = _main(monkeypatch, "eval", "--endpoint", server.url, *given, "--set", "endpoint.concurrency=1")
    assert code == 2 and "HTTP 500" in capsys.readouterr().err
    with serving(lambda number, body: completion(RIGHT)) as server:
        assert _main(monkeypatch, "eval", "--endpoint", server.url, *given) == 0
        assert len(server.asked) == 1
    (level, total) = json.loads((out / "eval" / "model.summary.json").read_text())
    assert level["correct"]["value"] == total["correct"]["value"] == 1.0
    assert (out / "report.html").exists()


def test_eval_wants_a_model_or_a_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(monkeypatch, "eval") == 2
    assert "--endpoint" in capsys.readouterr().err


@pytest.mark.slow
def test_distill_says_what_came_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], task: Path, tmp_path: Path
) -> None:
    out = tmp_path / "distilled"
    given = ["--tasks", task, "--out", out, "--samples", 2, "--device", "cpu", "--max-new-tokens", 99]
    with serving(lambda number, body: completion(RIGHT)) as server:
        assert _main(monkeypatch, "data", "distill", "--endpoint", server.url, *given) == 0
        assert len(server.asked) == 2 and server.asked[0]["max_tokens"] == 99
    assert "2 answers asked for, 0 known, 0 failed; 2 correct of 2, 1 pairs" in capsys.readouterr().out
    assert len(list(jsonl.read(out / "pairs.jsonl"))) == 1


def test_import_writes_task_files(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = tmp_path / "rows.jsonl"
    row = {"code": DOUBLE.source, "level": 1, "name": "19_Double", "problem_id": 19}
    rows.write_text(json.dumps(row) + "\n" + json.dumps({"name": "x"}) + "\n")
    assert _main(monkeypatch, "data", "import", f"kernelbench:{rows}", "--out", tmp_path / "tasks") == 0
    assert (tmp_path / "tasks" / "level1" / "19_Double.py").read_text() == DOUBLE.source
    shown = capsys.readouterr().out
    assert "1 skipped: no text in column code" in shown and "1 tasks in" in shown
    assert _main(monkeypatch, "data", "import", "kernelbench:/nowhere", "--out", tmp_path / "tasks") == 2
