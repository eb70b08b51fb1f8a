"""What candidates are tried on: shared by those that are under way together, and by nobody else."""

import gc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import torch
from judging import DOUBLE, FORWARD, SUITE, double, judge, small

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Candidate, Mismatch, Task
from tritonsmith.verify import judge as judge_module
from tritonsmith.verify import numerics
from tritonsmith.verify.dynamic import observe, replay
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.reference import material
from tritonsmith.verify.reference.given import Fails, Material
from tritonsmith.verify.reference.material import Draws, Supply

GIVEN = Variant("as given", DOUBLE)
FAILS = Task(id="fails", level=1, source=DOUBLE.source.replace("2.0 * x", "x @ x"))


def _first(draws: Draws, variant: Variant = GIVEN) -> torch.Tensor:
    """The first input of a variant."""
    found = draws.material(variant)
    assert isinstance(found, Material)
    return next(observe.tensors(found.inputs))


def test_candidates_under_way_together_are_tried_on_the_same() -> None:
    supply = Supply(cuda=False, budget=1 << 20)
    one, other = supply.join(DOUBLE), supply.join(DOUBLE)
    assert _first(one) is _first(other)
    assert one.weights == other.weights


@pytest.mark.parametrize(("task", "kind", "least"), [(DOUBLE, Material, 4), (FAILS, Fails, 2)])
def test_a_gpu_is_shared_in_several_turns_and_none_within_another(task: Task, kind: type, least: int) -> None:
    inside, turns = [0], []

    @contextmanager
    def beside() -> Iterator[None]:
        assert inside == [0]
        inside[0], before = 1, len(turns)
        try:
            yield
        finally:
            inside[0] = 0
            turns.append(before)

    found = Supply(cuda=False, budget=1 << 20).join(task).material(Variant("as given", task), True, beside)
    assert isinstance(found, kind) and len(turns) >= least and inside == [0]


def test_who_begins_after_a_verdict_is_tried_on_other_contents_and_weights() -> None:
    supply = Supply(cuda=False, budget=1 << 20)
    one, other = supply.join(DOUBLE), supply.join(DOUBLE)
    before = _first(one)
    supply.leave(one)
    late = supply.join(DOUBLE)
    assert not torch.equal(_first(late), before)
    assert late.weights != other.weights
    assert _first(other) is before


def test_tasks_do_not_share() -> None:
    supply = Supply(cuda=False, budget=1 << 20)
    assert supply.join(DOUBLE) is not supply.join(SUITE["level1/relu"])


def test_what_does_not_fit_is_drawn_for_each() -> None:
    supply = Supply(cuda=False, budget=1 << 10)
    one, other = supply.join(DOUBLE), supply.join(DOUBLE)
    assert not torch.equal(_first(one), _first(other))


def test_memory_is_free_again_when_the_last_one_has_left() -> None:
    supply = Supply(cuda=False, budget=1 << 17)
    for _ in range(8):
        one, other = supply.join(DOUBLE), supply.join(DOUBLE)
        assert _first(one) is _first(other)
        supply.leave(one)
        supply.leave(other)


def test_of_several_threads_one_draws() -> None:
    draws = Supply(cuda=False, budget=1 << 20).join(DOUBLE)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: _first(draws), range(16)))
    assert all(tensor is found[0] for tensor in found)


def test_variants_differ() -> None:
    draws = Supply(cuda=False, budget=1 << 20).join(DOUBLE)
    half = _first(draws, Variant("float16", DOUBLE, dtype=torch.float16))
    assert half.dtype == torch.float16
    assert _first(draws).dtype == torch.float32


def test_a_variant_on_which_the_reference_fails_does_not_exist() -> None:
    draws = Supply(cuda=False, budget=1 << 20).join(FAILS)
    assert isinstance(draws.material(Variant("as given", FAILS)), Fails)


def test_an_answer_of_zeros_alone_is_drawn_anew() -> None:
    task = small("return torch.relu(x)", "torch.randn(3) - 0.5")
    draws = Supply(cuda=False, budget=0).join(task)
    made = [draws.material(Variant("as given", task)) for _ in range(200)]
    outputs = [next(observe.tensors(one.truth.native)) for one in made if isinstance(one, Material)]
    assert len(outputs) == 200
    assert sum(not bool(output.any()) for output in outputs) < 20  # one drawing in three, and 1 % of four


def test_a_variant_that_does_not_exist_keeps_no_memory() -> None:
    task = Task(id="fails", level=1, source=FAILS.source.replace("64, 48", "61, 47"))
    found = Supply(cuda=False, budget=1 << 20).join(task).material(Variant("as given", task))
    gc.collect()
    assert isinstance(found, Fails)
    assert not [one for one in gc.get_objects() if type(one) is torch.Tensor and one.shape == (61, 47)]


def test_a_gpu_that_is_full_says_nothing_of_a_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, wide: bool, one_sided: bool) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(material, "truth_of", full)
    with pytest.raises(torch.OutOfMemoryError):
        Supply(cuda=False, budget=1 << 20).join(DOUBLE).material(GIVEN)


@pytest.mark.parametrize("says", ["CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate(handle)", "CUDA out of memory"])
def test_a_library_without_memory_says_nothing_of_a_variant_either(says: str) -> None:
    task = Task(id="full", level=1, source=DOUBLE.source.replace("return 2.0 * x", f"raise RuntimeError('{says}')"))
    with pytest.raises(torch.OutOfMemoryError, match=says[:10]):
        Supply(cuda=False, budget=0).join(task).material(Variant("as given", task))


