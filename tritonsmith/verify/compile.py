"""The compile stage: capture real launches without a GPU, lower them, assemble them for the target.

Capturing and lowering (Triton to PTX or AMDGCN) run in the runner, since Triton's front end executes
parts of the candidate. Assembling runs at the judge: ptxas reads PTX as data, and a runner may start no
process. Registers, spills and shared memory therefore come from the vendor's tool, not from the candidate.
"""

import contextlib
import functools
import math
import re
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from tritonsmith.types import Finding, KernelStats
from tritonsmith.verify.dynamic.observe import Launch, Launches, take_turns
from tritonsmith.verify.launches import arguments, device, hosted, ir, warmed
from tritonsmith.verify.launches.looks import named
from tritonsmith.verify.launches.occupancy import occupancy
from tritonsmith.verify.process import scratch
from tritonsmith.verify.process.wire import WireError

_PTXAS_SECONDS = 30


def parse_target(name: str) -> GPUTarget:
    """`sm_90`, `sm_80`, `gfx942`, ... as Triton's target; raises ValueError for another word."""
    if match := re.fullmatch(r"sm_(\d{2,3})", name):
        return GPUTarget("cuda", int(match[1]), 32)
    if re.fullmatch(r"gfx[0-9a-f]{3,4}", name):
        return GPUTarget("hip", name, 64 if name.startswith("gfx9") else 32)
    raise ValueError(f"target {name!r} is not of the form sm_90 or gfx942")


@named("triton.backends.nvidia.driver", "CudaUtils")
class CudaUtils:
    """What Triton's driver asks a GPU by; of its functions the one that candidates may call."""

    def __init__(self, properties: Mapping[str, object]) -> None:
        self._properties = dict(properties)

    def get_device_properties(self, number: int = 0) -> dict[str, object]:
        """A GPU's properties by Triton's names."""
        return dict(self._properties)


@named("triton.backends.nvidia.driver", "CudaDriver")
class AheadOfTimeDriver(DriverBase):
    """A driver for a GPU that is not there: enough for `JITFunction.run` to specialise a launch."""

    def __init__(self, target: GPUTarget) -> None:
        super().__init__()
        self._target = target

    @classmethod
    def is_active(cls) -> bool:
        """Never chosen by itself; `capture_launches` sets it."""
        return False

    def map_python_to_cpp_type(self, ty: str) -> str:
        """No launcher is built, so no C++ type is ever needed."""
        return ty

    def get_current_target(self) -> GPUTarget:
        """The target that kernels are specialised for."""
        return self._target

    def get_active_torch_device(self) -> object:
        """The device that tensors say they are on; see `device`."""
        import torch

        return torch.device("cuda", 0)

    @property
    def utils(self) -> object:
        """What candidates ask the driver for the size of the GPU by."""
        gpu = device.found()
        return CudaUtils(
            {
                "max_shared_mem": gpu.shared_memory_per_block_optin,
                "max_num_regs": gpu.regs_per_multiprocessor,
                "multiprocessor_count": gpu.multi_processor_count,
                "warpSize": gpu.warp_size,
                "sm_clock_rate": gpu.clock_rate,
                "mem_clock_rate": gpu.memory_clock_rate,
                "mem_bus_width": gpu.memory_bus_width,
            }
        )

    def get_benchmarker(self) -> object:
        """Autotuners get equal times for every configuration, so that the first one is taken."""
        return lambda call, *, quantiles, **kwargs: [0.0] * len(quantiles)

    def get_current_device(self) -> int:
        """One device."""
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        """The default stream."""
        return 0


@dataclass
class Captured:
    """What the compiler needs to lower one distinct launch."""

    name: str
    function: object
    signature: dict[str, str]
    constexprs: dict[tuple[int, ...], object]
    attributes: dict[tuple[int, ...], object]
    options: object
    key: tuple[int, str]
    """Equal for launches that are compiled once."""
    grid: tuple[int, ...] = ()
    """That of its largest launch."""
    launches: int = 1


def pretend_gpu(target: str) -> None:
    """Give this process a driver for the target: candidates ask it for the device; for the runner only."""
    from triton.runtime import driver

    driver.set_active(AheadOfTimeDriver(parse_target(target)))


