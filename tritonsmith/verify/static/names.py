"""Which imported names a candidate may use: allow-lists of modules, and dotted names resolved through the real ones.

Libraries import others: `torch.os` and `enum.bltns` are ways out. A name is therefore followed through the modules
themselves, loaded here where no candidate runs. Knows nothing of a candidate's own names: see `module`.
"""

import functools
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from types import ModuleType

IMPORTS = {
    "torch", "torch.nn", "torch.nn.functional", "triton", "triton.language", "math", "typing", "functools",
    "itertools", "dataclasses", "enum", "collections", "collections.abc", "__future__",
    "torch.autograd", "triton.tools.tensor_descriptor", "torch.nn.init", "torch.nn.parameter", "triton.runtime",
    "triton.language.math", "triton.language.standard", "torch.amp", "torch.cuda", "torch.cuda.amp", "contextlib",
    "warnings", "abc", "operator", "torch.autograd.function", "torch.nn.modules.utils", "torch.nn.common_types",
    "triton.language.core", "triton.language.libdevice", "triton.testing", "logging", "numpy", "torch.nn.utils",
    "torch.nn.utils.parametrizations", "copy", "numbers", "packaging",
    "packaging.version",
}  # fmt: skip
COMMON_WORDS = {"copy", "numbers", "packaging"}
"""Modules whose names people give to functions and values of their own; they are meant where they are imported."""
IMPORT_TREES = ("triton.language.extra",)
MODULES = IMPORTS | {
    "torch.nn.init", "torch.nn.modules", "torch.nn.parameter", "torch.cuda", "torch.autograd.function", "torch.linalg",
    "torch.special", "torch.fft", "torch.version", "torch.amp", "torch.cuda.amp",
    "triton.language.core", "triton.language.math", "triton.language.standard",
    "triton.runtime", "triton.tools",
}  # fmt: skip
"""Modules a dotted name may lead through: each of them imports others, `torch.os` among them."""
CLOSED = {
    "functools.update_wrapper", "functools.singledispatch", "functools.singledispatchmethod",
    "typing.get_type_hints", "typing.ForwardRef", "triton.compile", "triton.constexpr_function",
    "triton.language.core.builtin", "triton.language.core.extern", "triton.language.core.dispatch",
    "triton.language.core.JITCallable", "dataclasses.make_dataclass", "dataclasses.FunctionType",
    "contextlib.MethodType", "typing.NamedTupleMeta", "contextlib.redirect_stdout", "contextlib.redirect_stderr",
    "contextlib.chdir", "enum.global_enum", "enum.global_enum_repr", "enum.global_flag_repr", "enum.global_str",
}  # fmt: skip
_ROOTS = {name.split(".")[0] for name in IMPORTS} - {"__future__"}
TORCH_CLOSED = {
    "ops", "compile", "library", "jit", "utils", "hub", "load", "save", "multiprocessing", "distributed",
    "from_file", "package", "onnx", "export", "fx", "func", "overrides", "classes", "serialization", "testing",
    "set_default_dtype", "set_default_device", "set_default_tensor_type", "set_num_threads",
    "use_deterministic_algorithms", "manual_seed", "seed", "set_rng_state", "set_float32_matmul_precision",
    "backends", "profiler", "Generator", "frombuffer", "asarray", "from_dlpack", "UntypedStorage", "TypedStorage",
    "storage", "default_generator", "get_rng_state", "initial_seed", "set_printoptions", "set_warn_always",
    "set_flush_denormal", "set_deterministic_debug_mode", "set_num_interop_threads", "get_device_module",
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "ExcludeDispatchKeyGuard", "DispatchKey", "DispatchKeySet",
    "has_cuda", "has_cudnn", "has_mps", "has_mkl", "has_mkldnn", "has_lapack", "has_openmp", "has_magma", "has_xpu",
}  # fmt: skip
STANDARD = {
    "_log2", "_sum_combine", "_prod_combine", "_xor_combine", "_or_combine", "_argmax_combine", "_argmin_combine",
    "_argmax_combine_tie_break_left", "_argmax_combine_tie_break_fast", "_argmin_combine_tie_break_left",
    "_argmin_combine_tie_break_fast", "_elementwise_max", "_elementwise_min", "_compare_and_swap", "_bitonic_merge",
    "_indicator",
}  # fmt: skip
"""Device functions of `triton.language.standard` that people's own reductions and sorts are made of."""
READABLE = {
    "torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32", "torch.compiler.is_compiling",
    "torch.compiler.is_dynamo_compiling", "torch.jit.is_scripting", "torch.jit.is_tracing", "torch.xpu.is_available",
    "torch.backends.mps.is_available",
}  # fmt: skip
"""What may be asked of modules that are closed, written out in full: settings, and who calls."""
SPECIAL = STANDARD | {
    "__init__", "__version__", "__name__", "__doc__", "__call__", "__class__", "_calculate_fan_in_and_fan_out",
    "_calculate_correct_fan", "_single", "_pair", "_triple", "_quadruple", "_ntuple", "_size_1_t", "_size_2_t",
    "_size_3_t",
}  # fmt: skip
"""Names with underscores that lead nowhere new: `nn.Module.__init__(self)` builds a module, layers share the others."""
TORCH_CUDA_OPEN = {
    "device", "current_device", "get_device_properties", "device_count", "is_available", "synchronize",
    "get_device_capability", "get_device_name", "set_device", "amp", "is_bf16_supported", "device_of",
}  # fmt: skip
OPERATOR_OPEN = {
    "add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "pow", "eq", "ne", "lt", "le", "gt", "ge", "and_", "or_",
    "xor", "lshift", "rshift", "itemgetter", "getitem", "index", "not_",
}  # fmt: skip
"""What sizes are computed with; `attrgetter` would read any attribute."""
TORCH_AUTOGRAD_OPEN = {"Function", "function"}
LOGGING_OPEN = {
    "getLogger", "debug", "info", "warning", "error", "critical", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL",
    "NOTSET", "Logger",
}  # fmt: skip
"""What writes a line; handlers and filters are code that others would run."""
HOST = {"numpy", "apply_", "map_", "map2_", "storage", "untyped_storage"}
"""Methods that hand a tensor's values to Python, where no operator is seen. `tolist` of a few is honest: see `work`."""
COPIES = {"copy.copy", "copy.deepcopy"}
"""What layers are multiplied with; given a second value, it is a table that the caller fills."""
WEIGHTS_OPEN = {
    "weight_norm", "spectral_norm", "remove_weight_norm", "remove_spectral_norm", "parametrizations",
    "fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights",
    "parameters_to_vector", "vector_to_parameters",
}  # fmt: skip
"""What a constructor does to its layers, which keep their weights under other names then."""
WARNINGS_OPEN = {"warn", "filterwarnings", "simplefilter", "catch_warnings"}
"""What writes a warning or keeps one quiet; what shows or formats one is told who called."""
DRIVER_OPEN = {
    "get_active_torch_device", "get_current_target", "get_current_device", "get_current_stream", "utils",
    "get_device_capability", "get_device_properties",
}  # fmt: skip
"""What may be asked of `triton.runtime.driver.active`; the rest is how kernels are launched and measured, or hands over
the module `torch.cuda`. Of its `utils` one function may be called: others load binaries and launch them."""
TRITON_TESTING_OPEN = {"perf_report", "Benchmark"}
"""What describes a benchmark; what runs one has no place in a forward."""
OPEN_OF = {
    "operator": OPERATOR_OPEN,
    "logging": LOGGING_OPEN,
    "warnings": WARNINGS_OPEN,
    "triton.testing": TRITON_TESTING_OPEN,
    "copy": {"copy", "deepcopy"},
    "numbers": {"Number", "Integral", "Real"},
    "packaging": {"version"},
    "packaging.version": {"Version", "parse"},
    "torch.nn.utils": WEIGHTS_OPEN,
    "torch.nn.utils.parametrizations": {"weight_norm", "spectral_norm", "orthogonal"},
}
"""Modules of which no more than this may be used."""
NUMPY_FUNCTIONS = {
    f"numpy.{name}"
    for name in (
        "prod", "sqrt", "exp", "log", "log2", "log10", "ceil", "floor", "float32", "float64", "int32", "int64",
    )
}  # fmt: skip
"""What constants and sizes are computed with, or rounded by, called on one value: a second one is where the results go.
None reads a file or an address; of a tensor they ask `__array__`, which `work` sees."""
NUMPY_OPEN = NUMPY_FUNCTIONS | {"numpy", "numpy.pi", "numpy.e", "numpy.inf", "numpy.nan"}