def test_a_variant_that_is_turned_down_keeps_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    compare = numerics.compare

    def counted(truth: numerics.Truth, output: object, label: str) -> Mismatch | None:
        gc.collect()
        held.append(sum(type(one) is Material for one in gc.get_objects()))
        return compare(truth, output, label)

    monkeypatch.setattr(numerics, "compare", counted)
    monkeypatch.setattr(judge_module, "_KEPT", 0)
    picky = double("        assert x.dtype == torch.float32 and x.shape[0] % 2 == 0\n" + FORWARD)
    settings = VerifyConfig(device="cpu", workers=1, timing=False)
    with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as verifier:
        verdict = judge(verifier, DOUBLE, picky)
    assert verdict.stages[3].detail.count("down") > 1
    assert max(held) == 1


def test_contents_for_the_same_storage_have_their_own_truth() -> None:
    draws = Supply(cuda=False, budget=1 << 20).join(DOUBLE)
    replays = draws.replays(GIVEN)
    assert not replays.habits.remembers
    assert len(replays.again) == 2
    for inputs, truth in replays.again:
        assert torch.equal(2.0 * next(observe.tensors(inputs)), next(observe.tensors(truth.native)))
    assert draws.replays(GIVEN) is replays


REMEMBERS = small(
    "self.state = 0.9 * self.state + 0.1 * x\n        return self.state",
    "torch.randn(16)",
    "    def __init__(self):\n        super().__init__()\n        self.state = torch.zeros(16)\n\n",
    id="remembers",
)
HOLDS = small(
    "before, self.state = self.state, x\n        return x - before",
    "torch.randn(16)",
    "    def __init__(self):\n        super().__init__()\n        self.state = torch.zeros(16)\n\n",
    id="holds",
)


def test_a_reference_that_remembers_answers_call_by_call() -> None:
    draws, given = Supply(cuda=False, budget=1 << 20).join(REMEMBERS), Variant("as given", REMEMBERS)
    assert draws.habits(given).remembers and not draws.replays(given).again
    first = draws.inputs(given)
    further = draws.following(given, first)
    assert len(further) > 10
    state = torch.zeros(16)
    for inputs, truth in ((first, None), *further):
        state = 0.9 * state + 0.1 * next(observe.tensors(inputs))
        assert truth is None or torch.allclose(state, next(observe.tensors(truth.native)))


def test_a_reference_that_keeps_what_it_is_given_is_not_shown_it_changed() -> None:
    draws, given = Supply(cuda=False, budget=1 << 20).join(HOLDS), Variant("as given", HOLDS)
    assert draws.habits(given).remembers
    assert not draws.following(given, draws.inputs(given))


def test_a_reference_that_fails_on_some_draws_is_drawn_for_again() -> None:
    """Its error ended all verdicts of a stream."""
    source = DOUBLE.source.replace("2.0 * x", "2.0 * x.reshape(-1 if float(x[0, 0]) < 1.28 else 7, x.shape[1])")
    variant = Variant("as given", Task(id="some", level=1, source=source))
    for _ in range(30):  # of twenty draws two fail
        assert len(Supply(cuda=False, budget=0).join(variant.task).replays(variant).again) == 2


def test_contents_for_the_storage_of_inputs_whose_sizes_are_drawn_fit_it() -> None:
    source = DOUBLE.source.replace("torch.randn(64, 48)", "torch.randn(int(torch.randint(2, 4000, ())), 48)")
    variant = Variant("as given", Task(id="sizes", level=1, source=source))
    draws = Supply(cuda=False, budget=0).join(variant.task)
    first = draws.inputs(variant)
    found = [next(observe.tensors(draws.inputs_like(variant, first))) for _ in range(20)]
    assert all(replay.form(one) == replay.form(first) for one in found)
    assert not any(torch.equal(one, next(observe.tensors(first))) for one in found)
    assert any(not torch.equal(one, found[0]) for one in found)


def test_weights_of_which_a_reference_bears_no_sign_but_one_keep_it() -> None:
    forward = "torch.sqrt(self.weight) * x"
    source = DOUBLE.source.replace("2.0 * x", forward).replace(
        "    def forward",
        "    def __init__(self):\n        super().__init__()\n"
        "        self.weight = torch.nn.Parameter(0.5 + torch.rand(48))\n\n    def forward",
        1,
    )
    variant = Variant("other weights", Task(id="root", level=1, source=source), weights=True, named=True)
    begins, contents = Supply(cuda=False, budget=0).join(variant.task).by_name(variant)["weight"]
    assert bool((contents > 0).all()) and not torch.equal(begins, contents)


def test_a_reference_that_fails_on_new_contents_is_the_tasks_fault_and_ends_no_other_verdict() -> None:
    forward = "2.0 * x.reshape(-1 if _first() else 7, x.shape[1])"
    source = DOUBLE.source.replace("2.0 * x", forward) + (
        "\n_calls = []\n\ndef _first():\n    _calls.append(1)\n    return len(_calls) < 6\n"
    )
    failing = Task(id="first", level=1, source=source)
    with Verifier(VerifyConfig(device="cpu", workers=1)) as verifier:
        jobs = [(task, Candidate(task=task.id, source=double())) for task in (failing, DOUBLE)]
        bad, good = verifier.verify_many(jobs)
    assert not bad.correct and {finding.rule for finding in bad.findings} == {"task"}
    assert good.correct
