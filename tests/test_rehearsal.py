"""What a forward kept whose kernels were compiled and not run is forgotten; what was there before stays."""

import functools
from types import ModuleType, SimpleNamespace

import pytest
import torch

from tritonsmith.verify.launches import rehearsal
from tritonsmith.verify.process import loading, sizeless
from tritonsmith.verify.process.session import Session

SOURCE = """
import functools

FLAG, TABLE, ORDER, SEEN = False, {"old": 1}, [1], {1}
NESTED = {"inner": {"list": [0]}}

class Shelf:
    table = {}
    made = None

    def __init__(self):
        self.kept = None

SHELF = Shelf()

def by_default(key, kept={}):
    return kept.setdefault(key, len(kept))

def by_attribute(key):
    by_attribute.kept = key

@functools.lru_cache
def memo(key):
    return object()

def closure():
    kept = []
    return lambda key: kept.append(key) or len(kept)

counted = closure()

def work(key):
    global FLAG, NEW
    FLAG = NEW = True
    TABLE[key], NESTED["inner"]["list"][0] = key, key
    ORDER.append(key)
    SEEN.add(key)
    Shelf.table[key], Shelf.made, SHELF.kept, SHELF.more = key, key, key, key
    by_attribute(key)
    return by_default(key), counted(key), memo(key)
"""


@pytest.fixture
def module() -> ModuleType:
    made = ModuleType("candidate")
    exec(SOURCE, made.__dict__)
    return made


def test_everything_that_a_module_keeps_is_put_back(module: ModuleType) -> None:
    undo = rehearsal.remember(module)
    first = module.work("x")
    undo()
    assert (module.FLAG, hasattr(module, "NEW"), module.TABLE) == (False, False, {"old": 1})
    assert module.ORDER == [*module.SEEN] == [1] and module.NESTED["inner"]["list"] == [0]
    assert (module.Shelf.table, module.Shelf.made, vars(module.SHELF)) == ({}, None, {"kept": None})
    assert not hasattr(module.by_attribute, "kept")
    again = module.work("x")
    assert again[:2] == first[:2] == (0, 1)
    assert again[2] is not first[2]


def test_a_full_memory_in_which_one_took_another_s_place_is_emptied(module: ModuleType) -> None:
    module.memo = functools.lru_cache(maxsize=1)(lambda key: object())
    before = module.memo("x")
    undo = rehearsal.remember(module)
    module.memo("x")
    undo()
    assert module.memo("x") is before
    undo = rehearsal.remember(module)
    found = module.memo("y")
    undo()
    assert module.memo("y") is not found


def test_what_was_kept_before_stays(module: ModuleType) -> None:
    before = module.work("x")
    table = module.TABLE
    undo = rehearsal.remember(module)
    module.work("x")
    undo()
    assert module.TABLE is table and table["x"] == "x" and module.FLAG
    assert module.memo("x") is before[2]


def test_python_s_own_names_are_left_alone(module: ModuleType) -> None:
    builtins = module.__dict__["__builtins__"]
    rehearsal.remember(module)()
    assert module.__dict__["__builtins__"] is builtins and builtins["len"] is len


COUNTING = """
from torch import nn

CALLS = []

class ModelNew(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.calls = sizes.pop()

    def forward(self, x):
        self.calls += 1
        CALLS.append(x)
        return x + self.calls, x + len(CALLS)
"""


def test_a_model_that_was_only_compiled_is_built_anew_for_its_first_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a runner on a GPU, which only its kernels and its memory need."""
    monkeypatch.setattr(Session, "device", "cpu")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    session = Session()
    session.module, session.mode = loading.import_source(COUNTING), "cuda"
    watch = SimpleNamespace(compile_only=lambda: None, run=lambda: None, stats={})
    session.watch = watch  # type: ignore[assignment]
    session.build({"seed": 0, "dtype": None}, {"init": [[7, 0]], "state": {}})
    session.compile({}, [torch.zeros(2)])
    kept: dict[str, object] = {"kept": True, "keep": True}
    outputs = [session.forward(kept, None)[1] for _ in range(2)]
    values = [[float(t[0]) for t in output] for output in outputs]  # type: ignore[union-attr]
    assert values == [[1.0, 1.0], [2.0, 2.0]]


TABLE = """
import functools
import torch
from torch import nn

@functools.lru_cache(16)
def table(rows, columns, device):
    return torch.empty(rows, columns, device=device)

class ModelNew(nn.Module):
    def forward(self, x):
        return x + table(*x.shape, x.device)
"""


def test_a_table_made_in_calls_without_data_is_not_found_by_one_with_data() -> None:
    """Sizes and device are the same; on an H200 its kernel was given the address 0, once it was timed."""
    session = Session()
    session.module = loading.import_source(TABLE)
    inputs = [torch.empty(4, 8, device="meta")]
    seen, _ = sizeless.often(session, {"seed": 1, "most": 5}, {"init": [], "inputs": inputs})
    assert seen["calls"] == 5 and session.module.table.cache_info().currsize == 0
