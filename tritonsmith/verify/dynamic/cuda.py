"""What a runner sees of a candidate on a GPU: launches and the memory they write, guard zones, autotuners.

The counterpart of `shadow`, which watches the interpreter. Accesses inside a kernel are not seen: bounds are
checked by zones of a known pattern around each tensor, written memory by the kernel's IR. A process is in one
of three phases: `compile` (launches are compiled, not run), `run` (values count; autotuners take another
configuration for each of their keys, for a user's may take any) and `tune` (autotuners measure; nothing is recorded,
as when a user calls).
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from tritonsmith.verify.dynamic.fresh import Fresh
from tritonsmith.verify.dynamic.observe import Launch, Launches, address, keep_no_tuning, pointed, poison, tensors
from tritonsmith.verify.launches import arguments, descriptors, ir, pointers, warmed
from tritonsmith.verify.process.ipc import extent

GUARD = 4096
"""Bytes of pattern on either side of a tensor."""
_TOGETHER = 64
"""Zones that are looked at on the host, at most."""
_PATTERN = 0xFF
"""Every float of these bits is NaN, so a value read from a guard shows in the result too."""
_POISONS = (0xFF, 0x7F, 0xFE)
"""What fresh memory is filled with in turns: NaN, which a maximum may pass over, and the largest and the least float32
but for a factor of two, which it may not."""


@dataclass
class Watch:
    """State of one process's hooks."""

    launches: Launches
    phase: str = "run"
    stats: dict[str, dict[str, object]] = field(default_factory=dict)
    """By kernel and specialisation: what `types.KernelStats` holds of it."""
    lines: int = 0
    """Key lines of the intermediate code that are wanted of each."""
    said: list[tuple[object, ...]] | None = None
    """What launches are given besides tensors, where that is noted."""
    tuners: list[Any] = field(default_factory=list)
    """Autotuners that took a configuration in turn and have not measured yet."""

    def compile_only(self) -> None:
        """Launches are compiled and not run from here on."""
        self.phase = "compile"

    def run(self) -> None:
        """Launches run and are recorded."""
        self.phase = "run"

    def forget(self) -> None:
        """Let go of everything that belongs to a candidate."""
        self.stats.clear()
        self.tuners.clear()
        self.phase = "run"

    def tune(self) -> None:
        """Autotuners forget what they took and measure at their next call."""
        for tuner in self.tuners:
            tuner.cache.clear()
        self.tuners.clear()
        self.phase = "tune"


def install(launches: Launches) -> Watch:
    """Put the hooks into this process."""
    from triton import knobs
    from triton.compiler.errors import CompilationError
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction, get_jit_fn_file_line

    knobs.compilation.disable_line_info = True  # nobody reads it, and the instructions are the same without
    watch = Watch(launches)
    launch, measure = JITFunction.run, Autotuner._bench

    def run(self: JITFunction, *args: object, grid: object, warmup: bool, **kwargs: object) -> object:
        if launches.instead is not None and not warmup:
            launches.instead(self, args, grid, kwargs)
            return warmed.Warmed(self.__name__, functools.partial(self.run, warmup=False), {})
        arguments.check(launches, self.__name__, [*args, *kwargs.values()])
        arguments.check_globals(launches, self.__name__, self)
        arguments.check_waits(launches, self.__name__, self, kwargs)
        if watch.said is not None:
            watch.said.append((self.__name__, *plain((*args, grid, *kwargs.values()))))
        try:
            kernel = launch(self, *args, grid=grid, warmup=warmup or watch.phase == "compile", **kwargs)
        except CompilationError as error:
            if (node := getattr(error, "node", None)) is not None:
                error.candidate_line = get_jit_fn_file_line(self)[1] + node.lineno - 1  # type: ignore[attr-defined]
            raise
        if watch.phase != "tune" and not warmup:
            _record(watch, self, kernel, grid, args, kwargs)
        if warmup and watch.phase != "tune":
            options = warmed.options(kwargs, self.arg_names)
            return warmed.Compiled(kernel, functools.partial(self.run, warmup=False, **options))
        return kernel

    def bench(self: Any, *args: object, config: object, **meta: object) -> list[float]:  # noqa: ANN401
        if watch.phase == "tune":
            return measure(self, *args, config=config, **meta)
        watch.tuners.append(self)
        if config is not self.configs[len(self.cache) % len(self.configs)]:
            return [1.0, 1.0, 1.0]
        phase, watch.phase = watch.phase, "tune"
        try:
            return [0.0 if _fits(self, args, config, meta) else 2.0] * 3
        finally:
            watch.phase = phase

    JITFunction.run = run  # type: ignore[method-assign]
    Autotuner._bench = bench
    keep_no_tuning()
    return watch


def plain(values: Sequence[object]) -> list[object]:
    """The numbers and words among a launch's arguments, those in tuples too."""
    found: list[object] = []
    for value in values:
        if isinstance(value, (tuple, list)):
            found += plain(value)
        elif isinstance(value, (bool, int, float, str)):
            found.append(value)
    return found


def _fits(tuner: Any, args: Sequence[object], config: Any, meta: dict[str, object]) -> bool:  # noqa: ANN401
    """Whether a configuration can be compiled and loaded; autotuners pass over those that cannot."""
    from triton.compiler.errors import CompileTimeAssertionFailure
    from triton.runtime.errors import OutOfResources, PTXASError

    current = {**meta, **config.all_kwargs(), "warmup": True}
    if config.pre_hook is not None:  # it may give descriptors their shapes
        config.pre_hook({**tuner.nargs, **current})
    try:
        kernel = tuner.fn.run(*args, **current)
        if kernel is not None and kernel.module is None:
            kernel._init_handles()
    except (OutOfResources, CompileTimeAssertionFailure, PTXASError):
        return False
    return True


