"""compute-sanitizer's reports, and the program that it watches; the reports are in the form its manual shows."""

import json
import sys
import time
from pathlib import Path

import pytest
from judging import DOUBLE, FORWARD, KERNEL, double, judge

from tritonsmith.config import ConfigError, VerifyConfig
from tritonsmith.tasks.format import TaskModule
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import sanitizer
from tritonsmith.verify.process.limits import runner_limits
from tritonsmith.verify.process.sanitizer import Report, Sanitizer, parse
from tritonsmith.verify.process.zygote import Zygote

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
BEYOND = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 16 bytes
=========     at relu_kernel+0xc0 in /tmp/x/candidate.py:14
=========     by thread (122,0,0) in block (0,0,0)
=========     Address 0x7d750ca00fa0 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7d750ca00000 of size 4,000 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========     Host Frame:cuLaunchKernelEx [0x39fc2f]
=========
========= Invalid __global__ read of size 16 bytes
=========     at relu_kernel+0xc0 in candidate.py:14
=========     by thread (123,0,0) in block (0,0,0)
=========     Access to 0x7d750ca00fb0 is out of bounds
=========     and is 17 bytes after the nearest allocation at 0x7d750ca00000 of size 4,000 bytes
=========
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on API call to cudaFree.
=========     Saved host backtrace up to driver entry point at error
=========
========= ERROR SUMMARY: 3 errors
"""
MISALIGNED = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at unaligned_kernel()+0x100 in memcheck_demo.cu:34
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7cc43aa00001 is misaligned
=========     and is inside the nearest allocation at 0x7cc43aa00000 of size 4 bytes
=========
========= ERROR SUMMARY: 1 error
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum_kernel+0x90 in /x/candidate.py:41
=========     and Read access at sum_kernel+0x100 in /x/candidate.py:51 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
WARNED = """========= COMPUTE-SANITIZER
========= Warning: Race reported between Write access at sum_kernel+0x90 in candidate.py:41
=========     and Write access at sum_kernel+0x90 in candidate.py:41 [8 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
"""
UNWRITTEN = """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at add_kernel+0x70 in candidate.py:9
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
=========
========= ERROR SUMMARY: 1 error
"""
BARRIER = """========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block.
=========     at outlineSync()+0x11f0 in test.cu:42
=========     by thread (32,0,0) in block (0,0,0)
=========         Device Frame: my_kernel+0xe40 in candidate.py:60
=========
========= ERROR SUMMARY: 1 error
"""
OLD = """========= CUDA-MEMCHECK
========= Invalid __global__ read of size 4
=========     at 0x000001a0 in relu_kernel
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f8a12345678 is out of bounds
=========
========= ERROR SUMMARY: 1 error
"""
NEVER_STARTED = """========= COMPUTE-SANITIZER
========= Error: Target application terminated before first instrumented API call
========= Tracking kernels launched by child processes requires the --target-processes all option.
========= Error: couldn't find exit code.
"""
INTERNAL = """========= COMPUTE-SANITIZER
========= Internal Sanitizer Error: The Sanitizer encountered an error while launching relu_kernel
=========
========= ERROR SUMMARY: 0 errors
"""


def test_threads_of_one_access_are_one_finding_with_the_kernels_line() -> None:
    (finding,) = parse(BEYOND).findings
    assert (finding.rule, finding.line) == ("out-of-bounds", 14)
    assert "kernel relu_kernel" in finding.message
    assert "1 bytes after the nearest allocation" in finding.message
    assert "(2 threads)" in finding.message


@pytest.mark.parametrize(
    ("report", "rule", "line", "kernel"),
    [
        (MISALIGNED, "misaligned", None, "unaligned_kernel"),
        (RACE, "race", 41, "sum_kernel"),
        (UNWRITTEN, "uninitialised", 9, "add_kernel"),
        (BARRIER, "barrier", 60, "outlineSync"),
        (OLD, "out-of-bounds", None, "relu_kernel"),
    ],
)
def test_each_tools_errors_have_a_rule(report: str, rule: str, line: int | None, kernel: str) -> None:
    (finding,) = parse(report).findings
    assert (finding.rule, finding.line) == (rule, line)
    assert f"kernel {kernel}:" in finding.message


@pytest.mark.parametrize("report", [CLEAN, WARNED])
def test_a_clean_report_is_complete(report: str) -> None:
    assert parse(report) == Report([], complete=True, trouble="")


@pytest.mark.parametrize("report", ["", NEVER_STARTED, INTERNAL, "Segmentation fault"])
def test_a_tool_that_failed_is_no_clean_report(report: str) -> None:
    found = parse(report)
    assert found.findings == []
    assert not found.complete


def test_errors_of_no_known_form_are_still_errors() -> None:
    report = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 7 errors\n"
    assert [finding.rule for finding in parse(report).findings] == ["sanitizer"]
    strange = "========= Something new happened\n=========     at k+0x10 in candidate.py:3\n"
    assert [(finding.rule, finding.line) for finding in parse(strange).findings] == [("sanitizer", 3)]


@pytest.mark.parametrize(
    ("text", "answer", "ended", "rule"),
    [
        (CLEAN, {"ok": True}, True, None),
        (CLEAN, None, True, "untold"),
        (CLEAN, {"ok": True}, False, "timeout"),
        (NEVER_STARTED, {"ok": True}, True, "untold"),
        (CLEAN, {"error": {"kind": "ValueError", "message": "no", "line": 3}}, True, "sanitizer"),
        (BEYOND, {"error": {"kind": "RuntimeError", "message": "launch failure", "line": None}}, True, "out-of-bounds"),
    ],
)
def test_only_a_run_that_tells_something_is_clean(
    text: str, answer: dict[str, object] | None, ended: bool, rule: str | None
) -> None:
    found = sanitizer.judge("memcheck", parse(text), answer, ended)
    assert [finding.rule for finding in found] == ([rule] if rule else [])


def _tool(folder: Path, report: str) -> Path:
    """A program that takes compute-sanitizer's arguments, runs what it is to watch, and reports as it is told."""
    program = folder / "compute-sanitizer"
    program.write_text(
        f"#!{sys.executable}\n"
        "import subprocess, sys\n"
        "at = sys.argv.index('--log-file')\n"
        f"start = sys.argv.index({sys.executable!r})\n"
        "subprocess.run(sys.argv[start:], check=False)\n"
        f"open(sys.argv[at + 1], 'w').write({report!r})\n"
    )
    program.chmod(0o755)
    return program


@pytest.fixture(scope="module")
def zygote(verifier: Verifier) -> Zygote:
    return verifier._zygotes["interpret"]


def _check(zygote: Zygote, folder: Path, report: str, source: str) -> list[str]:
    """Rules of what is found in a candidate for DOUBLE, run by the interpreter."""
    watch = Sanitizer(
        _tool(folder, report), ("memcheck",), zygote, lambda place: runner_limits(VerifyConfig(), 60.0, place), gpu=0
    )
    header: dict[str, object] = {"mode": "interpret", "source": source, "target": "sm_90", "seed": 0, "dtype": None}
    tree = {"init": [], "state": {}, "inputs": TaskModule.of(DOUBLE).inputs(0)}
    return [f"{finding.rule} {finding.line}" for finding in watch.check(header, tree)]


def test_the_watched_program_runs_the_candidate(zygote: Zygote, tmp_path: Path) -> None:
    assert _check(zygote, tmp_path, CLEAN, double()) == []


def test_a_candidate_that_ends_its_process_is_not_clean(zygote: Zygote, tmp_path: Path) -> None:
    source = double("        import os\n        os._exit(0)\n")
    assert _check(zygote, tmp_path, CLEAN, source) == ["untold None"]


def test_the_candidate_is_closed_in_there_and_its_error_has_a_line(
    zygote: Zygote, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("elsewhere") / "secret"
    outside.write_text("secret")
    source = double(f"        open({str(outside)!r}).read()\n" + FORWARD)
    line = next(number for number, text in enumerate(source.splitlines(), 1) if "secret" in text)
    assert _check(zygote, tmp_path, CLEAN, source) == [f"sanitizer {line}"]


def test_a_hanging_program_is_ended_with_all_it_started(zygote: Zygote, tmp_path: Path) -> None:
    program = tmp_path / "hang"
    program.write_text("#!/bin/sh\nsleep 600 & sleep 600\n")
    program.chmod(0o755)
    running = zygote.run([str(program)], tmp_path, 0)
    assert not zygote.ended(running)
    assert zygote.end(running) == -9
    time.sleep(0.1)
    alive = [path for path in Path("/proc").glob("[0-9]*/stat") if _group(path) == running.pid]
    assert alive == []


def _group(stat: Path) -> int:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] == "Z" else int(fields[2])


def test_the_command_says_what_is_wanted(tmp_path: Path) -> None:
    line = sanitizer.command(Path("/opt/cs"), "racecheck", tmp_path / "log", tmp_path / "frame")
    assert line[:3] == ["/opt/cs", "--tool", "racecheck"]
    assert line[line.index("--log-file") + 1] == str(tmp_path / "log")
    assert line[-1] == str(tmp_path / "frame")


def test_it_is_found_below_the_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "compute-sanitizer").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "compute-sanitizer").chmod(0o755)
    assert sanitizer.find() == tmp_path / "bin" / "compute-sanitizer"


