"""The policy's two nets: static rules over the candidate's AST, and the judgement of what was seen to run.

Static rules are allow-lists with a name each. The dynamic net reads what `observe` recorded: under
`strict` torch may only allocate, view, copy, cast and compute shapes; a kernel must have been launched
and its stores must reach the output. Neither net computes values: that is `numerics`.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Literal

from tritonsmith.source import parse
from tritonsmith.types import Finding
from tritonsmith.verify.module import Module, calls, renames, step
from tritonsmith.verify.names import IMPORT_TREES, IMPORTS, closed

Policy = Literal["strict", "lenient"]

MAX_SOURCE = 200_000
"""Longest source in characters."""
BUILTINS = {
    "eval", "exec", "compile", "open", "input", "breakpoint", "__import__", "globals", "locals", "vars", "setattr",
    "delattr", "memoryview", "exit", "quit", "help",
}  # fmt: skip
DEFINABLE = {
    "__repr__", "__str__", "__len__", "__getitem__", "__iter__", "__hash__", "__eq__", "__enter__", "__exit__",
}  # fmt: skip
"""Special methods that a class may define, besides `DUNDERS`."""
DUNDERS = {"__init__", "__name__", "__doc__", "__file__", "__all__", "__call__", "__post_init__"}
HOST = {"numpy", "tolist", "apply_", "map_", "map2_", "storage", "untyped_storage"}
"""Methods that hand a tensor's values to Python, where no operator is seen."""
MAX_SCALARS = 16
"""Single values that a forward may read (`item`): a scale or a length, not the data."""
TORCH_GLUE = {
    "empty", "empty_like", "empty_strided", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "tensor",
    "arange", "as_strided", "reshape", "transpose", "permute", "unsqueeze", "squeeze", "flatten", "broadcast_shapes",
    "broadcast_to", "broadcast_tensors", "is_tensor", "device", "Size", "no_grad", "cat", "stack", "concat", "split",
    "chunk", "movedim", "unbind", "atleast_1d", "atleast_2d", "ravel", "numel", "is_floating_point", "promote_types",
    "result_type", "finfo", "iinfo", "Tensor", "dtype", "float32", "float16", "bfloat16", "float64", "int8", "int16",
    "int32", "int64", "uint8", "bool", "long", "half", "float", "double", "int", "contiguous_format", "channels_last",
    "get_default_dtype", "inference_mode", "is_grad_enabled", "scalar_tensor", "new_empty", "strided", "select",
    "narrow", "clone", "inf", "pi", "nan", "preserve_format",
}  # fmt: skip

GLUE_OPERATORS = {
    "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like", "new_zeros",
    "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "zero_", "fill_", "fill", "arange",
    "scalar_tensor", "lift_fresh", "lift_fresh_copy", "tensor", "resize_", "view", "_unsafe_view", "reshape",
    "_reshape_alias", "view_as", "expand", "permute", "transpose", "t", "squeeze", "unsqueeze", "select", "slice",
    "narrow", "as_strided", "alias", "detach", "detach_", "flatten", "unflatten", "unbind", "split",
    "split_with_sizes", "chunk", "unfold", "diagonal", "movedim", "swapaxes", "view_as_real", "view_as_complex",
    "transpose_", "t_", "squeeze_", "unsqueeze_", "as_strided_", "clone", "copy_", "_to_copy", "contiguous", "to",
    "copy", "cat", "stack", "constant_pad_nd", "_copy_from", "repeat", "_local_scalar_dense", "item", "is_same_size",
    "stride", "size", "sym_size", "sym_stride", "numel", "dim", "is_contiguous", "_has_compatible_shallow_copy_type",
    "set_", "record_stream", "is_pinned", "device",
}  # fmt: skip
"""Aten operators that move or name memory but compute no value."""


