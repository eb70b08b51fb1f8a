"""What gets past the static rules still meets the kernel: a real runner, and source that tries its luck."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch  # noqa: F401  (the verifier's import, so that its time is no test's)

from tritonsmith.config import VerifyConfig
from tritonsmith.verify import sandbox
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import wire
from tritonsmith.verify.process.limits import runner_limits as _limits
from tritonsmith.verify.process.zygote import Runner, Zygote

LAYERS = sandbox.layers()
SECONDS = 20

PROBE = """
import ctypes, errno, os, resource, signal, socket, subprocess, threading
found = {}

def attempt(name, call):
    try:
        call()
        found[name] = "allowed"
    except OSError as error:
        found[name] = errno.errorcode.get(error.errno, "error")
    except ValueError:  # what the resource module makes of EPERM
        found[name] = "EPERM"

def write(path):
    with open(path, "w") as file:
        file.write("x")

libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    def raw():
        if libc.syscall(number, *arguments) == -1:
            raise OSError(ctypes.get_errno(), "refused")
    return raw

attempt("fork", os.fork)
attempt("vfork", call(58))
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("subprocess", lambda: subprocess.run(["/bin/true"]))
attempt("socket", socket.socket)
attempt("unix socket", lambda: socket.socket(socket.AF_UNIX))
attempt("write tmp", lambda: write("TMP/probe"))
attempt("write cwd", lambda: write("probe"))
attempt("write home", lambda: write(os.path.expanduser("~/probe")))
attempt("mkdir", lambda: os.mkdir("TMP/folder"))
attempt("unlink", lambda: os.unlink("TMP/mine"))
attempt("rename", lambda: os.rename("TMP/mine", "TMP/yours"))
attempt("chmod", lambda: os.chmod("TMP/mine", 0))
attempt("truncate", lambda: os.truncate("TMP/mine", 0))
attempt("read tmp", lambda: open("TMP/mine").read())
attempt("list home", lambda: os.listdir(os.path.expanduser("~")))
attempt("list root", lambda: os.listdir("/"))
attempt("read parent's memory", lambda: open(f"/proc/{os.getppid()}/mem", "rb").read(1))
attempt("read parent's environment", lambda: open(f"/proc/{os.getppid()}/environ", "rb").read(1))
attempt("kill parent", lambda: os.kill(os.getppid(), 0))
attempt("kill all", lambda: os.kill(-1, 0))
attempt("kill group", lambda: os.killpg(0, 0))
attempt("ptrace", call(101, 16, os.getppid(), 0, 0))
attempt("leave the group", os.setsid)
attempt("survive the judge", call(157, 1, 0))
attempt("raise limits", lambda: resource.setrlimit(resource.RLIMIT_CPU, (10**6, 10**6)))
attempt("other's limits", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE, (0, 0)))
attempt("mount", call(165, b"none", b"/tmp", b"tmpfs", 0, 0))
attempt("unshare", call(272, 0x10000000))
attempt("thread", lambda: threading.Thread(target=int).start())
attempt("signal itself", lambda: os.kill(os.getpid(), 0))
attempt("read python", lambda: open(os.__file__).read())
raise ValueError(repr(found))
"""
DENIED = [
    "fork",
    "vfork",
    "exec",
    "subprocess",
    "socket",
    "unix socket",
    "write tmp",
    "write cwd",
    "write home",
    "mkdir",
    "unlink",
    "rename",
    "chmod",
    "truncate",
    "read tmp",
    "list home",
    "list root",
    "read parent's memory",
    "read parent's environment",
    "kill parent",
    "kill all",
    "kill group",
    "ptrace",
    "leave the group",
    "survive the judge",
    "raise limits",
    "other's limits",
    "mount",
    "unshare",
]
ALLOWED = ["thread", "signal itself", "read python"]

needs_every_layer = pytest.mark.skipif(not all(LAYERS.values()), reason=f"this kernel lacks a layer: {LAYERS}")


@pytest.fixture(scope="module")
def zygote(verifier: Verifier) -> Zygote:
    return verifier._zygotes["interpret"]


@contextmanager
def _runner(zygote: Zygote, seconds: int = SECONDS, memory_mb: int = 1024) -> Iterator[Runner]:
    limits = _limits(VerifyConfig(device="cpu", memory_mb=memory_mb), seconds, None)
    runner = zygote.start(limits)
    try:
        yield runner
    finally:
        zygote.end(runner)


def _load(runner: Runner, source: str, seconds: float = SECONDS) -> dict[str, object]:
    wire.send(runner.channel, {"do": "load", "mode": "interpret", "target": "sm_90", "source": source})
    return wire.receive(runner.channel, time.monotonic() + seconds)[0]


def _message(reply: dict[str, object]) -> str:
    error = reply["error"]
    assert isinstance(error, dict)
    return str(error["message"])


@pytest.fixture(scope="module")
def found(zygote: Zygote) -> dict[str, str]:
    """What came of each attempt of PROBE in a runner."""
    with tempfile.TemporaryDirectory() as folder, _runner(zygote) as runner:
        (Path(folder) / "mine").write_text("secret")
        message = _message(_load(runner, PROBE.replace("TMP", folder)))
        assert (Path(folder) / "mine").read_text() == "secret"
    return dict(eval(message))


@needs_every_layer
@pytest.mark.parametrize("attempt", DENIED)
def test_denies(found: dict[str, str], attempt: str) -> None:
    assert found[attempt] in ("EPERM", "EACCES", "ENOSYS"), found[attempt]


@needs_every_layer
@pytest.mark.parametrize("attempt", ALLOWED)
def test_allows_what_triton_needs(found: dict[str, str], attempt: str) -> None:
    assert found[attempt] == "allowed"


@needs_every_layer
def test_layers_of_this_machine_are_all_entered(zygote: Zygote) -> None:
    source = "raise ValueError(open('/proc/self/status').read())"
    with _runner(zygote) as runner:
        status = dict(line.split(":\t") for line in _message(_load(runner, source)).splitlines() if ":\t" in line)
    assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2" and int(status["CapEff"], 16) == 0


def test_memory_beyond_the_limit_is_refused_and_the_runner_lives(zygote: Zygote) -> None:
    with _runner(zygote, memory_mb=512) as runner:
        assert "error" in _load(runner, "block = bytearray(1 << 30)")
        assert _load(runner, "block = bytearray(1 << 20)") == {"ok": True}


def test_a_runner_inherits_no_open_file(zygote: Zygote) -> None:
    source = "import os\nraise ValueError(repr(sorted(int(n) for n in os.listdir('/proc/self/fd'))))"
    with _runner(zygote) as runner:
        message = _message(_load(runner, source))
    assert [n for n in eval(message) if n > 3][1:] == []  # listing itself needs one


def test_a_runner_has_no_input_and_no_output(zygote: Zygote) -> None:
    source = "import os\nraise ValueError(','.join(os.readlink(f'/proc/self/fd/{n}') for n in range(3)))"
    with _runner(zygote) as runner:
        assert set(_message(_load(runner, source)).split(",")) == {"/dev/null"}


def test_a_runner_sees_no_secret_of_the_environment(zygote: Zygote, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import os\nraise ValueError(repr(sorted(os.environ)))"
    with _runner(zygote) as runner:
        names = set(eval(_message(_load(runner, source))))
    assert not {name for name in names if any(word in name for word in ("TOKEN", "KEY", "SECRET", "PASSWORD"))}


def test_cpu_time_ends_a_runner_that_nobody_ends(zygote: Zygote) -> None:
    with _runner(zygote, seconds=-2) as runner:  # 1 s of CPU time
        start = time.monotonic()
        with pytest.raises(wire.WireError):
            _load(runner, "while True:\n    pass", 15)
        assert time.monotonic() - start < 12


def test_a_runner_dies_with_its_zygote() -> None:
    zygote = Zygote(interpret=True)
    runner = zygote.start(_limits(VerifyConfig(device="cpu"), SECONDS, None))
    wire.send(runner.channel, {"do": "load", "mode": "interpret", "source": "import time\ntime.sleep(60)"})
    zygote.close()
    until = time.monotonic() + 5
    while _alive(runner.pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _alive(runner.pid)


def test_a_process_forked_by_one_that_is_dead_by_then_ends_too() -> None:
    reader, writer = os.pipe()
    if (middle := os.fork()) == 0:
        try:
            parent = os.getpid()
            if os.fork() == 0:
                while os.getppid() == parent:
                    time.sleep(0.01)
                sandbox.lead_group(parent)
                os.write(writer, b"alive")
        finally:
            os._exit(0)
    os.waitpid(middle, 0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b""


def _alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_killed_runner_is_told_apart_and_the_zygote_goes_on(zygote: Zygote) -> None:
    with _runner(zygote) as first:
        os.kill(first.pid, 9)
        with pytest.raises(wire.WireError):
            _load(first, "")
    with _runner(zygote) as second:
        assert _load(second, "x = 1") == {"ok": True}


def test_runners_do_not_share_what_they_change(zygote: Zygote) -> None:
    with _runner(zygote) as first, _runner(zygote) as second:
        assert _load(first, "import torch\ntorch.relu = None") == {"ok": True}
        assert _load(second, "import torch\nassert torch.relu is not None") == {"ok": True}
