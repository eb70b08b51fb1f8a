"""Which arguments a kernel reads and writes, from its IR."""

import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import ASTSource

from tritonsmith.verify.launches.pointers import Uses, uses


@triton.jit
def _gather_in_a_loop(x, index, out, total, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    source = x + tl.load(index + offsets, mask=inside, other=0)
    target = out + offsets
    result = tl.zeros((BLOCK,), tl.float32)
    for _ in range(0, n, BLOCK):
        result += tl.load(source, mask=inside)
        tl.store(target, result, mask=inside)
        source += 4
        target += BLOCK
    tl.atomic_add(total, tl.sum(result))


@triton.jit
def _unused(x, decoy, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets))


@triton.jit
def _either(x, a, b, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    if n > 3:  # noqa: SIM108
        target = a
    else:
        target = b
    tl.store(target + offsets, tl.load(x + offsets))


@triton.jit
def _last_of_all(x, y, out, ticket, n, BLOCK: tl.constexpr):
    result = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        result += tl.load(x + offsets) * tl.load(y + offsets)
    if tl.atomic_add(ticket, 1) == tl.num_programs(0) - 1:
        offsets = tl.arange(0, BLOCK) * 2
        tl.store(out + offsets, result)


@triton.jit
def _in_turns(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    this, other, turn = x, y, 0
    while turn < n:
        tl.store(out + turn * BLOCK + offsets, tl.load(this + offsets))
        this, other = other, this
        turn += 1


@triton.jit
def _by_a_branch(x, out, dummy, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    target = out
    if n > 3:
        if n > 7:
            return
        target = out + n
    target = target if n > 1 else dummy
    tl.store(target + offsets, tl.load(x + offsets))


@triton.jit
def _described_in_a_loop(x, y, out, n, m, BLOCK: tl.constexpr):
    rows, other = tl.make_tensor_descriptor(x, [n, m], [m, 1], [16, BLOCK]), x
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(n):
        total += tl.sum(rows.load([0, 0]), axis=0)
        rows, other = tl.make_tensor_descriptor(other, [n, m], [m, 1], [16, BLOCK]), y
    tl.store(out + tl.arange(0, BLOCK), total)


@triton.jit
def _described(x, bias, out, n, m, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, shape=[n, m], strides=[m, 1], block_shape=[16, BLOCK])
    flat = tl.make_tensor_descriptor(bias, shape=[m], strides=[1], block_shape=[BLOCK])
    tl.store(out + tl.arange(0, BLOCK), tl.sum(rows.load([0, 0]), axis=0) + flat.load([0]))


def _uses(kernel, names: list[str], lines: bool = True) -> Uses:
    signature = dict.fromkeys(names, "*fp32") | {"index": "*i64", "n": "i32", "m": "i32", "BLOCK": "constexpr"}
    signature = {name: signature[name] for name in kernel.arg_names}
    place = (kernel.arg_names.index("BLOCK"),)
    with knobs.compilation.scope():
        knobs.compilation.disable_line_info = not lines
        compiled = triton.compile(ASTSource(kernel, signature, {place: 128}), target=GPUTarget("cuda", 90, 32))
    return uses(compiled.asm["ttir"])


def test_follows_pointers_through_loops_and_not_through_loaded_offsets() -> None:
    found = _uses(_gather_in_a_loop, ["x", "out", "total"])
    assert found == Uses((0, 1, 2, 3), frozenset({0, 1, 3}), frozenset({2, 3}))


def test_argument_that_is_not_used_is_not_written() -> None:
    assert _uses(_unused, ["x", "decoy", "out"]) == Uses((0, 1, 2), frozenset({0}), frozenset({2}))


def test_pointer_out_of_a_branch_is_one_of_the_two() -> None:
    assert _uses(_either, ["x", "a", "b"]) == Uses((0, 1, 2), frozenset({0}), frozenset({1, 2}))


@pytest.mark.parametrize("lines", [True, False])
def test_values_of_one_name_in_two_regions_are_two(lines: bool) -> None:
    """Without debug information a loop's `%10` and that of the branch behind it were taken for one."""
    found = _uses(_last_of_all, ["x", "y", "out", "ticket"], lines)
    assert found == Uses((0, 1, 2, 3), frozenset({0, 1, 3}), frozenset({2, 3}))


def test_follows_pointers_that_change_places_in_a_loop() -> None:
    assert _uses(_in_turns, ["x", "y", "out"]) == Uses((0, 1, 2), frozenset({0, 1}), frozenset({2}))


def test_text_that_is_no_ir_has_no_pointers() -> None:
    assert uses("nothing") == Uses((), frozenset(), frozenset())


def test_a_descriptor_with_strides_that_the_kernel_makes_is_told() -> None:
    assert _uses(_described, ["x", "bias", "out"]).described == {0}


def test_a_pointer_that_comes_by_a_branch_may_be_any() -> None:
    """The block that an early return goes around to is given it."""
    assert {1, 2} <= _uses(_by_a_branch, ["x", "out", "dummy"]).written


def test_a_descriptor_of_a_pointer_that_a_loop_carries_is_told() -> None:
    assert _uses(_described_in_a_loop, ["x", "y", "out"]).described == {0, 1}
