"""The RL benchmark: stopped by Ctrl-C it goes on, and what was drawn on one machine is judged on another."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from tritonsmith.errors import UserError
from tritonsmith.jsonl import append
from tritonsmith.types import Interval, Record, Verdict

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "rl.py"
TASKS = [
    "--train=graphs:3:seed=0:depth=1:families=pointwise",
    "--deep=graphs:2:seed=1:depth=1:families=pointwise:split=heldout",
    "--level1=graphs:2:seed=2:depth=1:families=pointwise:split=heldout",
]


def verdict(task: str, correct: bool) -> Verdict:
    return Verdict(task=task, device="cpu", target="sm_90", policy="strict", correct=correct)


def begun(out: Path) -> None:
    (out / "settings.json").write_text(json.dumps({"method": "grpo"}))
    (out / "resolved.toml").write_text("")


def command(folder: Path, model: Path, minutes: float) -> list[str]:
    small = ["--samples=2", "--tasks-a-step=2", "--micro=2", "--tokens=8", "--workers=1", "--method=grpo"]
    paths = [f"--out={folder / 'run'}", f"--tasks={folder / 'tasks'}"]
    return ["run", str(model), f"--minutes={minutes}", *paths, *small, *TASKS]


def lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def until(there: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while not there.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)


def test_ctrl_c_leaves_a_run_that_goes_on_and_is_judged_elsewhere(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = tmp_path / "run" / "grpo" / "steps.jsonl"
    first = subprocess.Popen(
        [sys.executable, str(SCRIPT), *command(tmp_path, tiny_folder, 10.0)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    until(steps, first)
    os.killpg(first.pid, signal.SIGINT)
    assert b"stopped; the same command goes on" in first.communicate(timeout=60)[1]
    assert first.returncode == 130
    before = lines(steps)
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import rl
    from rl_training import file_name

    with pytest.raises(UserError, match="holds results with deep = "):  # which would be mixed
        rl.app([*command(tmp_path, tiny_folder, 1.0), "--deep=graphs:5:seed=9:depth=1"], standalone_mode=False)
    # The budget is spent already: training ends after the next step.
    rl.app([*command(tmp_path, tiny_folder, 1e-6), "--judge-later"], standalone_mode=False)
    assert lines(steps)[: len(before)] == before != lines(steps)
    trained_on = tmp_path / "tasks" / f"{file_name(TASKS[0].removeprefix('--train='))}.jsonl"
    trained_on.unlink()
    rl.judge([tmp_path / "run"], workers=1, tasks=tmp_path / "tasks")
    assert not trained_on.exists()  # forty thousand tasks may be hours
    assert "grpo, staged, seed 0" in capsys.readouterr().out
    assert set(json.loads((tmp_path / "run" / "depths.json").read_text()).values()) == {1}
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["curve"]["end"]["deep"]["value"] == 0.0 and result["change"]["level1"]["value"] == 0.0
    assert result["steps"][0]["candidates"] == 4


def test_a_variant_that_is_not_there_is_no_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first folder was one, whichever that was."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import offline

    (tmp_path / "kept-2e-4-2" / "eval" / "end").mkdir(parents=True)
    with pytest.raises(UserError, match=r"--beside kept:3e-4:2: .* holds kept-2e-4-2"):
        offline.judge(tmp_path, tmp_path, beside="kept:3e-4:2")


def test_tasks_of_a_long_spec_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve kinds of training tasks in one SPEC: its letters are more than a file's name may have."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    from rl_training import tasks_of

    specs = dict(one[2:].split("=", 1) for one in TASKS)
    specs["train"] = ",".join(f"graphs:1:seed={seed}:depth=3:families=pointwise" for seed in range(12))
    found = tasks_of(tmp_path, specs)
    assert tasks_of(tmp_path, specs) == found and len(list(tmp_path.iterdir())) == 3 and len(found["train"]) > 3


def test_tasks_are_the_same_however_many_processes_draw_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    from rl_training import drawn

    spec = "graphs:6:seed=1:depth=1-2:families=pointwise, graphs:6:seed=1:depth=1-2:families=pointwise,graphs:3:seed=2"
    found = drawn(spec, 1)
    assert len(found) == 9 and drawn(spec, 3) == found


def test_groups_that_tell_nothing_are_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import rl_results

    begun(tmp_path)
    for step, right in enumerate((0, 1, 2, 2)):
        for sample in range(2):
            said = verdict(f"t{step}", sample < right).model_copy(update={"reward": 0.1 * sample})
            row = Record(phase="grpo", step=step, task=f"t{step}", level=1, sample=sample, completion="", source="",
                         verdict=said)  # fmt: skip
            append(tmp_path / "grpo" / "records.jsonl", row.model_dump_json())
    (line,) = rl_results.groups([rl_results.Result.of(tmp_path)])
    assert "first third: 50 (50), 50, 0 % of 2" in line
    assert "last: 0 (0), 0, 100 % of 2" in line


def test_groups_of_one_speed_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import rl_results

    begun(tmp_path)
    for step, pair in enumerate(((2.0, 2.0), (2.0, 8.0), (3.0, 3.0), (None, 4.0))):
        for sample, speed in enumerate(pair):
            interval = Interval(median=speed, low=speed, high=speed) if speed else None
            said = verdict(f"t{step}", speed is not None).model_copy(update={"speedup": interval})
            row = Record(phase="grpo", step=step, task=f"t{step}", level=1, sample=sample, completion="",
                         source=f"{sample * (step > 0)}", verdict=said)  # fmt: skip
            append(tmp_path / "grpo" / "records.jsonl", row.model_dump_json())
    (line,) = rl_results.speeds([rl_results.Result.of(tmp_path)])
    assert "2.00 times eager in the first eighth, 4.00 in the last" in line
    assert "of 3 groups that are all right 2 have one speed, 1 one program" in line


def test_a_run_without_records_says_nothing_of_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import rl_results

    begun(tmp_path)
    assert rl_results.groups([rl_results.Result.of(tmp_path)]) == []
    assert rl_results.speeds([rl_results.Result.of(tmp_path)]) == []


def judged(
    rl: ModuleType, out: Path, reward: str, seed: int, lr: float, right: int, minutes: float = 1.0, **other: bool
) -> None:
    """A run in `out` whose end has so many of four tasks right, and its start none."""
    model = out.parent / "model"
    config = rl.settings_of(model, out, rl.Method.grpo, reward, seed, 1, 2, 2, 8, lr, True, 4, 20.0, False, **other)
    config.save(out / "resolved.toml")
    (out / "settings.json").write_text(json.dumps({"method": "grpo", "minutes": minutes}))
    (out / "depths.json").write_text(json.dumps({"t0": 7, "t1": 7, "t2": 8, "t3": 10}))
    for point, correct in (("start", 0), ("half", 1), ("end", right)):
        for task in range(4):
            found = verdict(f"t{task}", task < correct)
            record = Record(phase="", task=found.task, level=3, sample=0, completion="", source=None, verdict=found)
            for name in rl.SETS:
                append(out / "eval" / point / f"{name}.jsonl", record.model_dump_json())


def test_seeds_of_a_setting_are_taken_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import rl

    for seed, right in enumerate((1, 3)):
        judged(rl, tmp_path / str(seed), "staged", seed, 1e-5, right)
    rl.table([tmp_path / "0", tmp_path / "1"])
    said = capsys.readouterr().out
    assert "start -> end: 7: 0 % -> 75 % of 4, 8: 0 % -> 50 % of 2, 10: 0 % -> 0 % of 2" in said
    shown = [line for line in said.splitlines() if "2 seeds" in line]
    assert len(shown) == 2 and all("+50.0" in line and "25.0" in line for line in shown)


def test_runs_of_other_numbers_are_another_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import rl

    judged(rl, tmp_path / "0", "binary", 0, 1e-5, 1)
    judged(rl, tmp_path / "1", "binary", 1, 2e-5, 3)
    judged(rl, tmp_path / "2", "staged", 0, 1e-5, 1)
    rl.table([tmp_path / name for name in "012"])
    said = capsys.readouterr().out
    assert "2 seeds" not in said
    assert "grpo, binary, lr 1e-05, seed 0" in said and "grpo, binary, lr 2e-05, seed 1" in said
    said = " ".join(said.split())
    assert "lr 1e-05, the end of these runs above that of grpo, binary, lr 2e-05, points: deep -50.0" in said
    assert "lr 2e-05, the end of these runs above that of grpo, staged, points: deep +50.0" in said


def test_runs_that_differ_beyond_their_method_are_no_seeds_of_one_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run by the curriculum, and a longer one, were averaged with those without."""
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import rl

    judged(rl, tmp_path / "0", "binary", 0, 1e-5, 1)
    judged(rl, tmp_path / "1", "binary", 1, 1e-5, 3, curriculum=True)
    judged(rl, tmp_path / "2", "binary", 2, 1e-5, 3, minutes=2.0)
    rl.table([tmp_path / name for name in "012"])
    said = " ".join(capsys.readouterr().out.split())
    assert "seeds" not in said
    assert "extensions.curriculum True, minutes 1.0, seed 1" in said
    assert "extensions.curriculum False, minutes 2.0, seed 2" in said
