"""What a candidate raised as plain data: kind, text, the candidate's line. Decides nothing: see `conversation`."""

import traceback
from collections.abc import Mapping
from pathlib import Path

import triton

from tritonsmith.verify.dynamic.observe import HostCompute
from tritonsmith.verify.process.loading import CANDIDATE

_TRITON = str(Path(str(triton.__file__)).parent)


def describe(error: BaseException) -> dict[str, object]:
    """An exception as plain data: kind, text, the candidate's line, whether a GPU lacks something or Python works."""
    chain: list[BaseException] = []
    root: BaseException | None = error
    while root is not None and root not in chain:  # a candidate may chain an exception to itself
        chain.append(root)
        root = root.__cause__ or root.__context__
    line = getattr(error, "candidate_line", None)
    for link in chain:
        for frame, number in traceback.walk_tb(link.__traceback__):
            if frame.f_code.co_filename == CANDIDATE:
                line = number
    known = {"kind": type(error).__name__, "message": _message(error, chain)[:2000], "line": line}
    host = any(isinstance(link, HostCompute) for link in chain)
    return {**known, "resources": _lacks_resources(error), "host": host}


def lacks_memory(described: Mapping[str, object]) -> bool:
    """Whether such data says that memory was wanting: Python's, torch's, or the driver's as Triton tells it too."""
    message = str(described.get("message"))
    told = "DefaultCPUAllocator", "CUDA error: out of memory", "Triton Error [CUDA]: out of memory"
    return described.get("kind") in ("MemoryError", "OutOfMemoryError") or any(one in message for one in told)


def _lacks_resources(error: BaseException) -> bool:
    """Whether it is Triton's own code that says so of a kernel, not a candidate that raises what Triton would."""
    from triton.runtime.errors import OutOfResources

    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    return type(error) is OutOfResources and bool(frames) and frames[-1].startswith(_TRITON)


def _message(error: BaseException, chain: list[BaseException]) -> str:
    """The error's text; a compiler's error begins with its reason, which Triton puts last, or into the cause."""
    text = str(error)
    if not hasattr(error, "candidate_line"):
        return text or type(error).__name__
    causes = [link for link in chain if link is error or link is error.__cause__ or hasattr(link, "error_message")]
    reason = getattr(causes[-1], "error_message", None) or str(causes[-1]) or type(causes[-1]).__name__
    return f"{reason}\n{text.removesuffix(reason).rstrip()}"
