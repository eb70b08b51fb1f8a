"""The functions of NVIDIA's driver library, by ctypes (CUDA Driver API). Does not load it before it is asked for."""

import ctypes
import functools


@functools.cache
def library() -> ctypes.CDLL:
    """The driver's library; a sandbox may forbid to load it, so whoever enters one asks for it before."""
    return ctypes.CDLL("libcuda.so.1")


def call(function: str, *arguments: object) -> None:
    """Call one of its functions; raises OSError with the driver's number where it fails."""
    # By its name, anew: an attribute of the library could be somebody's by now.
    status = library()[function](*arguments)
    if status != 0:
        raise OSError(status, f"{function} fails")
