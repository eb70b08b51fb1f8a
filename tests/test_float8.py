"""8-bit floats, with which torch computes nothing: drawn, changed, compared and carried all the same."""

import math

import numpy as np
import pytest
import torch
import triton.language as tl
from torch import nn

from tritonsmith.tasks.format import TaskModule
from tritonsmith.tasks.trees import FLOAT8, check_kinds, finite, held, wide
from tritonsmith.tasks.values import Values, redistribute, scaled
from tritonsmith.tasks.variants import Variant, adapt
from tritonsmith.types import Task
from tritonsmith.verify.dynamic.work import rearranges, resembles
from tritonsmith.verify.interpreter.float8 import FORMATS, bits, numbers
from tritonsmith.verify.numerics import Truth, compare
from tritonsmith.verify.process import wire
from tritonsmith.verify.process.loading import in_precision
from tritonsmith.verify.reference.given import Fails
from tritonsmith.verify.reference.material import Supply

SIGNED = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz]
each_kind = pytest.mark.parametrize("kind", SIGNED, ids=str)
IN_TRITON = [(torch.float8_e5m2, tl.float8e5), (torch.float8_e4m3fn, tl.float8e4nv)]


def _drawn(kind: torch.dtype, *shape: int) -> torch.Tensor:
    return torch.randn(shape or (64, 48), generator=torch.Generator().manual_seed(0)).to(kind)


def _truth(exact: torch.Tensor, kind: torch.dtype) -> Truth:
    return Truth(exact.double().to(kind), exact.to(kind))


@each_kind
@pytest.mark.parametrize("values", ["negative", "large", "sparse", "small", "signed", "rising"])
def test_other_values_are_of_the_same_type_and_finite(kind: torch.dtype, values: Values) -> None:
    given = _drawn(kind)
    other = redistribute(given, values)
    assert other.dtype == kind and other.shape == given.shape and finite([given, other])
    if values == "large":
        most = float(wide(other).abs().max())
        assert min(torch.finfo(kind).max / 2, 100) <= most <= torch.finfo(kind).max


@each_kind
def test_twice_as_large_values_are_held(kind: torch.dtype) -> None:
    small, largest = _drawn(kind), torch.full((4,), torch.finfo(kind).max).to(kind)
    assert torch.equal(wide(scaled(small, 2.0)), 2 * wide(small))
    assert finite(scaled(largest, 2.0)) and torch.equal(wide(scaled(largest, -2.0)), -wide(largest))


@pytest.mark.parametrize("kind", sorted(FLOAT8, key=str), ids=str)
def test_every_type_travels(kind: torch.dtype) -> None:
    given = torch.arange(8).float().reshape(2, 4).exp2().to(kind)
    _, found = wire.decode(b"".join(wire.encode({}, [given, given.t()])))
    assert isinstance(found, list)
    for one, other in zip([given, given.t()], found, strict=True):
        assert isinstance(other, torch.Tensor) and other.dtype == kind and other.stride() == one.stride()
        assert torch.equal(one.float(), other.float())


def test_bytes_that_are_no_tensor_of_their_form_are_refused() -> None:
    raw = {"0": torch.zeros(5, dtype=torch.uint8)}
    for dtype, shape in (("complex128", [1]), ("float8_e8m0fnu", [7]), ("float32", [1]), ("complex128", "1")):
        with pytest.raises(wire.WireError):
            wire.unpack({"tensor": "0", "stride": [1], "dtype": dtype, "shape": shape}, raw)


@pytest.mark.parametrize(("kind", "other"), IN_TRITON)
def test_the_interpreter_reads_and_writes_what_torch_does(kind: torch.dtype, other: tl.dtype) -> None:
    raw = torch.arange(256).to(torch.uint8)
    found = numbers(raw.numpy(), FORMATS[other])
    assert np.array_equal(found, raw.view(kind).float().numpy(), equal_nan=True)
    values = torch.randn(1 << 12, generator=torch.Generator().manual_seed(0)) * 32
    assert np.array_equal(bits(values.numpy(), FORMATS[other]), values.to(kind).view(torch.uint8).numpy())


