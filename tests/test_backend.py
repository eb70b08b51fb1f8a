"""The backend agent: what it may turn, that grids follow, and that the search keeps to what is right and faster."""

import logging
from io import StringIO

import pytest
from small_tasks import small_task

from tritonsmith import backend
from tritonsmith.data.lower import convert, templates
from tritonsmith.data.pair import Pair
from tritonsmith.types import Interval, KernelStats, Timing, Verdict

SOURCE = """
import triton


class ModelNew:
    def forward(self, x, y):
        add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        mm_kernel[(triton.cdiv(x.shape[0], 64), triton.cdiv(y.shape[1], 64))](
            x, y, 7, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, num_warps=8,
        )
        return x
"""


def found(name: str, launch: int = 0) -> backend.Knob:
    (one,) = [knob for knob in backend.knobs(SOURCE) if (knob.launch, knob.name) == (launch, name)]
    return one


def test_powers_of_two_warps_and_stages_can_be_turned() -> None:
    assert [knob.key for knob in backend.knobs(SOURCE)] == [
        "0.BLOCK", "0.num_warps", "0.num_stages",
        "1.BLOCK_M", "1.BLOCK_N", "1.BLOCK_K", "1.num_warps", "1.num_stages",
    ]  # fmt: skip
    assert found("num_warps", 1).value == 8 and found("num_warps").value is None


def test_no_block_is_too_small_for_a_product_or_too_large_to_hold() -> None:
    assert found("BLOCK").choices == (256, 512, 1024, 2048, 4096)
    assert found("BLOCK_K", 1).choices == (16, 32, 64, 128)


def test_the_grid_follows_its_block() -> None:
    made = backend.turned(SOURCE, {"0.BLOCK": 256})
    assert "triton.cdiv(x.numel(), 256)" in made and "BLOCK=256" in made and "1024" not in made


def test_of_two_equal_blocks_each_has_its_own_axis() -> None:
    made = backend.turned(SOURCE, {"1.BLOCK_N": 128})
    assert "triton.cdiv(x.shape[0], 64), triton.cdiv(y.shape[1], 128)" in made
    assert "BLOCK_M=64, BLOCK_N=128" in made


def test_what_a_launch_leaves_open_is_added() -> None:
    assert "BLOCK=1024, num_warps=2)" in backend.turned(SOURCE, {"0.num_warps": 2})


PRODUCT = """
import triton
import triton.language as tl


@triton.jit
def product_kernel(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x, y = tl.load(x_ptr + at[:, None] * BLOCK + at), tl.load(y_ptr + at[:, None] * BLOCK + at)
    acc = tl.dot(x, y, input_precision="ieee")
    tl.store(out_ptr + at[:, None] * BLOCK + at, tl.dot(x, acc, input_precision="ieee"))


class ModelNew:
    def forward(self, x, y, out):
        product_kernel[(1,)](x, y, out, BLOCK=64)
        return out
"""


def test_products_in_ieee_precision_may_be_made_of_three_on_tensor_cores() -> None:
    (knob,) = [one for one in backend.knobs(PRODUCT) if one.name == "input_precision"]
    assert [backend.PRECISIONS[choice] for choice in knob.choices] == ["ieee", "tf32x3"] and knob.value == 0
    made = backend.turned(PRODUCT, {knob.key: 1, "0.BLOCK": 32})
    assert made.count("input_precision='tf32x3'") == 2 and "ieee" not in made and "BLOCK=32" in made
    assert backend.turned(PRODUCT, {"0.BLOCK": 32}).count("input_precision='ieee'") == 2


def test_what_was_turned_is_said_in_words() -> None:
    tuned = backend.Tuned(PRODUCT, {"-1.input_precision": 1, "0.BLOCK": 32}, 3, 2.0, 1.0)
    assert tuned.described() == "input_precision = tf32x3, 0.BLOCK = 32"


