"""From a task to a candidate: the units in order, the class around them, and the plan."""

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from torch.utils import _pytree as pytree

from tritonsmith.data.lower import attention, simplify, views
from tritonsmith.data.lower.anchors import ALONE, ANCHORS, MORE_PROLOGUES, PROLOGUES
from tritonsmith.data.lower.forward import Forward
from tritonsmith.data.lower.launchers import launchers
from tritonsmith.data.lower.pointwise import is_pointwise
from tritonsmith.data.lower.schedule import Group, Kind, Unit, schedule
from tritonsmith.data.lower.site import Site, compute
from tritonsmith.data.lower.text import HEAD, Kernel
from tritonsmith.data.lower.trace import Op, Program, Untraceable, Value, trace
from tritonsmith.data.lower.written import numbers_written, read_by_class, sizes_written
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.source import parse
from tritonsmith.tasks.format import TaskError
from tritonsmith.types import Task

T = TypeVar("T")

PIECE = 3
"""Operators on elements that `pieces` puts into a kernel."""


def convert(task: Task, merged: bool = False, most: int | None = None) -> Pair | Miss:
    """A candidate for a task with its plan, not judged yet; or why there is none.

    `merged` goes beyond what a first version has: attention in one kernel, softmax and layer norm with what is before.
    `most` stays behind it: a kernel fuses so many operators on elements and no more, which costs memory traffic and is
    easier to write; a miss where no kernel has more.
    """
    try:
        tree = parse(task.source)
        model = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Model")
        written = next(n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward")
        if written.args.vararg or written.args.kwonlyargs or written.args.kwarg:
            return Miss("forward takes more than plain arguments")
        arguments = [argument.arg for argument in written.args.args[1:]]
        program = trace(task, arguments)
        known = numbers_written(model) | {0, 1, -1}
        if any(number in known for number in program.numbers.values()):
            return Miss("a number as an argument that is written elsewhere, too")
        simplify.simplify(program)
        if merged:
            attention.merge(program)
        _move_views(program)
        forward = Forward(program, read_by_class(tree), numbers_written(model), written=sizes_written(tree))
        _begin(forward)
        prologues = MORE_PROLOGUES if merged else PROLOGUES
        units = schedule(program, _kind, prologues, ALONE)
        if most is not None:
            if all(unit.longest <= most for unit in units):
                return Miss(f"no kernel fuses more than {most} operators")
            units = schedule(program, _kind, prologues, ALONE, most)
            forward.notes.append(f"Kernels: at most {most} operators on elements in each")
        for unit in units:
            _emit(forward, unit)
        result = _returned(forward, program.output)
    except StopIteration:
        return Miss("no Model.forward")
    except (TaskError, SyntaxError) as error:
        return Miss(str(error).splitlines()[0])
    except Untraceable as error:
        return Miss(str(error))
    if not forward.kernels:
        return Miss("nothing to compute")
    return Pair(_plan(forward), _assemble(forward, tree, model, _signature(written), result))


def templates(task: Task) -> Pair | Miss:
    """The candidate as a person would lay it out: each launch in a function right behind its kernel."""
    return _laid_out(convert(task))


def pieces(task: Task) -> Pair | Miss:
    """A candidate in more, shorter kernels, where that makes a difference: what is too deep to fuse all at once."""
    return _laid_out(convert(task, most=PIECE))


def _laid_out(pair: Pair | Miss) -> Pair | Miss:
    return replace(pair, source=launchers(pair.source)) if isinstance(pair, Pair) else pair


def _kind(op: Op) -> Kind:
    if op.name in views.VIEWS or op.name in ("as_shape", "slice"):
        return "view"
    if op.name in ANCHORS:
        return "anchor"
    if is_pointwise(op):
        return "pointwise"
    raise Untraceable(f"no lowering of {op.name}")


def _move_views(program: Program) -> None:
    """A task that is views alone becomes a copy: what a kernel is for is to move the elements.

    It moves them where torch would have to: before a view that needs order of what has none, else at the end.
    """
    if any(_kind(op) != "view" for op in program.ops):
        return
    moved = {}
    for value in dict.fromkeys(program.outputs):
        place = _out_of_order(program, value) or value
        result = Value("made", place.shape, place.dtype, "result")
        copy, moved[place] = Op("copy", {"self": place}, (result,), None), result
        after = next((n for n, op in enumerate(program.ops) if place in op.results), -1) + 1
        changed = [replace(op, args=_with(op.args, {place: result})) for op in program.ops[after:]]
        program.ops[after:] = [copy, *changed]
    program.output = _with(program.output, moved)


def _out_of_order(program: Program, value: Value) -> Value | None:
    """What the last view on the way to a value that needs order finds without."""
    producers = {result: op for op in program.ops for result in op.results}
    while (op := producers.get(value)) is not None and op.operands:
        value = op.operands[0]
        if op.name in views.NEED_ORDER and not value.ordered:
            return value
    return None


def _with(tree: T, stands: Mapping[Value, Value]) -> T:
    """A structure with other values in it."""
    return pytree.tree_map(lambda one: stands.get(one, one) if isinstance(one, Value) else one, tree)


def _begin(forward: Forward) -> None:
    """Inputs that kernels read come in order."""
    names = [value.name for value in forward.program.inputs]
    for value in forward.program.inputs:
        forward.hold(value, value.name)
        forward.note_kind(value)
    if names:
        forward.lines.append(f"{', '.join(names)} = {', '.join(f'{name}.contiguous()' for name in names)}")


def _emit(forward: Forward, unit: Unit) -> None:
    if unit.kind == "view":
        assert unit.op is not None
        if unit.op.name == "as_shape":
            forward.relabel(unit.op.result, unit.op.tensor("self"))
        else:
            views.emit_view(forward, unit.op)
    elif unit.kind == "anchor":
        assert unit.op is not None
        ANCHORS[unit.op.name](forward, unit.op, unit)
    else:
        assert unit.group is not None
        _emit_pointwise(forward, unit.group)


def _emit_pointwise(forward: Forward, group: Group) -> None:
    """A kernel over the elements of the result."""
    shape = group.root.shape
    names = "_".join(dict.fromkeys(op.name for op in group.ops))
    kernel = Kernel(forward.kernel_name(names if len(group.ops) <= 3 else "pointwise"))
    same = next((forward.held(v) for v in group.externals if v.shape == shape), None)
    if same is None:
        sizes = broadcast_sizes(forward, group)
        out = forward.allocate(group.root, sizes)
    else:
        out = forward.allocate(group.root, same)
    size = kernel.size("n", f"{out.name}.numel()")
    kernel.line("offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")
    kernel.line(f"mask = offs < {size}")
    site = Site(shape, out.name, "offs", "mask")
    bound: dict[Value, str] = {}
    compute(kernel, site, group, forward.held, bound, forward.number)
    kernel.line(f"tl.store({kernel.pointer('out', out.name)} + offs, {bound[group.root]}, mask=mask)")
    kernel.constant("BLOCK", "1024")
    kernel.grid = f"(triton.cdiv({out.name}.numel(), 1024),)"
    forward.notes.append(f"{kernel.name}: blocks of 1024 elements, a mask for the rest")
    forward.emit(kernel)


def broadcast_sizes(forward: Forward, group: Group) -> list[str]:
    """The sizes of a result that no single operand has."""
    shape = group.root.shape
    sizes = []
    for i, size in enumerate(shape):
        for value in group.externals:
            place = i - (len(shape) - len(value.shape))
            if place >= 0 and value.shape[place] == size:
                sizes.append(forward.held(value).size(place))
                break
        else:
            sizes.append(_size_by_value(forward, size))
    return sizes


def _size_by_value(forward: Forward, size: int) -> str:
    """The size of a tensor that is made of nothing: an input's, a member or a weight's, where one is equal."""
    own = forward.spelled(size)
    return forward.input_size(size) or (own if own != str(size) else forward.weight_size(size)) or str(size)


def _returned(forward: Forward, output: object) -> str:
    """The returned expression, in the task's structure."""
    if isinstance(output, Value):
        return forward.shaped(output).name
    if isinstance(output, (tuple, list)):
        inside = ", ".join(_returned(forward, one) for one in output)
        return f"[{inside}]" if isinstance(output, list) else f"({inside}{',' if len(output) == 1 else ''})"
    if isinstance(output, dict):
        return "{" + ", ".join(f"{key!r}: {_returned(forward, one)}" for key, one in output.items()) + "}"
    raise Untraceable("an output that is no tensor")


# -- the class


def _assemble(forward: Forward, tree: ast.Module, model: ast.ClassDef, signature: str, result: str) -> str:
    kernels = [kernel.definition() for kernel in forward.kernels]
    libdevice = any("libdevice." in text for text in kernels)
    lines = [HEAD + ("from triton.language.extra import libdevice\n" if libdevice else ""), *_context(tree, model)]
    for helper in forward.helpers:
        lines += ["", helper, ""]
    for text in kernels:
        lines += ["", text, ""]
    lines += ["", "class ModelNew(nn.Module):"]
    constructor = next((n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    if constructor is not None and (len(constructor.body) > 1 or len(constructor.args.args) > 1):
        for member in _borrowed(model, constructor):
            lines += [*_indented(ast.unparse(member)), ""]
        lines += [*_indented(_constructor(constructor)), ""]
    lines += [f"    def forward({signature}):"]
    lines += [f"        {line}" for line in [*forward.lines, f"return {result}"]]
    return "\n".join(lines) + "\n"


def _signature(written: ast.FunctionDef) -> str:
    """The task's own arguments; a default is what the numbers in the candidate were traced with, so any will do."""
    arguments = [argument.arg for argument in written.args.args]
    defaults = [
        ast.unparse(one) if isinstance(one, (ast.Constant, ast.UnaryOp)) else "None" for one in written.args.defaults
    ]
    plain = len(arguments) - len(defaults)
    given = [f"{name}={default}" for name, default in zip(arguments[plain:], defaults, strict=True)]
    return ", ".join(["self", *arguments[1:plain], *given])


def _borrowed(model: ast.ClassDef, constructor: ast.FunctionDef) -> list[ast.stmt]:
    """The class's own figures and methods that its constructor uses, in order."""
    members = {name: node for node in model.body for name in _defined(node) if name not in ("__init__", "forward")}
    wanted: list[ast.stmt] = [constructor]
    for node in wanted:
        read = {leaf.attr for leaf in ast.walk(node) if isinstance(leaf, ast.Attribute)}
        wanted += [member for name, member in members.items() if name in read and member not in wanted]
    return [node for node in model.body if node in wanted[1:]]


def _constructor(written: ast.FunctionDef) -> str:
    """The task's own constructor, without what only people read."""
    body = [n for n in written.body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    first = body[0]
    if isinstance(first, ast.Expr) and "super" in ast.unparse(first):
        body[0] = ast.parse("super().__init__()").body[0]
    plain = ast.FunctionDef(
        name="__init__",
        args=ast.arguments(
            posonlyargs=[],
            args=[ast.arg(argument.arg) for argument in written.args.args],
            vararg=None,
            kwonlyargs=[],
            kw_defaults=[],
            kwarg=None,
            defaults=written.args.defaults,
        ),
        body=body,
        decorator_list=[],
    )
    return ast.unparse(ast.fix_missing_locations(plain))


def _context(tree: ast.Module, model: ast.ClassDef) -> list[str]:
    """The task's own imports, constants, functions and classes that the constructor needs."""
    constructor = next((n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    wanted = _names(constructor) - {a.arg for a in constructor.args.args} if constructor is not None else set()
    for member in _borrowed(model, constructor) if constructor is not None else ():
        wanted |= _names(member)
    found: list[str] = []
    for node in reversed(tree.body):
        defined = _defined(node)
        if not defined & wanted or defined & {"torch", "nn", "Model"}:
            continue
        wanted |= _names(node)
        found.insert(0, ast.unparse(node))
    return found


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    if isinstance(node, ast.Assign):
        return {leaf.id for target in node.targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)}
    return set()


def _names(node: ast.AST) -> set[str]:
    return {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name)}


def _indented(text: str) -> list[str]:
    return [f"    {line}" if line else "" for line in text.splitlines()]


def _plan(forward: Forward) -> str:
    """What is computed and how it is split: a line for the operators, a line a kernel."""
    names = " -> ".join(op.name for op in forward.program.ops if op.name != "as_shape")
    return "\n".join([f"Operators: {names}.", *(f"{note}." for note in forward.notes)])