def capture_launches(target: str) -> Launches:
    """Make every launch in this process be recorded instead of run; for the runner only."""
    from triton.runtime.jit import JITFunction

    pretend_gpu(target)
    launches = Launches()

    def run(self, *args, grid, warmup, **kwargs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN002, ANN003, ANN202
        launched = functools.partial(self.run, warmup=False)
        stand_in = warmed.Warmed(self.__name__, launched, warmed.options(kwargs, self.arg_names))
        if warmup:
            return stand_in
        hosted.refuse([*args, *kwargs.values()])
        kwargs["debug"] = kwargs.get("debug", self.debug)
        _, _, _, backend, binder = self.device_caches[0]
        bound, specialization, options = binder(*args, **kwargs)
        options, signature, constexprs, attributes = self._pack_args(backend, kwargs, bound, specialization, options)
        size = tuple(int(n) for n in (grid(bound) if callable(grid) else grid))  # type: ignore
        arguments.check_grid(launches, self.__name__, size)
        arguments.check_threads(launches, self.__name__, int(options.num_warps), backend.target.warp_size)
        said, which = arguments.said(bound), arguments.identity(self)
        launches.add(Launch(self.__name__, size, said=said, which=which, precise=arguments.precise(bound)))
        key = (id(self), f"{signature} {constexprs} {attributes} {options}")
        known = next((one for one in launches.captured if isinstance(one, Captured) and one.key == key), None)
        if known is not None:
            known.launches += 1
            known.grid = max(known.grid, size, key=math.prod)
        else:
            made = Captured(self.__name__, self, signature, constexprs, attributes, options, key, size)
            launches.captured.append(made)
        return stand_in

    JITFunction.run = run  # type: ignore[method-assign]
    take_turns()
    return launches


def lower_all(launches: Launches, lines: int = 0, whole: bool = True) -> list[dict[str, object]]:
    """Lower each captured launch; a row holds `assembly`, the text, and what a verdict says of a kernel.

    `lines` is how many key lines of the intermediate code are wanted of each. Not `whole`: the front end alone, to
    Triton's own intermediate code, and no assembly.
    """
    return [_lower(captured, lines, whole) for captured in launches.captured if isinstance(captured, Captured)]


def _lower(captured: Captured, lines: int, whole: bool) -> dict[str, object]:
    from triton._C.libtriton import ir as native
    from triton.compiler.compiler import ASTSource, make_backend
    from triton.compiler.errors import CompilationError
    from triton.runtime import driver
    from triton.runtime.jit import get_jit_fn_file_line

    target: GPUTarget = driver.active.get_current_target()  # type: ignore[assignment]
    backend: Any = make_backend(target)
    source = ASTSource(captured.function, captured.signature, captured.constexprs, captured.attributes)
    options = captured.options
    metadata: dict[str, object] = {"target": target, **vars(options)}
    stages: dict[str, object] = {}
    backend.add_stages(stages, options, source.language)
    context = native.context()
    native.load_dialects(context)
    backend.load_dialects(context)
    try:
        module = source.make_ir(
            target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
        )
    except CompilationError as error:
        # Triton counts lines from the kernel's `def`.
        if (node := getattr(error, "node", None)) is not None:
            error.candidate_line = get_jit_fn_file_line(captured.function)[1] + node.lineno - 1  # type: ignore
        raise
    row: dict[str, object] = {"name": captured.name, "launches": captured.launches, "grid": list(captured.grid)}
    if not whole:
        return row
    text, ttgir = "ptx" if target.backend == "cuda" else "amdgcn", ""
    for name, stage in stages.items():
        module = stage(module, metadata)  # type: ignore[operator]
        if name == "ttgir" and lines:
            ttgir = str(module)
        if name == text:
            break
    return {
        **row,
        "shared": int(str(metadata.get("shared", 0))),
        "assembly": str(module),
        "warps": metadata.get("num_warps"),
        "stages": metadata.get("num_stages"),
        "lines": ir.key_lines(ttgir, str(module), lines) if lines else [],
    }


_KNOWN = KernelStats.model_fields.keys() - {"occupancy"}
"""What a runner's row may say of a kernel."""

_assembled: dict[tuple[str, str], tuple[int | None, int | None, str]] = {}


def assemble(
    rows: list[dict[str, object]], target: str, deadline: float = math.inf
) -> tuple[list[KernelStats], list[Finding]]:
    """Assemble what the runner lowered, before `deadline` (time.monotonic seconds); for the judge.

    Findings say what the assembler refused; what is not assembled in time is one of them.

    Raises WireError for a row that no runner of ours writes.
    """
    stats, findings = [], []
    limit = _shared_limit(target)
    for row in rows:
        try:
            name, shared, text = str(row["name"]), int(str(row["shared"])), str(row["assembly"])
            launches = int(str(row["launches"]))
        except (KeyError, ValueError) as error:
            raise WireError("the runner's answer has no known form") from error
        registers, spills, error = _tool(text, target, deadline)
        if error:
            findings.append(Finding(rule="assemble", message=f"kernel {name}: {error}"))
        if shared > limit:
            message = f"kernel {name} needs {shared} bytes of shared memory a block; {target} has {limit}"
            findings.append(Finding(rule="shared-memory", message=message))
        known = {"name": name, "registers": registers, "spills": spills, "shared": shared, "launches": launches}
        stats += loaded([{**row, **known}], target)
    return stats, findings


def loaded(rows: list[dict[str, object]], target: str) -> list[KernelStats]:
    """What is known of kernels, as a GPU's driver or the tools here say it; rows of another form are left out."""
    found = []
    for row in rows:
        with contextlib.suppress(ValidationError):
            one = KernelStats.model_validate({key: value for key, value in row.items() if key in _KNOWN})
            one.lines = ir.bounded(one.lines, ir.MOST)
            one.occupancy = occupancy(target, one.registers, one.shared, one.warps)
            found.append(one)
    return found


def launch_counts(launches: list[dict[str, object]]) -> Counter[str]:
    """How often each kernel was launched."""
    return Counter(str(launch.get("name")) for launch in launches)


def _tool(text: str, target: str, deadline: float) -> tuple[int | None, int | None, str]:
    key = (target, text)
    if (known := _assembled.get(key)) is not None:
        return known
    seconds = min(_PTXAS_SECONDS, deadline - time.monotonic())
    if seconds <= 0:
        return None, None, "not assembled within the candidate's time"
    found = _ptxas(text, target, seconds) if target.startswith("sm_") else _amdgcn(text)
    if not found[2]:
        if len(_assembled) > 4096:
            _assembled.clear()
        _assembled[key] = found
    return found


def _ptxas(text: str, target: str, seconds: float) -> tuple[int | None, int | None, str]:
    from triton.backends.nvidia.compiler import get_ptxas, sm_arch_from_capability

    capability = int(target.removeprefix("sm_"))
    arch = sm_arch_from_capability(capability)
    with tempfile.TemporaryDirectory(dir=scratch.root()) as folder:
        source = Path(folder) / "kernel.ptx"
        source.write_text(text)
        command = [
            get_ptxas(capability).path,
            "-v",
            f"--gpu-name={arch}",
            str(source),
            "-o",
            str(source.with_suffix(".o")),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, None, f"ptxas took over {seconds:.0f} s"
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["no message"]
        return None, None, f"ptxas: {lines[0]}"
    registers = re.search(r"Used (\d+) registers", done.stderr)
    spills = [int(number) for number in re.findall(r"(\d+) bytes spill", done.stderr)]
    return int(registers[1]) if registers else None, sum(spills), ""


def _amdgcn(text: str) -> tuple[int | None, int | None, str]:
    registers = re.search(r"\.vgpr_count:\s+(\d+)", text)
    spills = re.search(r"\.vgpr_spill_count:\s+(\d+)", text)
    return int(registers[1]) if registers else None, 4 * int(spills[1]) if spills else None, ""


def _shared_limit(target: str) -> int:
    """Shared memory a block may have, in bytes (CUDA C++ Programming Guide, Compute Capabilities; CDNA3 ISA)."""
    limits = {
        "sm_75": 64,
        "sm_80": 163,
        "sm_86": 99,
        "sm_87": 163,
        "sm_89": 99,
        "sm_90": 227,
        "sm_100": 227,
        "sm_120": 99,
    }
    return limits.get(target, 64 if target.startswith("gfx") else 227) * 1024
