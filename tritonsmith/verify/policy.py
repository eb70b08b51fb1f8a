"""The policy's static net: rules over the candidate's AST, which are allow-lists with a name each.

What was seen to run is judged in `conduct`. Computes no values: that is `numerics`.
"""

import ast
from collections.abc import Collection, Iterator
from typing import Literal

from tritonsmith.source import children, parse, walk
from tritonsmith.types import Finding
from tritonsmith.verify.static.asking import kernel_python
from tritonsmith.verify.static.innards import innards
from tritonsmith.verify.static.layers import layer_calls
from tritonsmith.verify.static.module import Module, binds, calls, renames, step, without_dead_code
from tritonsmith.verify.static.names import (
    COPIES,
    HOST,
    IMPORT_TREES,
    IMPORTS,
    NUMPY_FUNCTIONS,
    READABLE,
    advice,
    closed,
    is_metaclass,
    is_wraps,
)
from tritonsmith.verify.static.numbered import numbered
from tritonsmith.verify.static.patches import patches
from tritonsmith.verify.static.scopes import own_names
from tritonsmith.verify.static.taken import taken
from tritonsmith.verify.static.telltales import telltales
from tritonsmith.verify.static.texts import misread

Policy = Literal["strict", "lenient"]

MAX_SOURCE = 200_000
"""Longest source in characters."""
BUILTINS = {
    "eval", "exec", "compile", "open", "input", "breakpoint", "__import__", "globals", "locals", "vars", "setattr",
    "delattr", "memoryview", "exit", "quit", "help", "hash",
}  # fmt: skip
DEFINABLE = {
    "__repr__", "__str__", "__len__", "__getitem__", "__iter__", "__hash__", "__eq__", "__enter__", "__exit__",
    "__next__", "__contains__", "__bool__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__sub__",
    "__mul__", "__floordiv__", "__setitem__", "__reversed__",
}  # fmt: skip
"""Special methods that a class may define, besides `DUNDERS`."""
DUNDERS = {
    "__init__", "__name__", "__doc__", "__file__", "__all__", "__call__", "__post_init__", "__version__", "__author__",
    "__slots__", "__constants__", "__license__", "__copyright__", "__email__", "__date__", "__credits__",
}  # fmt: skip
VIEWS = {"numpy", "storage", "untyped_storage"}
"""Those of `HOST` that show a tensor's memory for as long as it lives."""
FACTORIES = {f"torch.{name}" for name in ("arange", "zeros", "ones", "full", "tensor", "linspace", "logspace", "eye")}
CONSUMERS = {"tolist", "item", "copy", "tobytes", "sum", "mean", "max", "min", "prod", "dtype", "shape", "size"}
"""Methods that copy what they are asked of."""
COMMON = {
    "os", "sys", "time", "random", "logging", "warnings", "copy", "operator", "abc", "contextlib", "json", "re",
    "string", "numpy", "inspect", "pathlib", "textwrap", "pprint", "statistics", "numbers", "types", "traceback",
    "torch.utils", "torch.utils.benchmark", "torch.utils.cpp_extension", "triton.testing", "triton.compiler", "gc",
    "datetime", "argparse", "packaging", "packaging.version", "torch.nn.utils", "torch.nn.utils.parametrizations",
}  # fmt: skip
"""Modules that may be imported where no name of them is used."""
STRICTER = {
    "torch.backends.cuda.matmul.allow_tf32 = False", "torch.backends.cudnn.allow_tf32 = False",
    "torch.set_float32_matmul_precision('highest')",
}  # fmt: skip
"""Statements of a module that may set torch: what they ask for is no less than what the judge asks of everybody."""
TORCH_GLUE = {
    "empty", "empty_like", "empty_strided", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "tensor",
    "arange", "as_strided", "reshape", "transpose", "permute", "unsqueeze", "squeeze", "flatten", "broadcast_shapes",
    "broadcast_to", "broadcast_tensors", "is_tensor", "device", "Size", "no_grad", "cat", "stack", "concat", "split",
    "chunk", "movedim", "unbind", "atleast_1d", "atleast_2d", "ravel", "numel", "is_floating_point", "promote_types",
    "result_type", "finfo", "iinfo", "Tensor", "dtype", "float32", "float16", "bfloat16", "float64", "int8", "int16",
    "int32", "int64", "uint8", "bool", "long", "half", "float", "double", "int", "contiguous_format", "channels_last",
    "get_default_dtype", "inference_mode", "is_grad_enabled", "scalar_tensor", "new_empty", "strided", "select",
    "narrow", "clone", "inf", "pi", "nan", "preserve_format", "view_as_real", "view_as_complex", "swapaxes", "swapdims",
    "tensor_split", "hstack", "vstack", "dstack", "column_stack", "concatenate", "moveaxis", "diagonal", "unflatten",
    "atleast_3d", "tile", "is_complex", "as_tensor", "t", "meshgrid", "can_cast", "empty_permuted",
    "repeat_interleave", "enable_grad", "autocast", "is_autocast_enabled", "get_autocast_dtype",
    "is_inference_mode_enabled", "is_signed", "is_same_size", "get_device", "typename",
    "get_float32_matmul_precision", "are_deterministic_algorithms_enabled", "flip", "fliplr", "flipud", "roll", "rot90",
}  # fmt: skip


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
    try:
        texts = list(misread(source, tree))
        tree = without_dead_code(tree)
        tree.body = [node for node in tree.body if not _stricter(node)]
        module = Module(tree)
        found = [
            *texts,
            *_structure(module),
            *_imports(module),
            *_names(tree),
            *_attributes(module),
            *kernel_python(module),
            *_compute(module, policy),
        ]
    except RecursionError:
        return [Finding(rule="syntax", message="expressions are nested too deeply")]
    return list({(finding.rule, finding.message, finding.line): finding for finding in found}.values())


