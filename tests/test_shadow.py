"""The interpreter under shadow: bounds, races, traffic and memory that nothing wrote, seen through the verifier."""

import numpy as np
import pytest
import torch
from judging import DOUBLE, FORWARD, HEAD, KERNEL, double, judge, rules, small

from tritonsmith.types import Verdict
from tritonsmith.verify.dynamic.observe import Launch, Launches
from tritonsmith.verify.interpreter.order import Order
from tritonsmith.verify.interpreter.shadow import Shadow
from tritonsmith.verify.pool import Verifier

SUM = small("return x.sum().reshape(1)", "torch.randn(64, 48)")


def _sum(body: str, grid: str = "(triton.cdiv(x.numel(), 64),)", start: str = "x.new_zeros(1)") -> str:
    """A candidate for SUM: `body` has `x` (64 elements, masked with zeros) in scope."""
    return (
        f"{HEAD}@triton.jit\ndef sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
        "    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)\n"
        f"    {body}\n\n\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n"
        f"        out = {start}\n        sum_kernel[{grid}](x, out, x.numel(), BLOCK=64)\n        return out\n"
    )


def _line(source: str, text: str) -> int:
    return next(n for n, line in enumerate(source.splitlines(), 1) if text in line)


def test_atomics_are_no_race(verifier: Verifier) -> None:
    verdict = judge(verifier, SUM, _sum("tl.atomic_add(out_ptr, tl.sum(x, axis=0))"))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize("other", ["~first", "(not first)", "(first == 0)", "(n > 0) & ~first"])
def test_a_condition_on_the_program_joins_a_mask(verifier: Verifier, other: str) -> None:
    """The interpreter takes such a condition for a number, and its opposite for minus two."""
    store = "tl.store(out_ptr + offsets, 2.0 * tl.load(x_ptr + offsets, mask=mask), mask=mask"
    both = f"first = tl.program_id(0) == 0\n    {store} & first)\n    {store} & {other})"
    verdict = judge(verifier, DOUBLE, double(kernel=KERNEL.replace(f"{store})", both)))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_two_programs_that_add_without_atomics_race(verifier: Verifier) -> None:
    """One after the other, as the interpreter runs them, the value is right."""
    source = _sum("tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x, axis=0))")
    verdict = judge(verifier, SUM, source)
    assert rules(verdict) == {"race"}
    assert verdict.findings[0].line == _line(source, "tl.store(out_ptr")


SHIFT = small("return x.roll(1)", "torch.randn(64)")


def _shifted(between: str) -> str:
    """A candidate for SHIFT that shifts a copy in place, `between` loading and storing."""
    return (
        f"{HEAD}@triton.jit\ndef shift_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
        "    lane = tl.arange(0, BLOCK)\n"
        "    tl.store(out_ptr + lane, tl.load(x_ptr + lane, mask=lane < n), mask=lane < n)\n"
        "    x = tl.load(out_ptr + lane, mask=lane < n)\n"
        f"    {between}\n"
        "    tl.store(out_ptr + (lane + 1) % n, x, mask=lane < n)\n\n\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n"
        "        out = torch.empty_like(x)\n"
        "        shift_kernel[(1,)](x, out, x.numel(), BLOCK=triton.next_power_of_2(x.numel()))\n        return out\n"
    )


def test_threads_that_overwrite_what_others_still_read_race(verifier: Verifier) -> None:
    source = _shifted("pass")
    verdict = judge(verifier, SHIFT, source)
    assert rules(verdict) == {"race"}
    assert verdict.findings[0].line == _line(source, "(lane + 1)")


@pytest.mark.parametrize("between", ["tl.debug_barrier()", "x += 0.0 * tl.sum(x, axis=0)"])
def test_threads_that_have_met_may_do_so(verifier: Verifier, between: str) -> None:
    verdict = judge(verifier, SHIFT, _shifted(between))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_programs_that_store_different_values_to_one_place_race(verifier: Verifier) -> None:
    source = double(
        kernel=KERNEL.replace("    mask =", "    tl.store(out_ptr, tl.program_id(0).to(tl.float32))\n    mask =")
    )
    assert rules(judge(verifier, DOUBLE, source)) == {"race"}


def test_programs_that_store_the_same_value_do_not_race(verifier: Verifier) -> None:
    shifted = KERNEL.replace(
        "tl.program_id(0) * BLOCK", "tl.minimum(tl.program_id(0) * BLOCK, tl.maximum(n - BLOCK, 0))"
    )
    verdict = judge(verifier, DOUBLE, double(kernel=shifted))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_in_place_update_by_one_program_an_element_is_no_race(verifier: Verifier) -> None:
    forward = FORWARD.replace("torch.empty_like(x)", "x.clone()").replace("(x, out,", "(out, out,")
    assert judge(verifier, DOUBLE, double(forward)).correct


