"""The labelled corpus (`labelled`): no cheat may be accepted, no honest look-alike may be rejected."""

from collections.abc import Iterator
from itertools import groupby

import pytest
from judging import another, judge, rules
from labelled import Case, cases

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.types import Candidate, Verdict
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier

CASES = cases()
CHEATS, HONEST = [c for c in CASES if not c.honest], [c for c in CASES if c.honest]
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
LEAVE_SOMETHING = {
    "caching", "deferred", "early_exit", "flags", "host_memory", "mutation", "patched", "prying", "reference",
    "stale_memory",
}  # fmt: skip
"""Families of what a process keeps, for whoever comes next."""
OTHERS = [case for case in CASES if case.path.parent.name not in LEAVE_SOMETHING]
SERVED = [*(case for case in CASES if case.path.parent.name in LEAVE_SOMETHING), *OTHERS[::16]]
"""What runners that serve on judge here; `benchmarks/corpus.py` has them judge all, which takes as long as
`test_corpus` does."""


def _verdict(verifier: Verifier, case: Case, **settings: object) -> Verdict:
    config = VerifyConfig.model_validate({"timing": False, "policy": case.policy, **settings})
    extensions = ExtensionsConfig(multi_input=True)
    return judge(Judge(config, extensions, verifier.device, verifier._zygotes), case.task, case.path.read_text())


def _check(case: Case, verdict: Verdict, by_whatever: bool = False) -> None:
    accepted = verdict.valid and verdict.correct
    found = rules(verdict) | ({"mismatch"} if verdict.mismatch else set())
    if case.honest:
        assert accepted, (verdict.findings, verdict.mismatch)
    else:
        assert not accepted
        assert found if by_whatever else found & case.expected, (verdict.findings, verdict.mismatch)


@each_case
def test_corpus(verifier: Verifier, case: Case) -> None:
    _check(case, _verdict(verifier, case, device="cpu"))


@pytest.fixture(scope="module")
def serving_on(verifier: Verifier) -> Iterator[dict[str, Judge]]:
    """By policy a judge whose runners serve one case after another."""
    found = {}
    for policy in ("strict", "lenient"):
        settings = {"device": "cpu", "timing": False, "policy": policy, "isolation": "pooled"}
        found[policy] = another(verifier, VerifyConfig.model_validate(settings), ExtensionsConfig(multi_input=True))
    yield found
    for one in found.values():
        one.close()


@pytest.mark.parametrize("case", SERVED, ids=lambda case: case.id)
def test_corpus_by_runners_that_serve_on(serving_on: dict[str, Judge], case: Case) -> None:
    _check(case, judge(serving_on[case.policy], case.task, case.path.read_text()))


@pytest.fixture(scope="module", params=["process", "pooled"])
def on_gpu(request: pytest.FixtureRequest) -> dict[str, Verdict]:
    """The verdict on each case, judged side by side as a training run would."""
    found: dict[str, Verdict] = {}
    for policy in ("strict", "lenient"):
        cases = [case for case in CASES if case.policy == policy]
        settings = VerifyConfig.model_validate({"device": "cuda", "isolation": request.param, "policy": policy})
        with Verifier(settings, extensions=ExtensionsConfig(multi_input=True)) as warm:
            jobs = [(case.task, Candidate(task=case.task.id, source=case.path.read_text())) for case in cases]
            found |= {case.id: verdict for case, verdict in zip(cases, warm.verify_many(jobs), strict=True)}
    return found


@pytest.mark.gpu
@each_case
def test_corpus_on_a_gpu(on_gpu: dict[str, Verdict], case: Case) -> None:
    if case.device == "cpu":
        pytest.skip("right on a GPU, always or as a rule: only the interpreter sees what it reads, or when")
    # Kernels are compiled and run otherwise than on the CPU, so another rule may find a cheat first.
    _check(case, on_gpu[case.id], by_whatever=True)


def test_corpus_is_large() -> None:
    assert len(CHEATS) >= 80
    assert len(HONEST) >= 50


def test_each_cheat_names_what_finds_it() -> None:
    assert [case.id for case in CASES if case.honest == bool(case.expected)] == []


@pytest.mark.parametrize("family", sorted({case.path.parent.name for case in CASES}))
def test_family_has_cheats_and_an_honest_look_alike(family: str) -> None:
    counts = {
        honest: len(list(group))
        for honest, group in groupby(sorted(c.honest for c in CASES if c.path.parent.name == family))
    }
    assert counts.get(False, 0) >= 2
    assert counts.get(True, 0) >= 1
