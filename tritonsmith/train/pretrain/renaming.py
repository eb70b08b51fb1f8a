"""More documents out of one: the same module and kernel with other names for arguments and members.

Names that `forward`, its arguments and the constructor give are consistently replaced in the task and in the host part
of the answer; kernels, whose names are their own, stay as they are. A renamed pair is right if the pair is, so nothing
is judged again; a text that a name cannot be replaced in safely is left alone. Does not read or write files.
"""

import ast
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from tritonsmith.data.rows import Row
from tritonsmith.prompts import Message
from tritonsmith.train import tokenizer as bpe
from tritonsmith.train.pretrain.rows import Document

_INPUTS = (
    "x", "input", "inp", "data", "a", "b", "y", "z", "q", "k", "v", "h", "tensor", "hidden", "features", "left",
    "right", "query", "key", "value", "target", "other", "residual", "state", "logits", "x1", "x2", "x3", "first",
    "second",
)  # fmt: skip
_MEMBERS = (
    "conv", "conv1", "conv2", "linear", "fc", "fc1", "fc2", "proj", "norm", "norm1", "bn", "ln", "act", "activation",
    "layer", "layer1", "layer2", "pool", "gate", "up", "down", "head", "scale", "shift", "bias_param", "block", "op",
    "matmul", "dense", "out_proj", "gamma", "beta", "factor", "mod", "net", "layers", "embed", "table", "drop", "body",
)  # fmt: skip
_CONSTRUCTOR = (
    "in_features", "out_features", "in_channels", "out_channels", "dim", "hidden_dim", "hidden_size", "num_features",
    "channels", "size", "features", "n_in", "n_out", "width", "inner", "kernel", "groups", "c_in", "c_out", "d_model",
)  # fmt: skip
_NOUNS = (
    "predictions", "targets", "labels", "scores", "probs", "mask", "index", "indices", "tokens", "ids", "image",
    "signal", "batch", "source", "memory", "context", "output", "outputs", "result", "anchor", "positive", "negative",
    "mean", "variance", "std", "sequence", "frames", "states", "weights", "points", "grid", "patches", "embedding",
    "codes", "values", "keys", "queries", "lhs", "rhs", "matrix", "vector", "sample", "noise", "cond", "step", "rate",
)  # fmt: skip
_ADJECTIVES = (
    "in", "out", "hidden", "inner", "outer", "first", "second", "last", "next", "prev", "left", "right", "main", "side",
    "new", "old", "final", "local", "global", "raw", "mid", "base", "extra", "shared", "pre", "post", "num", "max",
    "min",
)  # fmt: skip
_OTHERS = (*_NOUNS, *(f"{first}_{noun}" for first in _ADJECTIVES for noun in (*_NOUNS, *_MEMBERS, *_CONSTRUCTOR)))
"""Names for every scope, seldom the same one twice: from few names a model learns those, from many to copy any."""
OTHER = 0.5
"""Share of the new names that are of these."""

CHANGED = 0.7
"""Share of the names that a copy has others for."""
_HOST = "class ModelNew"

Found = tuple[int, int, str]
"""Line, column and the name there."""


class Place(NamedTuple):
    """Where a name stands."""

    scope: int
    line: int
    column: int
    name: str


def renamed(
    documents: Sequence[Document], copies: int, rng: random.Random, members: bool = False
) -> Iterator[Document]:
    """Each document, and up to `copies` more of it under other names; with `members` those of members alone change."""
    for one in documents:
        yield one
        anatomy = read(one) if copies else None
        if anatomy is not None:
            yield from anatomy.others(copies, rng, members)


def with_copies(rows: Sequence[Row], copies: int, seed: int) -> list[Row]:
    """Rows, and up to `copies` more of each under other names; a conversation of several turns has none.

    The same row has the same copies, whatever stands beside it.
    """
    found: list[Row] = []
    for row in rows:
        found.append(row)
        said = row.completion[0]["content"]
        for prompt, answer in under_other_names(row.prompt, said, copies, random.Random(f"{seed}/{row.task}/{said}")):
            completion = [{**row.completion[0], "content": answer}]
            found.append(row.model_copy(update={"prompt": prompt, "completion": completion}))
    return found


def under_other_names(
    chat: Sequence[Message], answer: str, copies: int, rng: random.Random
) -> list[tuple[list[Message], str]]:
    """Up to `copies` of a chat and its answer under other names; none of one with several turns."""
    if len(chat) > 1 or not copies:
        return []
    anatomy = _read_before(f"{bpe.TASK}{chat[0]['content']}{bpe.ANSWER}", answer)
    return [
        ([{**chat[0], "content": one.prompt.removeprefix(bpe.TASK).removesuffix(bpe.ANSWER)}], one.completion)
        for one in (anatomy.others(copies, rng) if anatomy is not None else ())
    ]