def test_products_that_say_nothing_of_their_precision_keep_it() -> None:
    assert "input_precision" not in {
        knob.name for knob in backend.knobs(PRODUCT.replace(', input_precision="ieee"', ""))
    }


# Where launches stand, and how they pass their sizes.

KERNEL = """
@triton.jit
def k(x_ptr, n, BLOCK: tl.constexpr):
    pass


"""


def keys(source: str) -> list[str]:
    """What may be turned, warps and stages left out."""
    return [knob.key for knob in backend.knobs(source) if "num_" not in knob.key]


@pytest.mark.parametrize(
    "launch",
    [
        "k[(triton.cdiv(n, 1024),)](x, n, BLOCK=1024)",
        "k[(triton.cdiv(n, 1024),)](x, n, 1024)",
        "grid = (triton.cdiv(n, 1024),)\n    k[grid](x, n, BLOCK=1024)",
        "BLOCK = 1024\n    k[(triton.cdiv(n, BLOCK),)](x, n, BLOCK=BLOCK)",
        "size = 1024\n    grid = (triton.cdiv(n, size),)\n    k[grid](x, n, size)",
        "size: int = 1024\n    k[lambda meta: (triton.cdiv(n, meta['BLOCK']),)](x, n, BLOCK=size)",
        "def grid(meta):\n        return (triton.cdiv(n, 1024),)\n    k[grid](x, n, BLOCK=1024)",
    ],
)
def test_a_launch_in_a_function_beside_forward_is_turned(launch: str) -> None:
    source = f"{KERNEL}def launch_k(x, n):\n    {launch}\n    return x\n"
    assert keys(source) == ["0.BLOCK"]
    made = backend.turned(source, {"0.BLOCK": 512, "0.num_warps": 8})
    assert "1024" not in made and "512" in made and "num_warps=8" in made


def test_a_size_of_the_module_is_one_knob_for_all_that_use_it() -> None:
    source = f"BLOCK = 1024\n{KERNEL}k[(triton.cdiv(n, BLOCK),)](x, n, BLOCK)\nk[(1,)](x, n, BLOCK=BLOCK)\n"
    assert keys(source) == ["0.BLOCK"]
    assert "BLOCK = 256" in backend.turned(source, {"0.BLOCK": 256})


@pytest.mark.parametrize("lines", ["size = 1024\nsize = 512", "size = 1024 if n > 9 else 64", "size, y = 1024, 64"])
def test_a_variable_that_is_not_plainly_set_once_is_left_alone(lines: str) -> None:
    assert keys(f"{KERNEL}{lines}\nk[(1,)](x, n, size)\n") == []


def test_an_argument_hides_a_size_of_the_module() -> None:
    assert keys(f"size = 1024\n{KERNEL}def launch_k(x, n, size):\n    k[(1,)](x, n, size)\n") == []


def test_a_number_that_is_no_compile_time_parameter_is_left_alone() -> None:
    assert keys(f"{KERNEL}k[(1,)](x, 1024, BLOCK=64)\nk[(1,)](x, n=4096, BLOCK=64)\n") == ["0.BLOCK", "1.BLOCK"]


def test_a_module_that_is_called_is_no_launch() -> None:
    assert backend.knobs("self.layers[0](x)") == []


def test_a_kernel_that_tunes_itself_is_left_to_it() -> None:
    source = "@triton.autotune(configs=[], key=[])" + KERNEL + "k[grid](x, n)\n"
    assert backend.knobs(source) == []


def test_our_own_answers_can_be_turned_in_both_layouts() -> None:
    task = small_task("self.fc = nn.Linear(20, 18)", "torch.softmax(F.gelu(self.fc(x)), dim=-1)", "7, 20")
    within, beside = convert(task), templates(task)
    assert isinstance(within, Pair) and isinstance(beside, Pair)
    sizes = ["0.BLOCK_M", "0.BLOCK_N", "0.BLOCK_K", "1.BLOCK"]
    assert keys(within.source) == keys(beside.source) == ["-1.input_precision", *sizes]
    made = backend.turned(beside.source, {"0.BLOCK_N": 32})
    assert "cdiv(out.shape[0], 64), triton.cdiv(out.shape[1], 32)" in made and "BLOCK_M=64, BLOCK_N=32" in made


