"""What a launch's first program does, recorded, and done again for its other programs without Python's detours.

A kernel's programs do the same operations on other data. Triton's interpreter goes through the kernel's Python, its
types and their checks for each of them anew, which is most of its time. Here the first program's calls of the
interpreter's builder are noted down, and made again for each program that follows; what depends neither on the
program's place nor on memory is kept from the first. Every call is the one that the interpreter would make, in its
order, so that whoever watches memory sees what it would see.

A kernel that hands a value to Python, as a branch's condition or a loop's bound, may go another way in another program.
Whoever reads a value that another program may have otherwise, outside of an operation, is noticed (`_Varying`), and all
programs are run as ever then. So are those of kernels that make block pointers or descriptors.
"""

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.interpreter import TensorHandle

from tritonsmith.verify.process.loading import CANDIDATE

_LEAST = 3
"""Programs of a launch that is worth recording."""
_STEPS, _BYTES = 30_000, 1 << 26
"""Operations, and bytes of values that do not vary, of a program that may be recorded."""
_UNARY = (
    "fabs cos exp exp2 iabs floor ceil log log2 precise_sqrt sqrt sin erf rsqrt si_to_fp ui_to_fp fp_to_si fp_to_ui "
    "fp_ext fp_trunc int_cast fp_to_fp bitcast int_to_ptr ptr_to_int"
)
_BINARY = (
    "fadd fmul fdiv frem fsub mul precise_divf sdiv udiv srem urem add sub shl lshr ashr minsi minui minimumf minnumf "
    "maxsi maxui maximumf maxnumf icmpSLE icmpSLT icmpSGE icmpSGT icmpULE icmpULT icmpUGE icmpUGT icmpEQ icmpNE "
    "fcmpOLT fcmpOGT fcmpOLE fcmpOGE fcmpOEQ fcmpONE fcmpULT fcmpUGT fcmpULE fcmpUGE fcmpUEQ fcmpUNE and xor or idiv "
    "umulhi addptr clampf select fma"
)
_SHAPING = "expand_dims broadcast splat unsplat make_range get_num_programs"
ELEMENTWISE = {f"create_{name}" for name in f"{_UNARY} {_BINARY}".split()}
"""Operations that compute each element from those at its place."""
_PURE = ELEMENTWISE | {f"create_{name}" for name in _SHAPING.split()}
"""Operations that only compute: of what does not vary they make what does not vary."""

_Operation = Callable[..., Any]
_recording: "Recorder | None" = None
_line: int | None = None


def line() -> int | None:
    """The line of the candidate's source that runs, or that is done again."""
    if _line is not None:
        return _line
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename != CANDIDATE:
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_lineno if frame is not None else None


class _Varying(TensorHandle):
    """A value that another program may have otherwise."""

    place: int

    @property
    def data(self) -> npt.NDArray[np.generic]:  # type: ignore[override]
        """The value; Python's, and no operation's, once it is read outside of one."""
        _noticed()
        return self.__dict__["data"]

    @data.setter
    def data(self, value: npt.NDArray[np.generic]) -> None:
        _noticed()
        self.__dict__["data"] = value


def _noticed() -> None:
    if _recording is not None and not _recording.inside:
        _recording.spoilt = True


class Made(NamedTuple):
    """A value that the first program made."""

    shape: tuple[int, ...]
    kind: np.dtype[np.generic]


class Form(NamedTuple):
    """What a step's values look like in one program."""

    given: list[tuple[int, ...]]
    """By an argument's position its shape; nothing for what is no value."""
    made: list[Made]

    def shapes(self) -> list[tuple[int, ...]]:
        """All of them."""
        return [*self.given, *(one.shape for one in self.made)]


@dataclass
class Step:
    """One operation."""

    name: str
    operate: _Operation
    given: list[Any]
    """Its arguments, as the first program gave them where they do not vary."""
    varying: list[tuple[int, "int | _Group"]]
    """By an argument's position, which of the values takes its place."""
    found: int | tuple[int, ...] | None
    """Which of the values it makes."""
    line: int | None
    """Where it does more than compute, the line of the candidate's source."""
    form: Form
    named: bool = False
    """Whether it has arguments by name, which are the same in each program."""
    last: tuple[int, ...] = ()
    """Values that no later step takes."""


@dataclass
class _Group:
    """An argument that holds several values."""

    kind: type
    parts: list[Any]
    places: list[int | None]

    def of(self, values: Sequence[Any]) -> object:
        """The argument, with the values at its places."""
        pairs = zip(self.parts, self.places, strict=True)
        return self.kind(part if place is None else values[place] for part, place in pairs)


