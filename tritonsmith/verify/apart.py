"""A judge in a process of its own: the handle that others have on it, and, run as a program, the process.

It is a program and not one of multiprocessing's processes for the reason that a zygote is one: those import the
caller's `__main__` again. Both sides are trusted; candidates and verdicts travel as JSON, a connection for each of the
candidates that it judges at a time. It ends when its control connection does, so with its parent, whatever that dies
of; its zygotes end likewise.
"""

import contextlib
import functools
import gc
import json
import os
import queue
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.errors import UserError
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify import cache, cuda_graph
from tritonsmith.verify.court import Court
from tritonsmith.verify.crew import Crew
from tritonsmith.verify.process import gpu, scratch
from tritonsmith.verify.process.gpu import Use

_STANDS_BACK = 10
"""How much a process that judges on the CPU stands back (nice(2)) for those that are not of it, of which one may train
on a GPU: that one's thread has little to do on a core, and a GPU waits while it has none."""
_END_SECONDS = 30.0
"""How long a process may take to end when nobody needs it any more."""


@dataclass(frozen=True)
class Place:
    """What one judge process has of this machine."""

    seats: int
    """Candidates that it judges at once."""
    threads: int
    """Threads that torch may compute with on the CPU."""
    gpus: tuple[int, ...] = ()
    """The GPUs that it sees, as its parent counts them."""
    gates: tuple[Path, ...] = ()
    """For each of them the folder of its turnstiles."""
    judges: int = 1
    """Processes that judge on each of them."""


@dataclass(frozen=True)
class Order:
    """How is to be judged: what a `Judge` is made from."""

    settings: VerifyConfig
    extensions: ExtensionsConfig
    device: str

    @functools.cached_property
    def text(self) -> str:
        """As JSON; equal ones share judges."""
        parts = self.settings.model_dump(mode="json"), self.extensions.model_dump(mode="json"), self.device
        return json.dumps(parts, sort_keys=True)

    @staticmethod
    def read(text: str) -> "Order":
        """The inverse of `text`."""
        settings, extensions, device = json.loads(text)
        return Order(VerifyConfig.model_validate(settings), ExtensionsConfig.model_validate(extensions), device)


class Apart:
    """A judge process, as its parent sees it."""

    def __init__(self, place: Place, order: Order) -> None:
        """Start it, with judges for `order`; it is warm some seconds later."""
        self.busy = 0
        """Candidates that it has been given, or will be: see `engaged`."""
        self._lost = False
        self._lock = threading.Lock()
        self._seats: queue.LifoQueue[Connection] = queue.LifoQueue()
        pairs = [socket.socketpair() for _ in range(1 + place.seats)]
        numbers = [theirs.fileno() for _, theirs in pairs]
        command = [sys.executable, "-m", "tritonsmith.verify.apart", ",".join(map(str, numbers))]
        environment = dict(os.environ)
        if place.gpus:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(_visible(gpu) for gpu in place.gpus)
        self._process = subprocess.Popen(
            command, pass_fds=numbers, stdin=subprocess.DEVNULL, env=environment, process_group=0
        )
        for _, theirs in pairs:
            theirs.close()
        self._control, *seats = (Connection(ours.detach()) for ours, _ in pairs)
        for seat in seats:
            self._seats.put(seat)
        with contextlib.suppress(OSError):  # dead already: whoever gives it a candidate finds out
            _write(self._control, {**asdict(place), "gates": [str(path) for path in place.gates]})
            _write(self._control, {"prepare": order.text})

    @contextlib.contextmanager
    def engaged(self) -> Iterator[None]:
        """Count one candidate as this process's."""
        with self._lock:
            self.busy += 1
        try:
            yield
        finally:
            with self._lock:
                self.busy -= 1

    def judge(self, order: Order, task: Task, candidate: Candidate, began: float | None) -> Verdict:
        """Its verdict, when a seat is free; raises OSError where it dies, RuntimeError for a fault of its own."""
        seat = self._seats.get()
        try:
            row = {"order": order.text, "task": task.model_dump(), "candidate": candidate.model_dump()}
            _write(seat, {**row, "began": began})
            answer = _read(seat)
        except BaseException as error:  # an interrupted talk cannot be gone on with
            self._lost = True
            if isinstance(error, EOFError):
                raise ConnectionError("a judge process has died") from error
            raise
        finally:
            self._seats.put(seat)
        if "wrong" in answer:
            raise UserError(str(answer["wrong"]))
        if "fault" in answer:
            raise RuntimeError(f"in a judge process:\n{answer['fault']}")
        return Verdict.model_validate(answer["verdict"])

    def use(self) -> Use:
        """How it has used its GPUs; not at all if it is dead."""
        with self._lock, contextlib.suppress(EOFError, OSError):
            _write(self._control, {"use": None})
            return Use(**_read(self._control))  # type: ignore[arg-type]
        return Use()

    def forget(self, order: Order) -> None:
        """Let it give up what it keeps for an order."""
        with self._lock, contextlib.suppress(OSError):
            _write(self._control, {"forget": order.text})

    def alive(self) -> bool:
        """Whether it still runs, as far as is known."""
        return not self._lost and self._process.poll() is None

    def kill(self) -> None:
        """End it; its zygotes find out, end their runners and remove what it has written."""
        self._process.kill()
        self._process.wait()

    def hang_up(self) -> None:
        """Let it end, when nobody talks with it any more."""
        self._control.close()

    def close(self) -> None:
        """Let it end, and wait for that."""
        self.hang_up()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        while not self._seats.empty():
            self._seats.get().close()