def _record(
    watch: Watch,
    function: Any,  # noqa: ANN401
    kernel: Any,  # noqa: ANN401
    grid: object,
    args: Sequence[object],
    kwargs: dict[str, object],
) -> None:
    size = tuple(int(n) for n in grid) if isinstance(grid, (tuple, list)) else ()
    found = Launch(function.__name__, size)
    given = list(tensors((args, kwargs)))
    watch.launches.given.update((address(tensor), tensor) for tensor in given)
    if kernel is not None and "tt.int_to_ptr" in kernel.asm["ttir"]:
        known = pointed([*args, *kwargs.values()], watch.launches)
        watch.launches.given.update((address(tensor), tensor) for tensor in known)
        watch.launches.written.update(address(tensor) for tensor in known)
    used = pointers.uses(kernel.asm["ttir"]) if kernel is not None else None
    if used is None or len(used.pointers) != len(given):
        watch.launches.written.update(address(t) for t in given)
        found.bytes_loaded = sum(t.nbytes for t in given)
    else:
        for place, tensor in zip(used.pointers, given, strict=True):
            if place in used.written:
                watch.launches.written.add(address(tensor))
                found.bytes_stored += tensor.nbytes
            if place in used.read:
                found.bytes_loaded += tensor.nbytes
            if place in used.described and (fault := descriptors.fault_of(tensor)) is not None:
                message = f"kernel {found.name}: {fault}"
                watch.launches.violations.append({"rule": "descriptor", "message": message, "line": None})
    watch.launches.add(found)
    if kernel is not None:
        if kernel.module is None:
            kernel._init_handles()
        row = watch.stats.setdefault(
            kernel.hash,
            {"name": function.__name__, "registers": kernel.n_regs, "spills": 4 * kernel.n_spills,
             "shared": kernel.metadata.shared, "launches": 0, "warps": kernel.metadata.num_warps,
             "stages": kernel.metadata.num_stages, "grid": list(size), "lines": _lines(kernel, watch.lines)},
        )  # fmt: skip
        row["launches"] = int(str(row["launches"])) + 1
        row["grid"] = max(cast("list[int]", row["grid"]), list(size), key=math.prod)


def _lines(kernel: Any, most: int) -> list[str]:  # noqa: ANN401
    return ir.key_lines(kernel.asm["ttgir"], kernel.asm.get("ptx", ""), most) if most else []


MEMORY_SHARE = 0.4
"""Share of the GPU's memory that one runner may allocate, so that a greedy candidate leaves room for others."""


class Guards:
    """Tensors that lie between two zones of a known pattern."""

    def __init__(self) -> None:
        self._zones: list[torch.Tensor] = []
        self._copies = torch.empty((_TOGETHER, GUARD), dtype=torch.uint8, pin_memory=True)
        self._turn = 0

    def empty(self, shape: Sequence[int], stride: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Uninitialised memory between guards; floats in it are NaN."""
        size = extent(shape, stride) * dtype.itemsize
        padded = -(-size // 256) * 256
        buffer = torch.full((GUARD + padded + GUARD,), _PATTERN, dtype=torch.uint8, device="cuda")
        self._zones += [buffer[:GUARD], buffer[GUARD + size : GUARD + size + GUARD]]
        inner = buffer[GUARD : GUARD + size]
        if (poison := self.poison(dtype)) != _PATTERN:
            inner.fill_(poison)
        return inner.view(dtype).as_strided(shape, stride)

    def poison(self, dtype: torch.dtype) -> int:
        """What each byte of such memory holds now."""
        return 0 if dtype == torch.bool else _POISONS[self._turn % len(_POISONS)]

    def broken(self) -> int:
        """How many guards something wrote to."""
        if not self._zones:
            return 0
        if len(self._zones) > _TOGETHER:
            return int((torch.stack(self._zones) != _PATTERN).any(dim=1).sum())
        # Copies to the host wait for nobody else's turn of the GPU, as a kernel would.
        copies = self._copies[: len(self._zones)]
        for copy, zone in zip(copies, self._zones, strict=True):
            copy.copy_(zone, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return int((copies != _PATTERN).any(dim=1).sum())

    def clear(self) -> None:
        """Let the memory go; what is allocated from here on holds another poison."""
        self._turn += 1
        self._zones.clear()


def guarded(guards: Guards, launches: Launches) -> Callable[[torch.Tensor], torch.Tensor]:
    """A replacement for fresh memory, which `launches` knows then: the same sizes and strides between guards."""

    def replace(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_cuda or tensor.layout != torch.strided:
            poison(tensor)
            return tensor
        found = guards.empty(tensor.shape, tensor.stride(), tensor.dtype)
        size = extent(tensor.shape, tensor.stride()) * tensor.element_size()
        launches.fresh[address(found)] = Fresh(size, guards.poison(tensor.dtype))
        return found

    return replace


def touch(guards: Guards) -> None:
    """Create the context and load the library kernels that the hooks use, so that no candidate waits for them."""
    from triton.runtime import driver

    driver.active.get_current_target()
    torch.cuda.set_per_process_memory_fraction(MEMORY_SHARE)
    tensor = guards.empty((256, 256), (256, 1), torch.float32)
    tensor.copy_(torch.zeros(256, 256))
    tensor.clone()
    guards.broken()
    torch.cuda.synchronize()
