"""Descriptors that the hardware takes pass; of others it is said what is wrong."""

import pytest
import torch
from judging import DOUBLE, HEAD, judge

from tritonsmith.verify.launches.descriptors import fault, fault_of
from tritonsmith.verify.pool import Verifier


@pytest.mark.parametrize(
    ("base", "strides", "itemsize"),
    [(0, [4, 1], 4), (4096, [64, 8, 1], 2), (16, [1], 4), (32, [0, 1], 4), (0, [16, 1], 1)],
)
def test_multiples_of_16_bytes_fit(base: int, strides: list[int], itemsize: int) -> None:
    assert fault(base, strides, itemsize) is None


@pytest.mark.parametrize(
    ("base", "strides", "itemsize", "message"),
    [
        (4, [4, 1], 4, "the base of a tensor descriptor lies 4 bytes"),
        (0, [4, 1], 2, "stride 0 of a tensor descriptor is 8 bytes"),
        (0, [16, 3, 1], 4, "stride 1 of a tensor descriptor is 12 bytes"),
        (0, [4, 2], 4, "the last stride of a tensor descriptor is 2 elements"),
    ],
)
def test_what_does_not_fit_is_named(base: int, strides: list[int], itemsize: int, message: str) -> None:
    assert str(fault(base, strides, itemsize)).startswith(message)


def _by_descriptors(host: bool) -> str:
    """A candidate for DOUBLE with tensor descriptors, made by the host or in the kernel."""
    made = "" if host else "    {0} = tl.make_tensor_descriptor({0}, [M, N], [N, 1], [16, 16])\n"
    wrap = "TensorDescriptor.from_tensor({0}, [16, 16])" if host else "{0}"
    return (
        f"{HEAD}from triton.tools.tensor_descriptor import TensorDescriptor\n\n\n"
        "@triton.jit\ndef double_kernel(a, b, M, N):\n"
        f"{made.format('a')}{made.format('b')}"
        "    row, column = tl.program_id(0) * 16, tl.program_id(1) * 16\n"
        "    b.store([row, column], 2.0 * a.load([row, column]))\n\n\n"
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        out = torch.empty_like(x)\n"
        "        M, N = x.shape\n"
        "        triton.set_allocator(lambda size, align, stream: torch.empty(size, dtype=torch.int8))\n"
        f"        a, b = {wrap.format('x')}, {wrap.format('out')}\n"
        "        double_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, M, N)\n        return out\n"
    )


def test_a_tensors_rows_fit_where_they_are_16_bytes_apart() -> None:
    memory = torch.zeros(64, 64, dtype=torch.float16)
    assert fault_of(memory) is None and fault_of(memory.t()) is None and fault_of(torch.zeros(5)) is None
    assert "stride 0" in str(fault_of(torch.zeros(4, 4, dtype=torch.float16)))
    assert "stride 1" in str(fault_of(torch.zeros(4, 16, 3)))


@pytest.mark.parametrize("host", [True, False], ids=["host", "device"])
def test_tensor_descriptors_pass_where_rows_are_16_bytes_apart(verifier: Verifier, host: bool) -> None:
    square = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("64, 48", "64, 64")})
    verdict = judge(verifier, square, _by_descriptors(host))
    assert verdict.correct, (verdict.findings, verdict.mismatch)


@pytest.mark.parametrize(
    ("host", "rule", "line", "message"),
    [
        (True, "exception", 20, "strides must be 16-byte aligned"),
        (False, "descriptor", 11, "stride 0 of a tensor descriptor is 188 bytes"),
    ],
    ids=["host", "device"],
)
def test_tensor_descriptors_of_other_rows_are_found_in_the_kernel_or_its_launch(
    verifier: Verifier, host: bool, rule: str, line: int, message: str
) -> None:
    odd = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("64, 48", "64, 47")})
    verdict = judge(verifier, odd, _by_descriptors(host))
    finding = verdict.findings[0]
    assert (finding.rule, finding.line) == (rule, line)
    assert message in finding.message


def test_a_block_that_begins_within_16_bytes_is_found(verifier: Verifier) -> None:
    # An H200 answers it with an illegal instruction.
    square = DOUBLE.model_copy(update={"source": DOUBLE.source.replace("64, 48", "64, 64")})
    source = _by_descriptors(True).replace(
        "a.load([row, column])", "(a.load([row, column]) + 0 * a.load([row, column + 1]))"
    )
    finding = judge(verifier, square, source).findings[0]
    assert finding.line == 12 and "block offset start must be 16-byte aligned" in finding.message


def test_kernels_that_need_room_for_a_tile_are_tried_where_there_is_some(verifier: Verifier) -> None:
    verdict = judge(verifier, DOUBLE, _by_descriptors(False))  # rows of 3 elements at tiny sizes, of 48 at its own
    assert verdict.correct, (verdict.findings, verdict.mismatch)
