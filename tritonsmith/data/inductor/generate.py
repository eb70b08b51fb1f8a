"""Inductor's Triton for a traced graph, as the text of its wrapper module, without a GPU and without running it."""

import contextlib
from collections.abc import Iterator

import torch
from torch._inductor import config
from torch._inductor.debug import DebugContext
from torch._inductor.fx_passes.post_grad import view_to_reshape
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V

from tritonsmith.data.inductor.trace import Graph
from tritonsmith.verify.compile import pretend_gpu

SETTINGS = {
    "cpu_backend": "triton",
    "allow_buffer_reuse": False,
    "inplace_buffers": False,
    "online_softmax": False,
    "assert_indirect_indexing": False,
    "size_asserts": False,
    "alignment_asserts": False,
    "nan_asserts": False,
    "comment_origin": False,
    "fx_graph_cache": False,
    "split_reductions": True,
    "triton.persistent_reductions": False,
}

def generate(graph: Graph, target: str) -> str:
    pretend_gpu(target)
    view_to_reshape(graph.module)
    graph.module.recompile()
    with config.patch(SETTINGS):
        lowering = GraphLowering(graph.module, example_inputs=graph.arguments, shape_env=graph.env)
        with V.set_graph_handler(lowering), V.set_fake_mode(graph.mode), V.set_debug_handler(DebugContext()):
            lowering.run(*graph.arguments)
            code, _ = lowering.codegen()
    return code if isinstance(code, str) else code.value