def check_source(source: str, policy: Policy) -> list[Finding]:
    """Every static rule the source breaks; an empty list means the `ast` stage is passed."""
    if len(source) > MAX_SOURCE:
        return [Finding(rule="size", message=f"{len(source)} characters of source; {MAX_SOURCE} are allowed")]
    if not source.strip():
        return [Finding(rule="empty", message="there is no code")]
    if any("\ud800" <= letter <= "\udfff" for letter in source):
        return [Finding(rule="syntax", message="not Python: the file is not UTF-8 text")]
    try:
        tree = parse(source)
    except SyntaxError as error:
        return [Finding(rule="syntax", message=f"not Python: {error.msg}", line=error.lineno)]
    except (ValueError, RecursionError, MemoryError) as error:
        return [Finding(rule="syntax", message=f"not Python: {error}")]
    module = Module(tree)
    try:
        found = [*_structure(module), *_imports(module), *_names(tree), *_attributes(module), *_compute(module, policy)]
    except RecursionError:
        return [Finding(rule="syntax", message="expressions are nested too deeply")]
    return list({(finding.rule, finding.message, finding.line): finding for finding in found}.values())


def _structure(module: Module) -> Iterator[Finding]:
    if module.model is None:
        yield Finding(rule="no-modelnew", message="there is no class ModelNew")
        return
    if module.method("forward") is None:
        yield Finding(rule="no-forward", message="ModelNew defines no forward", line=module.model.lineno)
        return
    if not module.kernels:
        yield Finding(rule="no-kernel", message="there is no @triton.jit kernel")
        return
    parts = [part for node in module.used() for part in ast.walk(node)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    names |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
    launched = names & (module.kernels | _wrappers(module))
    if not launched:
        yield Finding(rule="kernel-unreachable", message="no @triton.jit kernel is reachable from forward")


def _wrappers(module: Module) -> set[str]:
    """Module-level names bound to something made of a kernel, such as `fast = triton.autotune(...)(kernel)`."""
    names = set()
    for node in module.tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(part, ast.Name) and part.id in module.kernels for part in ast.walk(node.value)
        ):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _imports(module: Module) -> Iterator[Finding]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            wanted = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = ("." * node.level) + (node.module or "")
            wanted = [source] + [f"{source}.{n.name}" for n in node.names if closed(f"{source}.{n.name}")]
        else:
            continue
        for name in wanted:
            if name not in IMPORTS and not name.startswith(IMPORT_TREES):
                yield Finding(rule="import", message=f"import of {name} is not allowed", line=node.lineno)


def _names(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        line = getattr(node, "lineno", None)
        if name is None:
            continue
        if isinstance(node, ast.Name) and name in BUILTINS:
            yield Finding(rule="builtin", message=f"{name} is not allowed", line=line)
        elif name.startswith("__") and name.endswith("__") and name not in DUNDERS:
            yield Finding(rule="dunder", message=f"{name} is not allowed", line=line)
        elif isinstance(node, ast.Attribute) and name in ("f_back", "f_locals", "f_globals", "gi_frame", "tb_frame"):
            yield Finding(rule="frame", message=f"{name} is not allowed", line=line)
    yield from _getattr(tree)
    yield from _definitions(tree)


def _definitions(tree: ast.Module) -> Iterator[Finding]:
    """Ways to reach a special name, or to make a class with one, that are no plain name or attribute."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names = [] if node.name in DEFINABLE else [node.name]
        elif isinstance(node, ast.MatchClass):
            names = node.kwd_attrs
        elif isinstance(node, ast.Call) and calls(node, "type") and (len(node.args) != 1 or node.keywords):
            yield Finding(rule="builtin", message="type takes one argument here", line=node.lineno)
        for name in names:
            if name.startswith("__") and name.endswith("__") and name not in DUNDERS:
                yield Finding(rule="dunder", message=f"{name} is not allowed", line=getattr(node, "lineno", None))


def _getattr(tree: ast.Module) -> Iterator[Finding]:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in ("getattr", "hasattr") and id(node) not in called:
            yield Finding(rule="getattr", message=f"{node.id} may only be called", line=node.lineno)
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")
        ):
            continue
        name = node.args[1] if len(node.args) > 1 else None
        plain = isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("_")
        if not plain:
            yield Finding(rule="getattr", message="getattr takes a plain literal name here", line=node.lineno)


def _attributes(module: Module) -> Iterator[Finding]:
    """Dotted names that lead where a candidate may not go, modules passed around, and libraries changed."""
    for node in ast.walk(module.tree):
        path = module.path(node) if isinstance(node, (ast.Attribute, ast.Name, ast.Call)) else None
        if path is not None and (shut := closed(path)) is not None:
            yield Finding(rule="torch-attribute", message=f"{shut} is not allowed", line=getattr(node, "lineno", None))
        call = node if isinstance(node, ast.Call) and (len(node.args) > 1 or node.keywords) else None
        if call is not None and module.path(call.func) == "functools.wraps":
            yield Finding(rule="torch-attribute", message="functools.wraps takes one argument", line=call.lineno)
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else ()
        for target in targets:
            root = (module.path(target) if isinstance(target, ast.Attribute) else None) or ""
            if root.split(".")[0] in ("torch", "triton"):
                yield Finding(rule="patch", message=f"assignment to {root}", line=target.lineno)

    yield from _loose_modules(module, module.tree, frozenset())


def _loose_modules(module: Module, node: ast.AST, local: frozenset[str]) -> Iterator[Finding]:
    """Modules used as values: what a list or a parameter holds, no rule can follow; `F = torch.nn` one can."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        shared = {name for n in ast.walk(node) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
        arguments = {n.arg for n in ast.walk(node.args) if isinstance(n, ast.arg)}
        local = local | arguments | (stored - shared)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Name, ast.Attribute)) and isinstance(child.ctx, ast.Load):
            known = not (isinstance(child, ast.Name) and child.id in local)
            found = module.module(child) if known else None
            looked_up = isinstance(node, ast.Call) and calls(node, "getattr", "hasattr") and node.args[:1] == [child]
            followed = isinstance(node, ast.Attribute) or looked_up or renames(node) is not None
            if found is not None and not followed:
                message = f"the module {found} is used as a value; write out what is used of it"
                yield Finding(rule="module-value", message=message, line=child.lineno)
        yield from _loose_modules(module, child, local)


