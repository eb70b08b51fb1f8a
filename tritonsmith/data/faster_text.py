"""An answer of our own lowering as pieces that can be rewritten: its kernels, and the statements of `forward`.

Reads the one canonical style that `lower` writes and writes it back; other text is refused. Also runs `forward` on
tensors without values to learn what numbers each kernel is launched with. Knows nothing of what makes a kernel faster.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import torch
from torch._subclasses import FakeTensorMode

from tritonsmith.data.lower.text import Kernel, free_name
from tritonsmith.source import parse
from tritonsmith.tasks.format import TaskModule
from tritonsmith.types import Task


@dataclass
class Tuned(Kernel):
    """A kernel with launch options."""

    options: dict[str, str] = field(default_factory=dict)
    """`num_warps` and the like."""

    def launch(self) -> list[str]:
        """The statement that launches it."""
        whole = Kernel(self.name, self.pointers, self.sizes, self.constants | self.options, self.body, self.grid)
        return whole.launch()


@dataclass
class Answer:
    """A candidate in pieces."""

    head: str
    """What stands before the first kernel."""
    fixed: list[str]
    """Functions that are launched several times or called by kernels: left as they are."""
    opening: str
    """The class up to `forward`, its first line included."""
    statements: "list[str | Tuned]"
    """Of `forward`, in order; a kernel stands for its only launch."""

    @property
    def kernels(self) -> list[Tuned]:
        """The kernels that are launched once, in order."""
        return [one for one in self.statements if isinstance(one, Tuned)]

    def source(self) -> str:
        """The candidate's text."""
        lines = [self.head.rstrip()]
        for text in [*self.fixed, *(kernel.definition() for kernel in self.kernels)]:
            lines += ["", "", text]
        lines += ["", "", self.opening]
        for one in self.statements:
            lines += [f"        {line}" for line in (one.launch() if isinstance(one, Tuned) else one.splitlines())]
        return "\n".join(lines) + "\n"

    def private(self, variable: str, *kernels: Tuned) -> bool:
        """Whether nothing but these kernels' launches and its allocation mention a variable."""
        others = [one for one in self.statements if one not in kernels]
        text = "\n".join("\n".join(one.launch()) if isinstance(one, Tuned) else one for one in others)
        return len(re.findall(rf"\b{variable}\b", text)) == 1 and re.search(_allocated(variable), text) is not None

    def replace(self, first: Tuned, second: Tuned, joined: Tuned, variable: str) -> None:
        """One kernel in the place of two, without the memory between them."""
        allocation = _allocated(variable)
        kept = [one for one in self.statements if isinstance(one, Tuned) or not re.match(allocation, one)]
        self.statements = [joined if one is second else one for one in kept if one is not first]


def _allocated(variable: str) -> str:
    """What a line looks like that gives a variable its memory."""
    return rf"(?m)^{variable} = (torch|[\w.\[\]]+)\.(new_)?empty"


def read(source: str) -> Answer:
    """The pieces of an answer. Raises ValueError where it is not of the canonical style."""
    tree = parse(source)
    lines = source.splitlines()
    model = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ModelNew"), None)
    forward = (
        next((n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward"), None) if model else None
    )
    if model is None or forward is None:
        raise ValueError("no ModelNew.forward")
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef) and n.decorator_list}
    launched = [name for node in forward.body if (name := _launched(node)) in functions]
    once = {name for name in launched if launched.count(name) == 1}
    first = min((_start(node) for node in functions.values()), default=model.lineno)
    fixed = [_text(lines, node) for name, node in functions.items() if name not in once]
    statements: list[str | Tuned] = []
    for node in forward.body:
        name = _launched(node)
        statements.append(_kernel(lines, functions[name], node) if name in once else _dedented(_text(lines, node)))
    opening = "\n".join(lines[model.lineno - 1 : forward.body[0].lineno - 1])
    return Answer("\n".join(lines[: first - 1]), fixed, opening, statements)


