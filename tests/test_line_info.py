"""Kernels are compiled on a GPU without debug information, which costs time and changes no instruction."""

import re
from pathlib import Path

import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

_TOLD = re.compile(r"\s*(\.loc|\.file|//|\$L__(tmp|func_begin|func_end)|$)")
"""Lines of PTX that say where an instruction comes from."""


@triton.jit
def _sigmoid(x, y, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(y + at, tl.exp(value) / (1 + tl.exp(value)), mask=at < n)


def _ptx(left_out: bool, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(knobs.cache, "dir", str(folder / str(left_out)))
    monkeypatch.setattr(knobs.compilation, "disable_line_info", left_out)
    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(fn=_sigmoid, signature=signature, constexprs={"BLOCK": 1024})  # type: ignore[arg-type]
    return str(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"])


def test_debug_information_changes_no_instruction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told, untold = (_ptx(left_out, tmp_path, monkeypatch) for left_out in (False, True))
    assert ".loc" in told and ".loc" not in untold
    one, other = (
        [line.strip() for line in text.split(".section")[0].splitlines() if not _TOLD.match(line)]
        for text in (told, untold)
    )
    assert one == other and len(one) > 20