@each_kind
def test_the_nearest_passes_and_one_cut_off_does_not(kind: torch.dtype) -> None:
    exact = torch.randn(64, 48, generator=torch.Generator().manual_seed(1)) * 8
    truth = _truth(exact, kind)
    assert compare(truth, exact.to(kind), "as given") is None
    assert compare(truth, (exact * (1 + 1e-6)).to(kind), "as given") is None
    cut = 23 - (3 if "e4m3" in str(kind) else 2)
    low = (exact.view(torch.int32) & -(1 << cut)).view(torch.float32).to(kind)
    mismatch = compare(truth, low, "as given")
    assert mismatch is not None and "not rounded to nearest" in mismatch.message


@each_kind
def test_one_value_two_steps_away_is_found(kind: torch.dtype) -> None:
    exact = torch.randn(64, 48, generator=torch.Generator().manual_seed(1)) * 8
    got = exact.to(kind)
    exact[3, 5] = got[3, 5] = 8.0
    got[3, 5] = 12.0
    mismatch = compare(_truth(exact, kind), got, "as given")
    assert mismatch is not None and (mismatch.index, mismatch.expected, mismatch.got) == ([3, 5], 8.0, 12.0)


def test_either_of_two_equally_near_numbers_is_right_where_precisions_differ() -> None:
    exact, native = torch.full((64,), 8.5001), torch.full((64,), 8.0)
    truth = Truth(exact.double(), native.to(torch.float8_e4m3fn))
    for value, right in ((8.0, True), (9.0, True), (10.0, False)):
        assert (compare(truth, torch.full((64,), value).to(torch.float8_e4m3fn), "as given") is None) == right


@pytest.mark.parametrize(("kind", "value"), [(torch.float8_e4m3fn, math.nan), (torch.float8_e5m2, math.inf)])
def test_what_is_no_number_must_stand_where_the_reference_has_it(kind: torch.dtype, value: float) -> None:
    exact = torch.ones(64)
    exact[7] = value
    assert compare(_truth(exact, kind), exact.to(kind), "as given") is None
    for got in (torch.ones(64), exact.roll(1)):
        mismatch = compare(_truth(exact, kind), got.to(kind), "as given")
        assert mismatch is not None and "NaN or inf" in mismatch.message


def test_a_row_of_zeros_in_place_of_small_numbers_is_found() -> None:
    exact = torch.randn(256, 64, generator=torch.Generator().manual_seed(1)) * 8
    exact[9] *= 0.01
    got = exact.to(torch.float8_e5m2)
    got[9] = 0
    assert compare(_truth(exact, torch.float8_e5m2), got, "as given") is not None


@each_kind
def test_what_torch_did_is_seen(kind: torch.dtype) -> None:
    given = _drawn(kind)
    assert rearranges(given.t().contiguous(), given) and not rearranges(given, given)
    noise = torch.randn(given.shape, generator=torch.Generator().manual_seed(2)).to(kind)
    assert resembles(held(wide(given) * 2, kind), given) and not resembles(noise, given)


class _Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))
        self.register_buffer("weight", _drawn(torch.float8_e4m3fn, 4))


def test_another_precision_leaves_them_as_they_were_quantised() -> None:
    model = in_precision(_Layer(), torch.float16)
    assert {name: tensor.dtype for name, tensor in model.state_dict().items()} == {
        "scale": torch.float16,
        "weight": torch.float8_e4m3fn,
    }
    task = Task(id="t", level=1, source="")
    inputs = adapt([torch.randn(8), _drawn(torch.float8_e5m2, 8)], Variant("float16", task, dtype=torch.float16))
    assert [tensor.dtype for tensor in inputs if isinstance(tensor, torch.Tensor)] == [
        torch.float16,
        torch.float8_e5m2,
    ]


_MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return {0}


def get_inputs():
    return [torch.randn(8, 8)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("x.to_sparse()", "sparse"),
        ("torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)", "torch.qint8"),
        ("x.to(torch.float8_e4m3fn).view(torch.float4_e2m1fn_x2)", "torch.float4_e2m1fn_x2"),
    ],
)
def test_an_answer_of_a_kind_that_nobody_judges_is_the_tasks_fault(answer: str, reason: str) -> None:
    task = Task(id="t", level=1, source=_MODEL.format(answer))
    assert TaskModule.of(task).inputs(0)
    found = Supply(False, 0).join(task).material(Variant("as given", task))
    assert isinstance(found, Fails) and reason in str(found.reason)


def test_kinds_that_are_judged_pass() -> None:
    check_kinds([torch.ones(2), {"a": torch.ones(2, dtype=torch.uint64)}, (torch.ones(2).to(torch.float8_e5m2),), 3])
