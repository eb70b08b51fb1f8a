"""Read what `tritonsmith data build` wrote: prompts and completions by split, as text.

Takes Parquet and JSONL rows in TRL's conversational form, `prompt` and `completion` being lists of messages; of the
other columns `split`, `level` and `graph` are used where they are there. Training never reads what is held out, and
nothing is tokenised here.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import pyarrow.parquet as parquet

from tritonsmith import jsonl
from tritonsmith.errors import UserError
from tritonsmith.tasks import traced_form
from tritonsmith.train import tokenizer as bpe
from tritonsmith.types import Task

SPLITS = ("train", "validation", "heldout")

Column = Literal["prompt", "traced"]
"""A row's prompt as it is, or with the task's traced graph (`prompts.messages`), which `data draft` keeps beside it."""

VALIDATION = 64
"""One graph in so many validates where the rows name no validation split."""

_COLUMNS = ("prompt", "completion", "split", "level", "graph")
_TASK = ("task", "module", "split", "level", "graph", "family")


@dataclass(frozen=True)
class Document:
    """One conversation to learn: what is read, and what is to be written."""

    prompt: str
    """Everything up to the answer, special tokens included, as the tokenizer's chat template writes it."""
    completion: str
    """The answer without its end token."""
    level: int
    graph: str
    """The task's canonical graph, or "" where it has none."""


def heldout(paths: Sequence[Path], n: int) -> list[tuple[Task, str]]:
    """Up to n held-out tasks and their families, one of each graph, in an order that has nothing to do with theirs."""
    found: dict[str, tuple[Task, str]] = {}
    for path in paths:
        for file, split in _files(path, ("heldout",)):
            for row in _rows(file, _TASK):
                if (row.get("split") or split) == "heldout" and row.get("module"):
                    graph = cast(str, row.get("graph") or row["task"])
                    task = Task(
                        id=cast(str, row["task"]),
                        level=cast(int, row.get("level") or 1),
                        source=cast(str, row["module"]),
                        graph=cast(str | None, row.get("graph")),
                    )
                    found.setdefault(graph, (task, cast(str, row.get("family") or "")))
    order = sorted(found, key=lambda graph: hashlib.sha256(graph.encode()).digest())
    return [found[graph] for graph in order[:n]]


def forms(paths: Sequence[Path]) -> set[str]:
    """The canonical forms of the tasks of all training rows, where rows say them.

    Raises UserError where they are not to be compared with today's.
    """
    found: set[str] = set()
    for path in paths:
        for file, split in _files(path, ("train",)):
            found |= {
                cast(str, row.get("form") or "")
                for row in _rows(file, ("form", "split"))
                if (row.get("split") or split) == "train"
            }
    if old := next(filter(traced_form.is_old, found), None):
        raise UserError(f"the rows tell tasks by forms of an older edition, such as {old}: make them anew")
    return found - {""}


def read(paths: Sequence[Path], prompt: Column = "prompt") -> dict[str, list[Document]]:
    """The documents of `train` and `validation` in files and in folders of files.

    A folder's files count if their name begins with a split, as in `train-00000.parquet`, or their own folder's name
    is one. Raises UserError where nothing is to be learnt, where a row lacks what it must have, or where a graph is in
    both splits. `prompt` is the column that is read for the prompt; rows that have no `traced` one show their prompt.
    """
    columns = (*_COLUMNS, prompt)
    found: dict[str, dict[tuple[str, str], Document]] = {"train": {}, "validation": {}}
    named = False
    for path in paths:
        for file, split in _files(path, ("train", "validation")):
            for number, row in enumerate(_rows(file, columns)):
                own = row.get("split") or split
                if own not in SPLITS:
                    raise UserError(f"{file}: row {number}: a split is one of {', '.join(SPLITS)}, not {own!r}")
                named = named or own == "validation"
                if own in found:
                    one = _document({**row, "prompt": row.get(prompt) or row.get("prompt")}, f"{file}: row {number}")
                    found[own][one.prompt, one.completion] = one
    documents = {split: list(rows.values()) for split, rows in found.items()}
    if not documents["train"]:
        raise UserError(f"no training rows in {', '.join(map(str, paths))}")
    if not named:
        documents = _divided(documents["train"])
    shared = {one.graph for one in documents["train"]} & {one.graph for one in documents["validation"]} - {""}
    if shared:
        raise UserError(f"{len(shared)} graphs are both in train and in validation, such as {min(shared)}")
    return documents


def _files(path: Path, splits: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """Files of rows, and the split that each is named for; a file that is given itself trains."""
    if path.is_file():
        yield path, _split_of(path) or "train"
        return
    if not path.is_dir():
        raise UserError(f"no data at {path}")
    for file in sorted([*path.rglob("*.parquet"), *path.rglob("*.jsonl")]):
        split = _split_of(file)
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if split is not None and split in splits and not hidden:
            yield file, split


def _split_of(file: Path) -> str | None:
    words = (re.split(r"[-._]", file.name)[0], file.parent.name)
    return next((word for word in words if word in SPLITS), None)


def _rows(file: Path, wanted: Sequence[str]) -> Iterator[dict[str, object]]:
    if file.suffix != ".parquet":
        yield from jsonl.read(file)
        return
    with parquet.ParquetFile(file) as table:
        columns = [name for name in dict.fromkeys(wanted) if name in table.schema_arrow.names]
        for batch in table.iter_batches(columns=columns):
            yield from cast(list[dict[str, object]], batch.to_pylist())


def _document(row: dict[str, object], where: str) -> Document:
    prompt, completion = row.get("prompt"), row.get("completion")
    if not isinstance(prompt, list) or not isinstance(completion, list) or len(completion) != 1:
        raise UserError(f"{where}: prompt and completion are lists of messages, the completion one of a single message")
    level = row.get("level")
    return Document(
        prompt=chat(cast(list[dict[str, str]], prompt)),
        completion=cast(list[dict[str, str]], completion)[0]["content"],
        level=level if isinstance(level, int) else 1,
        graph=cast(str, row.get("graph") or ""),
    )


def chat(messages: Iterable[dict[str, str]]) -> str:
    """A conversation up to the answer, as `tokenizer.CHAT_TEMPLATE` writes it."""
    said = [
        f"{bpe.ANSWER}{one['content']}{bpe.END}" if one["role"] == "assistant" else f"{bpe.TASK}{one['content']}"
        for one in messages
    ]
    return "".join(said) + bpe.ANSWER


def _divided(documents: Sequence[Document]) -> dict[str, list[Document]]:
    """A share of the graphs, or of the prompts where there are none, for validation; by hash, so always the same."""
    parts: dict[str, list[Document]] = {"train": [], "validation": []}
    for one in documents:
        digest = hashlib.sha256((one.graph or one.prompt).encode()).digest()
        parts["validation" if int.from_bytes(digest[:4]) % VALIDATION == 0 else "train"].append(one)
    return parts
