"""What would tell a candidate who runs it, without a frame or a special name in its source: rules over the syntax tree.

A logger hands out the stack, the clock and open files, a recorded warning the caller's file, a format string any
attribute of what it is given, and a module's own name says who loaded it. Does not look at what runs: see `conduct`.
"""

import ast
import re
import string
from collections.abc import Collection, Iterator, Sequence

from tritonsmith.source import walk
from tritonsmith.types import Finding
from tritonsmith.verify.static.innards import is_own, own_selves, reads
from tritonsmith.verify.static.module import Module, calls

LOGGER_SHUT = {
    "findCaller", "makeRecord", "handlers", "manager", "addFilter", "removeFilter", "addHandler", "removeHandler",
    "parent", "root", "handle", "callHandlers", "filters", "disabled", "propagate", "loggerDict", "getChildren",
    "loggerClass", "hasHandlers",
}  # fmt: skip
"""Attributes of a logger that do more than write a line."""
FORMATS = {"format", "format_map"}
KERNEL_SHUT = {"device_caches", "rewriter", "rewritten_fn", "asm"}
"""What a compiled kernel alone has, or the compiler gives alone, and what an interpreted one has alone."""
KERNEL_BEHIND = {
    "get_capture_scope", "used_global_vals", "create_binder", "add_pre_run_hook", "pre_run_hooks", "_src",
    "_unsafe_update_src", "_hash",
}  # fmt: skip
"""What of a kernel leads to the globals of its module, or has another text compiled than the one that is read."""
_TEXT = {"src", "raw_src", "hash", "fn", "run", "params", "cache", "arg_names", "signature", "module", "debug"}
"""What of a kernel may be read and not set."""
KERNEL_CLASSES = {"triton.JITFunction", "triton.runtime.JITFunction", "triton.runtime.KernelInterface"}
"""Classes of which an interpreted kernel is none, or another."""


LEGACY = re.compile(r"torch\.(cuda\.)?[A-Z]\w+Tensor")
"""Tensor types of old, of which each is of the CPU or of a GPU."""
HISTORY = {"output_nr", "retains_grad"}
"""What a tensor says of what was done with it before."""
_WRITING = "str", "repr", "format", "ascii"
"""Functions that make a text of an object."""
_IN_ORDER = {"list", "tuple", "next", "iter", "enumerate", "zip", "reversed", "map", "filter"}
"""Functions that go by the order of what they are given."""


def telltales(module: Module) -> Iterator[Finding]:
    """Every such use in a candidate."""
    selves = own_selves(module.tree)
    yield from _of_the_process(module)
    yield from _tensors(module, selves)
    yield from _texts(module)
    yield from _loggers(module, selves)
    yield from _warnings(module)
    yield from _formats(module.tree, selves)
    yield from _own_name(module)
    yield from _kernels(module, selves)


def _of_the_process(module: Module) -> Iterator[Finding]:
    """What goes by how deep the stack is, or by the order of a set, which hangs on the process's seed of hashes."""
    for node in walk(module.tree):
        line = getattr(node, "lineno", None)
        if isinstance(node, ast.Name) and node.id == "RecursionError":
            yield Finding(rule="observed", message="how deep the stack is tells who runs the candidate", line=line)
        if isinstance(node, ast.Call):
            ordered = isinstance(node.func, ast.Name) and node.func.id in _IN_ORDER and any(map(_is_a_set, node.args))
            popped = isinstance(node.func, ast.Attribute) and node.func.attr == "pop" and _is_a_set(node.func.value)
            if ordered or popped:
                yield Finding(rule="observed", message="a set has another order in each process: sort it", line=line)


def _is_a_set(node: ast.expr) -> bool:
    """Whether it is a set with words in it: those of small numbers have one order everywhere."""
    is_set = isinstance(node, (ast.Set, ast.SetComp)) or calls(node, "set", "frozenset")
    return is_set and any(map(_is_a_word, walk(node)))


