"""More documents out of one: the same module and kernel with other names for arguments and members.

Names that `forward`, its arguments and the constructor give are consistently replaced in the task and in the host part
of the answer; kernels, whose names are their own, stay as they are. A renamed pair is right if the pair is, so nothing
is judged again; a text that a name cannot be replaced in safely is left alone. Does not read or write files.
"""

import ast
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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

Place = tuple[int, int, str]
"""Line, column and the name there."""


def renamed(documents: Sequence[Document], copies: int, seed: int) -> Iterator[Document]:
    """Each document, and up to `copies` more of it under other names."""
    rng = random.Random(seed)
    for one in documents:
        seen = {one.prompt}
        yield one
        for _ in range(copies):
            other = rename(one, rng)
            if other is not None and other.prompt not in seen:
                seen.add(other.prompt)
                yield other


def rename(document: Document, rng: random.Random) -> Document | None:
    """The document under other names, None where its texts are not of the form that is known."""
    start = document.prompt.rfind(bpe.TASK) + len(bpe.TASK)
    end = document.prompt.rfind(bpe.ANSWER)
    module = document.prompt[start:end]
    head, fence, rest = document.completion.rpartition("class ModelNew")
    if not fence or document.prompt.count(bpe.TASK) != 1:
        return None
    host, close, tail = (fence + rest).partition("\n```")
    try:
        given, answered = _class(module, "Model"), _class(host, "ModelNew")
    except (SyntaxError, StopIteration, ValueError):
        return None
    taken = set(re.findall(r"\w+", module + document.completion))
    scopes = ((_inputs, _INPUTS), (_parameters, _CONSTRUCTOR), (_members, _MEMBERS))
    module_places: list[Place] = []
    host_places: list[Place] = []
    names: dict[tuple[int, str], str] = {}
    for number, (places, pool) in enumerate(scopes):
        # A kernel that names a member was named after it.
        wanted = [
            n
            for n in dict.fromkeys(n for *_, n in places(given))
            if number == 0 or not re.search(rf"\b{n}(_ptr)?\b", head)
        ]
        free = [name for name in pool if name not in taken]
        rng.shuffle(free)
        for name in wanted:
            if free and rng.random() < 0.7:
                names[number, name] = free.pop()
                taken.add(names[number, name])
        for text, found in ((given, module_places), (answered, host_places)):
            found += [(line, column, f"{number} {name}") for line, column, name in places(text)]
    return replace(
        document,
        prompt=document.prompt[:start] + _replaced(module, module_places, names) + document.prompt[end:],
        completion=head + _replaced(host, host_places, names) + close + tail,
    )


def _class(text: str, name: str) -> ast.ClassDef:
    if not text.isascii():
        raise ValueError("columns are counted in bytes")
    return next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == name)


def _method(model: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((node for node in model.body if isinstance(node, ast.FunctionDef) and node.name == name), None)


def _local(function: ast.FunctionDef | None) -> Iterator[Place]:
    """Where a function's own arguments stand in it."""
    if function is None:
        return
    own = {argument.arg for argument in function.args.args[1:]}
    for node in ast.walk(function):
        if isinstance(node, ast.arg) and node.arg in own:
            yield node.lineno, node.col_offset, node.arg
        elif isinstance(node, ast.Name) and node.id in own:
            yield node.lineno, node.col_offset, node.id


def _inputs(model: ast.ClassDef) -> Iterable[Place]:
    return _local(_method(model, "forward"))


def _parameters(model: ast.ClassDef) -> Iterable[Place]:
    return _local(_method(model, "__init__"))


def _members(model: ast.ClassDef) -> Iterator[Place]:
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


def _replaced(text: str, places: Sequence[Place], names: dict[tuple[int, str], str]) -> str:
    """The text with new names in their places; raises ValueError where a name does not stand where it should."""
    lines = text.split("\n")
    for line, column, mark in sorted(set(places), reverse=True):
        number, _, old = mark.partition(" ")
        new = names.get((int(number), old))
        if new is None:
            continue
        row = lines[line - 1]
        if not row.startswith(old, column):
            raise ValueError(f"{old} does not stand at {line}:{column}")
        lines[line - 1] = row[:column] + new + row[column + len(old) :]
    return "\n".join(lines)
