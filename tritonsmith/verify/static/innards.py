"""Names by which a candidate would reach what is behind its objects: frames, code, and private parts of libraries.

A generator's frame knows the builtins, a forward reference evaluates text, a tensor's typed storage hands out bytes.
Such a name may be written as an attribute, given to `getattr`, or stand in a pattern. Rules over the source; what a
candidate's own objects call private is its own business.
"""

import ast
import functools
import typing
from collections.abc import Collection, Iterator

import torch

from tritonsmith.source import walk
from tritonsmith.types import Finding
from tritonsmith.verify.static.module import calls, statements, step
from tritonsmith.verify.static.names import STANDARD

FRAMES = {
    "gi_frame", "gi_code", "gi_yieldfrom", "cr_frame", "cr_code", "cr_await", "cr_origin", "ag_frame", "ag_code",
    "ag_await", "f_back", "f_locals", "f_globals", "f_builtins", "f_code", "f_trace", "tb_frame", "tb_next",
    "func_globals", "func_code",
}  # fmt: skip
"""Attributes of generators, coroutines, frames and tracebacks; the names of a dataclass's fields are a pattern too."""
LAUNCHING = {
    "load_binary", "launcher_cls", "build_signature_metadata", "set_printf_fifo_size", "fill_tma_descriptor_tiled",
    "fill_tma_descriptor_im2col", "cuOccupancyMaxActiveClusters", "assemble_tensormap_to_arg", "get_device_interface",
}  # fmt: skip
"""Parts of Triton's driver and of its `utils`, which are objects: whoever holds one by another name has them all."""
_BEHIND = {
    "builtins", "bltns", "ctypes", "gc", "importlib", "inspect", "linecache", "marshal", "multiprocessing", "os",
    "pathlib", "pickle", "posix", "runpy", "shutil", "socket", "subprocess", "sys", "tempfile", "threading",
    "traceback",
}  # fmt: skip
"""Modules that others import: what a call gives may be a module, and of one these lead out."""
_OPEN = STANDARD | {
    "_init_handles", "_version", "_base", "_is_view", "_grad_fn", "_parameters", "_buffers", "_modules", "_fields",
    "_asdict", "_replace", "_make", "_name_", "_value_", "_missing_", "_generate_next_value_", "_member_map_",
    "_member_names_",
    "_calculate_fan_in_and_fan_out", "_calculate_correct_fan", "_single", "_pair", "_triple", "_quadruple", "_ntuple",
    "_size_1_t", "_size_2_t", "_size_3_t",
}  # fmt: skip
"""Private names of libraries that lead nowhere new."""
_LIBRARIES = torch.Tensor, torch.TypedStorage, torch.UntypedStorage, typing.ForwardRef
_COMMON = {
    "_values", "_indices", "_grad", "_conj", "_data", "_dtype", "_size", "_is_shared", "_to", "_nbytes",
    "_element_size", "_expired", "_resize_",
}  # fmt: skip
"""Private names of these that a candidate may well give to things of its own."""


@functools.cache
def _private() -> frozenset[str]:
    """Private names that are refused whoever else bears them."""
    found = {name for kind in _LIBRARIES for name in dir(kind) if name.startswith("_") and not name.endswith("__")}
    return frozenset(found - _OPEN - _COMMON)


def innards(tree: ast.Module) -> Iterator[Finding]:
    """Every use of a frame, of code, or of a library's private part."""
    own = _defined(tree) | _OPEN
    # A class that registers another one's objects takes them apart by its own fields' names, which may be any text;
    # one that `numbers` has would let tensors pass for numbers, wherever it is asked.
    placed = any((isinstance(node, ast.MatchClass) and node.patterns) or _is_of_numbers(node) for node in walk(tree))
    selves = own_selves(tree)
    for node in walk(tree):
        line = getattr(node, "lineno", None)
        for name in reads(node):
            if name in FRAMES or (name == "register" and placed):
                yield Finding(rule="frame", message=f"{name} is not allowed", line=line)
            elif name in LAUNCHING and name not in own:
                yield Finding(rule="private", message=f"{name} is a part of Triton's driver", line=line)
            elif name in _BEHIND and not is_own(node, selves):
                yield Finding(rule="private", message=f"{name} is a module behind another one", line=line)
            elif name == "is_meta":
                yield Finding(rule="observed", message="is_meta tells a forward that is only looked at", line=line)
            elif name in ("is_inference", "is_inference_mode_enabled"):
                yield Finding(rule="observed", message=f"{name} tells a judge from a user", line=line)
            elif name.startswith("_") and not name.startswith("__") and (name in _private() or name not in own):
                yield Finding(rule="private", message=f"{name} is a private part of a library", line=line)
        if isinstance(node, ast.Name) and node.id in FRAMES:
            yield Finding(rule="frame", message=f"{node.id} is not allowed", line=line)


def is_own(node: ast.AST, selves: Collection[int]) -> bool:
    """Whether a node is an attribute of `self`, where that is an object of the candidate's own (`own_selves`)."""
    return isinstance(node, ast.Attribute) and id(node.value) in selves


def own_selves(tree: ast.Module) -> frozenset[int]:
    """Each `self` that is what a method was called on: the first argument of a function in a class's body.

    None of a method that is taken from its class, and so may be called on anything, unless that is a `self` again.
    """
    classes = [node for node in walk(tree) if isinstance(node, ast.ClassDef)]
    names, taken = {node.name for node in classes}, set[str]()
    passed = {
        id(node.func)
        for node in walk(tree)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == "self"
    }
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and id(node) not in passed:
            taken |= {node.attr} if node.value.id in names else set()
    methods = [
        part
        for node in classes
        for part in statements(node.body)
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_method(part) and part.name not in taken
    ]
    return frozenset(
        id(part) for method in methods for part in walk(method) if isinstance(part, ast.Name) and part.id == "self"
    )


def _is_method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = next(iter((*node.args.posonlyargs, *node.args.args)), None)
    marks = {one.id for one in node.decorator_list if isinstance(one, ast.Name)}
    return first is not None and first.arg == "self" and not marks & {"staticmethod", "classmethod"}


def _is_of_numbers(node: ast.AST) -> bool:
    named = [one.name for one in node.names] if isinstance(node, ast.Import) else []
    return "numbers" in named or (isinstance(node, ast.ImportFrom) and node.module == "numbers")


def reads(node: ast.AST, stores: bool = False) -> Iterator[str]:
    """The attribute names that a node reads, or sets with `stores`, however they are written."""
    if isinstance(node, ast.MatchClass):
        yield from node.kwd_attrs
    elif isinstance(node, ast.Attribute):
        if stores or isinstance(node.ctx, ast.Load):
            yield node.attr
    elif calls(node, "getattr", "hasattr") and isinstance(node, ast.Call):
        taken = step(node)
        if taken is not None:
            yield taken[1]


def _defined(tree: ast.Module) -> set[str]:
    """Names that a candidate gives to things of its own: attributes it sets, functions, classes and fields."""
    found: set[str] = set()
    for node in walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store):
            found.add(node.attr if isinstance(node, ast.Attribute) else node.id)
        elif calls(node, "register_buffer") or (isinstance(node, ast.Call) and _registers(node)):
            named = node.args[0] if isinstance(node, ast.Call) and node.args else None
            if isinstance(named, ast.Constant) and isinstance(named.value, str):
                found.add(named.value)
    return found


def _registers(node: ast.Call) -> bool:
    names = ("register_buffer", "register_parameter", "add_module", "register_module")
    return isinstance(node.func, ast.Attribute) and node.func.attr in names
