"""Candidates that mean harm or are no candidates: a verdict or one line, the contract's exit code, and nothing left.

The command line is tested as a user meets it, in a process of its own. `extensions.staged=false` leads a candidate
past the static rules, so that what the sandbox does is seen.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from judging import DOUBLE, FORWARD, HEAD, KERNEL, double, judge, rules

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process.queued import PATIENCE

LIMIT = 12
"""Seconds a candidate gets on the command line."""
SLACK = 20
"""Seconds that starting up, and noticing the end, may take beside it on a machine that has other work; a limit that did
not hold would cost 60 s, the default, or for ever."""


@dataclass
class Ended:
    """What a process said and how long it took."""

    code: int
    out: str
    err: str
    seconds: float


def _processes_in(folder: Path) -> list[str]:
    """Command lines of the processes that work in a folder; zygotes and runners work where they were started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.readlink(entry / "cwd") == str(folder):
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def _verify(folder: Path, candidate: str | Path, *options: str) -> Ended:
    task = folder / "task.py"
    task.write_text(DOUBLE.source)
    command = [sys.executable, "-m", "tritonsmith.cli", "verify", str(task), str(candidate), "--device", "cpu"]
    start = time.monotonic()
    done = subprocess.run(
        [*command, "--set", f"verify.timeout={LIMIT}", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    seconds = time.monotonic() - start
    until = time.monotonic() + 3
    while (left := _processes_in(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []
    assert "Traceback" not in done.stderr
    return Ended(done.returncode, done.stdout, done.stderr, seconds)


def _verdict(folder: Path, source: str | bytes, *options: str) -> dict[str, object]:
    """The verdict on a candidate that must be rejected, from the command line."""
    path = folder / "kernel.py"
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    ended = _verify(folder, path, "--json", *options)
    assert ended.code == 1, ended
    assert ended.seconds < PATIENCE * LIMIT + SLACK
    assert ended.err == ""
    return json.loads(ended.out)


def _rule(verdict: dict[str, object]) -> str:
    findings = verdict["findings"]
    assert isinstance(findings, list) and findings
    return str(findings[0]["rule"])


# A path that cannot be read is bad usage.


@pytest.mark.parametrize("name", ["none.py", "folder"])
def test_path_that_is_no_file_is_one_line_and_2(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    ended = _verify(tmp_path, tmp_path / name)
    assert ended.code == 2 and ended.out == ""
    assert len(ended.err.splitlines()) == 1 and name in ended.err


def test_file_that_may_not_be_read_is_one_line_and_2(tmp_path: Path) -> None:
    """Root reads everything, so the path ends in a link to itself."""
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    ended = _verify(tmp_path, tmp_path / "loop.py")
    assert ended.code == 2 and len(ended.err.splitlines()) == 1


# A file that holds no candidate is a rejected candidate.


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "no-code"),
        (bytes(range(256)) * 64, "syntax"),
        (b"def broken(:\n", "syntax"),
        (b"x = 1\n", "no-modelnew"),
    ],
    ids=["empty", "junk", "syntax error", "no ModelNew"],
)
def test_file_without_a_candidate_is_rejected(tmp_path: Path, content: bytes, rule: str) -> None:
    assert _rule(_verdict(tmp_path, content)) == rule


def test_wrong_signature_is_rejected(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path, double().replace("def forward(self, x)", "def forward(self, x, y)"))
    assert _rule(verdict) == "exception" and "'y'" in json.dumps(verdict)


# Candidates that do not end, or end too soon, through the command line.


def test_endless_loop_in_forward_ends_at_the_limit(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path, double("        while True:\n            pass\n" + FORWARD))
    assert _rule(verdict) == "timeout"


UNSTAGED = ("--set", "extensions.staged=false", "--no-timing")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("import os\n        os._exit(0)", "ended its process"),
        ("import ctypes\n        ctypes.string_at(0)", "SIGSEGV"),
        ("import os\n        while True:\n            os.fork()", "Operation not permitted"),
        ("print('x' * (1 << 20), flush=True)\n        raise KeyError('end')", "end"),
    ],
    ids=["exit", "segmentation fault", "fork bomb", "megabyte"],
)
def test_harm_in_forward_is_a_verdict(tmp_path: Path, body: str, word: str) -> None:
    verdict = _verdict(tmp_path, double(f"        {body}\n{FORWARD}"), *UNSTAGED)
    stages = verdict["stages"]
    assert isinstance(stages, list) and word in stages[1]["detail"]


