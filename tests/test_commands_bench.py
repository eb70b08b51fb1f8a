"""What benchmarks' commands share: mistakes end in one line, a folder holds one setting's results."""

import sys
from pathlib import Path

import pytest
import typer

from tritonsmith.errors import UserError

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))
from commands import STOPPED, same_settings, start


def ended(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> object:
    """The exit code of a command that raises."""
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def main() -> None:
        raise error

    monkeypatch.setattr(sys, "argv", ["benchmark"])
    with pytest.raises(SystemExit) as end:
        start(app)
    return end.value.code


def test_a_mistake_ends_in_its_first_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(monkeypatch, UserError("no such model\nand more")) == 2
    assert capsys.readouterr().err == "error: no such model\n"


def test_ctrl_c_is_said(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "commands")
    assert ended(monkeypatch, KeyboardInterrupt()) == STOPPED
    assert "the same command goes on" in caplog.text


def test_results_of_other_settings_are_refused_and_a_mistake_before_any_is_not_kept(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    same_settings(tmp_path, {"model": "wrnog", "seed": 0}, results)
    same_settings(tmp_path, {"model": "right", "seed": 0}, results)
    results.touch()
    same_settings(tmp_path, {"model": "right", "seed": 0}, results)
    with pytest.raises(UserError, match="holds results with seed = 0, not 1"):
        same_settings(tmp_path, {"model": "right", "seed": 1}, results)
