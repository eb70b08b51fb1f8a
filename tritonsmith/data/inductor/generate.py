"""Inductor's Triton for a traced graph, as the text of its wrapper module: without a GPU, and without running it."""

from unittest import mock

from torch._inductor import config
from torch._inductor.debug import DebugContext
from torch._inductor.fx_passes.post_grad import view_to_reshape
from torch._inductor.graph import GraphLowering
from torch._inductor.ir import Scan
from torch._inductor.runtime.hints import ReductionHint
from torch._inductor.virtualized import V

from tritonsmith.data.externs import naming
from tritonsmith.data.inductor.rewrite import Unsupported
from tritonsmith.data.inductor.trace import Graph
from tritonsmith.verify.compile import pretend_gpu

_SETTINGS = {
    "cpu_backend": "triton",
    # a buffer has one meaning, and is written once
    "allow_buffer_reuse": False,
    "inplace_buffers": False,
    # reductions loop, so that one kernel serves rows of all lengths
    "triton.persistent_reductions": False,
    "online_softmax": False,
    # checks that only Inductor's runtime has
    "assert_indirect_indexing": False,
    "size_asserts": False,
    "alignment_asserts": False,
    "nan_asserts": False,
    "comment_origin": False,
}


def generate(graph: Graph, target: str) -> str:
    """The wrapper's text; raises Unsupported where Inductor fails."""
    pretend_gpu(target)
    view_to_reshape(graph.module)
    try:
        with config.patch(_SETTINGS), naming(graph.sizes), mock.patch.object(Scan, "num_splits", _one_kernel):
            lowering = GraphLowering(graph.module, example_inputs=graph.arguments, shape_env=graph.env)  # type: ignore[arg-type]
            with V.set_graph_handler(lowering), V.set_fake_mode(graph.mode), V.set_debug_handler(DebugContext()):
                lowering.run(*graph.arguments)
                code, _ = lowering.codegen()
    except Exception as error:  # whatever Inductor runs into with symbolic sizes is a task without an answer
        raise Unsupported(f"Inductor fails: {type(error).__name__}") from error
    return code if isinstance(code, str) else code.value


def _one_kernel(**_: object) -> tuple[ReductionHint, int]:
    """Scans take one kernel: in several they need a workspace that only Inductor's runtime gives."""
    return ReductionHint.DEFAULT, 1