def _visible(gpu: int) -> str:
    """What a process calls a GPU that this one knows by number."""
    known = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return known.split(",")[gpu] if known else str(gpu)


def _write(connection: Connection, row: dict[str, object]) -> None:
    connection.send_bytes(json.dumps(row).encode())


def _read(connection: Connection) -> dict[str, object]:
    return json.loads(connection.recv_bytes())


# The process itself.


class _Courts:
    """The courts of this process, one for each order; they share zygotes."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._courts: dict[str, Court] = {}
        self._lock = threading.Lock()
        self.stopped = threading.Event()

    def court(self, text: str) -> Court:
        """The court for an order, made when it is first asked for."""
        with self._lock:
            if text not in self._courts:
                order = Order.read(text)
                spare = -(-order.settings.spare // self._place.judges)
                settings = order.settings.model_copy(update={"spare": spare})
                parts = gpu.parts(self._place.gates, self._place.seats, spare, self._place.judges)
                first = next(iter(self._courts.values()), None)
                before = first.bench if first is not None and isinstance(first.bench, Crew) else None
                crew = Crew(settings, order.extensions, order.device, parts, before)
                self._courts[text] = Court(settings, order.device, crew)
            return self._courts[text]

    def forget(self, text: str) -> None:
        """Give up the court for an order, but for the zygotes that others use."""
        with self._lock:
            court = self._courts.pop(text, None)
            others = [zygote for other in self._courts.values() for zygote in other.bench.members]
        if court is not None:
            court.bench.close(others)

    def use(self) -> Use:
        """How the GPUs were used."""
        with self._lock:
            return sum((court.bench.use() for court in self._courts.values()), Use())

    def stop(self) -> None:
        """End all zygotes, and start no others for candidates that are under way."""
        with self._lock:
            for court in self._courts.values():
                court.stop(self.stopped)


def _serve(seat: Connection, courts: _Courts) -> None:
    """Judge one candidate after the other."""
    while True:
        try:
            asked = _read(seat)
            _write(seat, _answer(asked, courts))
        except (EOFError, OSError):
            return


def _answer(asked: dict[str, object], courts: _Courts) -> dict[str, object]:
    """What became of a candidate; does not return where this process can judge no more."""
    try:
        task, candidate = Task.model_validate(asked["task"]), Candidate.model_validate(asked["candidate"])
        began = asked["began"]
        court = courts.court(str(asked["order"]))
        verdict = court.judge(task, candidate, began if isinstance(began, float) else None, courts.stopped)
    except UserError as error:
        return {"wrong": str(error)}
    except Exception:  # told to the parent, which raises it
        _end_if_spoiled()
        return {"fault": traceback.format_exc()}
    if any(finding.rule in cache.MACHINE for finding in verdict.findings):
        _end_if_spoiled()
    return {"verdict": verdict.model_dump(mode="json")}


def _end_if_spoiled() -> None:
    """End this process if a task has brought its CUDA context to an error, which stays: others judge in its place."""
    if not torch.cuda.is_initialized():
        return
    try:
        with cuda_graph.recording:
            torch.cuda.synchronize()
    except RuntimeError:
        os._exit(1)


def _run(control: Connection, seats: Sequence[Connection]) -> None:
    row = _read(control)
    row["gates"] = tuple(map(Path, row["gates"]))  # type: ignore[arg-type]
    place = Place(**row)  # type: ignore[arg-type]
    courts = _Courts(place)
    if not place.gpus:
        os.nice(_STANDS_BACK)
    torch.set_num_threads(place.threads)
    gc.freeze()  # what was imported would else be gone through while candidates are timed
    for seat in seats:
        threading.Thread(target=_serve, args=(seat, courts), daemon=True).start()
    try:
        while True:
            asked = _read(control)
            if "prepare" in asked:
                with contextlib.suppress(Exception):  # whoever judges the first candidate tells of it
                    courts.court(str(asked["prepare"]))
                    for gpu in range(len(place.gpus)):
                        with cuda_graph.recording:
                            torch.cuda.synchronize(gpu)  # creates the context
            elif "forget" in asked:
                courts.forget(str(asked["forget"]))
            else:
                _write(control, asdict(courts.use()))
    except (EOFError, OSError):
        courts.stop()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own, *others = (Connection(int(number)) for number in sys.argv[1].split(","))
    with contextlib.suppress(EOFError, OSError):
        _run(own, others)
    folder = scratch.root()
    shutil.rmtree(folder, ignore_errors=True)
    # A parent that was killed leaves its folder behind.
    time.sleep(0.1)  # until the kernel has let go of the parent's lock
    scratch.sweep(folder.parent)
    os._exit(0)  # threads that judge for nobody are not waited for