class Recorder:
    """The operations of a program that runs."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.count = 0
        self.inside = self.spoilt = False
        self._kept: dict[int, npt.NDArray[np.generic]] = {}
        self._bytes = 0

    def do(self, name: str, operate: _Operation, args: Sequence[Any], named: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Do an operation and note it."""
        if self.inside or self.spoilt:
            return operate(*args, **named)
        self.inside = True
        try:
            found = operate(*args, **named)
        finally:
            self.inside = False
        varying = [(index, place) for index, one in enumerate(args) if (place := _place(one)) is not None]
        self.spoilt |= any(_place(one) is not None for one in named.values())
        self.spoilt |= any(map(_hides, [*args, *named.values()]))
        if name in _PURE and not varying:
            return found
        self._note(name, operate, args, varying, found)
        if named and not self.spoilt:
            self.steps[-1].operate, self.steps[-1].named = (lambda *again: operate(*again, **named)), True
        return found

    def _note(
        self,
        name: str,
        operate: _Operation,
        args: Sequence[Any],
        varying: list[tuple[int, "int | _Group"]],
        found: object,
    ) -> None:
        made: int | tuple[int, ...] | None = None
        form = Form([_shape(one) for one in args], [_made(one) for one in _values(found)])
        if isinstance(found, TensorHandle):
            made = self._mark(found)
        elif isinstance(found, tuple) and all(isinstance(one, TensorHandle) for one in found):
            made = tuple(self._mark(one) for one in found)
        elif found is not None:
            self.spoilt = True
        self._keep(args)
        self.steps.append(Step(name, operate, list(args), varying, made, None if name in _PURE else line(), form))
        for index, _ in varying:
            self.steps[-1].given[index] = None
        self.spoilt |= len(self.steps) > _STEPS or self._bytes > _BYTES

    def _mark(self, handle: TensorHandle) -> int:
        handle.__class__ = _Varying
        handle.place = self.count  # type: ignore[attr-defined]
        self.count += 1
        return self.count - 1

    def _keep(self, args: Sequence[Any]) -> None:
        for one in args:
            whole = one.data if type(one) is TensorHandle else None
            while whole is not None and isinstance(whole.base, np.ndarray):
                whole = whole.base
            if whole is not None and id(whole) not in self._kept:
                self._kept[id(whole)] = whole
                self._bytes += whole.nbytes

    def finish(self) -> None:
        """Be done with the first program."""
        self._kept.clear()
        if self.spoilt:
            self.steps.clear()
        used: set[int] = set()
        for step in reversed(self.steps):
            places = _places(step)
            step.last = tuple(places - used)
            used |= places

    def play(self) -> None:
        """Do the operations again, for the program that the builder stands at."""
        global _line
        values: list[Any] = [None] * self.count
        try:
            for step in self.steps:
                given = step.given.copy()
                for index, place in step.varying:
                    given[index] = values[place] if type(place) is int else place.of(values)  # type: ignore[union-attr]
                _line = step.line
                found = step.operate(*given)
                if type(step.found) is int:
                    values[step.found] = found
                elif step.found is not None:
                    for place, one in zip(step.found, found, strict=True):  # type: ignore[arg-type]
                        values[place] = one
                for place in step.last:
                    values[place] = None
        finally:
            _line = None


def varies(value: object) -> bool:
    """Whether another program may have a value otherwise, as far as a recording tells."""
    return type(value) is _Varying


def _place(argument: object) -> "int | _Group | None":
    """Which of the values an argument is, or holds."""
    if type(argument) is _Varying:
        return argument.place
    if isinstance(argument, (list, tuple)):
        places = [one.place if type(one) is _Varying else None for one in argument]
        if any(place is not None for place in places):
            parts = [one if place is None else None for one, place in zip(argument, places, strict=True)]
            return _Group(type(argument), parts, places)
    return None


def _values(found: object) -> Sequence[object]:
    """What an operation gave, one by one."""
    return found if isinstance(found, tuple) else () if found is None else (found,)


def _data(value: object) -> npt.NDArray[np.generic] | None:
    """A value's elements, unnoticed."""
    return value.__dict__["data"] if isinstance(value, TensorHandle) else None


def _shape(value: object) -> tuple[int, ...]:
    data = _data(value)
    return () if data is None else data.shape


def _made(value: object) -> Made:
    data = _data(value)
    return Made((), np.dtype(np.bool_)) if data is None else Made(data.shape, data.dtype)


def _hides(argument: object) -> bool:
    """Whether an argument may hold values where `_place` does not look."""
    parts = argument if isinstance(argument, (list, tuple)) else ()
    return isinstance(argument, tl.tensor) or any(isinstance(one, (list, tuple, tl.tensor)) for one in parts)


def _places(step: Step) -> set[int]:
    """The values that a step takes or makes."""
    made = () if step.found is None else (step.found,) if isinstance(step.found, int) else step.found
    taken = [(place,) if isinstance(place, int) else place.places for _, place in step.varying]
    return {place for some in (made, *taken) for place in some if place is not None}