HINTS = {
    "torch.backends": "leave torch's settings as they are",
    "torch.set_float32_matmul_precision": "leave torch's settings as they are",
    "torch.manual_seed": "models and inputs are seeded by the judge",
    "torch.compile": "write what it would make as a kernel",
    "torch.library": "call the function that launches the kernel",
    "triton.constexpr_function": "compute constants on the host, or by tl.constexpr in a @triton.jit function",
    "triton.testing": "measure under `if __name__ == '__main__'`",
    "copy": "copy and deepcopy are, called on one value in a constructor",
    "numpy": "pi, sqrt, prod and the like are, on one number or shape",
    "logging": "getLogger and the functions that write a line are",
    "warnings": "warn and the filters are",
    "triton.runtime.driver": "it may be asked for the device and its properties",
}
"""What to do instead, by how a name begins that may not be used."""


def advice(shut: str) -> str:
    """What a finding says after the name that may not be used."""
    known = next((hint for name, hint in HINTS.items() if shut == name or shut.startswith(f"{name}.")), "")
    return f": {known}" if known else ""


def is_open(module: str) -> bool:
    """Whether a dotted name may lead through this module."""
    return module in MODULES or module.startswith(IMPORT_TREES)


@functools.lru_cache(4096)
def canonical(path: str) -> tuple[str, bool]:
    """A dotted name by its modules' own names, and whether it ends at a module or leads through a closed one.

    `torch.nn.functional.torch.mm` is `torch.mm`. Names are looked up here, where only libraries are loaded.
    """
    root, *rest = path.split(".")
    if root not in _ROOTS:
        return path, False
    module = importlib.import_module(root)
    while rest:
        inner = vars(module).get(rest[0])
        if inner is None and hasattr(module, "__path__") and importlib.util.find_spec(f"{module.__name__}.{rest[0]}"):
            if not is_open(f"{module.__name__}.{rest[0]}"):
                return ".".join([module.__name__, *rest]), True
            inner = importlib.import_module(f"{module.__name__}.{rest[0]}")
        if not isinstance(inner, ModuleType):
            return ".".join([module.__name__, *rest]), False
        if not is_open(inner.__name__):
            return ".".join([module.__name__, *rest]), True
        module = inner
        del rest[0]
    return ".".join([module.__name__, *rest]), True


