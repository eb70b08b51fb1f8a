"""Sources whose `forward` cannot count its calls, as their text alone shows: nothing in them is kept or changed.

`unrun` calls a candidate by the hundred to see whether it counts. That is a quarter of what a right answer to a small
task costs, and most answers consist of nothing but sizes, fresh memory and launches: assignments to local names,
torch's allocations and views, arithmetic, kernels. What is not on the lists here is not proven, and is called. Says
nothing of what kernels keep in memory (`kept`), and nothing of whether anything is allowed (`policy`).
"""

import ast

from tritonsmith.source import parse, walk
from tritonsmith.verify.static.module import Module

_MODULES = {"math", "torch", "torch.nn", "torch.nn.functional", "triton", "triton.language"}
_LIBRARIES = {"triton.language.extra", "triton.language.extra.cuda"}
"""Where the functions of kernels come from."""
_BUILTINS = {
    "range", "len", "int", "float", "bool", "min", "max", "abs", "tuple", "ValueError", "TypeError", "RuntimeError",
    "NotImplementedError", "AssertionError",
}  # fmt: skip
_FUNCTIONS = {
    *(f"torch.{name}" for name in ("empty", "empty_like", "empty_strided", "zeros", "zeros_like", "ones", "full")),
    *(f"math.{name}" for name in ("sqrt", "ceil", "floor", "log", "log2", "exp", "prod", "gcd", "isqrt")),
    "triton.cdiv", "triton.next_power_of_2",
}  # fmt: skip
"""Functions that give the same for the same, as far as a launch can show: fresh memory is fresh memory."""
_METHODS = {
    "chunk", "contiguous", "dim", "element_size", "expand", "flatten", "is_contiguous", "movedim", "narrow",
    "new_empty", "new_zeros", "numel", "permute", "reshape", "select", "size", "split", "squeeze", "stride", "t",
    "transpose", "unbind", "unflatten", "unsqueeze", "view",
}  # fmt: skip
"""Methods of tensors that keep nothing, and that nothing else here has."""
_DRAWN = {"torch.empty", "torch.zeros", "torch.ones", "torch.full", "torch.rand", "torch.randn", "torch.tensor"}
"""What a parameter or a buffer may be made of."""
_PLAIN = ast.Pass | ast.Assert | ast.Raise | ast.Return | ast.Expr
_VALUES = (
    ast.Constant | ast.Name | ast.Tuple | ast.List | ast.Starred | ast.BinOp | ast.UnaryOp | ast.BoolOp | ast.Compare
    | ast.IfExp | ast.Attribute | ast.Subscript | ast.Slice | ast.JoinedStr | ast.FormattedValue | ast.keyword
    | ast.operator | ast.unaryop | ast.boolop | ast.cmpop | ast.expr_context
)  # fmt: skip
"""Expressions that are as constant as their parts; a call is another matter."""


def keeps_nothing(source: str) -> bool:
    """Whether the text proves that two calls of `forward` on the same inputs do the same."""
    try:
        return _Proof(Module(parse(source))).holds()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


