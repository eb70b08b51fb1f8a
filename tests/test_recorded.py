"""Programs that do what the first one did are done without Python, and those that may do otherwise are not."""

import inspect
import weakref
from collections.abc import Callable

import pytest
import torch
import triton.language as tl
from judging import DOUBLE, KERNEL, double, judge, rules, small
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

from tritonsmith.verify.interpreter import conversions, language, recorded
from tritonsmith.verify.pool import Verifier

PROGRAMS = 5
ran: list[int] = []
"""One for each time that a kernel's Python has run."""


def _launched(kernel: Callable[..., None], *args: object, programs: int = PROGRAMS) -> int:
    """Launch a kernel; gives how often its Python ran."""
    ran.clear()
    executor = interpreter.GridExecutor(kernel, list(inspect.signature(kernel).parameters), (programs,))
    executor.fn = recorded.Programs(kernel)
    executor(*args)
    return len(ran)


def _rows() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.arange(float(PROGRAMS * 8)).reshape(PROGRAMS, 8)
    return x, torch.empty_like(x)


def _double(x_ptr, out_ptr, n):  # type: ignore[no-untyped-def]
    ran.append(1)
    offsets = tl.program_id(0) * 8 + tl.arange(0, 8)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * 2.0, mask=offsets < n)


def test_the_first_programs_operations_are_done_again_for_the_others() -> None:
    x, out = _rows()
    assert _launched(_double, x, out, x.numel()) == 1
    assert torch.equal(out, x * 2)


def test_a_masked_last_program_stores_no_more_than_its_own() -> None:
    x, out = _rows()
    out.fill_(-1)
    assert _launched(_double, x, out, x.numel() - 3) == 1
    assert torch.equal(out.flatten()[:-3], x.flatten()[:-3] * 2) and bool((out.flatten()[-3:] == -1).all())


@pytest.mark.parametrize("programs", [1, 2])
def test_few_programs_are_run_as_ever(programs: int) -> None:
    x, out = _rows()
    assert _launched(_double, x, out, 8 * programs, programs=programs) == programs
    assert torch.equal(out[:programs], x[:programs] * 2)


def _repeated(x_ptr, out_ptr, n):  # type: ignore[no-untyped-def]
    ran.append(1)
    offsets = tl.program_id(0) * 8 + tl.arange(0, 8)
    total = tl.full((8,), 0.0, tl.float32)
    for step in range(n):
        if step % 2 == 0:
            total += tl.load(x_ptr + offsets) * step
    tl.store(out_ptr + offsets, total)


def test_loops_and_branches_that_are_the_same_for_all_are_recorded() -> None:
    x, out = _rows()
    assert _launched(_repeated, x, out, 5) == 1
    assert torch.equal(out, x * 6)


def _longer(x_ptr, out_ptr):  # type: ignore[no-untyped-def]
    ran.append(1)
    offsets = tl.program_id(0) * 8 + tl.arange(0, 8)
    total = tl.full((8,), 0.0, tl.float32)
    for _ in range(tl.program_id(0)):
        total += tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, total)


def _chosen(x_ptr, out_ptr):  # type: ignore[no-untyped-def]
    ran.append(1)
    offsets = tl.program_id(0) * 8 + tl.arange(0, 8)
    x = tl.load(x_ptr + offsets)
    if tl.program_id(0) > 2:
        x = x * tl.program_id(0)
    tl.store(out_ptr + offsets, x)


def _told(x_ptr, out_ptr):  # type: ignore[no-untyped-def]
    ran.append(1)
    row = tl.program_id(0)
    offsets = row * 8 + tl.arange(0, 8)
    if tl.load(x_ptr + row * 8) > 9.0:
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))
    else:
        tl.store(out_ptr + offsets, tl.full((8,), 0.0, tl.float32))


@pytest.mark.parametrize("kernel", [_longer, _chosen, _told])
def test_ways_that_depend_on_the_program_or_on_memory_are_gone_one_by_one(kernel: Callable[..., None]) -> None:
    x, out = _rows()
    rows = torch.arange(float(PROGRAMS))[:, None]
    wanted = {_longer: x * rows, _chosen: torch.where(rows > 2, x * rows, x), _told: torch.where(x[:, :1] > 9, x, 0)}
    assert _launched(kernel, x, out) == PROGRAMS
    assert torch.equal(out, wanted[kernel])


def _singly(x_ptr, out_ptr, n):  # type: ignore[no-untyped-def]
    ran.append(1)
    for place in range(8):
        offset = tl.program_id(0) * 8 + place
        tl.store(out_ptr + offset, tl.load(x_ptr + offset, mask=offset < n, other=0.0) * 2.0, mask=offset < n)


def test_single_elements_that_are_masked_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_load_legacy", "_store_legacy"):
        monkeypatch.setattr(TritonSemantic, name, language._unasked(getattr(TritonSemantic, name)))
    x, out = _rows()
    out.fill_(-1)
    assert _launched(_singly, x, out, x.numel() - 3) == 1
    assert torch.equal(out.flatten()[:-3], x.flatten()[:-3] * 2) and bool((out.flatten()[-3:] == -1).all())