class _Noting:
    """The interpreter's builder, whose operations a recorder does."""

    def __init__(self, builder: interpreter.InterpreterBuilder, recorder: Recorder) -> None:
        self._builder, self._recorder = builder, recorder

    def __getattr__(self, name: str) -> object:
        member, recorder = getattr(self._builder, name), self._recorder
        if not name.startswith("create_"):
            return member

        def call(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            return recorder.do(name, member, args, named)

        setattr(self, name, call)
        return call


def whole(name: str, operate: Callable[..., Any], rows: Callable[[], object] | None = None) -> Callable[..., Any]:
    """A function from tensors to a tensor, or several, that computes on their values: one operation where it is
    recorded. `rows` finds what does it for many programs at once; see `batched`."""

    def call(*args: Any) -> Any:  # noqa: ANN401
        recorder = _recording
        if recorder is None or recorder.inside or recorder.spoilt:
            return operate(*args)
        kinds: list[Any] = [one.type if isinstance(one, tl.tensor) else None for one in args]
        made: list[Any] = []

        def on_handles(*given: Any) -> Any:  # noqa: ANN401
            tensors = (one if kind is None else tl.tensor(one, kind) for one, kind in zip(given, kinds, strict=True))
            found = operate(*tensors)
            if _recording is not None:
                made.append(found)
            return tuple(one.handle for one in found) if isinstance(found, tuple) else found.handle

        on_handles.rows = rows  # type: ignore[attr-defined]
        recorder.do(name, on_handles, [one.handle if isinstance(one, tl.tensor) else one for one in args], {})
        return made.pop()

    return call


NOTED = "noted"
"""The name of a step that makes nothing: what a program showed is noted, at each program anew."""


def noted(note: Callable[..., None], *args: Any) -> None:  # noqa: ANN401
    """Note what values are, without which Python would have read them; of what does not vary once alone."""
    if _recording is not None and any(map(varies, args)):
        _recording.do(NOTED, note, args, {})
    else:
        note(*args)


class Several(Protocol):
    """Who does what several programs do at once; see `batched`."""

    def plan(self, steps: Sequence[Step]) -> list[Any] | None:
        """How; None where it cannot be done."""

    def at_once(self, recorder: Recorder, acts: list[Any], places: Sequence[tuple[int, ...]]) -> Iterator[int]:
        """Do it; gives the indices of the places whose programs must be done one by one, in their turn."""
        ...

    def begin(self, place: Sequence[int]) -> None:
        """A program at a place in the grid begins."""


class Programs:
    """A kernel's function, for whoever calls it once for each program of a launch with the same arguments."""

    def __init__(self, fn: Callable[..., object], several: Several | None = None) -> None:
        self._fn, self._recorder, self._several = fn, None, several
        self._acts: list[Any] | None = None
        self._called, self._waiting = 0, list[tuple[int, ...]]()
        """Programs so far, and the places of those that are done with the last one."""
        self.__globals__, self.__name__ = fn.__globals__, fn.__name__
        self.__signature__, self.__annotations__ = inspect.signature(fn), fn.__annotations__

    def __call__(self, *args: object, **named: object) -> None:
        """Run the program that the builder stands at."""
        builder = interpreter.interpreter_builder
        programs, self._called = math.prod(builder.grid_dim), self._called + 1
        if self._recorder is None and programs >= _LEAST:
            self._record(args, named)
        elif self._recorder is None or self._recorder.spoilt:
            self._fn(*args, **named)
        elif self._several is None or self._acts is None:
            self._play(self._recorder, args, named)
        else:
            self._waiting.append(builder.grid_idx)
            if self._called == programs:
                self._rest(self._recorder, self._several, args, named)

    def _rest(self, recorder: Recorder, several: Several, args: Sequence[object], named: Mapping[str, object]) -> None:
        """Run the programs that wait."""
        for number in several.at_once(recorder, self._acts or [], self._waiting):
            interpreter.interpreter_builder.grid_idx = self._waiting[number]  # pyright: ignore[reportAttributeAccessIssue]
            several.begin(self._waiting[number])
            self._play(recorder, args, named)

    def _play(self, recorder: Recorder, args: Sequence[object], named: Mapping[str, object]) -> None:
        try:
            recorder.play()
        except TimeoutError:
            raise
        except Exception:  # raised by the kernel's own lines, it says where
            self._fn(*args, **named)
            raise

    def _record(self, args: Sequence[object], named: Mapping[str, object]) -> None:
        global _recording
        semantic = interpreter.interpreter_semantic
        builder, before, recorder = semantic.builder, _recording, Recorder()
        self._recorder = recorder
        semantic.builder, _recording = _Noting(builder, recorder), recorder
        try:
            self._fn(*args, **named)
        except BaseException:
            recorder.spoilt = True
            raise
        finally:
            semantic.builder, _recording = builder, before
            recorder.finish()
        if self._several is not None and not recorder.spoilt:
            self._acts = self._several.plan(recorder.steps)
