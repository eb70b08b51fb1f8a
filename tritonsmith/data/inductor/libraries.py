"""Which routine takes the place of a library's function that a wrapper calls, and what it is given."""

import ast
from collections.abc import Mapping

from tritonsmith.data import routines
from tritonsmith.data.inductor.layout import parsed
from tritonsmith.data.inductor.rewrite import Unsupported
from tritonsmith.data.routines import Routine


def routine_for(
    operator: str, arguments: list[ast.expr], words: Mapping[str, ast.expr]
) -> tuple[Routine, list[ast.expr]]:
    """The routine for an operator that Inductor left alone, and what it is given."""
    if operator == "torch.ops.tritonsmith.matmul.default":
        a, b, bias, batched = arguments
        has_bias = ast.unparse(bias) != "None"
        return routines.matmul(ast.unparse(batched) == "True", has_bias), [a, b, *([bias] if has_bias else [])]
    if operator == "torch.ops.tritonsmith.convolution.default":
        x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, depthwise = arguments
        rank = len(stride.elts) if isinstance(stride, ast.List) else 0
        has_bias, is_transposed = ast.unparse(bias) != "None", ast.unparse(transposed) == "True"
        routine = routines.convolution(rank, has_bias, is_transposed, ast.unparse(depthwise) == "True")
        given = [x, weight, *([bias] if has_bias else []), stride, padding, dilation]
        return routine, [*given, *([output_padding] if is_transposed else []), groups]
    if operator == "torch.ops.tritonsmith.pool.default":
        *given, mean, padded = arguments
        rank = len(given[1].elts) if isinstance(given[1], ast.List) else 0
        return routines.pool(rank, ast.unparse(mean) == "True", ast.unparse(padded) == "True"), given
    if operator.startswith("extern_kernels."):
        return _library_call(operator.removeprefix("extern_kernels."), arguments, words)
    raise Unsupported(f"left to {operator.removeprefix('torch.ops.')}")


def _library_call(
    name: str, arguments: list[ast.expr], words: Mapping[str, ast.expr]
) -> tuple[Routine, list[ast.expr]]:
    """Likewise for the calls that stored wrappers hold."""
    if name in ("mm", "bmm"):
        return routines.matmul(name == "bmm", False), arguments
    scaled = any(ast.unparse(words.get(word, parsed("1"))) != "1" for word in ("alpha", "beta"))
    if name in ("addmm", "baddbmm") and not scaled:
        bias, a, b = arguments
        return routines.matmul(name == "baddbmm", True), [a, b, bias]
    if name == "convolution":
        stride = words["stride"]
        rank = len(stride.elts) if isinstance(stride, (ast.Tuple, ast.List)) else 0
        bias, transposed = words["bias"], ast.unparse(words["transposed"]) == "True"
        has_bias = ast.unparse(bias) != "None"
        given = [*arguments[:2], *([bias] if has_bias else []), stride, words["padding"], words["dilation"]]
        given += [*([words["output_padding"]] if transposed else []), words["groups"]]
        return routines.convolution(rank, has_bias, transposed, False), given
    raise Unsupported(f"left to {name}")