def test_reading_what_another_program_writes_is_a_race(verifier: Verifier) -> None:
    neighbour = KERNEL.replace(
        "    mask = offsets < n\n",
        "    mask = offsets < n\n    y = tl.load(out_ptr + offsets + BLOCK, mask=offsets + BLOCK < n, other=0.0)\n",
    )
    assert "race" in rules(judge(verifier, DOUBLE, double(kernel=neighbour)))


def test_two_launches_are_ordered(verifier: Verifier) -> None:
    launch = "        double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)\n"
    forward = (
        "        out = torch.empty_like(x)\n"
        + launch
        + launch.replace("BLOCK=64", "BLOCK=128").replace(", 64)", ", 128)")
        + "        return out\n"
    )
    assert judge(verifier, DOUBLE, double(forward)).correct


@pytest.mark.parametrize("mask", ["offsets < n + 1", "offsets <= n", "offsets >= -1"])
def test_one_element_too_many_is_out_of_bounds(verifier: Verifier, mask: str) -> None:
    source = double(kernel=KERNEL.replace("offsets < n", mask))
    verdict = judge(verifier, DOUBLE, source)
    assert rules(verdict) == {"out-of-bounds"}
    assert "element" in verdict.findings[0].message and verdict.findings[0].line == _line(source, "tl.store")


