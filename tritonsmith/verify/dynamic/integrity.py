"""Whether a candidate changed the process it runs in: functions of libraries, global flags, hooks, threads.

`snapshot` is taken in the runner when all of the runner's own patches are in place and the candidate's source
is not yet loaded; `changes` says afterwards what is no longer as it was. Only what a candidate has no honest
reason to touch is looked at: names that libraries fill lazily, caches and random states are left out.

It shares a process with the candidate, so it is a net and no wall: code that got past the static rules could
rewrite it as well. The values that reach the judge decide; this finds what would make timing or records lie.
"""

import builtins
import functools
import gc
import importlib
import operator
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType

import torch

_BUILT = "__triton_launcher"
"""Triton builds a launcher for each signature and gives all of them this name."""
MAX_CHANGES = 8
"""Changes that are named; a candidate that changed more is no better known by more."""

_NAMESPACES = (
    "torch", "torch.Tensor", "torch.nn.Parameter", "torch.nn.functional", "torch.nn.Module", "torch.nn.init",
    "torch.autograd.Function", "torch.testing", "torch.linalg", "torch.random", "torch.cuda", "torch.cuda.Event",
    "torch.cuda.Stream", "torch.cuda.streams", "torch.cuda.random", "torch.utils._python_dispatch",
    "torch.utils._python_dispatch.TorchDispatchMode", "torch.overrides", "torch._C._nn", "torch.UntypedStorage",
    "torch.library", "triton", "triton.runtime", "triton.runtime.jit", "triton.runtime.jit.JITFunction",
    "triton.runtime.driver", "triton.runtime.jit.KernelInterface", "triton.runtime.autotuner",
    "triton.runtime.autotuner.Autotuner", "triton.runtime.autotuner.Heuristics", "triton.runtime.interpreter",
    "triton.testing", "triton.runtime.interpreter.InterpreterBuilder", "triton.runtime.interpreter.InterpretedFunction",
    "triton.runtime.interpreter.GridExecutor", "triton.compiler.compiler", "triton.compiler.compiler.CompiledKernel",
    "triton.compiler.code_generator", "triton.language", "triton.language.core", "triton.language.math",
    "triton.language.standard", "triton.language.tensor", "triton.language.semantic", "builtins", "time", "random",
    "random.Random", "gc", "sys", "os", "io", "json", "math", "socket", "socket.socket", "struct", "threading",
    "threading.Thread", "importlib", "linecache", "inspect", "traceback", "operator", "functools", "numpy",
    "numpy.random", "safetensors.torch", "dataclasses", "statistics", "ctypes", "ctypes.CDLL", "torch.cuda.graphs",
    "torch.cuda.graphs.CUDAGraph",
    *(f"tritonsmith.verify.{name}" for name in (
        "runner", "timing", "timing.Stopwatch", "cuda_graph", "cuda_graph.Recording", "cuda_graph.Trials",
        "dynamic.brought", "dynamic.cuda", "dynamic.cuda.Guards", "dynamic.cuda.Watch", "dynamic.integrity",
        "dynamic.kept", "dynamic.kept.Kept", "dynamic.observe", "dynamic.observe.Launches",
        "dynamic.observe.Operators", "dynamic.replay", "dynamic.work", "dynamic.work.Work", "interpreter.combining",
        "interpreter.histories", "interpreter.histories.Histories", "interpreter.interpret", "interpreter.memo",
        "interpreter.shadow", "interpreter.shadow.Shadow", "launches.arguments", "launches.arguments.Settled",
        "interpreter.accesses", "interpreter.batched", "interpreter.comparisons",
        "interpreter.comparisons.Comparisons", "interpreter.language", "interpreter.loops", "interpreter.operations",
        "interpreter.recorded", "interpreter.running", "interpreter.running.Running",
        "interpreter.together", "dynamic.counters", "dynamic.cover", "dynamic.hidden", "dynamic.hidden.Hidden",
        "dynamic.sampled", "dynamic.staying", "dynamic.staying.Stored", "dynamic.unrun", "launches.device",
        "launches.dataflow", "launches.dataflow.Flow", "launches.hosted", "launches.pointers", "launches.rehearsal",
        "process.backend", "process.building", "process.carrying", "process.carrying.Carrier", "process.clocked",
        "process.cuda_driver", "process.launching", "process.launching.Launcher",
        "process.ipc", "process.loading", "process.raised", "process.session", "process.session.Session",
        "process.sizeless", "process.wire",
    )),
)  # fmt: skip
"""Modules and classes whose callables are watched, where they are loaded; none is imported for it."""
_INTERPRETED = ("triton.language",)
"""Namespaces that Triton's interpreter patches while it runs; its own functions may appear there."""
_PATCHED = ("triton", "torch.cuda")
"""Namespaces that a runner patches between its fork and its candidate;"""
_PATCHED_STILL = ("triton.runtime.driver", "torch.cuda")
"""where its zygote has put the interpreter under watch already, those alone."""
_ENVIRONMENT = ("TRITON_", "CUDA_", "PYTORCH_", "NVIDIA_", "OMP_")
_FILLED = frozenset({"__doc__", "__annotations__", "__annotate__", "__abstractmethods__", "__signature__", "__dict__"})
"""Attributes of classes that Python fills in by itself."""


