"""Lets a candidate written for a GPU run where there is none: `cuda` means `cpu` inside `on_device("cpu")`, and
tensors without data inside `on_device("meta")`.

Covers device arguments, `.cuda()`, `.is_cuda`, `.device`, the device guards that people write around launches, and
what they ask a GPU for to choose a grid (an H100's answers). Does not pretend a GPU beyond that: streams and events
fail as they would.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch.overrides import TorchFunctionMode
from torch.torch_version import TorchVersion
from triton.tools.tensor_descriptor import TensorDescriptor

from tritonsmith.verify.launches import hosted
from tritonsmith.verify.launches.descriptors import ALIGNMENT
from tritonsmith.verify.launches.looks import Properties, Uuid, like

PROPERTIES = Properties(
    name="NVIDIA H100 80GB HBM3", major=9, minor=0, multi_processor_count=132, total_memory=81089 << 20, warp_size=32,
    max_threads_per_multi_processor=2048, regs_per_multiprocessor=65536, shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448, shared_memory_per_multiprocessor=233472, L2_cache_size=50 << 20,
    gcnArchName="sm_90", is_integrated=False, is_multi_gpu_board=False, max_threads_per_block=1024,
    uuid=Uuid("4cf2a3bd-7c1e-5c0a-9f0f-0c6a52f1d7b3"), pci_bus_id=25, pci_device_id=0, pci_domain_id=0,
    clock_rate=1980000, memory_clock_rate=2619000, memory_bus_width=5120,
)  # fmt: skip
"""What `torch.cuda.get_device_properties` says on an H100 SXM (CUDA C++ Programming Guide, "Compute Capabilities",
and the data sheet; the memory is what torch prints of one): candidates size persistent grids by it."""
ELSEWHERE = Properties(
    name="NVIDIA A10", major=8, minor=6, multi_processor_count=72, total_memory=22731 << 20, warp_size=32,
    max_threads_per_multi_processor=1536, regs_per_multiprocessor=65536, shared_memory_per_block=49152,
    shared_memory_per_block_optin=101376, shared_memory_per_multiprocessor=102400, L2_cache_size=6 << 20,
    gcnArchName="sm_86", is_integrated=False, is_multi_gpu_board=False, max_threads_per_block=1024,
    uuid=Uuid("0b8f3c0e-51d7-5f0a-8a7e-2f9d6c4b1e85"), pci_bus_id=59, pci_device_id=0, pci_domain_id=0,
    clock_rate=1695000, memory_clock_rate=6251000, memory_bus_width=384,
)  # fmt: skip
"""The same of a GPU that has less of everything; what is right on one GPU alone is not right."""
BUILD = "+cu128"
"""What the version of a torch that was built for GPUs ends with."""


def on_device(device: str, called: bool = False) -> AbstractContextManager[object]:
    """The context in which a candidate is built, or `called`, on `device` (`cpu`, `meta` or `cuda`).

    What a call makes without a device is the host's, not the GPU's; see `hosted`. A module is built on the GPU.
    """
    return nullcontext() if device == "cuda" else _cuda_as(device, called)


def pretend(elsewhere: bool) -> None:
    """Have candidates find another GPU than the usual one, or that, from now on."""
    _asked[:] = [ELSEWHERE if elsewhere else PROPERTIES]


def found() -> Properties:
    """Properties of the GPU that candidates find in this process."""
    return _asked[-1]


_asked = [PROPERTIES]


def _of(gpu: Properties, device: object = None) -> Properties:
    """The properties of a device; raises as torch does where there is none of this number."""
    _ordinal(device)
    return gpu


def _ordinal(device: object = None) -> None:
    """Raises AssertionError for the number of a GPU that is not there, ValueError for another kind of device."""
    device = torch.device(device) if isinstance(device, str) else device
    if isinstance(device, torch.device) and device.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {device}")
    number = device.index if isinstance(device, torch.device) else device
    if type(number) is int and number > 0:
        raise AssertionError("Invalid device id")


@functools.cache
def _answers(gpu: Properties) -> Mapping[str, Callable[..., object]]:
    """What functions of `torch.cuda` are in the meantime."""
    answers: dict[str, Callable[..., object]] = {
        "device": _ordinal,
        "device_of": lambda *_: None,
        "set_device": _ordinal,
        "synchronize": _ordinal,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "is_available": lambda: True,
        "is_bf16_supported": lambda *_, **__: True,
        "get_device_name": lambda *given, **named: _of(gpu, *given, **named).name,
        "get_device_capability": lambda *given, **named: (_of(gpu, *given, **named).major, gpu.minor),
        "get_device_properties": lambda *given, **named: _of(gpu, *given, **named),
    }
    return {name: like(answer, getattr(torch.cuda, name)) for name, answer in answers.items()}


@contextmanager
def _cuda_as(device: str, called: bool) -> Iterator[None]:
    answers = _answers(found())
    saved = {name: getattr(torch.cuda, name) for name in answers}
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
    built, torch.version.cuda = torch.version.cuda, torch.version.cuda or "12.8"
    named = torch.__version__, torch.version.__version__
    torch.__version__ = torch.version.__version__ = TorchVersion(named[0].replace("+cpu", BUILD))
    aligned = TensorDescriptor.__post_init__
    TensorDescriptor.__post_init__ = _check_strides
    try:
        with _CudaMeans(device, called):
            yield
    finally:
        TensorDescriptor.__post_init__ = aligned
        torch.version.cuda = built
        torch.__version__, torch.version.__version__ = named
        for name, original in saved.items():
            setattr(torch.cuda, name, original)


def _check_strides(self: TensorDescriptor) -> None:
    """What Triton asserts of a descriptor that the host makes, but for its address: memory lies otherwise here, and the
    interpreter says what of it the hardware would refuse; see `descriptors`."""
    size = self.base.element_size()
    for stride in self.strides[:-1]:
        if stride * size % ALIGNMENT:
            raise AssertionError(f"strides must be {ALIGNMENT}-byte aligned")


_ANSWERS: Mapping[object, object] = {
    torch.Tensor.is_cuda.__get__: True,  # type: ignore[attr-defined]
    torch.Tensor.is_cpu.__get__: False,  # type: ignore[attr-defined]
    torch.Tensor.device.__get__: torch.device("cuda", 0),  # type: ignore[attr-defined]
    torch.Tensor.is_shared: True,
    torch.Tensor.is_pinned: False,
    torch.Tensor.get_device: 0,
    torch.get_device: 0,
}
"""What a tensor says of its device, and of its memory there."""
_TOLD = frozenset((torch.Tensor.__repr__, torch.Tensor.__format__))
"""What makes a text of a tensor, which names its device; what is a number is told without."""
_OF_THE_HOST = frozenset((*_ANSWERS, *_TOLD, torch.Tensor.type))
"""What a tensor of the host's says as it is."""
_OTHERWISE = frozenset((*_OF_THE_HOST, torch.Tensor.cuda, torch.Tensor.pin_memory, torch.Tensor.to))
"""What does something else here than it says, or may, without an argument by name."""


