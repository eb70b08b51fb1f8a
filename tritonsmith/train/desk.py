"""Rank 0's desk, where the other ranks of this host hand in candidates and report what is to be kept.

A Unix socket rather than collectives: a rank hands in each candidate the moment it is drawn, in whatever order, and
none waits for another, so that candidates are judged while all are still drawing. The judges are rank 0's, one pool
for the host; records are rank 0's too. What is sent is JSON; a secret known to the ranks alone is needed to connect.

`Desk` is rank 0's side; `Far` and `Report` are the others'.
"""

import contextlib
import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from types import TracebackType

from tritonsmith.evaluate import Judge
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.process import scratch

log = logging.getLogger(__name__)

JUDGE, KEEP, STOP, END = b"judge", b"keep", b"stop", b""
"""The first message of a connection says what it is for; an empty one ends it, `STOP` gives it up."""


@dataclass(frozen=True)
class Address:
    """Where a desk is."""

    folder: Path
    key: bytes

    @contextlib.contextmanager
    def path(self) -> Iterator[str]:
        """The socket's name here, for the length of a block: one has 107 bytes at most, a folder's may have more."""
        folder = os.open(self.folder, os.O_PATH)
        try:
            yield f"/proc/self/fd/{folder}/desk"
        finally:
            os.close(folder)

    def connect(self, purpose: bytes) -> Connection:
        """A connection to the desk."""
        with self.path() as path:
            connection = Client(path, "AF_UNIX", authkey=self.key)
        connection.send_bytes(purpose)
        return connection


class Desk:
    """Serves the other ranks while it is open; a context manager."""

    def __init__(self, judge: Judge | None = None, keep: Callable[[str], None] | None = None) -> None:
        """`judge` judges candidates, several ranks' at a time; `keep` gets what is reported, a text at a time."""
        self._judge, self._keep = judge, keep
        self._keeping = threading.Lock()
        self.address = Address(scratch.new(), secrets.token_bytes(32))
        self._named = contextlib.ExitStack()
        self._path = self._named.enter_context(self.address.path())
        self._listener = Listener(self._path, "AF_UNIX", backlog=64, authkey=self.address.key)
        self._open = True
        self._serving: list[threading.Thread] = []
        self._listening = _started(self._listen)

    def close(self, patience: float = 10.0) -> None:
        """Serve nobody any more; those that have not hung up yet have `patience` seconds for it."""
        self._open = False
        # Wakes the listener; one that went by itself would never answer who says more than hello.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as hello:
            hello.settimeout(1.0)
            hello.connect(self._path)
        end = time.monotonic() + patience
        self._listening.join(timeout=patience)
        for thread in self._serving:
            thread.join(timeout=max(end - time.monotonic(), 0.0))
        self._listener.close()
        self._named.close()

    def __enter__(self) -> "Desk":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(patience=10.0 if error is None else 0.0)

    def _listen(self) -> None:
        while self._open:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError, AuthenticationError) as error:  # who hung up at once, or knows no secret
                log.debug("desk: %r", error)
                continue
            self._serving = [thread for thread in self._serving if thread.is_alive()]
            self._serving.append(_started(self._serve, connection))

    def _serve(self, connection: Connection) -> None:
        with connection, contextlib.suppress(OSError, EOFError):  # a rank that died needs no answer
            purpose = connection.recv_bytes()
            if purpose == JUDGE and self._judge is not None:
                self._serve_judging(self._judge, connection)
            elif purpose == KEEP and self._keep is not None:
                self._serve_keeping(self._keep, connection)
            # All else is meant for another desk.

    def _serve_judging(self, judge: Judge, connection: Connection) -> None:
        def tell(index: int, verdict: Verdict) -> None:
            connection.send_bytes(json.dumps([index, verdict.model_dump_json()]).encode())

        try:
            judge.verify_many(_jobs(connection), tell)
        except EOFError:
            return  # the rank gave its batch up
        except Exception as error:  # told to whoever waits, as a verifier in the same process would raise it
            log.error("judging for another rank: %r", error)
            connection.send_bytes(json.dumps([-1, repr(error)]).encode())
            return
        connection.send_bytes(END)

    def _serve_keeping(self, keep: Callable[[str], None], connection: Connection) -> None:
        while (message := connection.recv_bytes()) != END:
            try:
                with self._keeping:
                    keep(message.decode())
            except OSError:
                log.exception("what another rank reported could not be kept")  # it finds the connection closed
                return
            connection.send_bytes(END)


def _started(target: Callable[..., None], *args: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, name="tritonsmith-desk", daemon=True)
    thread.start()
    return thread


def _jobs(connection: Connection) -> Iterator[tuple[Task, Candidate]]:
    while (message := connection.recv_bytes()) != END:
        if message == STOP:
            raise EOFError
        task, candidate = json.loads(message)
        yield Task.model_validate(task), Candidate.model_validate(candidate)


class Far:
    """The judges of a desk, as another rank sees them (`evaluate.Judge`)."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """Judge all jobs, in order; `on_verdict` is called in this thread as each ends.

        Raises what `jobs` raises, and RuntimeError where the verifier failed or rank 0 is gone.
        """
        found: dict[int, Verdict] = {}
        with self.address.connect(JUDGE) as connection:
            hands = _Handing(connection, jobs)
            try:
                while (message := connection.recv_bytes()) != END:
                    index, text = json.loads(message)
                    if index < 0:
                        raise RuntimeError(f"the verifier failed: {text}")
                    found[index] = Verdict.model_validate_json(text)
                    if on_verdict is not None:
                        on_verdict(index, found[index])
            except (OSError, EOFError) as error:
                raise (hands.error or RuntimeError(f"rank 0 judges no more: {error!r}")) from error
        return [found[index] for index in range(len(found))]


class _Handing:
    """A thread that hands in jobs as they come."""

    def __init__(self, connection: Connection, jobs: Iterable[tuple[Task, Candidate]]) -> None:
        self.error: BaseException | None = None
        self._connection, self._jobs = connection, jobs
        threading.Thread(target=self._run, name="tritonsmith-handing", daemon=True).start()

    def _run(self) -> None:
        try:
            for task, candidate in self._jobs:
                job = [task.model_dump(mode="json"), candidate.model_dump(mode="json")]
                self._connection.send_bytes(json.dumps(job).encode())
            self._connection.send_bytes(END)
        except Exception as error:  # carried to the thread that waits for verdicts, for the desk now hangs up
            self.error = error
            with contextlib.suppress(OSError):
                self._connection.send_bytes(STOP)


class Report:
    """Texts that a desk keeps; each call returns when its text is kept. Usable from several threads."""

    def __init__(self, address: Address) -> None:
        self._connection = address.connect(KEEP)
        self._lock = threading.Lock()

    def __call__(self, text: str) -> None:
        """Have a text kept; raises OSError or EOFError where rank 0 is gone."""
        with self._lock:
            self._connection.send_bytes(text.encode())
            self._connection.recv_bytes()

    def close(self) -> None:
        """Hang up."""
        with self._lock, contextlib.suppress(OSError):
            self._connection.send_bytes(END)
            self._connection.close()
