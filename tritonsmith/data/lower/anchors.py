"""The operators that a kernel is built around, and who writes each."""

from tritonsmith.data.lower import (
    attention,
    conv,
    indexing,
    matmul,
    norms,
    pooling,
    recurrent,
    reductions,
    resize,
    rows,
    scans,
)
from tritonsmith.data.lower import losses as _losses  # noqa: F401  (its rules register themselves)
from tritonsmith.data.lower.forward import Emitter

ANCHORS: dict[str, Emitter] = {
    **reductions.EMITTERS,
    **rows.EMITTERS,
    **norms.EMITTERS,
    **scans.EMITTERS,
    **matmul.EMITTERS,
    **attention.EMITTERS,
    **conv.EMITTERS,
    **pooling.EMITTERS,
    **resize.EMITTERS,
    **indexing.EMITTERS,
    **recurrent.EMITTERS,
}

ALONE: frozenset[str] = indexing.ALONE | pooling.ALONE
"""Anchors that take no epilogue."""

PROLOGUES: dict[str, str] = dict.fromkeys(reductions.REDUCTIONS, "self")
"""The argument that an anchor can compute while it loads it."""

MORE_PROLOGUES: dict[str, str] = {**PROLOGUES, "softmax": "self", "log_softmax": "self", "layer_norm": "input"}
"""The same where saved memory traffic counts for more than plain kernels: these read their argument several times."""
