"""Task files: load, validate, draw inputs, build the reference; and SPEC, the way to name many tasks.

A task's code is the user's own and runs here as it is. It never meets a candidate: see `verify`.
"""

import hashlib
import linecache
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import cast

import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from tritonsmith.errors import UserError
from tritonsmith.source import lines
from tritonsmith.tasks.asserted import asserted
from tritonsmith.tasks.copied import inputs_copied, model_copied
from tritonsmith.types import Task

NAMES = ("Model", "get_inputs", "get_init_inputs")

# torch keeps one global generator; whoever seeds it draws alone.
_random = threading.RLock()


class TaskError(UserError):
    """A task the user must mend; its text is one line."""


def read_task(path: Path, id: str | None = None, level: int | None = None) -> Task:
    """The task in a file, not run yet; the folder's name `levelN` gives the level."""
    try:
        source = path.read_text()
    except OSError as error:
        raise TaskError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{path} is not a text file") from error
    folder = path.resolve().parent.name
    if level is None:
        level = int(folder[5:]) if folder.startswith("level") and folder[5:].isdigit() else 1
    prefix = f"{folder}/" if folder.startswith("level") else ""
    return Task(id=id or f"{prefix}{path.stem}", level=level, source=source)


def load_task(path: Path, id: str | None = None, level: int | None = None) -> Task:
    """The task in a file, checked: it runs and defines the three names; its forward is tried by `scaling`."""
    task = read_task(path, id, level)
    module = TaskModule.of(task)
    missing = [name for name in NAMES if name not in module.names]
    if missing:
        raise TaskError(f"{path}: a task defines Model, get_inputs and get_init_inputs; missing: {', '.join(missing)}")
    return task


def one_line(error: BaseException) -> str:
    """An exception's kind and the first line of what it says."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


@dataclass(frozen=True)
class TaskModule:
    """A task's source, executed."""

    task: Task
    names: dict[str, object]

    @classmethod
    def of(cls, task: Task) -> "TaskModule":
        """Execute the source; raises TaskError with the reason where it does not run."""
        file = f"<task {task.id} {hashlib.sha256(task.source.encode()).hexdigest()[:8]}>"
        linecache.cache[file] = (len(task.source), None, lines(task.source), file)
        names: dict[str, object] = {"__name__": "task", "__file__": file}
        try:
            exec(_code(task.source, file), names)
        except (Exception, SystemExit) as error:  # a task is the user's code: whatever it raises is told to the user
            raise TaskError(f"task {task.id} does not load: {one_line(error)}") from error
        return cls(task, names)

    def inputs(self, seed: int, device: str = "cpu") -> list[object]:
        """Draw `get_inputs()` on a device under a seed; raises TaskError where something cannot be handed over."""
        with seeded(seed), on(device):
            drawn = cast(Callable[[], Sequence[object]], self.names["get_inputs"])()
        return _plain(drawn, "get_inputs")

    def init_inputs(self) -> list[object]:
        """The constructor's arguments; raises TaskError where one cannot be handed over."""
        return _plain(cast(Callable[[], Sequence[object]], self.names["get_init_inputs"])(), "get_init_inputs")

    def model(self, seed: int, device: str = "cpu") -> nn.Module:
        """Build the reference under a seed.

        What its constructor computes of its weights, as weight_norm does, is a leaf then, and can be copied.
        """
        arguments = self.init_inputs()
        with seeded(seed), on(device), torch.no_grad():
            model = cast(Callable[..., nn.Module], self.names["Model"])(*arguments)
        return model.to(device)


def _plain(values: Sequence[object], function: str) -> list[object]:
    """What a task's function gives, of which nothing is an object of a class of its own: candidates have processes of
    their own, which know no such class."""
    known = (torch.Tensor, torch.dtype, bool, int, float, str, tuple, type(None))
    strange = next((one for one in pytree.tree_leaves(list(values)) if not isinstance(one, known)), None)
    if strange is not None:
        kind = type(strange).__name__
        raise TaskError(f"{function} gives a {kind}; use tensors, numbers, strings, and lists, tuples or dicts of them")
    return list(values)


@lru_cache(maxsize=1024)
def _code(source: str, file: str) -> CodeType:
    """A source, compiled; a verdict executes each of a task's versions several times."""
    return compile(source, file, "exec")


@contextmanager
def on(device: str) -> Iterator[None]:
    """Run a block whose tensors are made on a device, those too that it asks to be on a GPU.

    A task that names `cuda` was written beside one; where it runs here is not its own to say.
    """
    with torch.device(device), _Moved(device):
        yield


class _Moved(TorchFunctionMode):
    """Takes `cuda` for the device."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = torch.device(device)

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        if func is torch.Tensor.cuda:
            return cast(torch.Tensor, args[0]).to(self._device)
        args = [self._here(one) for one in args] if func is torch.Tensor.to else args
        named = {name: self._here(one) if name == "device" else one for name, one in (kwargs or {}).items()}
        return func(*args, **named)

    def _here(self, given: object) -> object:
        if isinstance(given, (str, torch.device)) and str(given).partition(":")[0] == "cuda":
            return self._device
        return given


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Run a block under a seed, alone, and leave torch's generators as they were."""
    cuda = torch.cuda.is_initialized()
    with _random, torch.random.fork_rng(devices=[torch.cuda.current_device()] if cuda else []):
        # torch.manual_seed keeps a call and a stack trace for each device that is not in use: a quarter of a
        # millisecond, and they pile up.
        torch.default_generator.manual_seed(seed)
        if cuda:
            torch.cuda.manual_seed_all(seed)
        yield


