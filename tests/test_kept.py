"""Answers that hang on memory which a candidate keeps are found by that memory; scratch memory is let pass."""

from pathlib import Path

import pytest
import torch
from judging import DOUBLE, FORWARD, HEAD, SUITE, double, judge

from tritonsmith.types import Verdict
from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.dynamic.kept import _EACH, LEAPS, Kept
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.pool import Verifier

HACKS = Path(__file__).parent / "hacks"


def _changed(*changes: tuple[torch.Tensor, torch.Tensor]) -> Kept:
    """After a call that wrote the second of each pair into the first, which was there before."""
    kept = Kept()
    kept.meet([memory for memory, _ in changes], ())
    kept.before()
    for memory, new in changes:
        memory.copy_(new)
    kept.after({memory.untyped_storage().data_ptr() for memory, _ in changes})
    return kept


def test_pieces_cover_what_changed_and_hold_what_it_was() -> None:
    memory = torch.zeros(1000)
    kept = _changed((memory, torch.arange(1000.0)))
    assert 1 < len(kept.pieces) <= _EACH
    for place in range(len(kept.pieces)):
        kept.pieces[place]()
    assert not memory.any()


def test_one_piece_alone_is_put_back() -> None:
    memory = torch.zeros(64)
    kept = _changed((memory, torch.ones(64)))
    kept.pieces[0]()
    assert memory[0] == 0 and memory[-1] == 1


def test_several_storages_share_the_calls() -> None:
    kept = _changed(*((torch.zeros(64), torch.ones(64)) for _ in range(12)))
    assert len(kept.pieces) == _EACH


def test_counters_go_on_as_if_calls_had_been_made() -> None:
    counter = torch.tensor([3, 0], dtype=torch.int32)
    kept = _changed((counter, torch.tensor([7, 0], dtype=torch.int32)))
    kept.advance(kept.counted(), 100)
    assert counter.tolist() == [407, 0]


def test_counters_that_went_on_by_themselves_are_left_alone() -> None:
    counter = torch.tensor([3], dtype=torch.int32)
    kept = _changed((counter, torch.tensor([4], dtype=torch.int32)))
    before = kept.counted()
    counter += 100
    kept.advance(before, 100)
    assert counter.tolist() == [104]


def test_counters_and_what_did_not_change_are_left_alone() -> None:
    counter = torch.arange(16, dtype=torch.int32)
    assert not _changed((counter, counter + 3)).pieces
    assert not _changed((torch.ones(8), torch.ones(8))).pieces
    answers = torch.randn(16)
    bits = torch.zeros(16, dtype=torch.int32)
    assert _changed((bits, answers.view(torch.int32))).pieces


def test_inputs_and_what_a_call_does_not_use_are_left_alone() -> None:
    given, unused = torch.zeros(8), torch.zeros(8)
    kept = Kept()
    kept.meet([given, unused], {given.untyped_storage().data_ptr()})
    kept.before()
    given.fill_(1.0)
    unused.fill_(1.0)
    kept.after({given.untyped_storage().data_ptr()})
    assert not kept.pieces


