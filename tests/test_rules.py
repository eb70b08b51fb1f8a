"""Static rules on sources that are never run, and launches compared with those that were compiled."""

import pytest
from judging import FORWARD, HEAD, KERNEL, double

from tritonsmith.verify.dynamic.conduct import launched_otherwise
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
    ("line", "rules"),
    [("self.a = getattr(self.cell, f'weight_ih_l{0}')", set()), ("self.a = getattr(self.cell, f'bias_{0}')", set()),
     ("self.a = getattr(self.cell, f'da{0}')", {"getattr"}), ("self.a = getattr(room, f'weight_{0}')", {"getattr"})],
)  # fmt: skip
def test_weights_of_a_layer_may_be_named_by_number(line: str, rules: set[str]) -> None:
    assert _rules(_built(line)) == rules


@pytest.mark.parametrize(
    ("line", "rules"),
    [("self.a = '{} of {1:.3f}{x!r}'.format(1, 2.0, x=3)", set()), ("self.a = '{0.shape}'.format(self)", {"frame"}),
     ("self.a = '{0[key]}'.format({})", {"frame"}), ("self.a = '{0:{1.x}}'.format(1, self)", {"frame"}),
     ("self.a = ('{0.' + 'x}').format(self)", {"frame"}), ("self.a = str.format('{0.x}', self)", {"frame"}),
     ("self.a = getattr('{0.x}', 'format')(self)", {"frame"}), ("self.a = '{x.y}'.format_map({})", {"frame"}),
     ("self.a = __name__", {"observed"}), ("self.a = __file__", {"observed"}),
     ("self.a = __name__ == '__main__'", set()), ("self.a = type(self).__name__", set())],
)  # fmt: skip
def test_text_reads_no_attributes_and_a_module_not_its_name(line: str, rules: set[str]) -> None:
    assert _rules(_built(line)) == rules


@pytest.mark.parametrize(
    ("line", "rules"),
    [("LOG.info('built')", set()), ("self.parent, self.root = 1, 2", set()), ("LOG.handlers.clear()", {"observed"}),
     ("LOG.disabled = True", {"observed"}), ("getattr(LOG, 'manager')", {"observed"})],
)  # fmt: skip
def test_a_logger_only_writes_lines(line: str, rules: set[str]) -> None:
    found = _rules(
        _built(line, "LOG = logging.getLogger(__name__)\n\n\n").replace(
            "import torch\n", "import logging\nimport torch\n", 1
        )
    )
    assert found == rules


def test_a_logger_class_of_ones_own_is_refused() -> None:
    source = _built("pass", "class Log(logging.Logger):\n    pass\n\n\n").replace(
        "import torch\n", "import logging\nimport torch\n", 1
    )
    assert _rules(source) == {"observed"}


@pytest.mark.parametrize(
    ("line", "rules"),
    [("self.a = triton.runtime.driver.active.get_current_target()", set()),
     ("self.a = triton.runtime.driver.active.utils.get_device_properties(0)", set()),
     ("self.a = triton.runtime.driver.active.get_benchmarker()", {"torch-attribute"}),
     ("self.a = triton.runtime.driver.active.utils.launch(0)", {"torch-attribute"}),
     ("d = triton.runtime.driver.active; d.utils.load_binary(b'')", {"private"}),
     ("d = triton.runtime.driver.active; d.clear_cache = None", {"patch"}),
     ("self.a = triton.runtime.driver.set_active(None)", {"torch-attribute"})],
)  # fmt: skip
def test_the_driver_is_asked_and_not_changed(line: str, rules: set[str]) -> None:
    assert _rules(_built(line)) == rules


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


ROW = {"name": "k", "said": "BLOCK=16, n=3", "grid": [2]}


@pytest.mark.parametrize(
    ("row", "peeked", "other"),
    [(ROW, False, False), ({**ROW, "said": "BLOCK=16, n=4"}, False, True), ({**ROW, "said": "n=4"}, True, False),
     ({**ROW, "name": "j"}, True, True), ({**ROW, "grid": [2, 1, 1]}, False, False),
     ({**ROW, "grid": [1, 1, 1]}, False, True), ({**ROW, "grid": [1, 1, 1]}, True, False)],
)  # fmt: skip
def test_other_launches_than_those_compiled_are_found(row: dict[str, object], peeked: bool, other: bool) -> None:
    seen = {"launches": [row], "work": {"peeked": peeked}}
    assert bool(launched_otherwise([ROW], seen)) is other