def _transposed(x_ptr, out_ptr):  # type: ignore[no-untyped-def]
    ran.append(1)
    rows, columns = tl.arange(0, 2)[:, None], tl.arange(0, 4)[None, :]
    x = tl.load(x_ptr + tl.program_id(0) * 8 + rows * 4 + columns)
    tl.store(out_ptr + tl.program_id(0) * 8 + tl.arange(0, 4)[:, None] * 2 + tl.arange(0, 2)[None, :], x.T)


def test_what_reads_values_beside_the_builder_is_run_as_ever() -> None:
    x, out = _rows()
    assert _launched(_transposed, x, out) == PROGRAMS
    assert torch.equal(out.reshape(-1, 4, 2), x.reshape(-1, 2, 4).transpose(1, 2))


def _raised(x_ptr, out_ptr, n):  # type: ignore[no-untyped-def]
    ran.append(1)
    tl.assume(tl.program_id(0) < n)
    _double(x_ptr, out_ptr, 40)


def test_what_fails_in_a_later_program_fails() -> None:
    x, out = _rows()
    with pytest.raises(interpreter.InterpreterError, match="Assume failed"):
        _launched(_raised, x, out, 3)
    assert torch.equal(out[:3], x[:3] * 2)
    assert len(ran) == 3  # `_raised` and `_double` of the first; of the one that fails its own lines, to say where


def _halved(out_ptr, n):  # type: ignore[no-untyped-def]
    ran.append(1)
    more, half = n + 1, n >> 1
    tl.store(out_ptr + tl.program_id(0), more)
    tl.store(out_ptr + 5 + tl.program_id(0), half + tl.program_id(0))


def test_a_shift_leaves_a_number_of_the_launch_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's interpreter gave it 32 bits, and turned it negative for the programs that come later."""
    patched = [(interpreter, "_implicit_cvt"), (interpreter.ReduceScanOpInterface, "to_tensor")]
    builder = interpreter.InterpreterBuilder
    for owner, name in [*patched, (builder, "cast_impl"), (builder, "create_ashr")]:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    conversions.install()
    out = torch.zeros(10, dtype=torch.int64)
    assert _launched(_halved, out, 3_000_000_000) == 1
    assert out.tolist() == [3_000_000_001] * 5 + [1_500_000_000 + program for program in range(5)]


def _viewed(x_ptr, out_ptr):  # type: ignore[no-untyped-def]
    ran.append(1)
    lanes = tl.arange(0, 8)
    offsets = tl.program_id(0) * 8 + lanes
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + lanes.to(tl.float32, bitcast=True))


def test_what_would_keep_too_much_is_run_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view keeps all of what it looks at."""
    x, out = _rows()
    assert _launched(_viewed, x, out) == 1
    monkeypatch.setattr(recorded, "_BYTES", 16)
    assert _launched(_viewed, x, out) == PROGRAMS


def test_an_operation_as_a_whole_keeps_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[object]] = []
    most: list[int] = []

    def doubled(x: tl.tensor) -> tl.tensor:
        most.append(sum(one() is not None for one in made))
        data = x.handle.data * 2  # type: ignore[attr-defined]
        made.append(weakref.ref(data))
        return tl.tensor(interpreter.TensorHandle(data, x.dtype), x.type)

    monkeypatch.setitem(globals(), "whole", recorded.whole("doubled", doubled))
    x, out = _rows()
    assert _launched(_whole, x, out) == 1
    assert torch.equal(out, x * 2) and len(most) == PROGRAMS and max(most) <= 1


def _whole(x_ptr, out_ptr):  # type: ignore[no-untyped-def]
    ran.append(1)
    offsets = tl.program_id(0) * 8 + tl.arange(0, 8)
    tl.store(out_ptr + offsets, whole(tl.load(x_ptr + offsets)))  # noqa: F821


MANY = small("return x * 2.0", "torch.randn(640)")


def test_an_access_outside_in_a_later_program_has_its_line(verifier: Verifier) -> None:
    """The first programs stay inside; the interpreter does not go through the last one's source."""
    source = double(kernel=KERNEL.replace("mask=mask", "mask=offsets < n + 1"))
    verdict = judge(verifier, MANY, source)
    assert rules(verdict) == {"out-of-bounds"}
    line = verdict.findings[0].line
    assert line is not None and "tl.load" in source.splitlines()[line - 1]


def test_reductions_and_libdevice_are_recorded_as_wholes(verifier: Verifier) -> None:
    """Both compute on values beside the builder."""
    kernel = KERNEL.replace("2.0 * tl.load(x_ptr + offsets, mask=mask)", "doubled(x_ptr, offsets, mask)")
    kernel = (
        "@triton.jit\ndef doubled(x_ptr, offsets, mask):\n"
        "    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)\n"
        "    return libdevice.log1p(libdevice.expm1(2.0 * x)) + 0.0 * tl.max(x, axis=0)\n\n\n" + kernel
    )
    source = double(kernel=kernel).replace(
        "import triton.language as tl", "import triton.language as tl\nfrom triton.language.extra import libdevice", 1
    )
    verdict = judge(verifier, DOUBLE, source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)
