"""Calls whose launches are noted and not run: what changes with their number is told, what honest ones do is not."""

from collections.abc import Callable
from types import SimpleNamespace

import pytest
import torch

from tritonsmith.verify.dynamic import unrun
from tritonsmith.verify.dynamic.unrun import MOST, Notes, names, often


def _kernel(x_ptr: object, out_ptr: object, n: int, block: int = 64) -> None:
    """Stands for a Triton function."""


_FUNCTION = SimpleNamespace(fn=_kernel, arg_names=["x_ptr", "out_ptr", "n", "block"], __name__="kernel")
_X = torch.zeros(4, 8)

Launch = Callable[..., None]


def _often(forward: Callable[[Launch], object]) -> tuple[int, str]:
    """Many calls of a forward, which is given what launches the kernel."""
    notes = Notes(names([_X], {}))

    def launch(*args: object, grid: object = (1,), **named: object) -> None:
        notes.launched(_FUNCTION, args, grid, named)

    return often(lambda: forward(launch), notes)


@pytest.fixture(autouse=True)
def _enough_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrun, "_EACH", 1.0)


def _copied(launch: Launch, source: torch.Tensor, grid: object = (1,), n: int = 32) -> torch.Tensor:
    out = torch.empty_like(_X)
    launch(source, out, n, grid=grid)
    return out


def test_equal_calls_are_all_made() -> None:
    assert _often(lambda launch: _copied(launch, _X)) == (MOST, "")


def test_other_memory_at_the_thousandth_call_is_told() -> None:
    seen, last = [], torch.zeros(4, 8)

    def forward(launch: Launch) -> torch.Tensor:
        seen.append(True)
        return _copied(launch, _X if len(seen) < 1000 else last)

    assert _often(forward) == (1000, "launches its kernels on other memory")


def test_one_call_alone_is_told() -> None:
    seen = []

    def forward(launch: Launch) -> torch.Tensor:
        seen.append(True)
        return _copied(launch, _X, grid=(1 if len(seen) == 700 else 2,))

    assert _often(forward) == (700, "launches other kernels, or with other grids")


def test_a_copy_left_out_is_told() -> None:
    seen, last = [], _X.clone()

    def forward(launch: Launch) -> torch.Tensor:
        seen.append(True)
        copy = _X.clone() if len(seen) < 500 else last
        return _copied(launch, copy)

    assert _often(forward)[0] == 500


def test_an_output_used_again_is_told() -> None:
    ring: list[torch.Tensor] = []

    def forward(launch: Launch) -> torch.Tensor:
        if len(ring) < 300:
            ring.append(torch.empty_like(_X))
        elif ring[-1] is not ring[0]:
            ring.append(ring[0])
        launch(_X, ring[-1], 32)
        return ring[-1]

    assert _often(forward) == (301, "gives memory from elsewhere")


def test_scratch_in_turns_allocated_late_is_let_pass() -> None:
    ring: list[torch.Tensor | None] = [None] * 8
    turn = [0]

    def forward(launch: Launch) -> torch.Tensor:
        turn[0] += 1
        scratch = ring[turn[0] % 8]
        if scratch is None:
            scratch = ring[turn[0] % 8] = torch.zeros(4, 8)
        launch(_X, scratch, 32)
        return _copied(launch, scratch)

    assert _often(forward) == (MOST, "")


def test_numbers_of_the_calls_are_let_pass_and_one_that_changes_late_is_not() -> None:
    calls = [0]

    def counting(launch: Launch) -> torch.Tensor:
        calls[0] += 1
        return _copied(launch, _X, n=calls[0])

    def changing(launch: Launch) -> torch.Tensor:
        calls[0] += 1
        return _copied(launch, _X, n=32 if calls[0] < 400 else 0)

    assert _often(counting) == (MOST, "")
    calls[0] = 0
    assert _often(changing) == (400, "launches its kernels with other arguments")


def test_addresses_of_what_a_call_makes_are_no_numbers() -> None:
    held: list[torch.Tensor] = []

    def forward(launch: Launch) -> torch.Tensor:
        out = torch.empty_like(_X)
        held.append(out)
        launch(_X, out.data_ptr(), 32)
        return out

    assert _often(forward) == (MOST, "")


def test_grids_are_functions_of_all_arguments() -> None:
    def forward(launch: Launch) -> torch.Tensor:
        return _copied(launch, _X, grid=lambda named: (named["n"] // named["block"] + 1,))

    assert _often(forward) == (MOST, "")


def test_no_time_makes_few_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unrun, "_EACH", 0.0)
    monkeypatch.setattr(unrun, "_SHARE", 0.0)
    assert _often(lambda launch: _copied(launch, _X)) == (24, "")


def test_time_in_operators_takes_no_calls_away(monkeypatch: pytest.MonkeyPatch) -> None:
    spent, ran = [0.0], Notes._ran

    def slowly(self: Notes, *args: object) -> None:  # a second of a clock that nothing else moves
        spent[0] += 1.0
        ran(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(unrun, "_EACH", 1e-3)
    monkeypatch.setattr(unrun, "time", SimpleNamespace(process_time=lambda: spent[0]))
    monkeypatch.setattr(Notes, "_ran", slowly)
    assert _often(lambda launch: _copied(launch, _X)) == (MOST, "")
    assert spent[0] >= MOST


def test_what_shows_once_numbers_have_risen_is_told() -> None:
    calls = SimpleNamespace(count=0)
    notes = Notes(names([_X], {}))

    def forward() -> torch.Tensor:
        calls.count += 1
        out = torch.empty_like(_X)
        notes.launched(_FUNCTION, (_X, out, 32), (1 if calls.count < 1000 else 2,), {})
        return out

    assert unrun.much_later(forward, notes, lambda: None) == ""
    assert "grids" in unrun.much_later(forward, notes, lambda: setattr(calls, "count", 5000))


def test_memory_without_data_is_told_apart() -> None:
    one, other = torch.empty(4, device="meta"), torch.empty(4, device="meta")
    assert unrun.address(one) != unrun.address(other)
    assert unrun.address(one) == unrun.address(one.view(2, 2))