def _stricter(node: ast.stmt) -> bool:
    return isinstance(node, (ast.Assign, ast.Expr)) and ast.unparse(node) in STRICTER


def _structure(module: Module) -> Iterator[Finding]:
    if module.model is None:
        yield Finding(rule="no-modelnew", message="there is no class ModelNew")
        return
    if module.method("forward") is None:
        yield Finding(rule="no-forward", message="ModelNew defines no forward", line=module.model.lineno)
        return
    if (called := module.method("__call__")) is not None:
        line = getattr(called, "lineno", None)
        yield Finding(rule="dunder", message="__call__ would stand before forward; leave it out", line=line)
    if not module.kernels:
        yield Finding(rule="no-kernel", message="there is no @triton.jit kernel")
        return
    parts = [part for node in module.used() for part in walk(node)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    names |= {part.attr for part in parts if isinstance(part, ast.Attribute)}
    # A kernel that a decorator keeps, and one that a statement of the module does: `TABLE.update(relu=kernel)`.
    names |= {node.name for node in module.used() if isinstance(node, ast.FunctionDef)}
    names |= module.told()
    if not names & module.kernels:
        yield Finding(rule="kernel-unreachable", message="no @triton.jit kernel is reachable from forward")


def _imports(module: Module) -> Iterator[Finding]:
    used = {part.id for part in walk(module.tree) if isinstance(part, ast.Name)}
    used |= {part.attr for part in walk(module.tree) if isinstance(part, ast.Attribute)}
    for node in walk(module.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) in module.members:
            message = "an import in a class makes the module its attribute; import it at the top"
            yield Finding(rule="import", message=message, line=node.lineno)
        if isinstance(node, (ast.Import, ast.ImportFrom)) and _idle(node, used):
            continue
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


def _idle(node: ast.Import | ast.ImportFrom, used: set[str]) -> bool:
    """Whether an import is of a common module and nothing makes use of it: people leave such lines behind."""
    if isinstance(node, ast.ImportFrom) and (node.level or node.module is None):
        return False
    modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [name.name for name in node.names]
    names = {(name.asname or name.name).split(".")[0] for name in node.names}
    if isinstance(node, ast.Import) and not any(name.asname for name in node.names):
        names -= {"torch", "triton"}  # what is used of them has rules of its own
    return all(module in COMMON for module in modules) and "*" not in names and not names & used


def _names(tree: ast.Module) -> Iterator[Finding]:
    own = own_names(tree)
    plain = numbered(tree, "setattr")
    for node in walk(tree):
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
        line = getattr(node, "lineno", None)
        if name is None:
            continue
        if isinstance(node, ast.Name) and name in BUILTINS and id(node) not in own | plain:
            yield Finding(rule="builtin", message=f"{name} is not allowed", line=line)
        elif name == "__class__" and isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            continue  # reading it gives no more than `type(x)` does
        elif name.startswith("__") and name.endswith("__") and name not in DUNDERS:
            yield Finding(rule="dunder", message=f"{name} is not allowed", line=line)
    yield from innards(tree)
    yield from _metaclasses(tree, own)
    yield from _getattr(tree)
    yield from _definitions(tree)


def _definitions(tree: ast.Module) -> Iterator[Finding]:
    """Ways to reach a special name, or to make a class with one, that are no plain name or attribute."""
    for node in walk(tree):
        line = getattr(node, "lineno", None)
        if isinstance(node, ast.Call) and _makes_a_class(node):
            yield Finding(rule="builtin", message="type takes one argument here", line=line)
        for name in _special(node):
            yield Finding(rule="dunder", message=f"{name} is not allowed", line=line)


def _special(node: ast.AST) -> list[str]:
    """Special names that a node defines, asks for or binds, and may not; plain names are looked at elsewhere."""
    names: Collection[str] = ()
    allowed = DUNDERS
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        names, allowed = [node.name], DUNDERS | DEFINABLE
    elif isinstance(node, ast.MatchClass):
        names = node.kwd_attrs
    elif not isinstance(node, ast.Name):  # `case __name__` is no name: it would have the main block run
        names, allowed = list(binds(node)), {"__future__"}
    return [name for name in names if name.startswith("__") and name.endswith("__") and name not in allowed]


def _makes_a_class(node: ast.Call) -> bool:
    """Whether a call makes a class out of a name, bases and a dict, whatever metaclass it calls; or may do so."""
    if calls(node, "type"):
        return len(node.args) != 1 or bool(node.keywords)
    if calls(node.func, "type"):
        return len(node.args) > 2
    bases, members = node.args[1:3] if len(node.args) == 3 else (None, None)
    return isinstance(bases, ast.Tuple) and (isinstance(members, ast.Dict) or calls(members or node, "dict"))


def _metaclasses(tree: ast.Module, own: set[int]) -> Iterator[Finding]:
    """Metaclasses of a candidate's own, and `type` where it is neither asked nor told of: they make any class."""
    plain = own | {id(node.func) for node in walk(tree) if isinstance(node, ast.Call) and calls(node, "type")}
    for node in walk(tree):
        if isinstance(node, ast.Call) and calls(node, "isinstance", "issubclass"):
            plain |= {id(part) for argument in node.args[1:] for part in walk(argument)}
        elif isinstance(node, ast.Subscript):
            plain |= {id(node.value), *(id(part) for part in walk(node.slice))}
        elif isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation is not None:
            plain |= {id(part) for part in walk(node.annotation)}
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
            plain |= {id(part) for part in walk(node.returns)}
        elif isinstance(node, ast.Compare):
            plain |= {id(side) for side in (node.left, *node.comparators)}
    for node in walk(tree):
        if (
            isinstance(node, ast.Name)
            and node.id == "type"
            and isinstance(node.ctx, ast.Load)
            and id(node) not in plain
        ):
            yield Finding(rule="builtin", message="type may only be called, on one argument", line=node.lineno)


def _getattr(tree: ast.Module) -> Iterator[Finding]:
    made_up = numbered(tree, "getattr", "hasattr")
    called = {id(node.func) for node in walk(tree) if isinstance(node, ast.Call)}
    for node in walk(tree):
        if isinstance(node, ast.Name) and node.id in ("getattr", "hasattr") and id(node) not in called:
            yield Finding(rule="getattr", message=f"{node.id} may only be called", line=node.lineno)
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr")
        ):
            continue
        name = node.args[1] if len(node.args) > 1 else None
        plain = isinstance(name, ast.Constant) and isinstance(name.value, str) and _is_plain(name.value)
        if not plain and id(node.func) not in made_up:
            yield Finding(rule="getattr", message="getattr takes a plain literal name here", line=node.lineno)


