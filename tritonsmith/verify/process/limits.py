"""What a runner may use on this machine: the folders its libraries lie in, and the bounds that settings give."""

import functools
import importlib.util
import os
import sys
import sysconfig
from dataclasses import replace
from pathlib import Path

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.sandbox import Limits


def runner_limits(settings: VerifyConfig, timeout: float, folder: Path | None, candidates: int = 1) -> Limits:
    """Limits of a runner that judges up to `candidates`; with a private `folder` it is one for a GPU."""
    gpu = folder is not None
    python = {sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), os.path.realpath(sys.executable)}
    libraries = {str(_package_folder(name).parent) for name in ("torch", "triton", "numpy", "safetensors")}
    libraries.add(str(_package_folder("tritonsmith")))
    system = {"/usr", "/lib", "/lib64", "/bin", "/etc", "/sys", "/dev/null", "/dev/urandom"}
    system |= {f"/proc/{name}" for name in ("self", "cpuinfo", "meminfo", "stat")}
    writable = ("/dev/null",)
    if gpu:
        system |= {"/proc", "/dev"}
        writable = ("/dev", "/proc/self", str(folder))
    return Limits(
        cpu_seconds=candidates * (2 * int(timeout) + 5),  # a heavy task's candidate has its time twice
        memory_bytes=None if gpu else settings.memory_mb << 20,
        file_bytes=(256 << 20) if gpu else (1 << 20),
        readable=tuple(sorted(python | system | libraries)),
        writable=writable,
        processes=gpu,
    )


def compiler_limits(settings: VerifyConfig, timeout: float, folder: Path, kernels: int) -> Limits:
    """Limits of a process that compiles up to so many kernels, with a private folder."""
    return replace(
        runner_limits(settings, timeout, None, kernels),
        file_bytes=256 << 20,
        writable=("/dev/null", str(folder)),
        processes=True,  # ptxas
    )


@functools.cache
def _package_folder(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"{name} is not installed")
    return Path(spec.origin).resolve().parent
