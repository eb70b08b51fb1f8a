"""Inductor's wrapper module read as plain data: which buffers it makes, which kernels it launches on them, in order.

Expressions stay text in the wrapper's own names (`arg0_1`, `s34`, `buf2`). Drops what is only for Inductor: streams,
guards, deletions, assertions. Does not look into the kernels.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tritonsmith.data.inductor.rewrite import Unsupported, dotted

_ALLOCATE = {"empty_strided_cpu", "empty_strided_cuda", "empty_strided_xpu", "empty_strided"}
_DROPPED = {"assert_size_stride", "assert_alignment", "stream", "get_raw_stream", "args.clear", "torch.cuda.set_device"}


@dataclass
class Allocate:
    """A buffer."""

    name: str
    size: list[str]
    stride: list[str]
    dtype: str


@dataclass
class Launch:
    """A kernel on its arguments."""

    kernel: str
    arguments: list[str]
    blocks: dict[str, str] = field(default_factory=dict)
    """Block sizes, where the wrapper gives them."""


@dataclass
class Extern:
    """What Inductor leaves to a library."""

    name: str
    """The buffer that holds the result."""
    operator: str
    arguments: list[str]
    keywords: dict[str, str] = field(default_factory=dict)


@dataclass
class Set:
    """Another name, view or number."""

    name: str
    value: str


Step = Allocate | Launch | Extern | Set


@dataclass
class Wrapper:
    """A wrapper module."""

    kernels: dict[str, str]
    """The text of each kernel's module by the kernel's name."""
    arguments: list[str]
    steps: list[Step]
    outputs: list[str]


def read(text: str) -> Wrapper:
    """Read a wrapper module; raises Unsupported for a statement of no known form."""
    tree = ast.parse(text)
    kernels = {}
    for value in (node.value for node in tree.body if isinstance(node, ast.Assign)):
        if isinstance(value, ast.Call) and dotted(value.func) == "async_compile.triton":
            name, source = map(ast.literal_eval, value.args[:2])
            kernels[name] = source
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    jitted = [node for node in functions if "triton.jit" in map(dotted, node.decorator_list)]
    shared = [ast.unparse(node) for node in jitted if not node.name.startswith("triton_")]
    kernels |= {n.name: "\n".join([*shared, ast.unparse(n)]) for n in jitted if n.name.startswith("triton_")}
    call = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "call"), None)
    if call is None:
        raise Unsupported("a wrapper without a call")
    wrapper = Wrapper(kernels, [], [], [])
    for line in _flat(call.body):
        _statement(line, wrapper)
    return wrapper


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for line in body:
        if isinstance(line, ast.With):
            yield from _flat(line.body)
        else:
            yield line


def _statement(line: ast.stmt, wrapper: Wrapper) -> None:
    if isinstance(line, (ast.Delete, ast.Pass)):
        return
    if isinstance(line, ast.Return):
        values = line.value.elts if isinstance(line.value, ast.Tuple) else [line.value]
        wrapper.outputs = [ast.unparse(value) for value in values if value is not None]
    elif isinstance(line, ast.Expr) and isinstance(line.value, ast.Call):
        _call(line.value, wrapper)
    elif isinstance(line, ast.Assign) and len(line.targets) == 1:
        _assignment(line.targets[0], line.value, wrapper)
    else:
        raise Unsupported("a wrapper statement of no known form")


def _call(call: ast.Call, wrapper: Wrapper) -> None:
    name = dotted(call.func)
    launched = call.func.value if isinstance(call.func, ast.Subscript) else None
    if isinstance(launched, ast.Name):
        blocks = {w.arg: ast.unparse(w.value) for w in call.keywords if w.arg and w.arg.endswith("BLOCK")}
        wrapper.steps.append(Launch(launched.id, [ast.unparse(arg) for arg in call.args], blocks))
    elif name.endswith(".run") and name.removesuffix(".run") in wrapper.kernels:
        wrapper.steps.append(Launch(name.removesuffix(".run"), [ast.unparse(arg) for arg in call.args]))
    elif name.startswith("extern_kernels."):
        words = {word.arg: ast.unparse(word.value) for word in call.keywords if word.arg}
        out = words.pop("out", "")
        wrapper.steps.append(Extern(out, name, [ast.unparse(arg) for arg in call.args], words))
    elif name not in _DROPPED:
        raise Unsupported(f"left to {name or 'a library'}")


def _assignment(target: ast.expr, value: ast.expr, wrapper: Wrapper) -> None:
    if isinstance(value, ast.Name) and value.id == "args":
        wrapper.arguments = [ast.unparse(item) for item in (target.elts if isinstance(target, ast.Tuple) else [target])]
        return
    name = ast.unparse(target)
    called = dotted(value.func) if isinstance(value, ast.Call) else ""
    if called in _ALLOCATE and isinstance(value, ast.Call):
        size, stride = (_items(arg) for arg in value.args[:2])
        wrapper.steps.append(Allocate(name, size, stride, ast.unparse(value.args[2])))
    elif called in _DROPPED:
        return
    elif called.startswith(("torch.ops.", "extern_kernels.", "aten.")) and isinstance(value, ast.Call):
        words = {word.arg: ast.unparse(word.value) for word in value.keywords if word.arg}
        wrapper.steps.append(Extern(name, called, [ast.unparse(arg) for arg in value.args], words))
    else:
        wrapper.steps.append(Set(name, ast.unparse(value)))


def _items(node: ast.expr) -> list[str]:
    return [ast.unparse(item) for item in node.elts] if isinstance(node, ast.Tuple) else [ast.unparse(node)]