def verdict(ms: float | None, *, compiled: bool = True, spills: int = 0, kind: str = "measured") -> Verdict:
    one = Interval(median=1.0, low=1.0, high=1.0)
    timing = None if ms is None else Timing(kind=kind, reference_ms=1.0, candidate_ms=ms, speedup=one)  # type: ignore[arg-type]
    return Verdict(
        task="t", device="cuda", target="sm_90", policy="strict", compiled=compiled, correct=ms is not None,
        timing=timing, kernels=[KernelStats(name="k", registers=32, spills=spills, shared=0, launches=1)],
    )  # fmt: skip


def small(source: str) -> Verdict:
    """Takes a time that falls with the block; 2048 spills, 256 is wrong."""
    block = next(size for size in (256, 512, 1024, 2048, 4096) if f"BLOCK={size}" in source)
    if block == 256:
        return verdict(None)
    return verdict(1.0 + abs(block - 512) / 1000, spills=8 if block == 2048 else 0)


ONE = "k[(triton.cdiv(n, 1024),)](x, BLOCK=1024, num_warps=4, num_stages=3)\n"


def test_the_fastest_right_setting_is_found() -> None:
    tuned = backend.tune(ONE, small, small, seconds=60, trials=60)
    assert tuned.settings["0.BLOCK"] == 512 and "cdiv(n, 512)" in tuned.source
    assert tuned.before_ms == pytest.approx(1.512) and tuned.after_ms == 1.0


def test_what_spills_is_not_run() -> None:
    run: list[str] = []

    def judge(source: str) -> Verdict:
        run.append(source)
        return small(source)

    backend.tune(ONE, judge, small, seconds=60, trials=40)
    assert not any("BLOCK=2048" in source for source in run)


def test_without_a_measurement_nothing_is_turned() -> None:
    tuned = backend.tune(ONE, lambda _: verdict(1.0, kind="predicted"), small, seconds=60)
    assert tuned.source == ONE and tuned.settings == {} and tuned.after_ms is None


def test_the_search_ends_in_time() -> None:
    assert backend.tune(ONE, small, small, seconds=0.0, trials=1000).trials < 50


def test_products_of_three_are_tried_before_anything_else_is_turned() -> None:
    def judge(source: str) -> Verdict:
        return verdict(1.0 if "tf32x3" in source and "BLOCK=64" in source else 2.0)

    tuned = backend.tune(PRODUCT, judge, judge, seconds=60, trials=2)
    assert tuned.settings["-1.input_precision"] == 1 and tuned.after_ms == 1.0


def test_what_the_launch_leaves_to_triton_stays_so_in_the_first_trials() -> None:
    def judge(source: str) -> Verdict:
        plain = "num_warps" not in source and "num_stages" not in source
        return verdict((0.5 if "tf32x3" in source else 1.0) if plain else 2.0)

    tuned = backend.tune(PRODUCT, judge, judge, seconds=60, trials=2)
    assert tuned.settings == {"-1.input_precision": 1} and tuned.after_ms == 0.5


def test_a_search_that_is_stopped_prints_no_traceback() -> None:
    said, calls = StringIO(), iter([False, True])
    handler = logging.StreamHandler(said)

    def judge(source: str) -> Verdict:
        if next(calls):
            raise RuntimeError("the time is up")
        return small(source)

    logging.getLogger("optuna").addHandler(handler)
    try:
        with pytest.raises(RuntimeError, match="time is up"):
            backend.tune(ONE, judge, small, seconds=60)
    finally:
        logging.getLogger("optuna").removeHandler(handler)
    assert said.getvalue() == ""