def test_a_view_may_be_read_within_its_storage(verifier: Verifier) -> None:
    """A kernel that is given a slice and strides reads the storage around it, which is there."""
    task = small("return 2.0 * x", "torch.randn(64, 96)[:, ::2]")
    kernel = KERNEL.replace("x_ptr + offsets", "x_ptr + offsets // 48 * stride + offsets % 48 * step").replace(
        "n, BLOCK", "n, stride, step, BLOCK"
    )
    kernel = kernel.replace("% 48", "% cols").replace("// 48", "// cols").replace("n, stride", "n, cols, stride")
    forward = FORWARD.replace("empty_like(x)", "empty(x.shape, device=x.device)").replace(
        "x.numel(), BLOCK", "x.numel(), x.shape[1], x.stride(0), x.stride(1), BLOCK"
    )
    verdict = judge(verifier, task, double(forward, kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_memory_that_no_kernel_wrote_is_not_right_by_chance(verifier: Verifier) -> None:
    """`torch.empty` is filled with NaN, so that a forgotten element shows."""
    verdict = judge(verifier, DOUBLE, double(kernel=KERNEL.replace("offsets < n", "offsets < n - 1")))
    assert verdict.mismatch is not None and verdict.mismatch.got != verdict.mismatch.got


def _bytes(verdict: Verdict) -> int:
    assert verdict.correct and verdict.timing is not None and verdict.timing.bytes_moved is not None
    return verdict.timing.bytes_moved


def test_traffic_counts_each_byte_once_a_launch(verifier: Verifier) -> None:
    size = 64 * 48 * 4
    assert _bytes(judge(verifier, DOUBLE, double())) == 2 * size
    twice = KERNEL.replace(
        "2.0 * tl.load(x_ptr + offsets, mask=mask)",
        "tl.load(x_ptr + offsets, mask=mask) + tl.load(x_ptr + offsets, mask=mask)",
    )
    assert _bytes(judge(verifier, DOUBLE, double(kernel=twice))) == 2 * size


def test_a_second_pass_costs_traffic(verifier: Verifier) -> None:
    launch = FORWARD.splitlines()[1] + "\n"
    twice = judge(verifier, DOUBLE, double(FORWARD.replace(launch, launch + launch)))
    assert _bytes(twice) == 4 * 64 * 48 * 4
    assert twice.speedup is not None and twice.speedup.median < 0.8


def test_reading_fresh_memory_that_nothing_wrote_is_found(verifier: Verifier) -> None:
    """A maximum swallows NaN, so the value alone would be right."""
    reading = KERNEL.replace("    tl.store", "    old = tl.load(out_ptr + offsets, mask=mask)\n    tl.store").replace(
        "2.0 * tl.load(x_ptr + offsets, mask=mask)", "tl.where(old == 7.0, old, 2.0 * tl.load(x_ptr + offsets, mask))"
    )
    source = double(kernel=reading)
    verdict = judge(verifier, DOUBLE, source)
    assert rules(verdict) == {"uninitialised"}
    assert verdict.findings[0].line == _line(source, "old = tl.load")


@pytest.mark.parametrize(
    "start", ["zeros_like(x)", "empty_like(x).fill_(0)", "full_like(x, 0.0)", "empty_like(x).zero_()"]
)
def test_reading_fresh_memory_that_torch_wrote_is_fine(verifier: Verifier, start: str) -> None:
    adding = KERNEL.replace("2.0 * tl.load(x_ptr", "tl.load(out_ptr + offsets, mask=mask) + 2.0 * tl.load(x_ptr")
    verdict = judge(verifier, DOUBLE, double(FORWARD.replace("empty_like(x)", start), adding))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_reading_what_an_earlier_launch_wrote_is_fine(verifier: Verifier) -> None:
    launch = FORWARD.splitlines()[1]
    twice = f"        half = torch.empty_like(x)\n{launch.replace('(x, out', '(x, half')}\n"
    kernel = KERNEL.replace("2.0 * tl", "scale * tl").replace("n, BLOCK", "n, scale, BLOCK")
    forward = (FORWARD.replace(launch, twice + launch.replace("(x, out", "(half, out"))).replace(
        "x.numel(), BLOCK", "x.numel(), 2.0 ** 0.5, BLOCK"
    )
    verdict = judge(verifier, DOUBLE, double(forward, kernel))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_reading_the_part_that_torch_did_not_fill_is_found(verifier: Verifier) -> None:
    adding = KERNEL.replace("2.0 * tl.load(x_ptr", "tl.load(out_ptr + offsets, mask=mask) + 2.0 * tl.load(x_ptr")
    forward = FORWARD.replace("torch.empty_like(x)", "torch.empty_like(x)\n        out[:32].fill_(0.0)")
    assert rules(judge(verifier, DOUBLE, double(forward, adding))) == {"uninitialised"}


def test_atomic_addition_to_fresh_memory_is_found(verifier: Verifier) -> None:
    adding = _sum("tl.atomic_add(out_ptr, tl.sum(x, axis=0))", start="x.new_empty(1)")
    assert rules(judge(verifier, SUM, adding)) == {"uninitialised"}


def test_programs_hear_of_each_other_through_atomics_on_one_place() -> None:
    order, writers = Order(), np.array([0, 1, 2], np.int32)
    order.begin(0, 3)
    order.tell(64)  # what it does from now on, at its time 1, nobody has heard of
    order.begin(1, 3)
    assert order.apart(writers, 0).tolist() == [True, False, True]
    order.hear(64)
    assert order.apart(writers, 0).tolist() == [False, False, True]
    assert order.apart(writers, 1).tolist() == [True, False, True]
    order.tell(128)
    order.begin(2, 3)
    order.hear(128)
    assert order.apart(writers, 0).tolist() == [False, False, False]


def test_what_is_not_known_of_too_many_programs_is_no_race() -> None:
    order = Order()
    order.begin(0, 1 << 25)
    for place in range(2):
        order.tell(place)
    order.begin(1, 1 << 25)
    assert not order.apart(np.zeros(1, np.int32), 0).any()


class Memory:
    """Two floats under shadow, and a counter; programs of one launch use them one after the other."""

    def __init__(self) -> None:
        self.tensor, self.launches = torch.zeros(3), Launches()
        self.launch = Launch("k", (2,))
        self.shadow = Shadow(self.launches, self.launch, [("x", self.tensor)])

    def at(self, *places: int) -> tuple[np.ndarray, np.ndarray]:
        pointers = np.array([self.tensor.data_ptr() + 4 * place for place in places], np.uint64)
        return pointers, np.ones(len(places), bool)

    def rules(self) -> set[str]:
        return {str(one["rule"]) for one in self.launches.violations}


@pytest.mark.parametrize(("ticket", "races"), [("before", True), ("between", False)])
def test_of_two_readers_neither_is_forgotten_beside_an_atomic(ticket: str, races: bool) -> None:
    """A shift in place: a program reads its own place and the next one's, then writes its own."""
    memory = Memory()
    for program in (0, 1):
        memory.shadow.begin(program, 2)
        if ticket == "before":
            memory.shadow.atomic(*memory.at(2), 4)
        memory.shadow.load(*memory.at(*range(program, 2)), 4)
        if ticket == "between":
            memory.shadow.atomic(*memory.at(2), 4)
        memory.shadow.store(*memory.at(program), np.ones(1, np.float32), 4)
    assert ("race" in memory.rules()) is races


def test_bytes_that_are_read_again_after_a_store_count_once_beside_an_atomic() -> None:
    memory = Memory()
    memory.shadow.begin(0, 1)
    memory.shadow.atomic(*memory.at(2), 4)
    before = memory.launch.bytes_loaded
    for _ in range(3):
        memory.shadow.load(*memory.at(0), 4)
        memory.shadow.store(*memory.at(0), np.ones(1, np.float32), 4)
    assert memory.launch.bytes_loaded - before == 4


def test_of_many_readers_none_is_forgotten_beside_an_atomic() -> None:
    """Three programs read a place; the fourth has heard of the last two alone, and stores there."""
    memory = Memory()
    for program in range(3):
        memory.shadow.begin(program, 4)
        memory.shadow.atomic(*memory.at(1 if program == 0 else 2), 4)
        memory.shadow.load(*memory.at(0), 4)
        if program > 0:
            memory.shadow.atomic(*memory.at(2), 4)
    memory.shadow.begin(3, 4)
    memory.shadow.atomic(*memory.at(2), 4)
    memory.shadow.store(*memory.at(0), np.ones(1, np.float32), 4)
    assert memory.rules() == {"race"}


@pytest.mark.parametrize("ticket", [True, False])
def test_of_many_atomic_additions_none_is_forgotten_by_a_reader(ticket: bool) -> None:
    """Two programs add; if the first one takes no ticket, who takes the last one has not heard of it."""
    memory = Memory()
    for program in range(3):
        memory.shadow.begin(program, 3)
        if program < 2:
            memory.shadow.atomic(*memory.at(0), 4, hears=False, tells=False)
        if program > 0 or ticket:
            memory.shadow.atomic(*memory.at(2), 4)
    memory.shadow.load(*memory.at(0), 4)
    assert ("race" in memory.rules()) is not ticket


@pytest.mark.parametrize(
    ("set_by", "waited_by", "races"),
    [
        ({}, {}, False),
        ({"hears": False}, {"tells": False}, False),
        ({"tells": False}, {}, True),
        ({}, {"hears": False}, True),
        ({"narrow": True}, {}, True),
    ],
    ids=["both", "release, acquire", "acquire", "awaited by release", "of one block"],
)
@pytest.mark.parametrize("volatile", [True, False])
def test_an_atomic_orders_by_what_it_says(
    set_by: dict[str, bool], waited_by: dict[str, bool], races: bool, volatile: bool
) -> None:
    """A program stores and sets a flag; another one waits for the flag and reads, volatile or not."""
    memory = Memory()
    memory.shadow.begin(0, 2)
    memory.shadow.store(*memory.at(0), np.ones(1, np.float32), 4)
    memory.shadow.atomic(*memory.at(2), 4, **set_by)
    memory.shadow.begin(1, 2)
    memory.shadow.atomic(*memory.at(2), 4, **waited_by)
    memory.shadow.load(*memory.at(0), 4, volatile)
    assert ("race" in memory.rules()) is races


@pytest.mark.parametrize("tells", [True, False])
def test_a_volatile_load_hears_of_what_was_told_alone(tells: bool) -> None:
    """A program stores and sets a flag by an atomic; another one looks at a row of flags, which is no race."""
    memory = Memory()
    memory.shadow.begin(0, 2)
    memory.shadow.store(*memory.at(0), np.ones(1, np.float32), 4)
    memory.shadow.atomic(*memory.at(2), 4, tells=tells)
    memory.shadow.begin(1, 2)
    memory.shadow.load(*memory.at(1, 2), 4, volatile=True)
    assert memory.rules() == set()
    memory.shadow.load(*memory.at(0), 4)
    assert ("race" in memory.rules()) is not tells


def test_an_access_is_seen_in_all_its_bytes() -> None:
    """Two programs: one stores a float, the other reads the upper half of it as a half."""
    memory = Memory()
    pointers, lanes = memory.at(1)
    memory.shadow.begin(0, 2)
    memory.shadow.store(pointers, lanes, np.ones(1, np.float32), 4)
    memory.shadow.begin(1, 2)
    memory.shadow.load(pointers + np.uint64(4), lanes, 2)
    assert memory.rules() == set()
    memory.shadow.load(pointers + np.uint64(2), lanes, 2)
    assert memory.rules() == {"race"}


def test_half_of_a_float_that_nothing_has_written_is_found() -> None:
    memory = Memory()
    memory.launches.unwritten[memory.tensor.data_ptr()] = np.ones(12, bool)
    memory.shadow = Shadow(memory.launches, memory.launch, [("x", memory.tensor)])
    memory.shadow.begin(0, 1)
    memory.shadow.store(*memory.at(0), np.ones(1, np.float16), 2)
    memory.shadow.load(*memory.at(0), 2)
    assert memory.rules() == set()
    memory.shadow.load(*memory.at(0), 4)
    assert memory.rules() == {"uninitialised"}
