"""Whether Triton compiles anything for a target: `python -m tritonsmith.verify.target sm_90`, by its exit code.

Asked in a process of its own, which LLVM ends where it does not know the target. Judges no candidate.
"""

import functools
import subprocess
import sys
import tempfile

import triton
import triton.language as tl

from tritonsmith.verify.compile import parse_target

SECONDS = 60.0
"""How long it may take; it takes two."""


@triton.jit
def _copy(x, y, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


@functools.cache
def compiles(target: str) -> bool:
    """Whether a kernel that copies can be compiled for it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tritonsmith.verify.target", target, folder]
        try:
            return subprocess.run(command, capture_output=True, timeout=SECONDS, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def main(target: str, folder: str) -> None:
    """Compile it, keeping nothing but in a folder; raises, or dies, where that cannot be."""
    from triton import knobs
    from triton.compiler import ASTSource

    knobs.cache.dir = folder
    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(fn=_copy, signature=signature, constexprs={"BLOCK": 64})  # type: ignore[arg-type]
    triton.compile(source, target=parse_target(target))


if __name__ == "__main__":
    main(*sys.argv[1:3])
