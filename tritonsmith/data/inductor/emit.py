"""A candidate's source out of a wrapper's steps, its kernels in plain Triton, and the task's constructor.

Says nothing of how the kernels came about; see `generate` and `rewrite`.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tritonsmith.data.inductor.constructor import Shell
from tritonsmith.data.inductor.kernels import TILE, Kernel, clean
from tritonsmith.data.inductor.layout import Views, contiguous, parsed, pointer, tupled
from tritonsmith.data.inductor.libraries import routine_for
from tritonsmith.data.inductor.rewrite import Unsupported
from tritonsmith.data.inductor.simplify import Rename, arithmetic
from tritonsmith.data.inductor.text import definition, wrapped
from tritonsmith.data.inductor.wrapper import Allocate, Extern, Launch, Set, Wrapper
from tritonsmith.data.routines import Routine

_TYPES = {
    f"torch.{name}": f"*{short}"
    for name, short in {
        "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64", "int64": "i64", "int32": "i32",
        "bool": "i1", "uint8": "u8", "int8": "i8", "int16": "i16",
    }.items()
}  # fmt: skip
_HEAD = ("import torch", "import torch.nn as nn", "import triton", "import triton.language as tl")


@dataclass
class Setting:
    """What a wrapper's arguments are in forward, and what forward returns."""

    paths: list[str]
    """For each of the wrapper's arguments `x`, `self.linear.weight` or `self.num_heads`."""
    ranks: dict[str, int]
    """How many dimensions those have that are tensors."""
    inputs: list[str]
    """Forward's parameters that are tensors."""
    sizes: dict[str, str]
    """What symbols stand for that are computed from others."""
    structure: Callable[[list[str]], str]
    """The expression that forward returns, of those of its tensors."""
    dtypes: dict[str, str]
    """Their dtypes in the trace."""
    dtype: str
    """What says in which dtype the task runs: `x.dtype`."""
    native: str
    """The dtype of the trace that stands for it: `torch.float32`."""


@dataclass
class Candidate:
    """A candidate's source with what it is made of."""

    source: str
    kernels: list[Kernel]
    routines: list[Routine]
    launches: Counter[str] = field(default_factory=Counter)
    """How often forward launches each kernel and calls each routine, by name."""


def emit(wrapper: Wrapper, shell: Shell, setting: Setting) -> Candidate:
    """Write a candidate; raises Unsupported."""
    if len(setting.paths) != len(wrapper.arguments):
        raise Unsupported("arguments that do not agree")
    return _Writer(wrapper, shell, setting).candidate()


