"""From Triton's intermediate code to machine code, in a process that no candidate was ever in.

Keeps nothing: see `compilers`. Knows nothing of launches and of whom a kernel is from.
"""

import base64
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tritonsmith.verify.process import wire

_AS_IT_IS = int, float, str, bool, type(None), list, tuple


def answer(header: Mapping[str, object], _: wire.Tree) -> tuple[dict[str, object], wire.Tree]:
    """Compile a text (`ttir`) for compute capability `arch`; raises what Triton raises.

    `options` are those that differ from Triton's own. The answer holds what Triton says of the kernel (`metadata`), two
    of the texts on the way, and the machine code in base 64 (`code`).
    """
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget

    knobs.compilation.disable_line_info = True  # as in a runner
    options, target = header["options"], GPUTarget("cuda", int(str(header["arch"])), 32)
    with tempfile.TemporaryDirectory() as folder:
        knobs.cache.dir = folder
        source = Path(folder) / "kernel.ttir"
        source.write_text(str(header["ttir"]))
        kernel = triton.compile(str(source), target=target, options=dict(options) if isinstance(options, dict) else {})
        texts = {name: kernel.asm[name] for name in ("ttgir", "ptx")}
        code = base64.b64encode(kernel.asm["cubin"]).decode()
    said = {name: value for name, value in kernel.metadata._asdict().items() if isinstance(value, _AS_IT_IS)}
    return {"metadata": said, **texts, "code": code}, None