READS_BEYOND = KERNEL.replace(
    "    tl.store(out_ptr + offsets, 2.0",
    "    more = tl.where(tl.load(x_ptr + n) > 3.0e38, 1.0, 0.0)\n    tl.store(out_ptr + offsets, more + 2.0",
)
"""Right whatever lies behind the tensor, short of the largest floats."""


@pytest.mark.gpu
def test_a_kernel_that_reads_beyond_its_tensor_is_found_on_a_gpu() -> None:
    if sanitizer.find() is None:
        pytest.skip("compute-sanitizer is not installed")
    settings = VerifyConfig(device="cuda", timing=False, sanitizer=["memcheck"])
    with Verifier(settings) as verifier:
        right, wrong = judge(verifier, DOUBLE, double()), judge(verifier, DOUBLE, double(kernel=READS_BEYOND))
    assert right.correct, right.findings
    assert not wrong.correct
    assert {finding.rule for finding in wrong.findings} & {"out-of-bounds", "cuda"}


@pytest.mark.gpu
def test_a_missing_tool_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "find", lambda: None)
    with pytest.raises(ConfigError, match="compute-sanitizer"):
        Verifier(VerifyConfig(device="cuda", sanitizer=["memcheck"])).close()


def test_the_answer_is_plain_data(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    assert sanitizer._answer(path) is None
    path.write_text("[1, 2]")
    assert sanitizer._answer(path) is None
    path.write_text(json.dumps({"ok": True}))
    assert sanitizer._answer(path) == {"ok": True}
