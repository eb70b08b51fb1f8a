"""A task's forward without data: on tensors that have shapes alone, whatever their size.

What is remembered goes by the task's source. Where a task cannot run without data, less is known and it runs for real.
"""

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from tritonsmith.tasks.format import TaskModule, one_line
from tritonsmith.types import Task

_COMPARING = re.compile("aten::(lt|le|gt|ge|less|less_equal|greater|greater_equal)_?")
"""Names of operators that say which of two numbers is greater."""
_PICKING = re.compile(
    "index|gather|scatter|embedding|take|nll_loss|repeat_interleave|bincount|put|histc|one_hot|shift|pow"
)
"""Names of operators that may take whole numbers for places, where others are nowhere, or for counts of bits."""
_CHOOSING = re.compile("^arg|^nonzero|topk|sort|kthvalue|median|mode|cummax|cummin|searchsorted|bucketize|pool|unique")
"""Names of operators that may tell the places of values, of which equal ones have several. `max` and `min` do so
along a dimension."""
_DIMENSIONS = {"dim", "dims", "dim0", "dim1", "dim2"}
"""Names of arguments that say which dimensions an operator goes along."""
_MOST_TOLD = 4096
"""Sources of which is remembered what another process found out."""
LONG = 2000
"""Operators of a forward without data from which on it costs more than one with data at a small size."""


def runs_without_data(task: Task) -> bool:
    """Whether the reference runs on tensors that have shapes alone; one that looks at its values does not."""
    known = _told.get(task.source)
    return _runs_without_data(task.source) if known is None else known


def tell(source: str, runs: bool) -> None:
    """Take another process's word for whether a reference runs without data, which takes a forward to find out."""
    if len(_told) >= _MOST_TOLD:
        _told.clear()
    _told[source] = runs


_told: dict[str, bool] = {}


def output_without_data(task: Task) -> object:
    """What the reference gives on tensors that have shapes alone; None where it does not run so."""
    given = _outputs(task.source)
    return given[0] if given else None


@functools.lru_cache(4096)
def _runs_without_data(source: str) -> bool:
    return all(tensor.numel() for tensor in tensors(given[0])) if (given := _outputs(source)) else False


@functools.lru_cache(4096)
def _outputs(source: str) -> tuple[object, ...]:
    """The reference's output alone; nothing where it does not run without data."""
    if isinstance(known := dry(source), Dry):
        return (known.output,)
    try:
        with torch.device("meta"), torch.no_grad():
            module = TaskModule.of(Task(id="sizes", level=1, source=source))
            return (module.model(0, "meta")(*module.inputs(0, "meta")),)
    except Exception:  # whatever the user's code does with a size it cannot take
        return ()


@dataclass(frozen=True)
class Dry:
    """A forward on tensors that have shapes alone."""

    spread: tuple[object, ...]
    """Of each operator which dimensions of its operands are spread over the result's, which it is told to go along, and
    whether it normalises single elements.

    A size may turn a task into another one: halves of 3 have 2 elements and 1, and their product is no longer that of
    equals; a count of layers may be among the constants, or the dimension that a sum is over; and channels in as many
    groups are all zero when they are normalised."""
    flops: int
    empty: int
    """Weights and results of operators that have no elements.

    256 channels over 16 are a hidden layer, and 4 over 16 are none: the task no longer computes what it does."""
    output: object
    """What the forward gives, of shapes alone."""
    picks: bool
    """Whether an operator may take whole numbers for places."""
    chooses: bool
    """Whether an operator may tell places of values."""


@functools.lru_cache(4096)
def dry(source: str) -> Dry | str | None:
    """What a forward without data shows, or why it fails; None where it is too long to look on."""
    try:
        with torch.device("meta"), torch.no_grad():
            module = TaskModule.of(Task(id="sizes", level=1, source=source))
            model, inputs = module.model(0, "meta"), module.inputs(0, "meta")
            with FlopCounterMode(display=False) as counter, _Spread() as spread:
                output = model(*inputs)
    except _Long:
        return None
    except Exception as error:  # whatever the user's code does with a size it cannot take
        return one_line(error)
    empty = spread.empty + _empty(model)
    return Dry(tuple(spread.seen), counter.get_total_flops(), empty, output, spread.picks, spread.chooses)


