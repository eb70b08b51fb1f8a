"""Verdicts kept between runs: a file of SQLite's, which several processes may use at once.

A verdict is found again under everything that could change it: the task, the candidate up to its form, the settings,
the GPU, the versions, and the text of the verifier itself. Verdicts that may be the machine's fault are not kept.
A measured speedup is kept with its verdict, as it was measured. It does not shrink: delete the file to empty it.
"""

import functools
import hashlib
import json
import platform
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import torch
import triton

from tritonsmith import __version__
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.errors import UserError
from tritonsmith.types import Verdict
from tritonsmith.verify import form

MACHINE = {"timeout", "memory", "protocol", "crash", "exit", "cuda", "clock", "task", "untold"}
"""Findings that another run, or another machine, may not make."""
_ELSEWHERE = {"workers", "judges", "spare", "gpus", "cache"}
"""Settings that no verdict depends on; a setting that is added counts until it is named here."""
_BUSY_SECONDS = 60.0
_SCHEMA = "CREATE TABLE IF NOT EXISTS verdicts (key TEXT PRIMARY KEY, source TEXT, verdict TEXT) WITHOUT ROWID"
_BESIDE = ("source.py", "plain.py", "types.py", "extract.py", "reward.py")
"""What of the package besides verdicts, and what a batch writes of them, depend on."""
_PACKAGE = Path(__file__).parents[1]


class Cache:
    """The verdicts that hold under one set of circumstances (`circumstances`); usable from several threads."""

    def __init__(self, path: Path, circumstances: str) -> None:
        """Open the file, or make it; raises UserError where it is no such file."""
        self._circumstances = circumstances
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode=WAL")
            # A verdict lost with the machine's power is judged again.
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"verify.cache: {path}: {error}") from error

    def get(self, task: str, source: str | None) -> Verdict | None:
        """The verdict on a candidate for a task, both given as source."""
        if not _is_text(source):
            return None
        with self._lock:
            row = self._file.execute(
                "SELECT source, verdict FROM verdicts WHERE key = ?", (self._key(task, source),)
            ).fetchone()
        if row is None:
            return None
        verdict = Verdict.model_validate_json(row[1])
        return form.retold(verdict, row[0] or "", source or "")

    def put(self, task: str, source: str | None, verdict: Verdict) -> None:
        """Keep a verdict, unless it may be the machine's fault."""
        if not lasting(verdict) or not _is_text(source):
            return
        row = self._key(task, source), source, verdict.model_dump_json()
        with self._lock:
            self._file.execute("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?)", row)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def _key(self, task: str, source: str | None) -> str:
        return _digest([self._circumstances, task, form.program(source)])


def _is_text(source: str | None) -> bool:
    """Whether a source can be kept: one that was no UTF-8 has signs in it that no file takes."""
    return source is None or not any("\ud800" <= sign <= "\udfff" for sign in source)


def lasting(verdict: Verdict) -> bool:
    """Whether another run, or another machine, would say the same."""
    return not any(finding.rule in MACHINE for finding in verdict.findings)


def circumstances(settings: VerifyConfig, extensions: ExtensionsConfig, device: str, gpus: Sequence[str]) -> str:
    """What a verdict depends on besides task and candidate, in one word; `gpus` are the names of those used."""
    return _digest(
        {
            "settings": settings.model_dump(mode="json", exclude=_ELSEWHERE),
            "extensions": extensions.model_dump(mode="json", exclude={"curriculum"}),
            "device": device,
            "gpus": sorted(set(gpus)),
            "versions": [__version__, torch.__version__, triton.__version__, platform.python_version()],
            "verifier": text_of(_PACKAGE),
        }
    )


@functools.cache
def text_of(package: Path) -> str:
    """The verifier's own text, in one word: a rule that is mended must not leave old verdicts standing."""
    files = sorted(path for folder in ("verify", "tasks") for path in (package / folder).rglob("*.py"))
    files += [package / name for name in _BESIDE]
    return _digest([path.read_text() for path in files])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
