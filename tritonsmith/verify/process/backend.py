"""The back end of a kernel's compilation on a GPU, asked for by a runner and done by processes of the judge's.

From Triton's intermediate code (TTIR) to machine code a compilation hangs on that text and a few options alone, takes
most of its time, and is the same for every candidate that writes the same kernel. A runner does the front end, which
runs the candidate's Python, sends the text, and takes what comes back into its own Triton; where nothing does it goes
on by itself, and raises what there is to raise. `compilers` is the judge's side, `lowering` the compiling process's.
"""

import base64
import functools
import socket
from collections.abc import Callable, Mapping
from typing import Any

from tritonsmith.verify.process import wire
from tritonsmith.verify.process.within import whole

OPTIONS: Mapping[str, type] = {
    "num_warps": int, "num_ctas": int, "num_stages": int, "maxnreg": int, "enable_fp_fusion": bool,
    "launch_cooperative_grid": bool, "launch_pdl": bool, "enable_reflect_ftz": bool, "debug": bool,
    "sanitize_overflow": bool,
}  # fmt: skip
"""What a compilation that is not done in the runner may be told; a launch with any other option is compiled there."""

LONGEST = 1 << 20
"""Characters of a text; what is longer a runner compiles. Few kernels have a tenth of it."""

Stage = Callable[[object, dict[str, object]], object]


def divert(channel: socket.socket) -> None:
    """Have the judge at the other end of a channel asked for every kernel's back end in this process."""
    from triton.backends.nvidia.compiler import CUDABackend

    own = CUDABackend.add_stages

    def add_stages(self: Any, stages: dict[str, Stage], options: object, language: object) -> None:  # noqa: ANN401
        own(self, stages, options, language)
        told = differing(vars(options), vars(self.parse_options({})))
        if told is not None and list(stages) == ["ttir", "ttgir", "llir", "ptx", "cubin"]:
            stages.update(asking(dict(stages), functools.partial(_asked, channel, told)))

    CUDABackend.add_stages = add_stages


def differing(options: Mapping[str, object], usual: Mapping[str, object]) -> dict[str, object] | None:
    """The options that are not as usual; None where there is one that only a runner may be told."""
    told = {name: value for name, value in options.items() if value != usual.get(name)}
    return told if allowed(told) else None


def allowed(told: Mapping[str, object]) -> bool:
    """Whether options are of those in `OPTIONS`, and of their types."""
    return all(name in OPTIONS and type(value) is OPTIONS[name] for name, value in told.items())


def asking(own: Mapping[str, Stage], ask: Callable[[str], tuple[dict[str, object], bytes] | None]) -> dict[str, Stage]:
    """Stages of a back end that take their results from what `ask` gives for a text: metadata with two of the texts,
    and the code. Where it gives None they are the `own` ones."""
    answer: tuple[dict[str, object], bytes] | None = None

    def first(module: Any, metadata: dict[str, object]) -> object:  # noqa: ANN401
        nonlocal answer
        # Names of values and places in the source, which differ where the code does not, are left out.
        text = module.str_nodebug()
        answer = ask(text) if len(text) <= LONGEST else None
        if answer is None:
            return own["ttgir"](module, metadata)
        found = answer[0]["metadata"]
        if isinstance(found, dict):
            metadata |= {name: value for name, value in found.items() if name not in metadata or name == "num_warps"}
        return answer[0]["ttgir"]

    def later(name: str, module: object, metadata: dict[str, object]) -> object:
        if answer is None:
            return own[name](module, metadata)
        return answer[1] if name == "cubin" else answer[0].get(name, "")

    return {"ttgir": first} | {name: functools.partial(later, name) for name in ("llir", "ptx", "cubin")}


def _asked(channel: socket.socket, told: dict[str, object], text: str) -> tuple[dict[str, object], bytes] | None:
    # No tensors: what torch does meanwhile would be taken for the candidate's. And whole, or the answer would be taken
    # for that of another question.
    with whole():
        wire.send(channel, {"lower": {"ttir": text, "options": told}})
        reply, _ = wire.receive(channel)
    return (reply, base64.b64decode(str(reply["code"]))) if "code" in reply else None
