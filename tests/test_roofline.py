"""The prediction follows bytes, operations and launches."""

from dataclasses import replace

import pytest
from judging import DOUBLE, SUITE

from tritonsmith.types import Task
from tritonsmith.verify import roofline
from tritonsmith.verify.roofline import HARDWARE, Cost, Footprint


def _sized(shape: str) -> Task:
    return DOUBLE.model_copy(update={"source": DOUBLE.source.replace("64, 48", shape)})


def _footprint(task: Task) -> Footprint:
    found = roofline.footprint(task)
    assert found is not None
    return found


def _row(size: float, flops: float = 0.0) -> dict[str, object]:
    return {"bytes_loaded": size / 2, "bytes_stored": size / 2, "dot_flops": flops}


def test_equal_traffic_is_no_speedup() -> None:
    small, real = _footprint(DOUBLE), _footprint(_sized("8192, 8192"))
    timing = roofline.predict([_row(small.floor_bytes)], {}, small, real, "sm_90")
    assert timing.speedup.median == pytest.approx(1.0) and timing.kind == "predicted"
    assert timing.speedup.low == timing.speedup.median == timing.speedup.high
    assert timing.bytes_moved == real.floor_bytes


def test_twice_the_traffic_is_half_the_speed_when_large() -> None:
    small, real = _footprint(DOUBLE), _footprint(_sized("65536, 65536"))
    timing = roofline.predict([_row(2 * small.floor_bytes)], {}, small, real, "sm_90")
    assert timing.speedup.median == pytest.approx(0.5, rel=0.01)


def test_float32_made_of_three_products_runs_on_tensor_cores() -> None:
    task = SUITE["level1/linear"]
    found = _footprint(task)
    row = _row(found.floor_bytes, found.flops)
    ieee, parts = (
        roofline.predict([one], {}, found, found, "sm_90") for one in (row, row | {"dot_parts": found.flops})
    )
    assert 2 < ieee.candidate_ms / parts.candidate_ms < 3
    half = replace(found, half=True)
    ieee, parts = (roofline.predict([one], {}, half, half, "sm_90") for one in (row, row | {"dot_parts": found.flops}))
    assert ieee.candidate_ms == parts.candidate_ms


def test_many_launches_cost_their_overhead() -> None:
    small = _footprint(DOUBLE)
    one = roofline.predict([_row(small.floor_bytes)], {}, small, small, "sm_90")
    ten = roofline.predict([_row(small.floor_bytes / 10)] * 10, {}, small, small, "sm_90")
    assert ten.candidate_ms > 5 * one.candidate_ms


def test_copies_left_to_torch_cost() -> None:
    small, real = _footprint(DOUBLE), _footprint(_sized("8192, 8192"))
    rows = [_row(small.floor_bytes)]
    clean = roofline.predict(rows, {"aten.empty_like.default": 1, "aten.view.default": 3}, small, real, "sm_90")
    copying = roofline.predict(rows, {"aten.clone.default": 1}, small, real, "sm_90")
    assert copying.candidate_ms > 1.3 * clean.candidate_ms


def test_the_roofline_share_is_a_share() -> None:
    small = _footprint(DOUBLE)
    for size in (1.0, small.floor_bytes, 1e12):
        share = roofline.predict([_row(size)], {}, small, small, "sm_90").roofline_share
        assert share is not None and 0 < share <= 1


@pytest.mark.parametrize("target", [*HARDWARE, "sm_75"])
def test_every_target_predicts(target: str) -> None:
    small = _footprint(DOUBLE)
    assert roofline.predict([_row(small.floor_bytes)], {}, small, small, target).candidate_ms > 0


def test_no_launch_is_no_speedup() -> None:
    small = _footprint(DOUBLE)
    timing = roofline.predict([], {}, small, small, "sm_90")
    assert timing.speedup.median == 0.0 and timing.roofline_share is None


def test_against_a_view_a_launch_is_compared_with_a_launch() -> None:
    view = _footprint(DOUBLE.model_copy(update={"source": DOUBLE.source.replace("2.0 * x", "x.view(48, 64)")}))
    assert not view.costs
    timing = roofline.predict([_row(0.0)], {}, view, view, "sm_90")
    assert timing.speedup.median == 1.0


def test_rows_of_another_form_count_nothing() -> None:
    small = Footprint((Cost(8.0, 0.0),), 8.0)
    assert roofline.predict([{"bytes_loaded": "x"}], {}, small, small, "sm_90").bytes_moved == 0


@pytest.mark.parametrize("count", [float("nan"), float("inf"), -1, 10**30, "many", None])
def test_counts_that_no_runner_of_ours_gives_do_no_harm(count: object) -> None:
    small = roofline.Footprint((roofline.Cost(8.0, 8.0),), 8.0)
    launches = [{"bytes_loaded": count, "bytes_stored": 4, "dot_flops": count}]
    found = roofline.predict(launches, {"aten.copy_.default": count}, small, small, "sm_90")
    assert found.candidate_ms > 0 and found.speedup.median >= 0


def test_a_sixteen_bit_result_is_timed_on_tensor_cores() -> None:
    half = SUITE["level1/matmul"].source.replace("torch.matmul(a, b)", "torch.matmul(a.half(), b.half())")
    native, lower = (
        _footprint(SUITE["level1/matmul"].model_copy(update={"source": source}))
        for source in (SUITE["level1/matmul"].source, half)
    )
    assert lower.half and not native.half
    assert roofline.floor_seconds(lower, "sm_90") < 0.5 * roofline.floor_seconds(native, "sm_90")


def test_no_prediction_is_below_the_floor() -> None:
    for task in ("level1/relu", "level1/matmul", "level2/attention"):
        real = _footprint(SUITE[task])
        assert roofline.reference_seconds(real, "sm_90") > 0.99 * roofline.floor_seconds(real, "sm_90")


def test_a_cleared_accumulator_costs_its_own_size_only() -> None:
    real = _footprint(SUITE["level1/mse_loss"])
    row = [_row(real.floor_bytes)]
    clean, cleared, copied = (
        roofline.predict(row, operators, real, real, "sm_90").candidate_ms
        for operators in ({}, {"aten.zeros.default": 1}, {"aten.clone.default": 1})
    )
    assert clean < cleared < 1.1 * clean < copied