def test_a_candidate_that_prints_a_megabyte_may_be_right(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(double("        print('x' * (1 << 20))\n" + FORWARD))
    ended = _verify(tmp_path, path, "--json")
    assert ended.code == 0 and json.loads(ended.out)["correct"] and "xxx" not in ended.out + ended.err


# The rest through a judge with short limits over the warm zygotes.


@pytest.fixture(scope="module")
def quick(verifier: Verifier) -> Judge:
    """Past the static rules, 3 s a candidate, 1 GB."""
    settings = VerifyConfig(device="cpu", timeout=3, memory_mb=1024, timing=False)
    assert judge(verifier, DOUBLE, double()).correct  # from here on everything is warm
    return Judge(settings, ExtensionsConfig(staged=False), "cpu", verifier._zygotes)


@pytest.mark.parametrize(
    "source",
    [
        double(head="while True:\n    pass\n" + HEAD),
        double().replace(
            "    def forward", "    def __init__(self):\n        while True:\n            pass\n\n    def forward"
        ),
        double(kernel=KERNEL.replace("    mask =", "    while n < (1 << 30):\n        n = n * 1\n    mask =")),
        double("        import time\n        time.sleep(100)\n" + FORWARD),
        double(
            "        import signal\n        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        signal.pause()\n"
        ),
        double("        import threading\n        threading.Event().wait()\n"),
    ],
    ids=["import", "constructor", "kernel", "sleep", "deaf", "event"],
)
def test_what_never_ends_is_ended(quick: Judge, source: str) -> None:
    start = time.monotonic()
    verdict = judge(quick, DOUBLE, source)
    assert time.monotonic() - start < 3 + SLACK
    assert not verdict.correct and any("no answer within 3 s in total" in stage.detail for stage in verdict.stages)


@pytest.mark.parametrize(
    "line",
    [
        "import os; os._exit(0)",
        "import os; os._exit(7)",
        "torch.os._exit(0)",
        "import os; os.abort()",
        "import os; os.kill(os.getpid(), 9)",
    ],
)
def test_a_process_that_ends_itself_is_rejected(quick: Judge, line: str) -> None:
    verdict = judge(quick, DOUBLE, double(f"        {line}\n{FORWARD}"))
    assert not verdict.correct and not verdict.compiled


@pytest.mark.parametrize(
    "line", ["raise SystemExit(0)", "import sys; sys.exit(0)", "raise KeyboardInterrupt", "raise GeneratorExit"]
)
def test_exits_by_exception_are_exceptions(quick: Judge, line: str) -> None:
    assert not judge(quick, DOUBLE, double(f"        {line}\n{FORWARD}")).correct


@pytest.mark.parametrize(
    "line",
    [
        "torch.empty(25_000_000_000)",
        "x.repeat(100_000_000)",
        "bytearray(100 << 30)",
        "[bytearray(1 << 28) for _ in range(400)]",
        "x.new_zeros(1 << 33)",
    ],
)
def test_a_hundred_gigabytes_are_refused(quick: Judge, line: str) -> None:
    verdict = judge(quick, DOUBLE, double(f"        y = {line}\n{FORWARD}"))
    assert not verdict.correct and not verdict.compiled
    assert rules(verdict) & {"memory", "builtin", "torch-compute", "exception"}


def test_memory_is_the_reason_given(verifier: Verifier) -> None:
    assert rules(judge(verifier, DOUBLE, double(f"        y = torch.empty(25_000_000_000)\n{FORWARD}"))) == {"memory"}


@pytest.mark.parametrize("offset", ["1 << 40", "-(1 << 40)", "n", "-1"])
@pytest.mark.parametrize("action", ["load", "store"])
def test_wild_pointer_in_a_kernel_is_found_and_not_followed(verifier: Verifier, action: str, offset: str) -> None:
    wild = f"tl.load(x_ptr + ({offset}))" if action == "load" else f"tl.store(out_ptr + ({offset}), 1.0)"
    verdict = judge(verifier, DOUBLE, double(kernel=KERNEL.replace("    mask =", f"    {wild}\n    mask =")))
    assert rules(verdict) == {"out-of-bounds"}
    assert verdict.findings[0].line is not None


def test_pointer_made_of_a_number_is_found(verifier: Verifier) -> None:
    made = "    tl.store(tl.cast(tl.full((), 4096, tl.int64), tl.pointer_type(tl.float32)), 1.0)\n    mask ="
    verdict = judge(verifier, DOUBLE, double(kernel=KERNEL.replace("    mask =", made)))
    assert not verdict.correct and "crash" not in rules(verdict)


@pytest.mark.parametrize(("policy", "rule"), [("strict", "host-compute"), ("lenient", "timeout")])
def test_values_read_without_end_are_told_before_the_time_is_up(verifier: Verifier, policy: str, rule: str) -> None:
    settings = VerifyConfig.model_validate({"device": "cpu", "timing": False, "timeout": 6, "policy": policy})
    source = double("        while x is not None:\n            first = x[0, 0].item()\n" + FORWARD)
    assert rules(judge(Judge(settings, ExtensionsConfig(), "cpu", verifier._zygotes), DOUBLE, source)) == {rule}


def test_threads_that_outlive_forward_harm_nobody(quick: Judge, verifier: Verifier) -> None:
    start = "threading.Thread(target=threading.Event().wait).start()"
    spawn = f"        import threading\n        for _ in range(50):\n            {start}\n"
    judge(quick, DOUBLE, double(spawn + FORWARD))
    assert judge(verifier, DOUBLE, double()).correct


@pytest.mark.parametrize(
    "write",
    [
        "os.write(3, b'x' * 100)",
        "os.write(3, bytes(16))",
        "os.write(3, (2).to_bytes(8, 'big') + bytes(8) + b'{}')",
        "os.write(3, (12).to_bytes(8, 'big') + bytes(8) + b'{\"kernels\":1}')",
        "os.write(3, (1 << 62).to_bytes(8, 'big') * 2)",
        "os.close(3)",
    ],
)
def test_forged_answers_make_a_rejected_verdict(quick: Judge, write: str) -> None:
    source = double(f"        import os\n        {write}\n{FORWARD}")
    assert not judge(quick, DOUBLE, source).correct


@pytest.mark.parametrize(
    "row",
    [
        {"kernels": [{}]},
        {"kernels": [{"name": "k", "launches": "many", "shared": 0, "assembly": ""}]},
        {"kernels": [{"name": "k", "launches": 1, "shared": 0, "assembly": "not ptx"}]},
        {"launches": [{"bytes_loaded": "x"}], "memory": [{"rule": 3}], "touched": True, "operators": 7},
    ],
)
def test_answers_of_another_form_make_a_rejected_verdict(quick: Judge, row: dict[str, object]) -> None:
    """A candidate that has taken over its runner answers every question itself."""
    answer = json.dumps({**row, "tree": {"value": None}})
    forge = f"import os, time\nbody = {answer!r}.encode()\nframe = len(body).to_bytes(8, 'big') + bytes(8) + body\n"
    source = forge + "os.write(3, frame * 6)\ntime.sleep(100)\n"
    assert not judge(quick, DOUBLE, source).correct


@pytest.mark.parametrize(
    "answer",
    [
        "object()",
        "torch.nn.Parameter(out) * 1j",
        "out.to_sparse()",
        "iter([out])",
        "out.expand(1 << 20, 64, 48)",
        "{1: out}",
        "lambda: out",
    ],
)
def test_strange_outputs_are_rejected(quick: Judge, answer: str) -> None:
    verdict = judge(quick, DOUBLE, double(FORWARD.replace("return out", f"return {answer}")))
    assert not verdict.correct


def test_a_list_that_holds_itself_is_rejected(quick: Judge) -> None:
    assert not judge(
        quick, DOUBLE, double(FORWARD.replace("return out", "y = [out]\n        y.append(y)\n        return y"))
    ).correct


def test_an_exception_that_cannot_be_printed_is_rejected(quick: Judge) -> None:
    bad = "class Bad(Exception):\n    def __str__(self):\n        raise ValueError\n\n\n"
    assert not judge(quick, DOUBLE, double("        raise Bad()\n", kernel=KERNEL + bad)).correct