def _is_a_word(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _tensors(module: Module, selves: Collection[int]) -> Iterator[Finding]:
    """Questions to a tensor that the interpreter's answers otherwise than a GPU's, or that tell of the calls before."""
    hints = _hints(module.tree)
    called = {id(node.func) for node in walk(module.tree) if isinstance(node, ast.Call)}
    for node in walk(module.tree):
        line = getattr(node, "lineno", None)
        if isinstance(node, ast.Attribute) and id(node) not in hints | called:
            path = module.path(node)
            if path is not None and LEGACY.fullmatch(path):
                message = f"{path} tells where a tensor is; ask for its dtype"
                yield Finding(rule="observed", message=message, line=line)
        for name in HISTORY & set(reads(node)):
            if not is_own(node, selves):
                yield Finding(rule="observed", message=f"{name} tells what was done with a tensor before", line=line)


def _texts(module: Module) -> Iterator[Finding]:
    """Texts of classes, which name the module that they are of; in what is raised or written anybody may have them."""
    told: set[int] = set()
    for node in walk(module.tree):
        writes = isinstance(node, ast.Call) and (
            calls(node, "print") or str(module.path(node.func) or "").split(".")[0] in ("logging", "warnings")
        )
        if writes or isinstance(node, (ast.Raise, ast.Assert)):
            told |= {id(part) for part in walk(node)}
    classes = {node.name for node in walk(module.tree) if isinstance(node, ast.ClassDef)}
    for node in walk(module.tree):
        if id(node) in told:
            continue
        of: Sequence[ast.expr] = ()
        if isinstance(node, ast.Call) and (calls(node, *_WRITING) or module.path(node.func) == "torch.typename"):
            of = node.args
        elif isinstance(node, ast.FormattedValue):
            of = [node.value]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_a_word(node.left):
            of = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        elif isinstance(node, ast.Attribute) and node.attr in ("mro", "__mro__"):
            of = [ast.Name("ModelNew")]
        if any(_is_a_class(one, classes | module.kernels) for one in of):
            message = "the text of a class, or of a kernel, tells which module it is of"
            yield Finding(rule="observed", message=message, line=getattr(node, "lineno", None))


def _is_a_class(node: ast.expr, names: Collection[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in names or node.id in ("self", "ModelNew")
    return calls(node, "type") or (isinstance(node, ast.Attribute) and node.attr == "__class__")


def _loggers(module: Module, selves: Collection[int]) -> Iterator[Finding]:
    """What is asked of loggers beside writing a line, where `logging` is imported at all."""
    if not any(name.split(".")[0] == "logging" for name in module.aliases.values()):
        return
    for node in walk(module.tree):
        line = getattr(node, "lineno", None)
        for name in reads(node, stores=True):
            if name in LOGGER_SHUT and not is_own(node, selves):
                yield Finding(rule="observed", message=f"{name} of a logger tells who runs the candidate", line=line)
        if isinstance(node, ast.ClassDef):
            bases = [module.path(base) or "" for base in node.bases]
            if any(base.startswith("logging.") for base in bases):
                yield Finding(rule="observed", message="a logger of its own is told who runs the candidate", line=line)


def _warnings(module: Module) -> Iterator[Finding]:
    """Warnings that are caught to be read: they name the file that called."""
    for node in walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        if module.path(node.func) == "warnings.catch_warnings" and (node.args or node.keywords):
            yield Finding(rule="observed", message="a recorded warning tells who called", line=node.lineno)


def _formats(tree: ast.Module, selves: Collection[int]) -> Iterator[Finding]:
    """Text whose fields read attributes or items of what they are given, and text that only shows when it runs."""
    plain = {
        id(node.func)
        for node in walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is_plain(node.func.value)
    }
    mine = {id(node) for node in walk(tree) if is_own(node, selves)}
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in FORMATS and id(node) not in plain | mine:
            message = "format reads attributes where its text says so: call it on text that is written out, without any"
            yield Finding(rule="frame", message=message, line=node.lineno)
        elif not isinstance(node, ast.Attribute) and (names := FORMATS & set(reads(node))):
            yield Finding(rule="frame", message=f"{min(names)} is not allowed here", line=getattr(node, "lineno", None))


def _is_plain(text: ast.expr) -> bool:
    """Whether a text is written out and its fields are names or numbers alone."""
    if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
        return False
    try:
        fields = [(name or "", spec or "") for _, name, spec, _ in string.Formatter().parse(text.value)]
    except ValueError:
        return False
    return not any("." in name or "[" in name or "{" in spec for name, spec in fields)


def _own_name(module: Module) -> Iterator[Finding]:
    """The module's own name and file, but for the main block's question and a logger's name."""
    allowed: set[int] = set()
    for node in walk(module.tree):
        if isinstance(node, ast.Compare) and len(node.comparators) == 1:
            sides = node.left, node.comparators[0]
            if any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides):
                allowed |= {id(side) for side in sides}
        elif isinstance(node, ast.Call) and module.path(node.func) == "logging.getLogger":
            allowed |= {id(argument) for argument in node.args}
    for node in walk(module.tree):
        if isinstance(node, ast.Name) and node.id in ("__name__", "__file__") and id(node) not in allowed:
            yield Finding(rule="observed", message=f"{node.id} tells who loaded the candidate", line=node.lineno)


def _kernels(module: Module, selves: Collection[int]) -> Iterator[Finding]:
    """What only a compiled kernel has, or only an interpreted one; their other looks are alike, see `disguise`."""
    hints = _hints(module.tree)
    for node in walk(module.tree):
        line = getattr(node, "lineno", None)
        for name in KERNEL_BEHIND & set(reads(node, stores=True)):
            if not is_own(node, selves):
                yield Finding(rule="private", message=f"{name} is behind a kernel", line=line)
        if (part := _set_of_a_kernel(node, module)) is not None:
            yield Finding(rule="patch", message=f"assignment to {part}, a part of a kernel", line=line)
        for name in KERNEL_SHUT & set(reads(node)):
            yield Finding(rule="observed", message=f"{name} tells the interpreter from the compiler", line=line)
        if isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Load):
            path = module.path(node)
            if path in KERNEL_CLASSES and id(node) not in hints:
                message = f"{path} tells the interpreter from the compiler"
                yield Finding(rule="observed", message=message, line=line)


def _set_of_a_kernel(node: ast.AST, module: Module) -> str | None:
    """The part of a kernel that a node sets, if it does."""
    stores = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and node.attr in _TEXT
    if not stores or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    return f"{node.value.id}.{node.attr}" if node.value.id in module.kernels else None


def _hints(tree: ast.Module) -> set[int]:
    """Every part of the annotations."""
    found: list[ast.expr | None] = []
    for node in walk(tree):
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            found.append(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.append(node.returns)
    return {id(part) for one in found if one is not None for part in walk(one)}
