"""Mid-end pairs: what is rewritten and why, that it stays right, and that the roofline sees what memory is spared."""

from collections.abc import Iterator

import pytest
from judging import SUITE
from small_tasks import lowered, small_task

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data.faster import Gain, Improvement, faster, judge
from tritonsmith.data.faster_text import launched_with, number, read
from tritonsmith.data.lower import templates
from tritonsmith.data.lower.launchers import launchers
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier

RMS = ("", "x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * y", "6, 40", "40")
SOFTMAX = ("", "torch.softmax(x, dim=-1)", "6, 40")
ADD_NORM = ("self.norm = nn.LayerNorm(40)", "self.norm(x + y)", "2, 6, 40", "2, 6, 40")
GATED = (
    "self.up = nn.Linear(20, 18); self.gate = nn.Linear(20, 18, bias=False)",
    "F.silu(self.gate(x)) * self.up(x)",
    "7, 20",
)
ATTENTION = ("", "torch.softmax(x @ x.mT / 3.0, -1) @ x", "2, 17, 9")
PRODUCT = ("", "torch.relu(x @ y)", "520, 24", "24, 530")
LONG = ("", "torch.tanh(x) + 1.0", "1024, 1030")
CASES = [RMS, SOFTMAX, ADD_NORM, GATED, ATTENTION, PRODUCT, LONG]


def improved(case: tuple[str, ...]) -> Improvement:
    """The improvement of a task that has one, with launches in `forward`."""
    task = small_task(*case)
    found = faster(task, lowered(task))
    assert isinstance(found, Improvement), found
    return found


def apart(case: tuple[str, ...]) -> Improvement:
    """The same with launches in functions of their own."""
    task = small_task(*case)
    pair = templates(task)
    assert isinstance(pair, Pair)
    found = faster(task, pair)
    assert isinstance(found, Improvement), found
    return found


@pytest.fixture(scope="module")
def gains() -> Iterator[dict[str, Gain]]:
    """What the verifier says of both answers of each case, on every variant, with predicted times."""
    config = VerifyConfig(device="cpu", timing=True, timeout=120.0)
    with Verifier(config, extensions=ExtensionsConfig(multi_input=True)) as warm:
        found = judge(warm, [(small_task(*case), apart(case)) for case in CASES])
        yield dict(zip(map(str, CASES), found, strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
def test_the_faster_answer_is_right_and_not_predicted_slower(gains: dict[str, Gain], case: tuple[str, ...]) -> None:
    gain = gains[str(case)]
    assert gain.after.correct, (gain.after.findings, gain.after.mismatch)
    assert gain.ratio is not None and gain.ratio > 0.95


def test_the_roofline_sees_memory_that_is_not_touched(gains: dict[str, Gain]) -> None:
    ratio = gains[str(RMS)].ratio
    assert ratio is not None and ratio > 1.2


@pytest.mark.parametrize(
    ("case", "kernels"), [(RMS, (2, 1)), (ADD_NORM, (2, 1)), (GATED, (2, 1)), (ATTENTION, (3, 1))], ids=str
)
def test_kernels_are_joined(case: tuple[str, ...], kernels: tuple[int, int]) -> None:
    found = improved(case)
    assert (found.before.source.count("@triton.jit"), found.after.source.count("@triton.jit")) == kernels


@pytest.mark.parametrize("case", [RMS, SOFTMAX, ADD_NORM], ids=lambda case: case[1])
def test_a_row_is_loaded_once(case: tuple[str, ...]) -> None:
    after = improved(case).after.source
    assert after.count("tl.load(x_ptr") == 1 and "for start" not in after and "next_power_of_2(x.shape[" in after


def test_a_row_that_fits_no_block_is_walked_as_before() -> None:
    task = small_task("", "torch.softmax(x, dim=-1)", "2, 40000")
    assert faster(task, lowered(task)) == Miss("nothing faster is known")


def test_a_small_product_keeps_its_tiles() -> None:
    task = small_task("", "x @ y", "100, 24", "24, 530")
    assert isinstance(faster(task, lowered(task)), Miss)


def test_products_along_k_are_made_on_tensor_cores() -> None:
    for case in (("self.linear = nn.Linear(20, 18)", "self.linear(x)", "17, 20"), ATTENTION, GATED):
        found = improved(case)
        assert 'input_precision="tf32x3"' in found.after.source and "ieee" not in found.after.source
        assert "three of TF32" in found.reason


def test_products_of_halves_have_no_parts() -> None:
    task = small_task("", "x @ y.T", "17, 20", "19, 20")
    half = task.model_copy(
        update={
            "source": task.source.replace("torch.randn(17, 20)", "torch.randn(17, 20).half()").replace(
                "torch.randn(19, 20)", "torch.randn(19, 20).half()"
            )
        }
    )
    assert half.source.count(".half()") == 2
    assert isinstance(faster(half, lowered(half)), Miss)


def test_a_factor_along_n_is_turned_in_narrower_tiles() -> None:
    source = improved(PRODUCT).after.source
    assert "tf32x3" in source and "BLOCK_N=64" in source and "BLOCK_M=128" in source
    assert "ieee" in lowered(small_task("", "x @ y", "17, 24", "24, 19")).source
    small = faster(small_task("", "x @ y", "17, 24", "24, 19"), lowered(small_task("", "x @ y", "17, 24", "24, 19")))
    assert isinstance(small, Miss)


def test_the_roofline_sees_tensor_cores() -> None:
    task = SUITE["level1/linear"]
    found = faster(task, lowered(task))
    assert isinstance(found, Improvement)
    with Verifier(VerifyConfig(device="cpu", timing=True), extensions=ExtensionsConfig(multi_input=True)) as warm:
        (gain,) = judge(warm, [(task, found)])
    assert gain.ratio is not None and gain.ratio > 2


def test_a_result_that_somebody_else_reads_stays_in_memory() -> None:
    task = small_task("", "(x.mean(-1, keepdim=True), x - x.mean(-1, keepdim=True))", "6, 40")
    found = faster(task, lowered(task))
    assert isinstance(found, Miss) or "out_ptr" in found.after.source


def test_every_change_has_a_line_that_says_why() -> None:
    found = improved(ADD_NORM)
    assert found.after.plan == found.reason and len(found.reason.splitlines()) == 2


def test_only_our_own_answers_are_rewritten() -> None:
    task = small_task(*SOFTMAX)
    assert isinstance(faster(task, Pair("", lowered(task).source + "\n# edited\n")), Miss)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
def test_launches_stay_where_the_answer_has_them(case: tuple[str, ...]) -> None:
    """A mid-end is asked about kernels that a frontend wrote, and answers in the same layout."""
    within, beside = improved(case), apart(case)
    assert beside.reason == within.reason
    for one, other in ((beside.before, within.before), (beside.after, within.after)):
        assert one.source == launchers(other.source) != other.source
        assert "def launch_" in one.source and "_kernel[" not in one.source.partition("def forward(")[2]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[1])
def test_an_answer_is_written_as_it_was_read(case: tuple[str, ...]) -> None:
    source = lowered(small_task(*case)).source
    assert read(source).source() == source


def test_the_numbers_of_a_launch_are_those_of_the_task() -> None:
    task: Task = small_task(*GATED)
    seen = launched_with(task, lowered(task).source)
    assert [number(seen["linear_kernel"], name) for name in "MNK"] == [7, 18, 20]
