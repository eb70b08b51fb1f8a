"""What a launch, and a warm-up, gives where nothing is compiled: a kernel to be asked for its resources, and launched.

Triton's tutorials size a persistent grid by the registers of the kernel that they warm up, and launch that. The figures
are those of a kernel of middling size: how large a grid is must not change what a candidate computes.
"""

from collections.abc import Callable, Mapping, Sequence

from tritonsmith.verify.launches.looks import metadata, named

REGISTERS, SHARED = 64, 8192
Launch = Callable[..., object]


@named("triton.compiler.compiler", "CompiledKernel")
class Warmed:
    """A stand-in for Triton's `CompiledKernel`."""

    n_regs, n_spills, n_max_threads = REGISTERS, 0, 1024

    def __init__(self, name: str, launch: Launch, options: Mapping[str, object]) -> None:
        """`launch` takes a grid and a launch's arguments; `options` are what the kernel was warmed up with besides."""
        self.name, self._launch, self._options = name, launch, dict(options)
        given = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, **self._options}
        self.metadata = metadata({"shared": SHARED, "name": name, **given})
        self.asm: dict[str, str] = {}

    def _init_handles(self) -> None:
        """Load the kernel; there is nothing to load."""

    def __getitem__(self, grid: object) -> Launch:
        """A launch is given all arguments in order, those that are constants among them."""
        return lambda *args, stream=None: self._launch(*args, grid=grid, **self._options)


@named("triton.compiler.compiler", "CompiledKernel")
class Compiled:
    """A kernel that was compiled, whose launches go the way of all others: they are watched."""

    def __init__(self, kernel: object, launch: Launch) -> None:
        self._kernel, self._launch = kernel, launch

    def __getattr__(self, name: str) -> object:
        return getattr(self._kernel, name)

    def __getitem__(self, grid: object) -> Launch:
        """As `Warmed` has it."""
        return lambda *args, stream=None: self._launch(*args, grid=grid)


def options(named: Mapping[str, object], arguments: Sequence[str]) -> dict[str, object]:
    """Of a launch's keywords those that are no arguments of the kernel: `num_warps` and the like."""
    return {name: value for name, value in named.items() if name not in arguments}
