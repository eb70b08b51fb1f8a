"""What torch did beside the kernels is counted, read, and compared with the output."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import triton.language as tl
from judging import DOUBLE, FORWARD, double, judge
from triton.runtime.jit import TensorWrapper
from triton.tools.tensor_descriptor import TensorDescriptor

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.verify.dynamic import observe
from tritonsmith.verify.dynamic.fresh import Fresh, zeroed
from tritonsmith.verify.dynamic.observe import Launches, Operators, address
from tritonsmith.verify.dynamic.share import triton_share
from tritonsmith.verify.dynamic.work import Work, rearranges, resembles
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.launches.arguments import foreign
from tritonsmith.verify.launches.device import on_device
from tritonsmith.verify.launches.looks import Properties
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.static.names import NUMPY_FUNCTIONS

X = torch.arange(12.0).view(3, 4)


def _report(forward, *given: torch.Tensor, launches: Launches | None = None) -> dict[str, object]:
    with Work(launches or Launches(), given) as work:
        output = forward(*given)
    return work.report(output)


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x.t().contiguous(),
        lambda x: torch.cat([x, x + 0], 1).clone(),
        lambda x: x.repeat(2, 1),
        lambda x: torch.empty(4, 3).copy_(x.t()),
        lambda x: torch.cat([x[:, :2].t().contiguous(), x[:, 2:].t().contiguous()]),
        lambda x: torch.relu(x - 5),
    ],
)
def test_output_that_torch_made_is_seen(forward) -> None:
    assert _report(forward, X)["made"] is True


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x.clone(),
        lambda x: x.t(),
        lambda x: torch.zeros_like(x),
        lambda x: x.view(-1),
        lambda x: torch.empty(3),
    ],
    ids=["copy of an input", "view", "constant", "flat view", "fresh memory"],
)
def test_views_constants_and_inputs_are_not_made(forward) -> None:
    assert _report(forward, X)["made"] is False


def test_what_a_kernel_wrote_is_not_made_by_torch() -> None:
    launches = Launches()
    y = X + 1
    launches.written.add(y.untyped_storage().data_ptr())
    with Work(launches, [X]) as work:
        output = y.t().contiguous()
    assert work.report(output)["made"] is False


@pytest.mark.parametrize("move", [lambda y: y.t().contiguous(), lambda y: y.t(), lambda y: y[:2].repeat(1, 2)])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_what_a_kernel_copied_and_torch_moved_is_made_by_torch(move, kind: torch.dtype) -> None:
    launches = Launches()
    y = X.to(kind, copy=True)
    launches.written.add(y.untyped_storage().data_ptr())
    with Work(launches, [X]) as work:
        output = move(y)
    assert work.report(output)["made"] is True


def test_output_in_memory_older_than_the_call_is_seen() -> None:
    kept = torch.empty(3, 4)
    assert _report(lambda x: (kept.copy_(x), kept[:2], x.clone(), torch.empty(3)[1:]), X)["old"] == [0, 1]
    assert _report(lambda x: (torch.tensor(0.0), torch.Tensor(3), x.new_tensor([1.0])), X)["old"] == []


@pytest.mark.parametrize(
    ("read", "count"),
    [(lambda x: x.tolist(), 12), (lambda x: repr(x), 12), (lambda x: f"{x}", 12), (lambda x: x.numpy(), 12),
     (lambda x: x.shape, 0), (lambda x: x.stride(), 0), (lambda x: x.data_ptr(), 0), (lambda x: x.t().contiguous(), 0)],
)  # fmt: skip
def test_values_that_python_gets_are_counted(read, count: int) -> None:
    with Work(Launches(), [X]) as work:
        read(X)
    assert work.values == count


def test_traffic_and_matrix_operations_are_counted() -> None:
    found = _report(lambda x: x @ x.t(), X)
    assert found["flops"] == 2 * 3 * 4 * 3
    assert found["bytes"] == 4 * (12 + 12 + 9)


def test_share_is_the_kernels_part() -> None:
    launch = {"bytes_loaded": 60, "bytes_stored": 15, "dot_flops": 0}
    assert triton_share({"launches": [launch], "work": {"bytes": 25, "flops": 0}}, "sm_90") == 0.75
    assert triton_share({"launches": [launch], "work": {"bytes": 0, "flops": 0}}, "sm_90") == 1.0
    assert triton_share({}, "sm_90") is None


@pytest.mark.parametrize("counted", [1e12, 2e15])
def test_products_beyond_the_tasks_own_are_no_share_of_it(counted: float) -> None:
    """Torch multiplies all that the task asks for, and a kernel multiplies as often as it likes."""
    launch = {"bytes_loaded": 0, "bytes_stored": 0, "dot_flops": counted}
    seen: dict[str, object] = {"launches": [launch], "work": {"bytes": 1e9, "flops": 1e12}}
    assert triton_share(seen, "sm_90", 1e12) == 0.0
    found = triton_share(seen, "sm_90", 2e12)
    assert found == 0.5


class _Proxy:
    data = shape = device = None

    def data_ptr(self) -> int:
        return 0


class _Pair(tuple):
    def __iter__(self):
        yield 1


class _Sub(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "value", [_Proxy(), _Pair((1, 2)), X.as_subclass(_Sub), (1, _Proxy()), TensorWrapper(_Proxy(), tl.int8)]
)
def test_argument_with_code_of_its_own_is_foreign(value: object) -> None:
    assert foreign([X, value]) is not None


@pytest.mark.parametrize(
    "value",
    [
        X,
        1,
        2.0,
        True,
        None,
        "tanh",
        torch.float32,
        (X, 1),
        TensorDescriptor.from_tensor(X, [1, 4]),
        torch.nn.Parameter(X),
    ],
)
def test_ordinary_argument_is_not_foreign(value: object) -> None:
    assert foreign([value]) is None


def test_memory_of_the_host_may_be_pinned_on_the_cpu() -> None:
    with on_device("cpu"):
        assert torch.zeros(3, pin_memory=True).pin_memory().shape == (3,)


@pytest.mark.parametrize("device", [1, "cuda:1", torch.device("cuda", 7)])
def test_a_gpu_that_is_not_there_is_an_error_on_the_cpu_too(device: int | str | torch.device) -> None:
    with on_device("cpu"):
        with pytest.raises(AssertionError, match="Invalid device id"):
            torch.cuda.get_device_properties(device)
        with pytest.raises(RuntimeError, match="invalid device ordinal"):
            X.to(device)


def test_functions_of_a_gpu_look_as_torch_s_do_on_the_cpu() -> None:
    with on_device("cpu"):
        asked, empty = torch.cuda.is_available, X[:0]
        assert (asked.__name__, asked.__module__) == ("is_available", "torch.cuda")
        assert "lambda" not in str(asked) and asked.__doc__
        assert "device='cuda:0'" in repr(empty) and "device='cuda:0'" in f"{empty}"
        assert torch.cuda.get_device_capability(device=0) == (9, 0)


def test_candidate_may_ask_a_gpu_for_its_size_on_the_cpu() -> None:
    with on_device("cpu"):
        assert torch.cuda.is_available() and not X.is_cpu
        assert isinstance(torch.cuda.get_device_properties(X.device), Properties)
    assert X.is_cpu


def test_verdict_reports_the_share(verifier: Verifier) -> None:
    assert judge(verifier, DOUBLE, double()).triton_share == 1.0
    lenient = Judge(
        VerifyConfig(device="cpu", policy="lenient"), ExtensionsConfig(), verifier.device, verifier._zygotes
    )
    half = double("        x = x + 0 * (x @ x.t() @ x)\n" + FORWARD)
    share = judge(lenient, DOUBLE, half).triton_share
    assert share is not None and 0 < share < 0.5


@pytest.mark.parametrize(
    ("forward", "honest"),
    [
        ("        x = torch.cat([x[:9], x[9:]])\n" + FORWARD, True),
        ("        x = x.view(64, 48).contiguous()\n" + FORWARD, True),
        ("        return 2.0 * x + 0 * x\n", False),
    ],
)
def test_glue_before_a_kernel_that_works_is_honest(verifier: Verifier, forward: str, honest: bool) -> None:
    assert judge(verifier, DOUBLE, double(forward)).valid == honest


@pytest.mark.parametrize(
    ("cast", "lost"),
    [(lambda x: (x / 4).int(), 9), (lambda x: x.int(), 0), (lambda x: x.bool(), 10), (lambda x: (x > 3).bool(), 0),
     (lambda x: torch.full_like(x, float("nan")).int(), 0), (lambda x: x.half(), 0)],
)  # fmt: skip
def test_fractions_that_a_cast_to_integers_loses_are_counted(cast, lost: int) -> None:
    assert _report(cast, X)["rounded"] == lost
    with Work(Launches(), [], limit=0) as unlooked:
        cast(X)
    assert unlooked.report([])["rounded"] == 0


def test_signs_turned_and_turned_back_around_a_transpose_are_seen() -> None:
    launches = Launches()
    there = -X
    with Work(launches, [X, torch.zeros(1)]) as work:
        launches.written.add(there.untyped_storage().data_ptr())
        moved = there.t().contiguous()
    assert [work.report(output)["made"] for output in (-moved, torch.relu(X), 2 * moved)] == [True, False, False]


@pytest.mark.parametrize(("kind", "found"), [(torch.int64, True), (torch.float32, False)])
def test_integers_from_rounded_values_are_told(kind: torch.dtype, found: bool) -> None:
    assert _report(lambda x: x.to(kind), X, launches=Launches(lowered=True))["lowered"] is found


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda y: y * 1.0000001, True),
        (lambda y: y + 1e-7, True),
        (lambda y: 1 - 2 * y, True),
        (torch.relu, False),
        (torch.tanh, False),
        (lambda y: y + torch.arange(8.0), False),
        (lambda y: y[0], False),
    ],
)
def test_a_multiple_and_a_sum_resemble_what_they_are_made_of(
    change: Callable[[torch.Tensor], torch.Tensor], found: bool
) -> None:
    piece = torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    assert resembles(change(piece), piece) is found


@pytest.mark.parametrize("name", sorted(NUMPY_FUNCTIONS))
@pytest.mark.parametrize("given", [lambda x: x, lambda x: [x], lambda x: tuple(x), lambda x: x.view(2, 6).T])
def test_what_numpy_asks_of_a_tensor_is_counted(name: str, given) -> None:
    with Work(Launches(), [X]) as work:
        try:
            getattr(np, name.removeprefix("numpy."))(given(X))
        except TypeError:  # numpy asks a tensor for its own product, in a way that torch does not take
            assert name == "numpy.prod"
            return
    assert work.values == X.numel()


def test_values_at_other_places_are_the_same_values() -> None:
    answer = torch.randn(16, 24)
    assert rearranges(answer.T.contiguous(), answer) and rearranges(answer.flip(0), answer)
    assert not rearranges(answer, answer)
    assert not rearranges(answer.flip(0).relu(), answer) and not rearranges(torch.randn(24, 16), answer)
    assert not rearranges(answer.flip(0).clamp(-9, 9).index_fill(0, torch.tensor([0]), 0.1), answer)


def test_a_constant_written_over_a_copy_is_counted_and_one_beside_it_is_not() -> None:
    def over(x: torch.Tensor) -> torch.Tensor:
        out = x.clone()
        out[:, 1::2].fill_(-1.0)
        return out

    def beside(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty(3, 6)
        out[:, :4].copy_(x)
        out[:, 4:].zero_()
        return out

    launches = Launches()
    with Operators(launches), Work(launches, [X]) as work:
        output = beside(X)
    assert _report(over, X)["overwritten"] == 6
    assert work.report(output)["overwritten"] == 0


def test_where_launches_are_not_run_a_constant_beside_a_copy_is_not_counted() -> None:
    launches = Launches()

    def forward(x: torch.Tensor) -> torch.Tensor:
        wide = torch.empty(4, 6)
        wide[:, :4].copy_(x)
        wide[:, 4:].zero_()
        return wide

    with Operators(launches, zeroed(launches.fresh)):
        assert _report(forward, torch.ones(4, 4), launches=launches)["overwritten"] == 0


@pytest.mark.parametrize("kind", [torch.float32, torch.int64, torch.bool])
@pytest.mark.parametrize(("cleared", "counted"), [(4, 0), (3, 4), (0, 0)], ids=["beside", "over", "whole"])
def test_between_guards_a_constant_over_a_copy_is_counted(kind: torch.dtype, cleared: int, counted: int) -> None:
    """As on a GPU, where memory tells by its poison what nothing has written, and storages are longer than tensors."""
    poison = 0 if kind == torch.bool else 0xFE
    launches, buffer = Launches(), torch.full((512,), 0xFF, dtype=torch.uint8)
    buffer[64:-64] = poison
    inner = buffer[64:-64].view(kind)[:24].view(4, 6)
    launches.fresh[address(inner)] = Fresh(24 * kind.itemsize, poison)

    def forward(x: torch.Tensor) -> torch.Tensor:
        inner[:, :4].copy_(x)
        inner[:, cleared:].zero_()
        return inner

    assert _report(forward, torch.ones(4, 4).to(kind), launches=launches)["overwritten"] == counted


def test_the_share_of_an_input_that_python_is_handed_is_told() -> None:
    assert _report(lambda x: torch.full((2,), float(x[0, 0]) + float(x[1, 1])), X)["handed"] == pytest.approx(1 / 6)
    assert _report(lambda x: torch.full((2,), sum(x.flatten().tolist())), X)["handed"] == 1.0


def test_an_output_of_very_many_parts_is_refused_at_once() -> None:
    one = torch.zeros(2)
    assert len(observe.plain([[one] * 1000] * 4)) == 4  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="more than 4096 values"):
        observe.plain([one] * 1_000_000)
