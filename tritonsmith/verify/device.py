"""Lets a candidate written for a GPU run where there is none: `cuda` means `cpu` inside `on_device("cpu")`.

Covers device arguments, `.cuda()`, `.is_cuda`, `.device` and the device guards that people write around launches.
Does not pretend a GPU beyond that: `torch.cuda.get_device_properties` and streams fail as they would.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch.overrides import TorchFunctionMode
from triton.tools.tensor_descriptor import TensorDescriptor


def on_device(device: str) -> AbstractContextManager[object]:
    """The context in which a candidate is built and called on `device` (`cpu` or `cuda`)."""
    return _cuda_as_cpu() if device == "cpu" else nullcontext()


@contextmanager
def _cuda_as_cpu() -> Iterator[None]:
    saved = torch.cuda.device, torch.cuda.current_device, torch.cuda.synchronize
    torch.cuda.device = torch.cuda.device_of = lambda *_: nullcontext()  # type: ignore[assignment, misc]
    torch.cuda.current_device = lambda: 0
    torch.cuda.synchronize = lambda *_: None
    # Rows of a task made smaller need not be the 16 bytes apart that the task's own are.
    aligned = TensorDescriptor.__post_init__
    TensorDescriptor.__post_init__ = lambda self: None
    try:
        with _CudaMeansCpu():
            yield
    finally:
        TensorDescriptor.__post_init__ = aligned
        torch.cuda.device, torch.cuda.current_device, torch.cuda.synchronize = saved  # type: ignore[misc]


class _CudaMeansCpu(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if func is torch.Tensor.cuda:
            return args[0]
        if func == torch.Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True
        if func == torch.Tensor.device.__get__:  # type: ignore[attr-defined]
            return torch.device("cuda", 0)
        named = {key: _host(value) for key, value in (kwargs or {}).items()}
        if func is torch.Tensor.to:
            return func(*(_host(arg) for arg in args), **named)
        return func(*args, **named)


def _host(value: object) -> object:
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value
