"""What this machine gives tritonsmith: libraries, compilers, GPU, sandbox layers.

Each row is found out by trying; nothing is installed or changed.
"""

import importlib.metadata
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_TEMPLATES = Path(__file__).parent / "templates"
_LIBRARIES = ("torch", "triton", "transformers", "trl", "peft", "accelerate", "datasets", "tokenizers", "safetensors")
_EXTRAS = {"bitsandbytes": "gpu", "vllm": "vllm", "fastapi": "serve", "ray": "ray"}


@dataclass(frozen=True)
class Row:
    """One thing that is there or missing."""

    name: str
    ok: bool
    detail: str
    optional: bool = False
    """Whether everything still works without it, only slower or smaller."""


def examine() -> list[Row]:
    """All rows, the needed ones first."""
    rows = [Row("python", sys.version_info >= (3, 11), platform.python_version())]
    rows += [_library(name) for name in _LIBRARIES]
    rows += [_try("ptxas", _ptxas), _try("compile sm_90", _compile), *_sandbox(), _gpu(), _compiler(), _sanitizer()]
    return rows + [_extra(name, extra) for name, extra in _EXTRAS.items()]


def _library(name: str) -> Row:
    try:
        return Row(name, True, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return Row(name, False, f"pip install {name}")


def _extra(name: str, extra: str) -> Row:
    try:
        return Row(name, True, importlib.metadata.version(name), optional=True)
    except importlib.metadata.PackageNotFoundError:
        return Row(name, False, f'not installed; pip install "tritonsmith[{extra}]"', optional=True)


def _try(name: str, check: Callable[[], str]) -> Row:
    try:
        return Row(name, True, check())
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        return Row(name, False, f"{type(error).__name__}: {error}")


def _ptxas() -> str:
    from triton.backends.nvidia.compiler import get_ptxas

    tool = get_ptxas(90)
    return f"CUDA {tool.version}"


def _compile() -> str:
    """One kernel through capture, lowering and ptxas: the compile stage as candidates meet it."""
    from tritonsmith.config import VerifyConfig
    from tritonsmith.types import Candidate, Task
    from tritonsmith.verify.pool import Verifier

    task = Task(id="example", level=2, source=(_TEMPLATES / "example_task.py.j2").read_text())
    source = (_TEMPLATES / "example_answer.py.j2").read_text()
    with Verifier(VerifyConfig(device="cpu")) as verifier:
        verdict = verifier.verify(task, Candidate(task=task.id, source=source))
    if not verdict.correct:
        raise RuntimeError(verdict.findings[0].message if verdict.findings else "a correct kernel was rejected")
    return f"{verdict.kernels[0].registers} registers; interpreted, compared and correct"


def _sandbox() -> list[Row]:
    from tritonsmith.verify.sandbox import layers

    what = {
        "limits": "CPU time, memory, files",
        "no_new_privs": "no setuid",
        "capabilities": "none are kept",
        "landlock": "files: private folder only",
        "seccomp": "no network, processes, signals to others",
    }
    return [
        Row(f"sandbox {name}", given, what[name] if given else f"this kernel does not give it: {what[name]}", True)
        for name, given in layers().items()
    ]


def _gpu() -> Row:
    import torch

    if not torch.cuda.is_available():
        return Row("GPU", False, "none; kernels are interpreted, speedups predicted", optional=True)
    return Row("GPU", True, f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}", optional=True)


def _compiler() -> Row:
    found = shutil.which("gcc") or shutil.which("clang")
    return Row("C compiler", found is not None, found or "Triton needs one to launch kernels on a GPU", optional=True)


def _sanitizer() -> Row:
    from tritonsmith.verify.process.sanitizer import find

    found = find()
    missing = "not on PATH nor below CUDA_HOME; verify.sanitizer needs it, on a GPU"
    return Row("compute-sanitizer", found is not None, str(found or missing), optional=True)