@dataclass(frozen=True)
class _Namespace:
    """The callables of one module or class, in three rows of equal length, and its functions' inner parts."""

    name: str
    members: Mapping[str, object]
    """The live dictionary."""
    names: tuple[str, ...]
    values: tuple[object, ...]
    is_class: bool
    functions: tuple[FunctionType, ...]
    codes: tuple[object, ...]
    defaults: tuple[object, ...]
    keywords: tuple[Mapping[str, object] | None, ...]
    inner: tuple[tuple[FunctionType, int, object], ...]
    """Functions held in closures: the outer function, the cell's place, and what it held."""


@dataclass(frozen=True)
class Snapshot:
    """How a process was: opaque, for `changes`."""

    namespaces: tuple[_Namespace, ...]
    modules: Mapping[str, ModuleType]
    flags: Mapping[str, object]


_remembered: list[Snapshot] = []
_repatched: list[str] = [*_PATCHED]
"""What a runner of this process, or of its zygote, patches anew."""


def remember(watched: bool = False) -> None:
    """Note how the zygote is, for the snapshots of the runners that it forks; `watched`: the interpreter is."""
    _remembered[:] = [snapshot()]
    _repatched[:] = _PATCHED_STILL if watched else _PATCHED


def snapshot() -> Snapshot:
    """Note how this process is.

    Where `remember` was called before the fork, only what a runner itself patches is noted anew: looking at the
    rest costs a fork 4,800 pages that it must copy (measured: 15 ms), so `changes` alone does it.
    """
    known = {space.name: space for older in _remembered for space in older.namespaces}
    spaces, patched = [], tuple(_repatched)
    for name in _NAMESPACES:
        old = known.get(name)
        if old is not None and not name.startswith(patched):
            spaces.append(old)
        elif (found := _find(name)) is not None:
            spaces.append(_namespace(name, found))
    return Snapshot(tuple(spaces), dict(sys.modules), _flags())


def changes(before: Snapshot) -> list[str]:
    """What is not as it was, in words, at most `MAX_CHANGES`; empty for an honest candidate."""
    found = [*_changed_flags(before.flags), *_changed_modules(before.modules)]
    for space in before.namespaces:
        found.extend(_changed_members(space))
    return found[:MAX_CHANGES]


# Functions of libraries.


def _find(path: str) -> ModuleType | type | None:
    module = sys.modules.get(path)
    if module is not None:
        return module
    parent, _, name = path.rpartition(".")
    owner = sys.modules.get(parent) or (_find(parent) if parent else None)
    inner = vars(owner).get(name) if owner is not None else None
    return inner if isinstance(inner, (type, ModuleType)) else None


def _namespace(name: str, space: ModuleType | type) -> _Namespace:
    members = vars(space)
    is_class = isinstance(space, type)
    held = [
        (key, value)
        for key, value in list(members.items())
        if key not in _FILLED
        and not isinstance(value, ModuleType)
        and (callable(value) or (is_class and _binds(value)))
    ]
    functions = tuple(function for _, value in held if (function := _function(value)) is not None)
    return _Namespace(
        name=name,
        members=members,
        names=tuple(key for key, _ in held),
        values=tuple(value for _, value in held),
        is_class=is_class,
        functions=functions,
        codes=tuple(f.__code__ for f in functions),
        defaults=tuple(f.__defaults__ for f in functions),
        keywords=tuple(dict(f.__kwdefaults__) if f.__kwdefaults__ else None for f in functions),
        inner=tuple(_inner(functions)),
    )


def _binds(value: object) -> bool:
    return hasattr(type(value), "__get__")