class _CudaMeans(TorchFunctionMode):
    def __init__(self, device: str, called: bool) -> None:
        super().__init__()
        self._device, self._called = device, called

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if not kwargs and func not in _OTHERWISE:  # nearly all calls, by the hundred thousand: see `unrun`
            result = func(*args)
            if not self._called or not isinstance(result, (torch.Tensor, list, tuple)) or type(result) is torch.Size:
                return result  # most of what is called asks for a size, or for a number
            return hosted.noted(func, args, {}, None, result)
        if not self._called:
            return self._call(func, args, kwargs or {})
        if func in _OF_THE_HOST and hosted.is_hosted(args[0]):
            return func(*args, **(kwargs or {}))
        result = self._call(func, args, kwargs or {})
        if not isinstance(result, (torch.Tensor, list, tuple)) or isinstance(result, torch.Size):
            return result
        return hosted.noted(func, args, kwargs or {}, self._place(func, args, kwargs or {}), result)

    def _call(self, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        if func in _ANSWERS:
            answer = _ANSWERS[func]
            return torch.device(answer) if isinstance(answer, torch.device) else answer  # another object each time
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func is torch.Tensor.cuda:
            self._here(self._numbered(args[1]) if len(args) > 1 else None)
            return args[0]
        if func is torch.Tensor.type and not kwargs and (len(args) == 1 or isinstance(args[1], str)):
            if len(args) == 1:
                return str(func(*args)).replace("torch.", "torch.cuda.", 1)
            return func(args[0], str(args[1]).replace("torch.cuda.", "torch.", 1))
        if func in _TOLD and isinstance(text := func(*args, **kwargs), str):
            return f"{text[:-1]}, device='cuda:0')" if text.endswith(")") else text
        if not kwargs and func is not torch.Tensor.to:
            return func(*args)
        named = {key: self._numbered(value) if key == "device" else value for key, value in kwargs.items()}
        named.pop("pin_memory", None)  # which a host without a GPU refuses
        named = {key: self._here(value) for key, value in named.items()}
        if func is torch.Tensor.to:
            first = [self._numbered(arg) for arg in args[1:2]]
            return func(*(self._here(arg) for arg in (*args[:1], *first, *args[2:])), **named)
        return func(*args, **named)

    def _place(self, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> str | None:
        """The kind of device that a call names, None where it names none."""
        named = [kwargs.get("device"), *(args[1:2] if func is torch.Tensor.to else ())]
        for value in map(self._numbered, named):
            if isinstance(value, (str, torch.device)):
                return torch.device(value).type
        return None

    @staticmethod
    def _numbered(value: object) -> object:
        """A device by its number alone is a GPU."""
        return torch.device("cuda", value) if type(value) is int else value

    def _here(self, value: object) -> object:
        named = isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))
        if not named and not (isinstance(value, torch.device) and value.type == "cuda"):
            return value
        if torch.device(value).index:  # type: ignore[arg-type]
            raise RuntimeError("CUDA error: invalid device ordinal")
        return self._device if named else torch.device(self._device)