def _is_plain(name: str) -> bool:
    """A name without an underscore, or one of a candidate's own with one: `innards` looks whose it is."""
    return not name.startswith("_") or (name.isidentifier() and not name.startswith("__"))


def _asked(module: Module) -> set[int]:
    """Parts of expressions that only read what may be read of a closed module."""
    return {
        id(part)
        for node in walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and module.path(node) in READABLE
        for part in walk(node)
    }


def _on_one_value(module: Module) -> set[int]:
    """The functions of calls that give one plain argument."""
    return {
        id(node.func)
        for node in walk(module.tree)
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
        if not isinstance(node.args[0], ast.Starred)
    }


def _attributes(module: Module) -> Iterator[Finding]:
    """Dotted names that lead where a candidate may not go, modules passed around, and libraries changed."""
    asked, alone = _asked(module), _on_one_value(module)
    classes = [node for node in walk(module.tree) if isinstance(node, ast.ClassDef)]
    metaclasses = {id(keyword.value) for node in classes for keyword in node.keywords if keyword.arg == "metaclass"}
    for node in walk(module.tree):
        if id(node) in asked:
            continue
        path = module.path(node) if isinstance(node, (ast.Attribute, ast.Name, ast.Call)) else None
        if path is not None and (shut := closed(path)) is not None:
            message = f"{shut} is not allowed{advice(shut)}"
            yield Finding(rule="torch-attribute", message=message, line=getattr(node, "lineno", None))
        elif path in NUMPY_FUNCTIONS | COPIES and not isinstance(node, ast.Call) and id(node) not in alone:
            message = f"{path} may only be called, on one value"
            yield Finding(rule="torch-attribute", message=message, line=getattr(node, "lineno", None))
        call = node if isinstance(node, ast.Call) and (len(node.args) > 1 or node.keywords) else None
        if call is not None and any(keyword.arg == "do_bench" for keyword in call.keywords):
            message = "do_bench would run code of its own while configurations are timed; leave it out"
            yield Finding(rule="launch-time", message=message, line=call.lineno)
        if path is not None and not isinstance(node, ast.Call) and id(node) not in alone and is_wraps(path):
            line = getattr(node, "lineno", None)
            yield Finding(rule="torch-attribute", message=f"{path} may only be called, on one argument", line=line)
        elif path is not None and id(node) not in metaclasses and is_metaclass(path):
            message = f"{path} may only be named as a class's metaclass"
            yield Finding(rule="builtin", message=message, line=getattr(node, "lineno", None))
    yield from _copies(module)
    yield from patches(module)
    yield from telltales(module)
    yield from _loose_modules(module, module.tree, frozenset(), asked)