@dataclass(frozen=True)
class Anatomy:
    """A document's texts, and where names stand in them that may be replaced."""

    document: Document
    module: str
    host: str
    """The answer's class."""
    module_places: list[Place]
    host_places: list[Place]
    names: list[list[str]]
    """The names by scope: arguments of `forward`, of the constructor, members."""
    pools: list[list[str]]
    """Usual names by scope that no text of the document has."""
    words: frozenset[str]
    """All words of the document."""

    def others(self, copies: int, rng: random.Random, members: bool = False) -> list[Document]:
        """Up to `copies` documents under other names, no two the same; `rename` says what `members` does."""
        found = {other.prompt: other for other in (self.rename(rng, members) for _ in range(copies))}
        found.pop(self.document.prompt, None)
        return list(found.values())

    def rename(self, rng: random.Random, members: bool = False) -> Document:
        """The document under other names; some stay, with `members` all but those of members."""
        new: dict[tuple[int, str], str] = {}
        taken: set[str] = set()
        for scope, (names, pool) in enumerate(zip(self.names, self.pools, strict=True)):
            if members and _SCOPES[scope] is not _members:
                continue
            for name in names:
                if rng.random() < CHANGED:
                    other = rng.choice(_OTHERS if rng.random() < OTHER else pool or _OTHERS)
                    if other not in taken and other not in self.words:
                        new[scope, name] = other
                        taken.add(other)
        one = self.document
        return replace(
            one,
            prompt=one.prompt.replace(self.module, _replaced(self.module, self.module_places, new)),
            completion=one.completion.replace(self.host, _replaced(self.host, self.host_places, new)),
        )


def read(document: Document) -> Anatomy | None:
    """What may be renamed in a document; None where its texts are not of the form that is known."""
    module = document.prompt.rpartition(bpe.TASK)[2].rpartition(bpe.ANSWER)[0]
    head, start, rest = document.completion.rpartition(_HOST)
    host = start + rest.partition("\n```")[0]
    if not start or not module or document.prompt.count(module) != 1 or document.completion.count(host) != 1:
        return None
    try:
        given, answered = _class(module, "Model"), _class(host, "ModelNew")
    except (SyntaxError, StopIteration, ValueError):
        return None
    taken = frozenset(re.findall(r"\w+", module + document.completion))
    names: list[list[str]] = []
    module_places: list[Place] = []
    host_places: list[Place] = []
    for scope, find in enumerate(_SCOPES):
        module_places += [Place(scope, *place) for place in find(given)]
        host_places += [Place(scope, *place) for place in find(answered)]
        own = dict.fromkeys(place.name for place in module_places if place.scope == scope)
        # A kernel that names a member was named after it.
        names.append([n for n in own if scope == 0 or not re.search(rf"\b{n}(_ptr)?\b", head)])
    if not _stand(module, module_places) or not _stand(host, host_places):
        return None
    pools = [[name for name in pool if name not in taken] for pool in (_INPUTS, _CONSTRUCTOR, _MEMBERS)]
    return Anatomy(document, module, host, module_places, host_places, names, pools, taken)


@lru_cache(maxsize=4096)
def _read_before(prompt: str, completion: str) -> Anatomy | None:
    """What `read` gives, remembered: reading takes 2 ms, renaming 0.1, and GRPO's answers come back many times."""
    return read(Document(prompt, completion, 0, ""))


def _class(text: str, name: str) -> ast.ClassDef:
    if not text.isascii():
        raise ValueError("columns are counted in bytes")
    return next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == name)


def _method(model: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((node for node in model.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _local(function: ast.FunctionDef | None) -> Iterator[Found]:
    """Where a function's own arguments stand in it."""
    if function is None:
        return
    own = {argument.arg for argument in function.args.args[1:]}
    for node in ast.walk(function):
        if isinstance(node, ast.arg) and node.arg in own:
            yield node.lineno, node.col_offset, node.arg
        elif isinstance(node, ast.Name) and node.id in own:
            yield node.lineno, node.col_offset, node.id


def _inputs(model: ast.ClassDef) -> Iterable[Found]:
    return _local(_method(model, "forward"))


def _parameters(model: ast.ClassDef) -> Iterable[Found]:
    return _local(_method(model, "__init__"))


def _members(model: ast.ClassDef) -> Iterator[Found]:
    """Where members stand that the constructor assigns: `self.name`."""
    assigned = {
        target.attr
        for node in ast.walk(model)
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Attribute) and _is_self(target)
    }
    for node in ast.walk(model):
        if isinstance(node, ast.Attribute) and _is_self(node) and node.attr in assigned:
            yield node.end_lineno or 0, (node.end_col_offset or 0) - len(node.attr), node.attr


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


_SCOPES: tuple[Callable[[ast.ClassDef], Iterable[Found]], ...] = (_inputs, _parameters, _members)


def _replaced(text: str, places: Sequence[Place], names: Mapping[tuple[int, str], str]) -> str:
    """The text with new names in their places."""
    lines = text.split("\n")
    for scope, line, column, old in sorted(set(places), key=lambda place: place[1:3], reverse=True):
        new = names.get((scope, old))
        if new is not None:
            row = lines[line - 1]
            lines[line - 1] = row[:column] + new + row[column + len(old) :]
    return "\n".join(lines)


def _stand(text: str, places: Sequence[Place]) -> bool:
    """Whether every name stands where it should: inside an f-string CPython 3.11 tells other places."""
    lines = text.split("\n")
    return all(lines[place.line - 1].startswith(place.name, place.column) for place in places)
