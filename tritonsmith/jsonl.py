"""Files that survive kill -9: append-only JSONL, of which a torn last line is dropped, and small ones, whole or not."""

import json
import os
from collections.abc import Iterator
from pathlib import Path


def append(path: Path, *lines: str) -> None:
    """Add JSON texts, a line each, and force them to the disk before returning: some milliseconds, however many."""
    if any("\n" in line for line in lines):
        raise ValueError("a JSONL row is one line")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        torn = _torn(file.tell(), path)
        file.write((b"\n" if torn else b"") + "".join(f"{line}\n" for line in lines).encode())
        file.flush()
        os.fsync(file.fileno())


def write(path: Path, text: str) -> None:
    """Write a small file, of any kind, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _torn(size: int, path: Path) -> bool:
    if size == 0:
        return False
    with path.open("rb") as file:
        file.seek(size - 1)
        return file.read(1) != b"\n"


def read(path: Path) -> Iterator[dict[str, object]]:
    """Yield the rows of a file; a missing file is empty, a line that is no JSON object is passed over.

    Such a line can only be the one that was being written when the writer was killed.
    """
    if not path.exists():
        return
    with path.open(errors="replace") as file:
        for line in file:
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(row, dict):
                yield row
