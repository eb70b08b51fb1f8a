"""A warm process that forks runners: torch and triton are imported once, a fork costs milliseconds.

Run as a program it is the zygote; the class `Zygote` is the judge's handle on it. It is a program of
its own, not multiprocessing's forkserver, because that one imports the caller's `__main__` again in
every child: a training script without a main guard would start itself anew for each candidate.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from tritonsmith.verify.sandbox import Limits

_MAX_REQUEST = 1 << 16


@dataclass
class Runner:
    """A forked runner: its pid, the judge's end of its channel, and its private folder if it has one."""

    pid: int
    channel: socket.socket
    folder: Path | None


class Zygote:
    """Starts, and ends, runners. Usable from several threads."""

    def __init__(self, interpret: bool) -> None:
        """Start a zygote whose triton interprets kernels, or compiles them.

        It cannot do both: triton's own library is decorated when it is imported, one way or the other.
        """
        self._lock = threading.Lock()
        self._ready = False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tritonsmith.verify.zygote", str(theirs.fileno())]
        self._process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=_environment(interpret)
        )
        theirs.close()

    def wait_until_warm(self) -> None:
        """Block until the imports are done, some seconds after the start; a candidate's time begins then."""
        with self._lock:
            if not self._ready and not self._control.recv(_MAX_REQUEST):
                raise RuntimeError("the zygote ended while it was importing torch and triton")
            self._ready = True

    def start(self, limits: Limits, folder: Path | None = None) -> Runner:
        """Fork a runner that is closed in by `limits` before it reads its first message."""
        self.wait_until_warm()
        ours, theirs = socket.socketpair()
        request = json.dumps({"start": asdict(limits), "folder": str(folder) if folder else None}).encode()
        with self._lock:
            socket.send_fds(self._control, [request], [theirs.fileno()])
            reply = self._control.recv(_MAX_REQUEST)
        theirs.close()
        if not reply:
            raise RuntimeError("the zygote has ended")
        return Runner(int(json.loads(reply)["pid"]), ours, folder)

    def end(self, runner: Runner) -> int:
        """Kill a runner and all it started; returns the status it ended with (negative = signal)."""
        runner.channel.close()
        with self._lock:
            self._control.send(json.dumps({"end": runner.pid}).encode())
            reply = self._control.recv(_MAX_REQUEST)
        if runner.folder is not None:
            shutil.rmtree(runner.folder, ignore_errors=True)
        return int(json.loads(reply)["status"]) if reply else -signal.SIGKILL

    def close(self) -> None:
        """End the zygote; its runners die with it (PDEATHSIG)."""
        self._control.close()
        self._process.kill()
        self._process.wait()


def private_folder() -> Path:
    """A new folder that one runner may write to."""
    return Path(tempfile.mkdtemp(prefix="tritonsmith-"))


def _environment(interpret: bool) -> dict[str, str]:
    keep = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CUDA_HOME", "CUDA_VISIBLE_DEVICES")
    return {name: os.environ[name] for name in keep if name in os.environ} | {
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRITON_INTERPRET": "1" if interpret else "0",
    }


def _warm() -> None:
    import gc
    import importlib

    # torch._dynamo comes with the first dispatch mode, 0.8 s that each runner would spend anew.
    modules = ["numpy", "torch", "torch._dynamo", "torch.utils._python_dispatch", "safetensors.torch", "triton"]
    modules += ["triton.runtime.interpreter", "triton.compiler.compiler", "triton.compiler.code_generator"]
    modules += ["triton.backends.nvidia.compiler", "triton.backends.amd.compiler", "triton.language"]
    modules += ["triton.language.extra.libdevice", "triton.language.extra.cuda"]
    modules += ["tritonsmith.verify.runner", "tritonsmith.verify.compile", "tritonsmith.verify.shadow"]
    for module in modules:
        importlib.import_module(module)
    # Triton asks ptxas for its version once and remembers; a runner could not start it.
    from triton.backends.nvidia.compiler import get_ptxas

    for capability in (90, 100):
        get_ptxas(capability)
    gc.collect()
    gc.freeze()


def _serve(control: socket.socket) -> None:
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, _MAX_REQUEST, 1)
        if not data:
            return
        request = json.loads(data)
        if "end" in request:
            control.send(json.dumps({"status": _end(int(request["end"]))}).encode())
            continue
        pid = os.fork()
        if pid == 0:
            control.close()
            _become_runner(descriptors[0], request)
        os.close(descriptors[0])
        control.send(json.dumps({"pid": pid}).encode())


def _end(pid: int) -> int:
    # The group first: on CUDA a runner may have started compilers. A runner killed before it has made
    # its own group has no children yet.
    for kill in (os.killpg, os.kill):
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _become_runner(descriptor: int, request: dict[str, object]) -> None:
    from tritonsmith.verify import runner, sandbox

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    channel = socket.socket(fileno=os.dup2(descriptor, 3))
    os.closerange(4, 4096)
    if request["folder"]:
        os.chdir(str(request["folder"]))
        os.environ["TRITON_CACHE_DIR"] = os.environ["TMPDIR"] = str(request["folder"])
        tempfile.tempdir = None
    try:
        sandbox.enter(Limits(**request["start"]))  # type: ignore[arg-type]
        runner.main(channel)
    finally:
        os._exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpgid(0, 0)
    _warm()
    control = socket.socket(fileno=int(sys.argv[1]))
    # A judge that is killed says no goodbye.
    with contextlib.suppress(ConnectionError):
        control.send(b"warm")
        _serve(control)
