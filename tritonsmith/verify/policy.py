"""The policy's two nets: static rules over the candidate's AST, and the judgement of what was seen to run.

Static rules are allow-lists with a name each. The dynamic net reads what `observe` recorded: under
`strict` torch may only allocate, view, copy, cast and compute shapes; a kernel must have been launched
and its stores must reach the output. Neither net computes values: that is `numerics`.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Literal

from tritonsmith.types import Finding

Policy = Literal["strict", "lenient"]

MAX_SOURCE = 200_000
"""Longest source in characters."""
IMPORTS = {
    "torch", "torch.nn", "torch.nn.functional", "triton", "triton.language", "math", "typing", "functools",
    "itertools", "dataclasses", "enum", "collections", "collections.abc", "__future__",
}  # fmt: skip
IMPORT_TREES = ("triton.language.extra",)
BUILTINS = {
    "eval", "exec", "compile", "open", "input", "breakpoint", "__import__", "globals", "locals", "vars", "setattr",
    "delattr", "memoryview", "exit", "quit", "help",
}  # fmt: skip
DUNDERS = {"__init__", "__name__", "__doc__", "__file__", "__all__", "__call__", "__post_init__"}
TORCH_CLOSED = {
    "ops", "compile", "library", "jit", "utils", "autograd", "hub", "load", "save", "multiprocessing", "distributed",
    "from_file", "package", "onnx", "export", "fx", "func", "overrides", "classes", "serialization", "testing",
    "set_default_dtype", "set_default_device", "set_default_tensor_type", "set_num_threads",
    "use_deterministic_algorithms", "manual_seed", "seed", "set_rng_state", "set_float32_matmul_precision",
    "backends", "profiler", "Generator",
}  # fmt: skip
TORCH_CUDA_OPEN = {
    "device", "current_device", "get_device_properties", "device_count", "is_available", "synchronize",
    "get_device_capability",
}  # fmt: skip
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
        tree = ast.parse(source)
    except SyntaxError as error:
        return [Finding(rule="syntax", message=f"not Python: {error.msg}", line=error.lineno)]
    except (ValueError, RecursionError, MemoryError) as error:
        return [Finding(rule="syntax", message=f"not Python: {error}")]
    module = Module(tree)
    return [*_structure(module), *_imports(tree), *_names(tree), *_torch(module), *_compute(module, policy)]


class Module:
    """What a candidate defines, and what of it `forward` reaches."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.functions = {n.name: n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self.classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
        self.kernels = {name for name, node in self.functions.items() if any(map(_is_jit, node.decorator_list))}
        self.aliases = dict(_aliases(tree))
        self.model = self.classes.get("ModelNew")

    def method(self, name: str) -> ast.FunctionDef | None:
        """A method of ModelNew."""
        body = self.model.body if self.model else []
        return next((n for n in body if isinstance(n, ast.FunctionDef) and n.name == name), None)

    def reached(self) -> list[ast.AST]:
        """`forward` and everything of the module that it names, kernels left out."""
        start = self.method("forward")
        waiting: list[ast.AST] = [start] if start else []
        seen: list[ast.AST] = []
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.append(node)
            waiting.extend(self._named(node))
        return seen

    def _named(self, node: ast.AST) -> Iterator[ast.AST]:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in self.kernels:
                found = self.functions.get(part.id) or self.classes.get(part.id)
                if found is not None and part.id != "ModelNew":
                    yield found
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
                method = self.method(part.attr)
                if method is not None:
                    yield method

    def path(self, node: ast.expr) -> str | None:
        """`torch.nn.functional.relu` for `F.relu`, None for what is no dotted name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self.aliases.get(node.id, node.id), *reversed(parts)])


def _is_jit(decorator: ast.expr) -> bool:
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (isinstance(node, ast.Attribute) and node.attr == "jit") or (isinstance(node, ast.Name) and node.id == "jit")


def _aliases(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield (name.asname or name.name.split(".")[0], name.name if name.asname else name.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                yield name.asname or name.name, f"{node.module}.{name.name}"


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
    names = {part.id for node in module.reached() for part in ast.walk(node) if isinstance(part, ast.Name)}
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


def _imports(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = ("." * node.level) + (node.module or "")
            wanted = [module] + [
                f"{module}.{n.name}" for n in node.names if module == "torch" and n.name in TORCH_CLOSED
            ]
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


def _getattr(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")
        ):
            continue
        name = node.args[1] if len(node.args) > 1 else None
        plain = isinstance(name, ast.Constant) and isinstance(name.value, str) and not name.value.startswith("_")
        if not plain:
            yield Finding(rule="getattr", message="getattr takes a plain literal name here", line=node.lineno)


def _torch(module: Module) -> Iterator[Finding]:
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.Attribute, ast.Name)):
            parts = (module.path(node) or "").split(".")
            if parts[0] != "torch" or len(parts) < 2:
                continue
            shut = parts[1] in TORCH_CLOSED or parts[1].startswith("_")
            shut = shut or (parts[1] == "cuda" and len(parts) > 2 and parts[2] not in TORCH_CUDA_OPEN)
            if shut:
                name = ".".join(parts[:3] if parts[1] == "cuda" else parts[:2])
                yield Finding(rule="torch-attribute", message=f"{name} is not allowed", line=node.lineno)
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else ()
        for target in targets:
            root = (module.path(target) if isinstance(target, ast.Attribute) else None) or ""
            if root.split(".")[0] in ("torch", "triton"):
                yield Finding(rule="patch", message=f"assignment to {root}", line=target.lineno)


def _compute(module: Module, policy: Policy) -> Iterator[Finding]:
    """Torch computing in `forward`, as far as the source shows it; the dynamic net sees the rest."""
    if policy != "strict":
        return
    for root in module.reached():
        if isinstance(root, ast.ClassDef):
            continue
        for node in ast.walk(root):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                yield Finding(rule="torch-compute", message="@ multiplies matrices in torch", line=node.lineno)
            if not isinstance(node, ast.Call):
                continue
            path = module.path(node.func) or ""
            functional = path.startswith("torch.nn.functional.")
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
    return findings


def _short(operator: str) -> str:
    """`relu` of `aten.relu.default`; a name outside aten stays whole and so matches nothing."""
    namespace, _, rest = operator.partition(".")
    return rest.split(".")[0] if namespace == "aten" else operator