def _function(value: object) -> FunctionType | None:
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    elif isinstance(value, property):
        value = value.fget
    return value if isinstance(value, FunctionType) else None


def _inner(functions: Iterable[FunctionType]) -> Iterable[tuple[FunctionType, int, object]]:
    for function in functions:
        for place, cell in enumerate(function.__closure__ or ()):
            if isinstance(held := _content(cell), FunctionType):
                yield function, place, held


def _content(cell: object) -> object:
    try:
        return cell.cell_contents  # type: ignore[attr-defined]
    except ValueError:  # an empty cell
        return None


_code: Callable[[FunctionType], object] = operator.attrgetter("__code__")
_default: Callable[[FunctionType], object] = operator.attrgetter("__defaults__")
_keyword: Callable[[FunctionType], object] = operator.attrgetter("__kwdefaults__")


def _changed_members(space: _Namespace) -> Iterable[str]:
    if not all(map(operator.is_, map(space.members.get, space.names), space.values)):
        for name, value in zip(space.names, space.values, strict=True):
            now = space.members.get(name)
            if now is not value and not _interpreters(space, now):
                yield f"{space.name}.{name} was replaced"
    if space.is_class and len(space.members) > len(space.names):
        for name in space.members.keys() - set(space.names) - _FILLED:
            value = space.members[name]
            if (callable(value) or _function(value) is not None) and not _interpreters(space, value):
                yield f"{space.name}.{name} was added"
    same = (
        all(map(operator.is_, map(_code, space.functions), space.codes))
        and all(map(operator.is_, map(_default, space.functions), space.defaults))
        and all(map(_same, map(_keyword, space.functions), space.keywords))
    )
    if not same:
        for place, function in enumerate(space.functions):
            parts = (function.__code__ is space.codes[place], function.__defaults__ is space.defaults[place])
            if not all(parts) or not _same(function.__kwdefaults__, space.keywords[place]):
                yield f"the code or defaults of {space.name}.{function.__name__} were changed"
    for function, place, held in space.inner:
        if _content((function.__closure__ or ())[place]) is not held:
            yield f"a function inside {space.name}.{function.__name__} was replaced"


def _same(now: object, before: Mapping[str, object] | None) -> bool:
    if not before or not isinstance(now, dict):
        return not before and not now
    return now.keys() == before.keys() and all(now[key] is value for key, value in before.items())


def _interpreters(space: _Namespace, value: object) -> bool:
    """Whether the interpreter itself put a function into triton.language, as it does at each launch."""
    if not space.name.startswith(_INTERPRETED):
        return False
    if value is print or value is object.__repr__:  # static_print, and what restoring leaves on a class
        return True
    function = _function(value.func if isinstance(value, functools.partial) else value)
    if function is None:
        return getattr(value, "__module__", None) == "triton.runtime.interpreter"
    return function.__code__.co_filename in _interpreter_files()


@functools.cache
def _interpreter_files() -> frozenset[str]:
    own = ("language", "libdevice", "memo", "hints")
    names = ("triton.runtime.interpreter", *(f"tritonsmith.verify.interpreter.{name}" for name in own))
    return frozenset(str(importlib.import_module(name).__file__) for name in names)


def _changed_modules(before: Mapping[str, ModuleType]) -> Iterable[str]:
    now = sys.modules
    if all(map(operator.is_, map(now.get, before), before.values())):
        return
    for name, module in before.items():
        if now.get(name) is not module and not name.startswith(_BUILT):
            yield f"the module {name} was replaced"


# Flags, hooks, modes and threads.


def _flags() -> dict[str, object]:
    flags = {name: _read(reader) for name, reader in _READERS.items()}
    flags["threads"] = frozenset(sys._current_frames())
    return flags


def _changed_flags(before: Mapping[str, object]) -> Iterable[str]:
    now = _flags()
    for name, value in before.items():
        if name == "threads":
            if len(now[name] - value):  # type: ignore[operator]
                yield "a thread was started and still runs"
        elif now[name] not in (value, _STRICTEST.get(name, value)):
            yield f"{name} changed from {_brief(value)} to {_brief(now[name])}"


def put_back(before: Snapshot) -> None:
    """Give torch the settings back that a candidate may make stricter, for the next one."""
    torch.set_float32_matmul_precision(str(before.flags["float32 matmul precision"]))
    torch.backends.cuda.matmul.allow_tf32 = bool(before.flags["cuda tf32"])
    torch.backends.cudnn.allow_tf32 = bool(before.flags["cudnn tf32"])