@contextmanager
def undrawn() -> Iterator[None]:
    """Run a block while no other thread draws from torch's own generators."""
    with _random:
        yield


def forward(model: nn.Module, inputs: Sequence[object]) -> object:
    """The model's output on copies of the inputs, with its own state left as it was.

    Whatever it draws it draws under one seed; a model that was seen to draw nothing does not wait for those that do.
    Raises TypeError for an output that nobody compares.
    """
    fresh = model_copied(model)
    given = inputs_copied(inputs)
    text = type(model).forward.__code__.co_filename
    if text in _draws_nothing:
        with torch.no_grad(), asserted(given):
            return _comparable(fresh(*given))
    with seeded(0), torch.no_grad(), asserted(given):
        before = _random_state()
        output = fresh(*given)
        if text.startswith("<task ") and all(map(torch.equal, before, _random_state())):
            _draws_nothing.add(text)
    return _comparable(output)


def _comparable(output: object) -> object:
    """The output, if it is of tensors and numbers in lists, tuples and dicts; raises TypeError for anything else."""
    if isinstance(output, Mapping):
        _comparable([*output.values()])
    elif isinstance(output, (list, tuple)):
        for item in output:
            _comparable(item)
    elif output is not None and not isinstance(output, (torch.Tensor, bool, int, float, str)):
        known = "tensors and numbers, in lists, tuples and dicts"
        raise TypeError(f"forward gives a {type(output).__name__}, and what is compared are {known}")
    return output


def used(model: nn.Module, calls: Iterable[Sequence[object]]) -> nn.Module:
    """A copy of the model that has answered the calls, each on copies of its inputs."""
    fresh = model_copied(model)
    for inputs in calls:
        with seeded(0), torch.no_grad():
            fresh(*inputs_copied(inputs))
    return fresh


def draws(model: nn.Module) -> bool:
    """Whether a reference may draw random numbers in its forward: `forward` has not seen that it draws none."""
    return type(model).forward.__code__.co_filename not in _draws_nothing


# Files, as `TaskModule.of` names them by their text, of references whose forward leaves torch's generators alone.
_draws_nothing: set[str] = set()


def _random_state() -> list[torch.Tensor]:
    gpu = [torch.cuda.get_rng_state()] if torch.cuda.is_initialized() else []
    return [torch.get_rng_state(), *gpu]


def load_spec(spec: str) -> list[Task]:
    """The tasks a SPEC names, in a stable order; raises TaskError for one that names none.

    SPEC: suite | suite:level1 | kernelbench:WHERE[:level1] | kernelbook:WHERE[:N] | tritonbench:PATH |
    graphs:N[:seed][:key=value...] | DIR | FILE, or several of them with commas between. WHERE is a hub id or a local
    copy. A graph that several generators draw counts once, as the first wrote it; any other task that is named twice is
    an error.
    """
    parts = [part.strip() for part in spec.split(",")]
    if not all(parts):
        raise TaskError(f"{spec!r} names no tasks; write suite, kernelbench:DIR, graphs:N, a folder or a file")
    tasks: dict[str, Task] = {}
    for task in (task for part in parts for task in _load_one(part)):
        before = tasks.setdefault(task.id, task)
        if before is not task and (before.graph is None or before.graph != task.graph):
            raise TaskError(f"{spec}: the task {task.id} is named twice")
    return list(tasks.values())


def _load_one(spec: str) -> list[Task]:
    kind, _, rest = spec.partition(":")
    if kind == "suite":
        return _folder(Path(__file__).parent / "suite", rest, spec)
    if kind == "kernelbench":
        from tritonsmith.tasks import kernelbench

        return kernelbench.load(rest)
    if kind == "kernelbook":
        from tritonsmith.tasks import kernelbook

        return kernelbook.load(rest)
    if kind == "tritonbench":
        from tritonsmith.tasks import tritonbench

        return tritonbench.load(rest)
    if kind == "synthetic":
        raise TaskError(f"{spec}: synthetic: is gone; write graphs:N[:seed][:depth=A-B][:split=heldout]")
    if kind == "graphs":
        from tritonsmith.tasks import graphs

        try:
            return graphs.from_spec(rest)
        except ValueError as error:
            raise TaskError(f"{spec}: {error}") from error
    path = Path(spec)
    if path.is_dir():
        return _folder(path, "", spec)
    return [load_task(path)]


def _folder(root: Path, level: str, spec: str) -> list[Task]:
    if level and not (level.isalnum() and (root / level).is_dir()):
        raise TaskError(f"{spec}: there is no {level}; write level1, level2, ...")
    found = sorted((root / level).rglob("*.py"), key=lambda path: path.relative_to(root).as_posix())
    tasks = [
        read_task(path, id=path.relative_to(root).with_suffix("").as_posix())
        for path in found
        if path.name != "__init__.py" and "class Model" in path.read_text(errors="replace")
    ]
    if not tasks:
        raise TaskError(f"{spec}: no task files there (a task defines class Model)")
    return tasks