class _Writer:
    def __init__(self, wrapper: Wrapper, shell: Shell, setting: Setting) -> None:
        self.wrapper, self.shell, self.setting = wrapper, shell, setting
        self.names: dict[str, ast.expr] = {}
        """What the wrapper's names stand for in forward."""
        self.sizes: dict[str, str] = {}
        """Local names of sizes, and what they are."""
        self.kernels: dict[str, Kernel] = {}
        self.routines: dict[str, Routine] = {}
        self.helpers: dict[str, str] = {}
        """Names of helper functions by their bodies."""
        self.body: list[str] = []
        self.launches: Counter[str] = Counter()
        for argument, path in zip(wrapper.arguments, setting.paths, strict=True):
            self.names[argument] = parsed(path)
        self.pending = dict(setting.sizes)
        self.uses = Counter(step.kernel for step in wrapper.steps if isinstance(step, Launch))
        outputs = self._outputs(wrapper.outputs)
        made = dict.fromkeys(step.name for step in wrapper.steps if isinstance(step, (Allocate, Extern)))
        alone = outputs[0] if len(outputs) == 1 else ""
        self.buffers = {old: f"buf{place}" for place, old in enumerate(name for name in made if name != alone)}
        self.buffers |= {alone: "out"} if alone in made else {}
        self.names |= {old: ast.Name(new, ast.Load()) for old, new in self.buffers.items()}
        named = {n.id for text in outputs for n in ast.walk(parsed(text)) if isinstance(n, ast.Name)}
        self.returned = {name for name in made if name in named}
        self.results = {step.name for step in wrapper.steps if isinstance(step, Extern)}
        self.types = {self.buffers[s.name]: _TYPES.get(s.dtype, "") for s in wrapper.steps if isinstance(s, Allocate)}
        self.types |= {path: _TYPES.get(dtype, "") for path, dtype in setting.dtypes.items()}
        self.types |= {self.buffers[name]: "*fp32" for name in self.results}

    def candidate(self) -> Candidate:
        for step in self.wrapper.steps:
            if not isinstance(step, Set) or step.name.startswith("ps"):
                self._compute_sizes()
            if isinstance(step, Set):
                self._set(step)
            elif isinstance(step, Allocate):
                self._allocate(step)
            elif isinstance(step, Launch):
                self._launch(step)
            else:
                self._extern(step)
        if not self.launches:
            raise Unsupported("nothing to compute")
        outputs = [ast.unparse(self._value(text)) for text in self.wrapper.outputs]
        self.body.append(f"return {self.setting.structure(outputs)}")
        return Candidate(self._source(), list(self.kernels.values()), list(self.routines.values()), self.launches)

    def _outputs(self, texts: Sequence[str]) -> list[str]:
        """Outputs with other names for buffers followed back."""
        other = {s.name: s.value for s in self.wrapper.steps if isinstance(s, Set)}
        return [re.sub(r"\bbuf\d+\b", lambda m: _last(m[0], other), text) for text in texts]

    def _set(self, step: Set) -> None:
        if re.fullmatch(r"\w+_size", step.name) or step.value.endswith(".size()"):
            self.names[step.name] = parsed(f"{step.value.removesuffix('.size()')}.shape")
            self.names[step.name] = Rename(self.names).visit(self.names[step.name])
            return
        value = self._value(step.value)
        text = ast.unparse(value)
        if re.fullmatch(r"[su]\d+", step.name) and not isinstance(value, (ast.Name, ast.Constant)):
            local = _local(text)
            self.sizes[local] = text
            value = ast.Name(local, ast.Load())
        self.names[step.name] = value

    def _compute_sizes(self) -> None:
        """Name the sizes that are computed from others, once those are named."""
        for place, (symbol, meaning) in enumerate(self.pending.items()):
            local = f"size{place}"
            if symbol not in self.names:
                self.sizes[local] = ast.unparse(self._value(meaning))
                self.names[symbol] = ast.Name(local, ast.Load())
        self.pending = {}

    def _value(self, text: str) -> ast.expr:
        """An expression of the wrapper in forward's names."""
        return arithmetic(Views(self.setting.ranks).visit(Rename(self.names).visit(parsed(text))))

    def _allocate(self, step: Allocate) -> None:
        if step.name in self.results:
            return  # the routine that writes it makes it
        size = [self._value(text) for text in step.size]
        stride = [self._value(text) for text in step.stride]
        shape, name = tupled(size), self.buffers[step.name]
        device = self.setting.dtype.removesuffix(".dtype") + ".device"
        words = f"device={device}, dtype={self._dtype(step.name, step.dtype)}"
        if contiguous(size, stride):
            self.body.append(f"{name} = torch.empty({shape}, {words})")
        else:
            self.body.append(f"{name} = torch.empty_strided({shape}, {tupled(stride)}, {words})")

    def _dtype(self, buffer: str, dtype: str) -> str:
        """Results have the task's dtype, what lies between them float32."""
        if dtype == self.setting.native and buffer in self.returned:
            return self.setting.dtype
        return "torch.float32" if dtype in ("torch.float16", "torch.bfloat16") else dtype

    def _launch(self, step: Launch) -> None:
        arguments = [pointer(self._value(text)) for text in step.arguments]
        kernel = self._kernel(step.kernel, [self.types.get(ast.unparse(arg), "") for arg in arguments])
        parameters = [arg.arg for arg in kernel.function.args.args if arg.arg not in kernel.blocks]
        given = dict(zip(parameters, arguments, strict=True))
        sizes = {axis: ast.unparse(given[f"{axis}numel"]) for axis in [*kernel.axes, "r"] if f"{axis}numel" in given}
        if self.uses[step.kernel] == 1:
            given = _christen(kernel, given, sorted(self.buffers[name] for name in self.returned))
        blocks = step.blocks or dict(self._blocks(kernel, sizes))
        grid = []
        for axis in kernel.axes:
            block = blocks.get(f"{axis.upper()}BLOCK", "1")
            grid.append(sizes[axis] if block == "1" else f"triton.cdiv({sizes[axis]}, {block})")
        call = [*map(ast.unparse, given.values()), *(f"{name}={block}" for name, block in blocks.items())]
        self.body += wrapped(f"{kernel.name}[({', '.join(grid)},)](", call, ")", 8)
        self.launches[kernel.name] += 1

    def _blocks(self, kernel: Kernel, sizes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Block sizes as a launch gives them; those of rows go by the rows' length, so that a tile stays full."""
        for name, size in kernel.blocks.items():
            if size:
                yield name, str(size)
            elif name == "RBLOCK":
                most = TILE if kernel.blocks.get("XBLOCK") == 1 else TILE // 2
                self.body.append(f"rblock = min({most}, triton.next_power_of_2({sizes['r']}))")
                yield name, "rblock"
        if kernel.blocks.get("XBLOCK") == 0:
            self.body.append(f"xblock = {TILE} // rblock")
            yield "XBLOCK", "xblock"

    def _kernel(self, name: str, types: Sequence[str]) -> Kernel:
        if name not in self.kernels:
            if name not in self.wrapper.kernels:
                raise Unsupported("a kernel that is not Triton")
            kernel = clean(self.wrapper.kernels[name], types)
            taken = {other.name for other in self.kernels.values()}
            stem, count = kernel.name.removesuffix("_kernel"), 2
            while kernel.name in taken:
                kernel.name, count = f"{stem}_{count}_kernel", count + 1
            kernel.function.name = kernel.name
            self._name_helpers(kernel)
            self.kernels[name] = kernel
        return self.kernels[name]

    def _name_helpers(self, kernel: Kernel) -> None:
        """`combine`, `combine2`, ... for what scans are made of; equal ones are one."""
        for helper in kernel.helpers:
            body = "\n".join(map(ast.unparse, helper.body))
            new = self.helpers.setdefault(body, f"combine{len(self.helpers) + 1 if self.helpers else ''}")
            Rename({helper.name: new}).visit(kernel.function)
            helper.name = new

    def _extern(self, step: Extern) -> None:
        arguments = [self._value(text) for text in step.arguments]
        words = {name: self._value(text) for name, text in step.keywords.items()}
        routine, given = routine_for(step.operator, arguments, words)
        self.routines[routine.name] = routine
        dtype = self._dtype(step.name, self.setting.native if step.name in self.returned else "torch.float32")
        self.body += wrapped(f"{self.buffers[step.name]} = {routine.name}(", [*map(ast.unparse, given), dtype], ")", 8)
        self.launches[routine.name] += 1

    def _source(self) -> str:
        head = [*_HEAD, *self.shell.imports]
        parts = ["\n".join(head), *self.shell.definitions]
        parts += [routine.source.rstrip() for routine in self.routines.values()]
        helpers = {helper.name: helper for kernel in self.kernels.values() for helper in kernel.helpers}
        functions = [*helpers.values(), *(kernel.function for kernel in self.kernels.values())]
        if any("libdevice." in ast.unparse(function) for function in functions):
            head.append("from triton.language.extra import libdevice")
            parts[0] = "\n".join(head)
        parts += [definition(function) for function in functions]
        parts.append(self._model())
        return "\n\n\n".join(parts) + "\n"

    def _model(self) -> str:
        body = self.body
        used = {n.id for n in ast.walk(ast.parse("\n".join(body))) if isinstance(n, ast.Name)}
        for name, text in reversed(self.sizes.items()):
            used |= {n.id for n in ast.walk(parsed(text)) if isinstance(n, ast.Name)} if name in used else set()
        local = {name: text for name, text in self.sizes.items() if name in used}
        text = " ".join([*body, *local.values()])
        tensors = [name for name in self.setting.inputs if re.search(rf"(?<![\w.]){name}\b", text)]
        lines = [f"{name} = {name}.contiguous()" for name in tensors]
        lines += [*_unpacked(local), *body]
        head = f"def forward({ast.unparse(self.shell.parameters)}){self.shell.returns}:"
        members = [*self.shell.members, "\n".join([head, *(f"    {line}" for line in lines)])]
        indented = ("\n".join(f"    {line}" if line else "" for line in member.splitlines()) for member in members)
        return f"class ModelNew({', '.join(self.shell.bases)}):\n" + "\n\n".join(indented)


def _unpacked(local: Mapping[str, str]) -> Iterator[str]:
    """Lines that set the sizes' names; those of one tensor together where they are all its first ones."""
    groups: dict[str, dict[int, str]] = {}
    for name, text in local.items():
        if found := re.fullmatch(r"(.+)\.shape\[(\d)\]", text):
            groups.setdefault(found[1], {})[int(found[2])] = name
    for tensor, dims in groups.items():
        yield from (f"{dims[dim]} = {tensor}.shape[{dim}]" for dim in sorted(dims))
    yield from (f"{name} = {text}" for name, text in local.items() if name not in str(groups))


def _christen(kernel: Kernel, given: Mapping[str, ast.expr], returned: Sequence[str]) -> dict[str, ast.expr]:
    """Give a kernel's parameters the names of what it is launched on, once; returns the launch's arguments.

    A size that is given twice is given once, and one that is not used not at all.
    """
    used = {n.id for n in ast.walk(kernel.function) if isinstance(n, ast.Name)}
    numels = {ast.unparse(value): name for name, value in given.items() if name.endswith("numel") and name in used}
    names: dict[str, str] = {}
    kept: dict[str, ast.expr] = {}
    for name, value in given.items():
        text = ast.unparse(value)
        if name not in used:
            continue
        if not name.endswith("numel") and name not in kernel.pointers and text in numels:
            names[name] = numels[text]
            continue
        new = name
        if name in kernel.pointers:
            stem = ("out" if len(returned) == 1 else f"out{returned.index(text)}") if text in returned else _local(text)
            new = f"{stem}_ptr"
        elif isinstance(value, ast.Name) and not name.endswith("numel"):
            new = text
        if new != name and (new in used or new in names.values()):
            new = name
        names[name] = new
        kept[new] = value
    Rename(names).visit(kernel.function)
    parameters = kernel.function.args
    blocks = [arg for arg in parameters.args if arg.arg in kernel.blocks]
    parameters.args = [*(ast.arg(name) for name in kept), *blocks]
    kernel.pointers = {names[name]: type for name, type in kernel.pointers.items() if name in names}
    return kept


def _last(name: str, other: Mapping[str, str]) -> str:
    while name in other:
        name = other[name]
    return name


def _local(text: str) -> str:
    """`x_dim0` for `x.shape[0]`, `norm_groups` for `self.norm.groups`."""
    if " // " in text:
        return _local(text.split(" // ")[0].replace("num_channels", "group_size"))
    text = text.removeprefix("self.").replace(".shape[", ".dim[")
    return re.sub(r"\W+", "_", text.replace("[", "")).strip("_")