def _brief(value: object) -> str:
    return str(value) if isinstance(value, (bool, int, float, str, torch.dtype, torch.device)) else "another"


def _read(reader: Callable[[], object]) -> object:
    try:
        return reader()
    except RuntimeError as error:  # a flag that was set in torch's old and in its new way cannot be read
        return str(error)[:80]


def _signals() -> tuple[object, ...]:
    return tuple(signal.getsignal(number) for number in range(1, signal.NSIG) if number not in (9, 19))


def _timers() -> tuple[bool, ...]:
    kinds = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
    return tuple(signal.getitimer(kind)[0] > 0 for kind in kinds)


def _environment() -> tuple[tuple[str, str], ...]:
    return tuple(sorted((key, value) for key, value in os.environ.items() if key.startswith(_ENVIRONMENT)))


def _denormals() -> bool:
    """Whether this thread keeps denormal numbers; there is no getter for `torch.set_flush_denormal`."""
    return sys.float_info.min / float(2) > 0


def _module_hooks() -> tuple[int, ...]:
    hooks = torch.nn.modules.module
    names = (name for name in vars(hooks) if name.startswith("_global_") and isinstance(vars(hooks)[name], dict))
    return tuple(len(vars(hooks)[name]) for name in sorted(names))


def _aten_overrides() -> frozenset[str]:
    return frozenset(key for key in torch.library._impls if str(key).startswith("aten"))


def _triton_knobs() -> tuple[object, ...]:
    knobs = sys.modules.get("triton.knobs")
    runtime = getattr(knobs, "runtime", None)
    names = (
        "interpret", "launch_enter_hook", "launch_exit_hook", "kernel_load_start_hook", "kernel_load_end_hook",
        "jit_cache_hook", "jit_post_compile_hook", "add_stages_inspection_hook",
    )  # fmt: skip
    return tuple(_calls(getattr(runtime, name, None)) for name in names)


def _calls(hook: object) -> object:
    """What a chain of hooks calls; the chain itself stays the same object when one is added."""
    return tuple(getattr(hook, "calls", ())) or getattr(hook, "reversed", hook)


_READERS: dict[str, Callable[[], object]] = {
    "grad mode": torch.is_grad_enabled,
    "inference mode": torch.is_inference_mode_enabled,
    "the default dtype": torch.get_default_dtype,
    "the default device": torch.get_default_device,
    "float32 matmul precision": torch.get_float32_matmul_precision,
    "cuda tf32": lambda: torch.backends.cuda.matmul.allow_tf32,
    "cudnn tf32": lambda: torch.backends.cudnn.allow_tf32,
    "fp16 reduction": lambda: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction,
    "bf16 reduction": lambda: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction,
    "cudnn.enabled": lambda: torch.backends.cudnn.enabled,
    "cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
    "cudnn.deterministic": lambda: torch.backends.cudnn.deterministic,
    "deterministic algorithms": torch.are_deterministic_algorithms_enabled,
    "the filling of fresh memory": lambda: torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined]
    "the number of threads": torch.get_num_threads,
    "autocast": lambda: tuple(torch.is_autocast_enabled(device) for device in ("cpu", "cuda")),
    "anomaly mode": torch.is_anomaly_enabled,
    "dispatch modes": lambda: torch._C._len_torch_dispatch_stack(),
    "function modes": lambda: torch._C._len_torch_function_stack(),
    "tensor functions": lambda: torch._C._is_torch_function_enabled(),
    "global module hooks": _module_hooks,
    "implementations of aten operators": _aten_overrides,
    "denormal numbers": _denormals,
    "the trace function": sys.gettrace,
    "the profile function": sys.getprofile,
    "import hooks": lambda: (*map(id, sys.meta_path), *map(id, sys.path_hooks)),
    "exception hooks": lambda: (id(sys.excepthook), id(sys.unraisablehook), id(sys.displayhook)),
    "garbage collection": lambda: (gc.isenabled(), *map(id, gc.callbacks)),
    "signal handlers": _signals,
    "timers": _timers,
    "the environment": _environment,
    "builtins": lambda: builtins.__dict__.keys() - {"_"},
    "Triton's hooks": _triton_knobs,
}
_STRICTEST = {"float32 matmul precision": "highest", "cuda tf32": False, "cudnn tf32": False}
"""What a candidate may set these to: it makes nothing less precise."""