@functools.lru_cache(4096)
def is_library(path: str) -> bool:
    """Whether a dotted name is a module, a class or a function of an imported library, and not a value in it."""
    path, is_module = canonical(path)
    found = _object(path)
    return is_module or isinstance(found, type) or callable(found)


@functools.cache
def _closed_objects() -> frozenset[int]:
    """Identities of what is closed, for libraries give a thing many names."""
    paths = [*CLOSED, *(f"torch.{name}" for name in TORCH_CLOSED)]
    found = (_object(canonical(path)[0]) for path in paths)
    return frozenset(id(one) for one in found if callable(one))


@functools.lru_cache(4096)
def is_wraps(path: str) -> bool:
    """Whether a dotted name is `functools.wraps`, which several libraries give."""
    return _object(canonical(path)[0]) is functools.wraps


@functools.lru_cache(4096)
def is_metaclass(path: str) -> bool:
    """Whether a dotted name is a metaclass of an imported library."""
    found = _object(canonical(path)[0])
    return isinstance(found, type) and issubclass(found, type) and found is not type


def star(module: str) -> list[str]:
    """The names that `from module import *` binds."""
    if module.split(".")[0] not in _ROOTS or not (module in IMPORTS or module.startswith(IMPORT_TREES)):
        return []
    names = vars(importlib.import_module(module))
    return [str(name) for name in names.get("__all__", [name for name in names if not name.startswith("_")])]


def is_module(path: str) -> bool:
    """Whether a dotted name is a module, or leads through one that is closed."""
    return canonical(path)[1]


def is_class(path: str) -> bool:
    """Whether a dotted name is a class of an imported library."""
    return isinstance(_object(canonical(path)[0]), type)


def _object(path: str) -> object:
    """What a canonical dotted name is, looked up without running properties; None where there is nothing."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        if parts[0] in _ROOTS and (found := sys.modules.get(".".join(parts[:end]))) is not None:
            for name in parts[end:]:
                found = inspect.getattr_static(found, name, None)
            return found
    return None


def _asks_the_driver(names: Sequence[str]) -> bool:
    """Whether what follows `triton.runtime.driver` only asks for what the GPU is."""
    if names[1:2] == ["utils"] and names[2:] not in ([], ["get_device_properties"]):
        return False
    return not names or (names[0] == "active" and (len(names) == 1 or names[1] in DRIVER_OPEN))


def closed(path: str) -> str | None:
    """The part of a dotted name that may not be used, if any."""
    path, is_module = canonical(path)
    parts = path.split(".")
    if is_module and not is_open(path):
        return path
    if path in CLOSED or (parts[0] in _ROOTS and id(_object(path)) in _closed_objects()):
        return path
    if parts[0] in _ROOTS and any(part.startswith("_") and part not in SPECIAL for part in parts[1:]):
        return path
    if any(path.startswith(f"{of}.") and path[len(of) + 1 :].split(".")[0] not in OPEN_OF[of] for of in OPEN_OF):
        return path
    if parts[0] == "numpy" and path not in NUMPY_OPEN:
        return path
    if parts[:3] == ["triton", "runtime", "driver"] and not _asks_the_driver(parts[3:]):
        return path
    if parts[0] != "torch" or len(parts) < 2:
        return None
    opened = {"cuda": TORCH_CUDA_OPEN, "autograd": TORCH_AUTOGRAD_OPEN}.get(parts[1])
    if parts[1] in TORCH_CLOSED or (len(parts[1]) > 7 and parts[1].endswith("Storage")):
        return ".".join(parts[:2])
    return ".".join(parts[:3]) if opened is not None and len(parts) > 2 and parts[2] not in opened else None