class _Proof:
    """Goes over a module's statements; whatever it does not know ends it."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._own = {name for name in module.functions if name not in module.kernels}

    def holds(self) -> bool:
        """Whether everything is known, and no name that is trusted stands for anything else."""
        module = self._module
        if module.model is None or len(module.classes) != 1 or self._hides():
            return False
        if [module.path(base) for base in module.model.bases] != ["torch.nn.Module"]:
            return False
        return all(map(self._top, module.tree.body)) and all(map(self._member, module.model.body))

    def _hides(self) -> bool:
        """Whether a name is bound to something that a rule here takes for something else."""
        trusted = {*_BUILTINS, *self._module.kernels, *self._module.functions, "super", "self"}
        kernels = {id(part) for kernel in self._module.bodies for part in walk(kernel)}
        parts = [part for part in walk(self._module.tree) if id(part) not in kernels]
        bound = [node.id for node in parts if isinstance(node, ast.Name) and _stores(node)]
        arguments = [node.arg for node in parts if isinstance(node, ast.arg) and node.arg != "self"]
        imported = {*self._module.aliases, "torch", "triton", "math"}
        return any(name in trusted | imported for name in [*bound, *arguments]) or bool(trusted & imported)

    def _top(self, node: ast.stmt) -> bool:
        match node:
            case ast.Import(names=names):
                return all(one.name in _MODULES for one in names)
            case ast.ImportFrom(module=str(module), level=0):
                return module in _LIBRARIES or all(f"{module}.{one.name}" in _MODULES for one in node.names)
            case ast.FunctionDef():
                kernel = node.name in self._module.kernels
                return _is_plain_kernel(node) if kernel else not node.decorator_list and self._function(node)
            case ast.ClassDef():
                return node is self._module.model and not node.decorator_list and not node.keywords
            case ast.Assign(targets=[ast.Name()]):
                return all(isinstance(part, ast.Constant | ast.Tuple | ast.UnaryOp | ast.unaryop | ast.expr_context)
                           for part in walk(node.value))  # fmt: skip
            case ast.Expr(value=ast.Constant()):
                return True
        return False

    def _member(self, node: ast.stmt) -> bool:
        """A statement of ModelNew's body."""
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            made = node.name == "__init__"
            special = node.name.startswith("__") and not made
            return not special and (all(map(self._making, node.body)) if made else self._function(node))
        return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)

    def _making(self, node: ast.stmt) -> bool:
        """A statement of the constructor: names and members are set to numbers, weights and torch's own layers."""
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute(value=ast.Name(id="self"))], value=value):
                return self._made(value)
            case ast.Expr(value=ast.Call() as call) if ast.unparse(call.func) == "super().__init__":
                return not call.args and not call.keywords
            case ast.Expr(value=ast.Call() as call) if ast.unparse(call.func) == "self.register_buffer":
                return all(map(self._made, [*call.args, *(one.value for one in call.keywords)]))
            case ast.Expr(value=ast.Call() as call):  # weights that are drawn otherwise
                drawn = (self._module.path(call.func) or "").startswith("torch.nn.init.")
                return drawn and all(map(self._value, [*call.args, *call.keywords]))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
        return False

    def _made(self, value: ast.expr) -> bool:
        """What a member may be."""
        if isinstance(value, ast.BinOp):
            return self._made(value.left) and self._made(value.right)
        if not isinstance(value, ast.Call):
            return self._value(value)
        if isinstance(value.func, ast.Attribute) and value.func.attr == "eval" and not value.args:
            return self._made(value.func.value)
        path = self._module.path(value.func) or ""
        name = path.removeprefix("torch.nn.")
        layer = path.startswith("torch.nn.") and "." not in name and name[:1].isupper()
        parts = [*value.args, *(one.value for one in value.keywords)]
        return (layer or path in _DRAWN | _FUNCTIONS) and all(map(self._made, parts))

    def _function(self, node: ast.FunctionDef) -> bool:
        arguments = node.args
        defaults = [one for one in (*arguments.defaults, *arguments.kw_defaults) if one is not None]
        known = all(isinstance(one, ast.Constant) for one in defaults)
        return known and all(map(self._statement, node.body))

    def _statement(self, node: ast.stmt) -> bool:
        """A statement that sets local names at most."""
        match node:
            case ast.Assign(targets=targets, value=value):
                return all(map(_is_local, targets)) and self._value(value)
            case ast.AnnAssign(target=ast.Name(), value=value):
                return value is None or self._value(value)
            case ast.If(test=test, body=body, orelse=other):
                return self._value(test) and all(map(self._statement, [*body, *other]))
            case ast.For(target=target, iter=over, body=body, orelse=other):
                return _is_local(target) and self._value(over) and all(map(self._statement, [*body, *other]))
        if not isinstance(node, _PLAIN):
            return False
        return all(self._value(part) for part in ast.iter_child_nodes(node))

    def _value(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            launch = isinstance(node.func, ast.Subscript)
            writes = not launch and any(one.arg in (None, "out") for one in node.keywords)
            return not writes and self._called(node.func) and all(map(self._value, [*node.args, *node.keywords]))
        if isinstance(node, ast.Lambda):  # a grid
            return not node.args.defaults and not node.args.kw_defaults and self._value(node.body)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            return False
        return isinstance(node, _VALUES) and all(map(self._value, ast.iter_child_nodes(node)))

    def _called(self, function: ast.expr) -> bool:
        """Whether a call of this keeps nothing."""
        match function:
            case ast.Name(id=name):
                return name in _BUILTINS or name in self._own or self._module.path(function) in _FUNCTIONS
            case ast.Subscript(value=ast.Name(id=name), slice=grid):
                return name in self._module.kernels and self._value(grid)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return self._defines(name)
            case ast.Attribute(value=owner, attr=name):
                root = self._root(owner)
                if root in self._module.aliases or root in ("torch", "triton", "math"):
                    return self._module.path(function) in _FUNCTIONS
                return name in _METHODS and self._value(owner)
        return False

    @staticmethod
    def _root(node: ast.expr) -> str | None:
        while isinstance(node, ast.Attribute):
            node = node.value
        return node.id if isinstance(node, ast.Name) else None

    def _defines(self, name: str) -> bool:
        body = self._module.model.body if self._module.model is not None else []
        return any(isinstance(node, ast.FunctionDef) and node.name == name for node in body)


def _stores(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _is_local(target: ast.expr) -> bool:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return all(isinstance(part, ast.Name) for part in parts)


def _is_plain_kernel(node: ast.FunctionDef) -> bool:
    """Whether a kernel has no decorator but `@triton.jit`: what tunes one keeps what it found."""
    return [ast.unparse(one) for one in node.decorator_list] == ["triton.jit"]