@functools.lru_cache(4096)
def _built(source: str) -> tuple[tuple[str, ...], int] | None:
    """The names of a model's weights, and how many of weights and buffers are empty; None where it cannot be built."""
    try:
        with torch.device("meta"):
            model = TaskModule.of(Task(id="sizes", level=1, source=source)).model(0, "meta")
            return tuple(name for name, _ in model.named_parameters()), _empty(model)
    except Exception:  # whatever the user's code does with a size it cannot take
        return None


def emptied(one: str, other: str) -> bool:
    """Whether more of a task is empty in `other`, its version at other sizes, than in `one`."""
    whole, small = _built(one), _built(other)
    if small is not None and small[1] > (0 if whole is None else whole[1]):
        return True
    first, second = dry(one), dry(other)
    return isinstance(first, Dry) and isinstance(second, Dry) and second.empty > first.empty


def _empty(model: torch.nn.Module) -> int:
    return sum(not tensor.numel() for tensor in (*model.parameters(), *model.buffers()))


@functools.lru_cache(4096)
def elements(source: str) -> int:
    """In inputs and weights, found without allocating them; 0 where that needs data: then it runs for real."""
    try:
        with torch.device("meta"):
            module = TaskModule.of(Task(id="sizes", level=1, source=source))
            inputs = module.inputs(0, "meta")
    except Exception:  # not every get_inputs runs on meta tensors
        return 0
    found = sum(tensor.numel() for tensor in tensors(inputs))
    try:
        with torch.device("meta"):
            return found + sum(tensor.numel() for tensor in module.model(0, "meta").parameters())
    except Exception:  # nor does every constructor
        return found


def weights(source: str) -> tuple[str, ...] | None:
    """Names of a model's weights; None where it cannot be built without data.

    They tell a count of layers where one operator is all that is called: `weight_ih_l5` is the sixth of an LSTM.
    """
    built = _built(source)
    return None if built is None else built[0]


def same_operators(one: str, two: str) -> bool:
    """Whether two versions call as many operators, as far as can be seen; one that does not run may be either."""
    known = weights(one), weights(two)
    if None not in known and known[0] != known[1]:
        return False
    first, second = dry(one), dry(two)
    if not isinstance(first, Dry) or not isinstance(second, Dry):
        return True
    return len(first.spread) == len(second.spread)


class _Spread(TorchDispatchMode):
    """Notes of each operator the dimensions that it is told; of one on several tensors which of theirs are one where
    the result's are not; and of one that normalises whether there is but one element to it. Counts what is empty, and
    notes whether anything is picked by its place, or its place is told."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[object] = []
        self.empty = 0
        self.picks = self.chooses = False
        self._count = 0
        self._places: list[torch.Tensor] = []
        """What counts the places of a dimension; kept, so that no other storage is taken for one of theirs."""

    def __torch_dispatch__(
        self, func: OpOverload, types: object, args: tuple[object, ...] = (), kwargs: dict[str, object] | None = None
    ) -> object:
        output = func(*args, **(kwargs or {}))
        self._count += 1
        if self._count > LONG:
            raise _Long
        if func._schema.name == "aten::arange":
            self._places += tensors(output)
        self.empty += sum(not tensor.numel() for tensor in tensors(output))
        self.picks = self.picks or _PICKING.search(func._schema.name) is not None or self._bounds(func, args)
        self.chooses = self.chooses or _tells_places(func)
        given = [one.shape for one in args if isinstance(one, torch.Tensor)]
        told = dict(enumerate(args)) | (kwargs or {})
        self.seen += [str(told[place]) for place in _dimensions(func) if place in told]
        if (together := _normalised(func, args)) is not None:
            self.seen.append(together == 1)
        if isinstance(output, torch.Tensor) and len(given) > 1:
            ends = [tuple(zip(reversed(shape), reversed(output.shape), strict=False)) for shape in given]
            self.seen.append(tuple(tuple(own == 1 != out for own, out in pairs) for pairs in ends))
        return output

    def _bounds(self, func: OpOverload, args: tuple[object, ...]) -> bool:
        """Whether whole numbers are compared with all places of a dimension: they are lengths, and none is longer."""
        given = [one for one in args if isinstance(one, torch.Tensor) and not one.is_floating_point()]
        if not _COMPARING.fullmatch(func._schema.name) or len(given) < 2:
            return False
        places = {one.untyped_storage()._cdata for one in self._places}
        return any(one.untyped_storage()._cdata in places for one in given)


@functools.lru_cache(4096)
def _tells_places(func: OpOverload) -> bool:
    name = func._schema.name
    both = name in ("aten::max", "aten::min") and len(func._schema.returns) > 1
    return both or _CHOOSING.search(name.partition("::")[2]) is not None


@functools.lru_cache(4096)
def _dimensions(func: OpOverload) -> tuple[int | str, ...]:
    """Where an operator is told dimensions: the places of arguments of these names, and the names."""
    named = [(place, one.name) for place, one in enumerate(func._schema.arguments) if one.name in _DIMENSIONS]
    return tuple(either for both in named for either in both)


def runs_alike(one: str, two: str) -> bool:
    """Whether two versions of a task are seen to run without data, and go along and spread the same dimensions."""
    first, second = dry(one), dry(two)
    return isinstance(first, Dry) and isinstance(second, Dry) and first.spread == second.spread


def picks(source: str) -> bool:
    """Whether whole numbers may be places somewhere in a task, as far as can be seen: others might lie nowhere."""
    known = dry(source)
    return known.picks if isinstance(known, Dry) else True


def chooses(source: str) -> bool:
    """Whether whole numbers of an output may be places of values, as far as can be seen: of equal ones either's."""
    known = dry(source)
    return known.chooses if isinstance(known, Dry) else True


