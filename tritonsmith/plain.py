"""A task's source in one form, whoever wrote it: no docstrings, comments and annotations, the layout of `ast.unparse`.

A small model knows the words and the layout that it was trained on; those of a stranger lead it astray. Only prompts
are made plain: tasks, references and what `verify` judges are not touched. Names, and the way a computation is
spelt, stay.
"""

import ast
from typing import cast

from tritonsmith.source import parse


def plain(source: str) -> str:
    """The source in that form; as it is, but stripped, where it does not parse."""
    try:
        tree = parse(source)
        return ast.unparse(_Bare().visit(tree))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source.strip()


class _Bare(ast.NodeTransformer):
    """Takes out what computes nothing."""

    def visit(self, node: ast.AST) -> ast.AST:
        """Expressions hold none of it, and are most of a tree."""
        return node if isinstance(node, ast.expr) else super().visit(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        return self._without_text(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_text(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._without_text(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)  # unparse asks for its line

    def _without_text(self, node: ast.Module | ast.ClassDef | ast.FunctionDef) -> ast.AST:
        """Without docstrings and other bare strings; a body that is nothing else passes."""
        kept = [line for line in node.body if not _is_text(line)]
        node.body = kept or ([] if isinstance(node, ast.Module) else [ast.Pass()])
        return cast(ast.AST, self.generic_visit(node))


def _is_text(line: ast.stmt) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)
