"""A warm process that forks runners: torch and triton are imported once, a fork costs milliseconds.

Run as a program it is the zygote; the class `Zygote` is the judge's handle on it. It is a program of
its own, not multiprocessing's forkserver, because that one imports the caller's `__main__` again in
every child: a training script without a main guard would start itself anew for each candidate.
"""

import contextlib
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tritonsmith.verify.process import scratch
from tritonsmith.verify.sandbox import Limits

_MAX_REQUEST = 1 << 16
_LOOKED_AT = {
    f"level2/{name}" for name in ("attention", "bn_relu_maxpool", "conv2d_groupnorm_tanh", "focal_loss", "mlp_block")
}
"""Tasks of many operators."""
_LAST_SECONDS = 10.0
"""What a killed process has until it is gone."""


@dataclass
class Runner:
    """A forked runner: its pid, the judge's end of its channel, and its private folder if it has one."""

    pid: int
    channel: socket.socket
    folder: Path | None
    served: int = 0
    """Candidates that are done with it."""


class Zygote:
    """Starts, and ends, runners. Usable from several threads."""

    def __init__(self, interpret: bool) -> None:
        """Start a zygote whose triton interprets kernels, or compiles them.

        It cannot do both: triton's own library is decorated when it is imported, one way or the other.
        """
        self._lock = threading.Lock()
        self._ready = False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tritonsmith.verify.process.zygote", str(theirs.fileno()), str(scratch.root())]
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

    def start(self, limits: Limits, folder: Path | None = None, gpu: int | None = None) -> Runner:
        """Fork a runner that is closed in by `limits` before it reads its first message; it sees one GPU or none."""
        return self._start({"start": asdict(limits), "folder": str(folder) if folder else None, "gpu": gpu}, folder)

    def run(self, command: list[str], folder: Path, gpu: int) -> Runner:
        """Start a program that is not closed in, with `folder` as its temporary one; it lives no longer than this."""
        return self._start({"run": command, "folder": str(folder), "gpu": gpu}, folder)

    def _start(self, request: dict[str, object], folder: Path | None) -> Runner:
        self.wait_until_warm()
        ours, theirs = socket.socketpair()
        with self._lock:
            socket.send_fds(self._control, [json.dumps(request).encode()], [theirs.fileno()])
            reply = self._control.recv(_MAX_REQUEST)
        theirs.close()
        if not reply:
            raise RuntimeError("the zygote has ended")
        return Runner(int(json.loads(reply)["pid"]), ours, folder)

    def ended(self, runner: Runner) -> bool:
        """Whether a runner, or a program, has ended by itself; `end` is still to be called."""
        with self._lock:
            self._control.send(json.dumps({"ended": runner.pid}).encode())
            reply = self._control.recv(_MAX_REQUEST)
        return not reply or bool(json.loads(reply)["ended"])

    def end(self, runner: Runner) -> int:
        """Kill a runner and all it started; returns the status it ended with (negative = signal)."""
        runner.channel.close()
        reply = b""
        # A dead zygote's runners have died with it.
        with self._lock, contextlib.suppress(ConnectionError):
            self._control.send(json.dumps({"end": runner.pid}).encode())
            reply = self._control.recv(_MAX_REQUEST)
        if runner.folder is not None:
            shutil.rmtree(runner.folder, ignore_errors=True)
        return int(json.loads(reply)["status"]) if reply else -signal.SIGKILL

    def alive(self, patience: float = 0.0) -> bool:
        """Whether its process still runs; one that is about to end has `patience` seconds for it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience)
        return self._process.returncode is None

    def kill(self) -> None:
        """End its process, and with it its runners (PDEATHSIG); threads that talk with them go on, and see it."""
        self._process.kill()
        # Without a limit it waits for a lock, which the one whom a signal interrupted may hold.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_SECONDS)

    def close(self) -> None:
        """End the zygote when no thread talks with it any more."""
        self.kill()
        self._control.close()


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
    modules += [
        "tritonsmith.verify.runner",
        "tritonsmith.verify.compile",
        "tritonsmith.verify.interpreter.interpret",
        "tritonsmith.verify.dynamic.replay",
        "tritonsmith.verify.vet",
    ]
    modules += ["numpy.ma", "numpy.ctypeslib"]  # the interpreter's first launch would import them
    for module in modules:
        importlib.import_module(module)
    # Triton asks ptxas for its version once and remembers; a runner could not start it.
    from triton.backends.nvidia.compiler import get_ptxas

    for capability in (90, 100):
        get_ptxas(capability)
    # A compilation's key begins with a hash over all of Triton's files: 0.15 s that each runner would spend anew.
    from triton.runtime.cache import triton_key

    triton_key()
    _build_once()
    from tritonsmith.verify.dynamic import integrity, observe

    if interpreting := os.environ["TRITON_INTERPRET"] == "1":
        observe.watch_interpreter()
    else:
        _look_once()  # who interprets runs no reference
    integrity.remember(interpreting)
    gc.collect()
    gc.freeze()


def _look_once() -> None:
    """Look at a few tasks without data: what torch prepares at an operator's first call each runner would anew."""
    import torch

    from tritonsmith.tasks import scaling
    from tritonsmith.tasks.format import load_spec

    torch.set_num_threads(1)
    for task in load_spec("suite:level2"):
        if task.id in _LOOKED_AT:
            scaling.tiny(task)