def _copies(module: Module) -> Iterator[Finding]:
    """Copies that `forward` makes of objects: a state that each call has of its own hides what the calls before did."""
    for root in module.reached():
        for node in walk(root):
            if isinstance(node, (ast.Name, ast.Attribute)) and module.path(node) in COPIES:
                message = f"{module.path(node)} is for constructors; clone a tensor in forward"
                yield Finding(rule="torch-attribute", message=message, line=node.lineno)


def _loose_modules(module: Module, node: ast.AST, local: frozenset[str], asked: Collection[int]) -> Iterator[Finding]:
    """Modules used as values: what a list or a parameter holds, no rule can follow; `F = torch.nn` one can."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        stored = {n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        shared = {name for n in walk(node) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
        arguments = {n.arg for n in walk(node.args) if isinstance(n, ast.arg)}
        known = {name for n in walk(node) if (name := _renamed(module, n)) is not None}
        local = local | arguments | (stored - shared - known)
    for child in children(node):
        if isinstance(child, (ast.Name, ast.Attribute)) and isinstance(child.ctx, ast.Load) and id(child) not in asked:
            known = not (isinstance(child, ast.Name) and child.id in local)
            found = module.module(child) if known else None
            looked_up = isinstance(node, ast.Call) and calls(node, "getattr", "hasattr") and node.args[:1] == [child]
            # What a class's body binds is an attribute of the class: no name that is known here.
            renamed = renames(node) is not None and id(node) not in module.members
            followed = isinstance(node, ast.Attribute) or looked_up or renamed
            if found is not None and not followed:
                message = f"the module {found} is used as a value; write out what is used of it"
                yield Finding(rule="module-value", message=message, line=child.lineno)
        yield from _loose_modules(module, child, local, asked)


def _renamed(module: Module, node: ast.AST) -> str | None:
    """The other name that a statement gives a module."""
    name = renames(node) if isinstance(node, ast.Assign) else None
    return name if name and isinstance(node, ast.Assign) and module.module(node.value) else None


def _compute(module: Module, policy: Policy) -> Iterator[Finding]:
    """Torch, or Python, computing in `forward` as far as the source shows it; the dynamic net sees the rest."""
    if policy != "strict":
        return
    yield from _host(module)
    for root in module.reached():
        # What a module's own names are set to was computed when it was loaded, without the inputs.
        inner = [n for n in walk(root) if isinstance(n, ast.Lambda)] if isinstance(root, ast.expr) else [root]
        for node in (node for part in inner if not isinstance(part, ast.ClassDef) for node in taken(part, module.made)):
            line = getattr(node, "lineno", None)
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
                yield Finding(rule="torch-compute", message="@ multiplies matrices in torch", line=line)
            path = (module.path(node.func) if isinstance(node, ast.Call) else None) or ""
            functional = path.startswith("torch.nn.functional.") and path != "torch.nn.functional.pad"
            if functional or (path.startswith("torch.") and path.count(".") == 1 and path[6:] not in TORCH_GLUE):
                message = f"{path} computes in torch; under the strict policy the kernel must"
                yield Finding(rule="torch-compute", message=message, line=line)
    for path, line in layer_calls(module):
        message = f"a call of {path} computes in torch; under the strict policy the kernel must"
        yield Finding(rule="torch-compute", message=message, line=line)


def _host(module: Module) -> Iterator[Finding]:
    """Methods that hand values to Python: all of them in `forward`, and elsewhere views of memory that it could fill.

    A view of a tensor that is made for it and let go of is honest, and so is one whose values are copied at once.
    """
    roots = (root for root in module.reached() if not isinstance(root, ast.expr))
    reached = {id(node) for root in roots for node in taken(root, module.made)}
    over = {id(node.value): node for node in walk(module.tree) if isinstance(node, ast.Attribute)}
    called = {id(node.func): node for node in walk(module.tree) if isinstance(node, ast.Call)}
    seen = False
    for node in walk(module.tree):
        named = step(node) if isinstance(node, ast.expr) else None
        names = [named[1]] if named is not None and not isinstance(getattr(node, "ctx", None), ast.Store) else []
        names = node.kwd_attrs if isinstance(node, ast.MatchClass) else names
        seen |= "numpy" in names
        if named is not None and id(node) not in reached:
            after = over.get(id(called.get(id(node))))
            let_go = isinstance(named[0], ast.Call) and (module.path(named[0].func) or "") in FACTORIES
            names = [] if let_go or (after is not None and after.attr in CONSUMERS) else names
        wanted = HOST if id(node) in reached else VIEWS
        own = named is not None and isinstance(named[0], ast.Name) and named[0].id == "self"
        for name in names:
            if name in wanted and not (own and name == "storage"):  # modules have no such method
                yield _handed(name, node)
    for node in walk(module.tree) if seen else ():
        if isinstance(node, ast.Call) and module.path(node.func) in ("torch.as_tensor", "torch.from_numpy"):
            yield _handed("as_tensor", node)


def _handed(name: str, node: ast.AST) -> Finding:
    message = f"{name} hands values to Python; under the strict policy the kernel must compute"
    return Finding(rule="host-compute", message=message, line=getattr(node, "lineno", None))
