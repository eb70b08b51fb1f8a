"""From Triton's intermediate code to machine code, in a process that no candidate was ever in.

It keeps what it compiled in a folder that all such processes of a verifier share, by Triton's own cache. Knows nothing
of launches and of whom a kernel is from.
"""

import base64
from collections.abc import Mapping
from pathlib import Path

from tritonsmith.verify.process import wire

_AS_IT_IS = int, float, str, bool, type(None), list, tuple


def answer(header: Mapping[str, object], _: wire.Tree) -> tuple[dict[str, object], wire.Tree]:
    """Compile a text for compute capability `arch`; raises what Triton raises.

    `options` are those that differ from Triton's own, `kept` is the folder. The answer holds what Triton says of the
    kernel (`metadata`), two of the texts on the way, the machine code in base 64 (`code`), and whether all of it was
    there already (`known`).
    """
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget

    knobs.cache.dir = str(header["kept"])
    knobs.compilation.disable_line_info = True  # as in a runner
    known: list[bool] = []
    knobs.compilation.listener = lambda **told: known.append(bool(told["cache_hit"]))
    source, options = Path("kernel.ttir"), header["options"]
    source.write_text(str(header["ttir"]))
    target = GPUTarget("cuda", int(str(header["arch"])), 32)
    kernel = triton.compile(str(source), target=target, options=dict(options) if isinstance(options, dict) else {})
    said = {name: value for name, value in kernel.metadata._asdict().items() if isinstance(value, _AS_IT_IS)}
    texts = {name: kernel.asm[name] for name in ("ttgir", "ptx")}
    code = base64.b64encode(kernel.asm["cubin"]).decode()
    return {"metadata": said, **texts, "code": code, "known": known == [True]}, None