def _start(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _text(lines: list[str], node: ast.stmt) -> str:
    start = _start(node) if isinstance(node, ast.FunctionDef) else node.lineno
    return "\n".join(lines[start - 1 : node.end_lineno])


def _dedented(text: str) -> str:
    return "\n".join(line[8:] for line in text.splitlines())


def _launched(node: ast.stmt) -> str:
    """The kernel that a statement launches; empty where it launches none."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript) and isinstance(call.func.value, ast.Name):
        return call.func.value.id
    return ""


def _kernel(lines: list[str], function: ast.FunctionDef, launch: ast.stmt) -> Tuned:
    assert isinstance(launch, ast.Expr) and isinstance(launch.value, ast.Call)
    call = launch.value
    assert isinstance(call.func, ast.Subscript)
    parameters = [one.arg for one in function.args.args]
    passed = dict(zip(parameters, map(ast.unparse, call.args), strict=False))
    kernel = Tuned(function.name)
    kernel.pointers = {name: text for name, text in passed.items() if name.endswith("_ptr")}
    kernel.sizes = {name: text for name, text in passed.items() if not name.endswith("_ptr")}
    named = {one.arg: ast.unparse(one.value) for one in call.keywords if one.arg}
    kernel.constants = {name: text for name, text in named.items() if name in parameters}
    kernel.options = {name: text for name, text in named.items() if name not in parameters}
    if set(parameters) != {*passed, *kernel.constants}:
        raise ValueError("a kernel is launched in another way")
    kernel.body = [line[4:] for line in lines[function.body[0].lineno - 1 : function.end_lineno]]
    kernel.grid = ast.unparse(call.func.slice)
    return kernel


# -- numbers


def launched_with(task: Task, source: str) -> dict[str, dict[str, object]]:
    """By kernel and parameter, what the answer passes at the task's own sizes: numbers, and tensors without values.

    Runs the answer's class, not its kernels: only for text that `lower` wrote.
    """
    tree = parse(source)
    seen: dict[str, dict[str, object]] = {}
    names: dict[str, object] = {}
    kept: list[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            names[node.name] = _Recorder(node.name, [one.arg for one in node.args.args], seen)
        else:
            kept.append(node)
    tree.body = kept
    exec(compile(tree, "<answer>", "exec"), names)
    module = TaskModule.of(task)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
        model = cast(Callable[..., torch.nn.Module], names["ModelNew"])(*module.init_inputs())
        inputs = [mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in module.inputs(0)]
        model(*inputs)
    return seen


@dataclass(frozen=True)
class _Recorder:
    """Stands for a kernel and notes its launches."""

    name: str
    parameters: list[str]
    seen: dict[str, dict[str, object]]

    def __getitem__(self, grid: object) -> Callable[..., None]:
        def launch(*passed: object, **constants: object) -> None:
            self.seen[self.name] = {**dict(zip(self.parameters, passed, strict=False)), **constants}

        return launch


def number(values: Mapping[str, object], name: str) -> int:
    """A launch's integer; 0 where there is none of that name."""
    found = values.get(name)
    return found if isinstance(found, int) else 0


# -- two kernels as one


def neighbours(answer: Answer) -> Iterator[tuple[Tuned, Tuned, str]]:
    """Kernels of which the second alone reads what the first alone makes, with that tensor's variable."""
    for first in answer.kernels:
        made = [passed for name, passed in first.pointers.items() if name.startswith("out")]
        for second in answer.kernels:
            read_there = [passed for name, passed in second.pointers.items() if not name.startswith("out")]
            if len(made) == 1 and made[0] in read_there and answer.private(made[0], first, second):
                yield first, second, made[0]


def mentions(kernel: Tuned, variable: str) -> bool:
    """Whether a kernel's launch names a variable."""
    return any(re.search(rf"\b{variable}\b", line) for line in kernel.launch())


def merged_parameters(first: Tuned, second: Tuned, made: str) -> tuple[Tuned, dict[str, str]]:
    """A kernel with the parameters of both but for `made`; and what the second's are called in it."""
    pointers = {name: passed for name, passed in first.pointers.items() if passed != made}
    sizes, known = dict(first.sizes), {passed: name for name, passed in pointers.items()}
    names: dict[str, str] = {}
    for name, passed in second.pointers.items():
        if passed != made:
            names[name] = known.get(passed) or free_name(name, pointers)
            names[name.removesuffix("_ptr")] = names[name].removesuffix("_ptr")
            pointers[names[name]] = passed
    for name, passed in second.sizes.items():
        names[name] = name if sizes.get(name, passed) == passed else f"{name}2"
        sizes[names[name]] = passed
    return Tuned(first.name, pointers, sizes), names


def renamed(line: str, names: Mapping[str, str]) -> str:
    """The line with values u1, u2, ... in place of v1, v2, ... and parameters by their new names."""
    line = re.sub(r"\bv(\d+)\b", r"u\1", line)
    return re.sub(r"\b\w+\b", lambda match: names.get(match.group(), match.group()), line)


def plain(lines: list[str]) -> list[str]:
    """Values numbered without gaps."""
    order = dict.fromkeys(re.findall(r"\b[uv]\d+\b", "\n".join(lines)))
    new = {old: f"v{k}" for k, old in enumerate(order, 1)}
    return [re.sub(r"\b[uv]\d+\b", lambda match: new[match.group()], line) for line in lines]
