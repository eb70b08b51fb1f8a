"""What a build has made so far, in JSONL shards that survive kill -9, a full disk and a flipped bit.

A shard holds one chunk of tasks: a first line that says how many there are, and a line for each that is done, with all
that came of it. Every line carries a checksum of itself, so a damaged one is found, reported and made again. One
process at a time writes. Does not choose what goes into the data set: see `select`.
"""

import errno
import fcntl
import json
import logging
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tritonsmith import jsonl
from tritonsmith.errors import UserError
from tritonsmith.types import Task, Verdict

log = logging.getLogger(__name__)


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Answer(_Line):
    """What a source, or a bug planted into its answer, gave for a task."""

    source: str
    kind: Literal["candidate", "miss", "failed"]
    """`failed`: the source or the verifier raised, crashed or did not end; our own fault, not the task's."""
    reason: str = ""
    """Of a miss or a failure."""
    plan: str = ""
    code: str = ""
    program: str = ""
    """Equal for candidates that differ in form alone (`verify.form`)."""
    planted: str = ""
    """The kind of bug that was planted, if one was."""
    right: str = ""
    """The candidate it was planted into."""
    verdict: Verdict | None = None
    seconds: float = 0.0
    """What the source took."""


class Survey(_Line):
    """What is known of a task beside its text."""

    family: str = ""
    depth: int = 0
    operators: list[str] = Field(default_factory=list)
    form: str = ""
    """The task's canonical form, as it was traced; empty where it cannot be."""
    writing: str = ""
    """Equal for tasks whose sources differ in form alone."""


class Item(_Line):
    """A task in its place in the order of all tasks."""

    chunk: int
    place: int
    style: int = 0
    task: Task

    @property
    def key(self) -> str:
        """The same for the same task in the same writing."""
        return f"{self.chunk}/{self.place}"


class Made(_Line):
    """A task with all that came of it."""

    item: Item
    survey: Survey
    answers: list[Answer]


class Settings(_Line):
    """What makes two builds the same, but for their length."""

    tasks: str
    seed: int
    styles: int
    canonical: bool = False
    sources: list[str]
    contrastive: bool
    policy: str = "strict"
    target: str = "sm_90"
    multi_input: bool = True
    """Whether pairs were tried on other sizes, values and precisions (extension 1)."""
    assembled: bool = True
    """Whether kernels went through the compiler's back end, and not its front end alone (`verify.assemble`)."""


class Store:
    """The shards below a folder; a context manager that holds them against other processes."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self._told: set[int] = set()
        """Chunks whose damage was reported."""

    def __enter__(self) -> Self:
        with said(self.out):
            self.out.mkdir(parents=True, exist_ok=True)
            self._lock = (self.out / "lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            raise UserError(f"{self.out}: another process builds there") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.close()

    def agree(self, settings: Settings) -> None:
        """Note the settings of a new build; raises UserError where the folder holds another one."""
        agree(self.out, settings, "another build")

    def announce(self, chunk: int, tasks: int) -> None:
        """Say how many tasks a chunk has."""
        self._append(chunk, json.dumps({"tasks": tasks}))

    def keep(self, made: Made) -> None:
        """Put a task that is done on the disk, at once."""
        self._append(made.item.chunk, made.model_dump_json())

    def read(self, chunk: int) -> tuple[int | None, list[Made]]:
        """How many tasks a chunk has, if that is known, and those that are done, in order."""
        tasks: int | None = None
        found: dict[str, Made] = {}
        damaged = 0
        for row in _rows(self._path(chunk)):
            try:
                if row is None:
                    raise ValueError("the checksum is another")
                if "tasks" in row:
                    tasks = int(str(row["tasks"]))
                else:
                    made = Made.model_validate(row)
                    found[made.item.key] = made
            except ValueError:
                damaged += 1
        if damaged and chunk not in self._told:
            self._told.add(chunk)
            log.warning(
                "%s: %d damaged lines are passed over; what they held is made again", self._path(chunk), damaged
            )
        return tasks, sorted(found.values(), key=lambda made: made.item.place)

    def chunks(self) -> list[int]:
        """The chunks that there are shards of, in order."""
        return sorted(int(path.stem) for path in (self.out / "shards").glob("*.jsonl") if path.stem.isdigit())

    def all(self) -> Iterator[Made]:
        """Every task that is done, in the order of all tasks."""
        for chunk in self.chunks():
            yield from self.read(chunk)[1]

    def _path(self, chunk: int) -> Path:
        return self.out / "shards" / f"{chunk:05d}.jsonl"

    def _append(self, chunk: int, text: str) -> None:
        line = f'{{"crc": "{zlib.crc32(text.encode()):08x}", "row": {text}}}'
        with said(self.out):
            jsonl.append(self._path(chunk), line)


def agree(out: Path, settings: BaseModel, other: str, begun: bool = True) -> None:
    """Note the settings of what is begun in a folder; raises UserError where it holds `other`, begun with others.

    Not `begun` is what came to nothing: its settings bind nobody.
    """
    path = out / "settings.json"
    if not begun or not path.exists():
        with said(out):
            jsonl.write(path, settings.model_dump_json(indent=2))
        return
    try:
        there = type(settings).model_validate_json(path.read_text())
    except ValidationError as error:
        raise UserError(f"{out} holds what another command or version made; give another --out") from error
    differ = [key for key, value in there if value != getattr(settings, key)]
    if differ:
        words = ", ".join(f"{key} {getattr(there, key)!r}, not {getattr(settings, key)!r}" for key in differ)
        raise UserError(f"{out} holds {other} ({words}); give another --out")


@contextmanager
def said(out: Path) -> Iterator[None]:
    """Tell the user in one line where the disk refuses what is written to it."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = "; nothing that was made is lost: make room and give the same command again" if full else ""
        raise UserError(f"{error.filename or out}: {error.strerror}{advice}") from error


def _rows(path: Path) -> Iterator[dict[str, object] | None]:
    """The rows of a shard; None for each that is damaged."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            head, _, rest = line.rstrip(b"\n").partition(b', "row": ')
            text = rest[:-1]
            if not text or head != b'{"crc": "%08x"' % zlib.crc32(text):
                yield None
                continue
            yield json.loads(text)
