"""Static rules on sources that are never run, and launches compared with those that were compiled."""

import pytest
from judging import FORWARD, HEAD, KERNEL, double

from tritonsmith.verify.conduct import launched_otherwise
from tritonsmith.verify.policy import check_source


def _rules(source: str) -> set[str]:
    return {found.rule for found in check_source(source, "strict")}


def _built(line: str, top: str = "") -> str:
    """A candidate that does something when it is built."""
    start = f"class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {line}\n\n"
    return double().replace("class ModelNew(nn.Module):\n", top + start)


@pytest.mark.parametrize(
    "line",
    ["self.seen = self.room.numpy()", "self.cells = room.untyped_storage()", "self.cells = room.storage()",
     "self.room = torch.frombuffer(room, dtype=torch.float32)", "self.room = torch.asarray(room)",
     "self.cells = torch.UntypedStorage(8)", "a = torch.zeros(8).numpy(); self.room = torch.as_tensor(a)"],
)  # fmt: skip
def test_views_of_memory_that_python_keeps_are_refused(line: str) -> None:
    assert _rules(_built(line)) & {"host-compute", "torch-attribute"}


@pytest.mark.parametrize(
    "line",
    ["self.steps = torch.arange(4).numpy()", "self.steps = self.weight.detach().numpy().tolist()", "self.storage = {}",
     "self.steps = torch.ones(3).tolist()", "self.sizes = nn.init._calculate_fan_in_and_fan_out(self.weight)",
     "self.size = nn.modules.utils._pair(3)"],
)  # fmt: skip
def test_values_that_a_constructor_takes_are_honest(line: str) -> None:
    assert _rules(_built(line)) == set()


@pytest.mark.parametrize(
    ("line", "asks"),
    [("if isinstance(BLOCK, tl.constexpr):", True), ("if hasattr(offsets, 'handle'):", True), ("if BLOCK is n:", True),
     ("if tl.load is (None or LOAD):", True), ("if tl.load == LOAD:", True), ("if n and (tl.load or 0) == n:", True),
     ("if tl.constexpr(tl.load) != LOAD:", True), ("f = tl.load\n    if f == LOAD:", True),
     ("if x_ptr is not None:", False), ("for id in range(2):", False), ("id = n\n    if id > 2:", False),
     ("if BLOCK > 16:", False), ("if x_ptr.dtype.element_ty == tl.float16:", False),
     ("if tl.program_id(0) == 0:", False), ("if tl.sum(offsets.to(tl.int32)) == 0:", False),
     ("if tl.reduce(offsets, 0, tl.maximum) == 0:", False)],
)  # fmt: skip
def test_a_kernel_may_not_ask_who_runs_it(line: str, asks: bool) -> None:
    kernel = KERNEL.replace("    mask = ", f"    {line}\n        n += 0\n    mask = ")
    assert ("kernel-python" in _rules(double(kernel=kernel))) is asks


def test_a_kernel_may_not_ask_under_another_name() -> None:
    kernel = KERNEL.replace("    mask = ", "    if asks(BLOCK, tl.constexpr):\n        n += 0\n    mask = ")
    assert "kernel-python" in _rules(double(kernel="asks = isinstance\n\n\n" + kernel))


def test_a_kernel_may_be_made_by_a_call() -> None:
    kernel = KERNEL.replace("@triton.jit\n", "").replace("def double_kernel", "def _double") + (
        "double_kernel = triton.jit(_double)\n\n\n"
    )
    assert _rules(double(FORWARD, kernel, HEAD)) == set()


ROW = {"name": "k", "said": "BLOCK=16, n=3"}


@pytest.mark.parametrize(
    ("row", "peeked", "other"),
    [(ROW, False, False), ({**ROW, "said": "BLOCK=16, n=4"}, False, True), ({**ROW, "said": "n=4"}, True, False),
     ({**ROW, "name": "j"}, True, True)],
)  # fmt: skip
def test_other_launches_than_those_compiled_are_found(row: dict[str, object], peeked: bool, other: bool) -> None:
    seen = {"launches": [row], "work": {"peeked": peeked}}
    assert bool(launched_otherwise([ROW], seen)) is other