def _normalised(func: OpOverload, args: tuple[object, ...]) -> int | None:
    """How many elements an operator normalises together; None of one that does not."""
    match func._schema.name, args:
        case "aten::native_group_norm", (torch.Tensor() as x, _, _, int(batch), _, _, int(groups), *_):
            return x.numel() // (batch * groups)
        case "aten::native_layer_norm", (_, [*shape], *_):
            return math.prod(shape)
        case "aten::_softmax" | "aten::_log_softmax", (torch.Tensor() as x, int(dim), *_) if x.dim():
            return x.shape[dim]
    return None


class _Long(Exception):
    """A forward of more operators than are looked at."""


@functools.lru_cache(4096)
def _given(source: str) -> tuple[list[torch.Size], frozenset[int]]:
    """The shapes of the inputs, and the integers that the constructor is given; none where not seen."""
    try:
        with torch.device("meta"):
            module = TaskModule.of(Task(id="sizes", level=1, source=source))
            inputs, arguments = module.inputs(0, "meta"), module.init_inputs()
    except Exception:  # not every get_inputs runs on meta tensors
        return [], frozenset()
    return [tensor.shape for tensor in tensors(inputs)], frozenset(_whole_numbers(arguments))


def input_sizes(source: str) -> frozenset[int]:
    """The sizes of all inputs; none where they are not seen."""
    return frozenset(size for shape in _given(source)[0] for size in shape)


def pairs_of_sizes(one: str, two: str) -> set[tuple[int, int]]:
    """What the inputs' sizes are in two versions of a task, each size beside its other; none where not seen.

    `rescaling.paired` has what the constructor is given among them, which may be a count of rounds.
    """
    shapes = zip(_given(one)[0], _given(two)[0], strict=False)
    return {pair for pair_of_shapes in shapes for pair in zip(*pair_of_shapes, strict=False)}


def given(source: str) -> tuple[int, frozenset[int]]:
    """The first size of the first input, and the integers that the constructor is given; 0 and none where not seen."""
    shapes, arguments = _given(source)
    batch = next((shape[0] for shape in shapes if shape), 0)
    return batch, arguments - {batch}


def _whole_numbers(tree: object) -> Iterator[int]:
    if type(tree) is int:
        yield tree
    elif isinstance(tree, (list, tuple, dict)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _whole_numbers(item)


def tensors(tree: object) -> list[torch.Tensor]:
    """Every tensor in nested lists, tuples and dicts."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, dict):
        tree = list(tree.values())
    return [t for item in tree for t in tensors(item)] if isinstance(tree, (list, tuple)) else []
