"""The command line's contract: exit codes, what stands on stdout, and how fast it answers."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from judging import DOUBLE, FORWARD, double

from tritonsmith import cli


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "task.py").write_text(DOUBLE.source)
    (tmp_path / "right.py").write_text(double())
    (tmp_path / "wrong.py").write_text(double(FORWARD.replace("return out", "return x")))
    return tmp_path


def _main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run the entry point in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", ["tritonsmith", *arguments])
    monkeypatch.setattr(cli, "_BEGAN", time.monotonic())
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


def test_json_prints_the_verdict_and_only_it(folder: Path) -> None:
    command = [sys.executable, "-m", "tritonsmith.cli", "verify", "task.py", "right.py", "--device", "cpu", "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stderr == ""
    verdict = json.loads(done.stdout)
    assert verdict["correct"] and verdict["reward"] >= 0.7 and verdict["task"] == "task"


def test_wrong_kernel_is_1_with_its_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = _main(monkeypatch, "verify", str(folder / "task.py"), str(folder / "wrong.py"), "--device", "cpu")
    out = capsys.readouterr().out
    assert code == 1 and "REJECTED" in out and "decoy" in out


def test_help_answers_at_once() -> None:
    """The best of three: the machine may have other work, and a heavy import takes seconds every time."""
    took: list[float] = []
    for _ in range(3):
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "tritonsmith.cli", "--help"], capture_output=True, text=True, timeout=60
        )
        took.append(time.monotonic() - start)
        assert done.returncode == 0 and "verify-batch" in done.stdout
    assert min(took) < 1.5


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, tritonsmith.cli; print({'torch', 'triton', 'transformers', 'pydantic'} & set(sys.modules) or '')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--device", "tpu"], "device"),
        (["--target", "h100"], "h100"),
        (["--policy", "loose"], "policy"),
        (["--set", "verify.timeout=-1"], "timeout"),
        (["--set", "nonsense"], "nonsense"),
        (["--set", "verify.colour=red"], "colour"),
    ],
)
def test_wrong_option_is_one_line_and_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: list[str], word: str
) -> None:
    code = _main(monkeypatch, "verify", str(folder / "task.py"), str(folder / "right.py"), *options)
    said = capsys.readouterr()
    assert code == 2 and said.out == "" and len(said.err.splitlines()) == 1 and word in said.err


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("def broken(:", "does not load"),
        ("x = 1", "missing"),
        (None, "does not exist"),
        (DOUBLE.source.replace("2.0 * x", "x.nothing"), "nothing"),
    ],
)
def test_broken_task_is_one_line_and_2(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], source: str | None, word: str
) -> None:
    """It is not the candidate that is to blame."""
    path = folder / "broken.py"
    if source is not None:
        path.write_text(source)
    code = _main(monkeypatch, "verify", str(path), str(folder / "right.py"), "--device", "cpu")
    said = capsys.readouterr()
    assert code == 2 and said.out == "" and len(said.err.splitlines()) == 1 and word in said.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["nosuch"],
        ["verify"],
        ["verify", "a"],
        ["verify", "--nosuch"],
        ["verify-batch", "x"],
        ["tasks", "list", "nowhere"],
        ["run", "none.toml"],
        ["report", "nowhere"],
    ],
)
def test_bad_usage_is_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert _main(monkeypatch, *arguments) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err


def test_tasks_list_names_every_task(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(monkeypatch, "tasks", "list", "suite:level2") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 30 and "level2/gemm_bias_relu\tlevel 2" in lines


def test_tasks_show_prints_source_and_sizes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _main(monkeypatch, "tasks", "show", "suite:level1/relu") == 0
    out = capsys.readouterr().out
    assert "class Model" in out and "tiny: 4x4" in out


def test_tasks_show_of_an_unknown_task_is_2(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _main(monkeypatch, "tasks", "show", "suite:level1/nosuch") == 2


def test_verify_batch_counts(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"task": "task", "sample": n, "source": (folder / name).read_text()}
        for n, name in enumerate(["right.py", "wrong.py"])
    ]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    arguments = ["--tasks", str(folder / "task.py"), "--out", str(folder / "out.jsonl"), "--device", "cpu"]
    assert _main(monkeypatch, "verify-batch", str(folder / "in.jsonl"), *arguments) == 0
    assert "2 judged, 0 known, 1 correct of 2" in capsys.readouterr().out
    assert len((folder / "out.jsonl").read_text().splitlines()) == 2


FLAGGED = DOUBLE.source.replace("2.0 * x", "torch.relu(x)").replace("randn", "rand")


def test_tasks_vet_of_good_tasks_is_0(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _main(monkeypatch, "tasks", "vet", str(folder / "task.py")) == 0
    assert "1 tasks vetted, 0 flagged" in capsys.readouterr().out


def test_tasks_vet_names_the_control_that_passes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "flagged.py").write_text(FLAGGED)
    assert _main(monkeypatch, "tasks", "vet", str(folder / "flagged.py")) == 1
    out = capsys.readouterr().out
    assert "copied" in out and "1 tasks vetted, 1 flagged" in out


def test_tasks_vet_of_a_kernelbench_folder_as_json(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    level = folder / "KernelBench" / "level1"
    level.mkdir(parents=True)
    (level / "1_double.py").write_text(DOUBLE.source)
    (level / "2_relu.py").write_text(FLAGGED)
    assert _main(monkeypatch, "tasks", "vet", f"kernelbench:{folder}", "--json") == 1
    rows = json.loads(capsys.readouterr().out)
    assert [(row["task"], [flag["control"] for flag in row["flags"]]) for row in rows] == [
        ("level1/1_double", []),
        ("level1/2_relu", ["input 0 copied"]),
    ]


def test_optimize_gives_a_verified_kernel_without_a_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = folder / "in" / "another" / "made.py"
    code = _main(monkeypatch, "optimize", str(folder / "task.py"), "-o", str(kernel), "--device", "cpu")
    assert code == 0 and "CORRECT" in capsys.readouterr().out
    assert _main(monkeypatch, "verify", str(folder / "task.py"), str(kernel), "--device", "cpu", "--no-timing") == 0


def test_a_place_where_no_file_can_be_is_said_before_anything_is_done(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`optimize` found its kernel and lost it."""
    candidates = folder / "in.jsonl"
    candidates.write_text("")
    batch = ["verify-batch", str(candidates), "--tasks", str(folder / "task.py")]
    for command in (["optimize", str(folder / "task.py"), "-o", str(folder)], [*batch, "--out", str(folder)]):
        assert _main(monkeypatch, *command, "--device", "cpu") == 2
        assert "is a folder, not a file" in capsys.readouterr().err
    assert _main(monkeypatch, *batch, "--out", str(folder / "out.jsonl"), "--workers", "0") == 2


def test_optimize_leaves_no_kernel_where_none_was_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = folder / "sorted.py"
    task.write_text(DOUBLE.source.replace("2.0 * x", "torch.sort(x).values"))
    code = _main(monkeypatch, "optimize", str(task), "-o", str(folder / "made.py"), "--device", "cpu")
    assert code == 1 and "no correct kernel" in capsys.readouterr().out and not (folder / "made.py").exists()


def test_a_launcher_is_told_the_mistake_in_its_one_line(tmp_path: Path) -> None:
    told = tmp_path / "error.json"
    command = [sys.executable, "-m", "tritonsmith", "run", "nowhere.toml"]
    environment = {**os.environ, "TORCHELASTIC_ERROR_FILE": str(told)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 2
    assert f"tritonsmith: {json.loads(told.read_text())['message']}\n" == done.stderr