def _compute(module: Module, policy: Policy) -> Iterator[Finding]:
    """Torch, or Python, computing in `forward` as far as the source shows it; the dynamic net sees the rest."""
    if policy != "strict":
        return
    for node in ast.walk(module.tree):
        taken = step(node) if isinstance(node, ast.expr) else None
        if taken is not None and taken[1] in HOST:
            message = f"{taken[1]} hands values to Python; under the strict policy the kernel must compute"
            yield Finding(rule="host-compute", message=message, line=getattr(node, "lineno", None))
    for root in module.reached():
        if isinstance(root, ast.ClassDef):
            continue
        for node in ast.walk(root):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                yield Finding(rule="torch-compute", message="@ multiplies matrices in torch", line=node.lineno)
            if not isinstance(node, ast.Call):
                continue
            path = module.path(node.func) or ""
            functional = path.startswith("torch.nn.functional.") and path != "torch.nn.functional.pad"
            if functional or (path.startswith("torch.") and path.count(".") == 1 and path[6:] not in TORCH_GLUE):
                message = f"{path} computes in torch; under the strict policy the kernel must"
                yield Finding(rule="torch-compute", message=message, line=node.lineno)


def check_run(seen: Mapping[str, object], policy: Policy) -> list[Finding]:
    """What one `forward` did against the policy; `seen` is a runner's answer."""
    findings = []
    launches = seen.get("launches")
    if not (isinstance(launches, list) and launches):
        findings.append(Finding(rule="never-launched", message="forward launches no Triton kernel"))
    elif not seen.get("touched"):
        findings.append(Finding(rule="decoy", message="an output holds nothing that a kernel stored"))
    operators = seen.get("operators")
    if policy == "strict" and isinstance(operators, Mapping):
        computing = sorted(str(name) for name in operators if _short(str(name)) not in GLUE_OPERATORS)
        if computing:
            message = f"torch computes in forward: {', '.join(computing[:5])}; under the strict policy the kernel must"
            findings.append(Finding(rule="torch-compute", message=message))
        scalars = operators.get("aten._local_scalar_dense.default")
        if isinstance(scalars, int) and scalars > MAX_SCALARS:
            message = f"forward reads {scalars} single values of tensors; {MAX_SCALARS} are allowed"
            findings.append(Finding(rule="host-compute", message=message))
    return findings


def _short(operator: str) -> str:
    """`relu` of `aten.relu.default`; a name outside aten stays whole and so matches nothing."""
    namespace, _, rest = operator.partition(".")
    return rest.split(".")[0] if namespace == "aten" else operator