def _build_once() -> None:
    """Let each C extension of Triton's CUDA driver be compiled once for all runners, or once for a runner's life.

    Its helper library is built here, if there is a GPU's driver to link; a launcher depends on argument types alone,
    and is compiled for few (`launching`).
    """
    from triton.backends.nvidia import driver

    from tritonsmith.verify.process.launching import Launcher

    build = driver.compile_module_from_src
    built: dict[str, object] = {}

    def cached(src: str, name: str, **options: list[str]) -> object:
        if src not in built:
            built[src] = build(src, name, **options)
        return built[src]

    driver.compile_module_from_src = cached
    if hasattr(driver, "make_launcher"):  # Triton 3.7 has one launcher for all
        driver.CudaLauncher = functools.partial(Launcher, driver.CudaLauncher)  # type: ignore[misc]
    if Path("/dev/nvidiactl").exists():
        driver.CudaUtils()


def _serve(control: socket.socket, runners: set[int]) -> None:
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, _MAX_REQUEST, 1)
        if not data:
            return
        request = json.loads(data)
        if "ended" in request:
            state = os.waitid(os.P_PID, int(request["ended"]), os.WEXITED | os.WNOHANG | os.WNOWAIT)
            control.send(json.dumps({"ended": state is not None}).encode())
            continue
        if "end" in request:
            runners.discard(int(request["end"]))
            control.send(json.dumps({"status": _end(int(request["end"]))}).encode())
            continue
        zygote, pid = os.getpid(), os.fork()
        if pid == 0:
            control.close()
            _become_runner(descriptors[0], request, zygote)
        os.close(descriptors[0])
        runners.add(pid)
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


def _become_runner(descriptor: int, request: dict[str, object], zygote: int) -> None:
    from tritonsmith.verify import runner, sandbox

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    channel = socket.socket(fileno=os.dup2(descriptor, 3))
    os.closerange(4, 4096)
    if request["gpu"] is not None:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        number = int(str(request["gpu"]))
        os.environ["CUDA_VISIBLE_DEVICES"] = visible[number] if visible != [""] else str(number)
    if request["folder"]:
        os.chdir(str(request["folder"]))
        os.environ["TRITON_CACHE_DIR"] = os.environ["TMPDIR"] = str(request["folder"])
        tempfile.tempdir = None
    try:
        if isinstance(command := request.get("run"), list):
            sandbox.lead_group(zygote)
            channel.set_inheritable(False)
            os.execv(command[0], command)
        sandbox.enter(Limits(**request["start"]), zygote)  # type: ignore[arg-type]
        runner.main(channel)
    finally:
        os._exit(0)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setpgid(0, 0)
    _warm()
    control = socket.socket(fileno=int(sys.argv[1]))
    alive: set[int] = set()
    # A judge that is killed says no goodbye, and leaves its folder behind.
    with contextlib.suppress(ConnectionError):
        control.send(b"warm")
        _serve(control, alive)
    for pid in alive:
        _end(pid)
    time.sleep(0.1)  # until the kernel has let go of the judge's lock
    scratch.sweep(Path(sys.argv[2]).parent)