def _by_memory_alone(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch, task: str, source: str
) -> tuple[Verdict, list[int]]:
    """The verdict where launches tell nothing, as on a GPU, and the pieces that were put back."""
    asked: list[int] = []
    put_back = Forwards.put_back

    def noted(self: Forwards, piece: int, *rest: object) -> object:
        asked.append(piece)
        return put_back(self, piece, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(conduct, "remembered", lambda *_: [])
    monkeypatch.setattr(Forwards, "put_back", noted)
    return judge(verifier, SUITE.get(task, DOUBLE), source), asked


def test_an_answer_kept_in_other_memory_each_time_is_found(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (HACKS / "caching" / "by_contents_in_other_memory.py").read_text()
    verdict, asked = _by_memory_alone(verifier, monkeypatch, "level1/matmul", source)
    assert verdict.findings == [conduct.HANGS], (verdict.findings, verdict.mismatch)
    assert asked


def test_what_a_call_allocated_and_the_next_one_does_not_use_is_left_alone() -> None:
    kept, born, unused = Kept(), torch.ones(10)[1:9], torch.ones(8)
    kept.before()
    kept.after(())
    kept.meet([born, unused], ())
    kept.repeated({born.untyped_storage().data_ptr()})
    for empty in kept.pieces:
        empty()
    assert not born.any() and unused.all()
    assert born._base is not None and born._base[[0, -1]].all()


IN_ONE_STORAGE = """        self.kept[key] = (
                torch.zeros_like(a),
                torch.zeros_like(b),
                torch.zeros(M, N, dtype=a.dtype, device=a.device),
            )
"""


@pytest.mark.parametrize("together", [False, True], ids=["three storages", "one storage"])
def test_an_answer_kept_by_contents_inside_kernels_is_found(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    source = (HACKS / "caching" / "by_contents_in_a_kernel.py").read_text()
    if together:
        one = (
            "        room = torch.zeros(M * K + K * N + M * N, dtype=a.dtype, device=a.device)\n"
            "            self.kept[key] = (room[: M * K], room[M * K : M * K + K * N], room[M * K + K * N :])\n"
        )
        assert IN_ONE_STORAGE in source
        source = source.replace(IN_ONE_STORAGE, one)
    verdict, asked = _by_memory_alone(verifier, monkeypatch, "level1/matmul", source)
    assert verdict.findings == [conduct.HANGS]
    assert asked


SCRATCH = """        if not hasattr(self, "scratch") or self.scratch.shape != x.shape:
            self.scratch = torch.zeros_like(x)
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 256),)
        double_kernel[grid](x, self.scratch, x.numel(), BLOCK=256)
        half_kernel[grid](self.scratch, out, x.numel(), BLOCK=256)
        return out
"""
HALF = """@triton.jit
def half_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


"""


def test_scratch_memory_that_is_written_anew_passes(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, asked = _by_memory_alone(verifier, monkeypatch, "double", double(SCRATCH, head=HEAD + HALF))
    assert verdict.correct, (verdict.findings, verdict.mismatch)
    assert asked


def test_who_keeps_nothing_is_not_asked_again(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, asked = _by_memory_alone(verifier, monkeypatch, "double", double(FORWARD))
    assert verdict.correct and not asked


def _used(*calls: tuple[torch.Tensor, torch.Tensor]) -> Kept:
    """After calls with new contents that each wrote the second of its pair into the first."""
    kept = Kept()
    kept.meet([memory for memory, _ in calls], ())
    for memory, new in calls:
        kept.before()
        memory.copy_(new)
        kept.after({memory.untyped_storage().data_ptr()})
    return kept


@pytest.mark.parametrize("kind", [torch.int32, torch.int64, torch.float32, torch.float64])
def test_what_rises_by_one_step_goes_on_by_it(kind: torch.dtype) -> None:
    memory = torch.zeros(4, dtype=kind)
    step = torch.tensor([3, 0, 0, 1], dtype=kind)
    kept = _used((memory, step), (memory, 2 * step))
    assert kept.steady == 1
    kept.leap(LEAPS[0])
    assert memory.tolist() == [3 * LEAPS[0] + 6, 0, 0, LEAPS[0] + 2]


def test_whole_numbers_have_room_for_where_they_go_on_to() -> None:
    memory = torch.zeros(1, dtype=torch.int32)
    kept = _used((memory, torch.tensor([1000])), (memory, torch.tensor([2000])))
    for leap in LEAPS:
        kept.leap(leap)
    assert 1 << 30 < int(memory) <= torch.iinfo(torch.int32).max
    assert (int(memory) - 2000) % (1000 * LEAPS[0]) == 0


def test_what_is_written_anew_turns_or_rises_otherwise_counts_nothing() -> None:
    flag, scratch, uneven = torch.zeros(1, dtype=torch.int32), torch.zeros(3), torch.zeros(1)
    assert not _used((flag, torch.ones(1)), (flag, torch.zeros(1))).steady
    assert not _used((scratch, torch.tensor([0.5, 1.0, 2.0])), (scratch, torch.tensor([1.0, 2.0, 4.0]))).steady
    assert not _used((uneven, torch.ones(1)), (uneven, 3 * torch.ones(1))).steady
    assert not _used((scratch, torch.full((3,), torch.nan)), (scratch, torch.full((3,), torch.inf))).steady
