"""Any PyTorch task into a candidate made of Inductor's Triton: traced with symbolic sizes, generated without a GPU,
rewritten in plain `triton.language`.

`convert` gives a pair that nobody has judged yet, or says why there is none. Matrix products and convolutions, which
Inductor leaves to libraries, get kernels of our own (`externs`). Operators that change random state, sort, or have no
Triton in Inductor are a Miss.
"""

import torch
from torch.utils import _pytree as pytree

from tritonsmith.data.inductor.constructor import shell
from tritonsmith.data.inductor.emit import Setting, emit
from tritonsmith.data.inductor.generate import generate
from tritonsmith.data.inductor.plan import plan
from tritonsmith.data.inductor.rewrite import Unsupported
from tritonsmith.data.inductor.trace import Graph, Untraceable, trace
from tritonsmith.data.inductor.wrapper import read
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.types import Task


def convert(task: Task, target: str = "sm_90") -> Pair | Miss:
    """Inductor's answer to a task, for a GPU target that need not be there."""
    try:
        graph = trace(task)
        candidate = emit(read(generate(graph, target)), shell(task.source), _setting(graph))
    except (Untraceable, Unsupported) as reason:
        return Miss(str(reason))
    return Pair(plan(candidate), candidate.source)


def _setting(graph: Graph) -> Setting:
    pairs = zip(graph.paths, graph.arguments, strict=True)
    tensors = {path: value for path, value in pairs if isinstance(value, torch.Tensor)}
    if not tensors:
        raise Unsupported("no tensors go in")
    path = next((path for path, value in tensors.items() if value.is_floating_point()), next(iter(tensors)))
    return Setting(
        paths=graph.paths,
        ranks={path: value.dim() for path, value in tensors.items()},
        inputs=graph.inputs,
        sizes=graph.sizes.meanings(),
        structure=lambda names: structure(graph.output, names),
        dtypes={path: str(value.dtype) for path, value in tensors.items()},
        dtype=f"{path}.dtype",
        native=str(tensors[path].dtype) if tensors[path].is_floating_point() else "",
    )


def structure(spec: pytree.TreeSpec, names: list[str]) -> str:
    """The expression of nested tuples, lists and dicts that holds these at its leaves."""
    if len(names) == 1 and spec.is_leaf():
        return names[0]

    def text(value: object) -> str:
        if isinstance(value, tuple):
            return f"({', '.join(map(text, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, list):
            return f"[{', '.join(map(text, value))}]"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {text(item)}' for key, item in value.items())}}}"
        return str(value)

    return text(pytree.tree_unflatten(names, spec))
