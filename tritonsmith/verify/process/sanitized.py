"""The program that compute-sanitizer watches: loads a candidate from a file, builds it, calls `forward` once.

A fresh interpreter, for the tool must start what it watches. CUDA and the tool's own threads are up before the sandbox
is entered: they stay outside Landlock and seccomp, which hold for this thread, the candidate's, and all it starts. It
compares nothing and observes nothing: its own kernels would be in the report.
"""

import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Do what the file that the command line names says, and write beside it what came of it."""
    frame = Path(sys.argv[1])
    # Out of a cache of blocks, an access beyond a tensor would still be within an allocation; read when torch starts.
    os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    from tritonsmith.verify.process import raised, sanitizer, wire

    header, tree = wire.decode(frame.read_bytes())
    try:
        _call(header, tree)
        answer: dict[str, object] = {"ok": True}
    except BaseException as error:  # a candidate may raise anything, SystemExit included
        answer = {"error": raised.describe(error)}
    (frame.parent / sanitizer.ANSWER).write_text(json.dumps(answer))


def _call(header: dict[str, object], tree: object) -> None:
    """Build and call: `header` as for a runner's `load` and `build`, with `limits`; `tree` has `inputs` besides."""
    import torch

    from tritonsmith.verify import sandbox
    from tritonsmith.verify.dynamic import observe
    from tritonsmith.verify.launches.device import on_device
    from tritonsmith.verify.process import session

    if not isinstance(tree, dict) or not isinstance(limits := header["limits"], dict):
        raise TypeError("a frame of another form")
    gpu = header["mode"] == "cuda"
    if gpu:
        torch.ones(1, device="cuda").add_(1)
        torch.cuda.synchronize()
    observe.take_first_configuration()
    sandbox.close_in(sandbox.Limits(**limits))
    one = session.Session()
    one.load(header, None)
    one.build(header, tree)
    if one.model is None:
        raise RuntimeError("nothing is built")
    with torch.no_grad(), on_device(one.device):
        one.model(*observe.to_device(tree["inputs"], one.device))
    if gpu:
        torch.cuda.synchronize()
