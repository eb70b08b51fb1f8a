"""Theoretical occupancy: each of the four limits, and what is not known."""

import pytest

from tritonsmith.verify.launches.occupancy import MULTIPROCESSORS, occupancy


@pytest.mark.parametrize(
    ("target", "registers", "shared", "warps", "share"),
    [
        ("sm_90", 32, 0, 4, 1.0),
        ("sm_90", 255, 0, 4, 8 / 64),  # registers: 2 warps in each of 4 files of 16,384
        ("sm_90", 33, 0, 4, 48 / 64),  # rounded up to 1,280 a warp
        ("sm_80", 168, 0, 8, 8 / 64),  # registers: 12 warps, but a block has 8
        ("sm_90", 32, 100 << 10, 8, 16 / 64),  # shared memory: two blocks of 101 KiB in 228
        ("sm_80", 32, 100 << 10, 8, 8 / 64),  # one in 164
        ("sm_90", 32, 0, 1, 32 / 64),  # 32 blocks at most
        ("sm_89", 32, 0, 1, 24 / 48),
        ("sm_86", 32, 0, 4, 1.0),
    ],
)
def test_the_scarcest_resource_decides(target: str, registers: int, shared: int, warps: int, share: float) -> None:
    assert occupancy(target, registers, shared, warps) == share


def test_a_block_that_does_not_fit_has_none() -> None:
    assert occupancy("sm_80", 32, 200 << 10, 4) == 0.0


@pytest.mark.parametrize("given", [("gfx942", 32, 0, 4), ("sm_90", None, 0, 4), ("sm_90", 32, 0, None)])
def test_what_is_not_known_is_none(given: tuple[str, int | None, int, int | None]) -> None:
    assert occupancy(*given) is None


@pytest.mark.parametrize("target", MULTIPROCESSORS)
def test_it_is_a_share(target: str) -> None:
    for warps in (1, 2, 4, 8, 16, 32):
        for registers in (0, 16, 64, 128, 255):
            share = occupancy(target, registers, 1000, warps)
            assert share is not None and 0.0 <= share <= 1.0
