"""From a task to the best verified kernel: each agent builds on the one before, and nothing wrong comes out."""

from collections.abc import Callable, Sequence

import pytest

from tritonsmith.config import OptimizeConfig
from tritonsmith.optimize import Account, optimize
from tritonsmith.prompts import midend_messages
from tritonsmith.types import Candidate, Finding, Interval, KernelStats, StageResult, Task, Timing, Verdict

TASK = Task(id="t", level=1, source="# the task\nimport torch\n")
CONFIG = OptimizeConfig(samples=3, turns=2, midend_samples=2, midend_rounds=3, tune_seconds=5, tune_trials=20)


def speed_of(source: str) -> float | None:
    """`speed = 1.5` is right and 1.5 times as fast; `wrong` is wrong; BLOCK=512 makes anything faster."""
    if "wrong" in source:
        return None
    value = float(source.split("speed =")[1].split()[0])
    return value * (1.25 if "BLOCK=512" in source else 1.0)


def verdict_on(source: str | None, sample: int = 0) -> Verdict:
    speed = None if source is None else speed_of(source)
    right = speed is not None
    interval = Interval(median=speed or 1.0, low=(speed or 1.0) - 0.01, high=(speed or 1.0) + 0.01)
    return Verdict(
        task="t", sample=sample, device="cuda", target="sm_90", policy="strict", valid=True, compiled=True,
        correct=right, speedup=interval if right else None,
        timing=Timing(kind="measured", reference_ms=1.0, candidate_ms=1 / speed, speedup=interval) if speed else None,
        findings=[] if right else [Finding(rule="mask", message="no mask here")],
        kernels=[KernelStats(name="k", registers=42, spills=0, shared=512, launches=1)],
        stages=[StageResult(name="ast", ok=True, seconds=0.0), StageResult(name="tiny", ok=right, seconds=0.0)],
    )  # fmt: skip


class Referee:
    """Judges by what is written; from a number of calls on it finds a source wrong that it called right."""

    def __init__(self, doubts: str | None = None) -> None:
        self.doubts = doubts
        self.seen: list[str] = []

    def verify_many(
        self, jobs: Sequence[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        verdicts = []
        for _, candidate in jobs:
            source = candidate.source
            doubted = source is not None and self.doubts is not None and self.doubts in source and source in self.seen
            verdicts.append(verdict_on("wrong" if doubted else source, candidate.sample))
            self.seen.append(source or "")
        return verdicts


class Agent:
    """Answers with what it was given, in its order; keeps what it was asked."""

    prompt_style = "bare"

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[list[dict[str, str]]] = []

    def sample(
        self,
        messages: Sequence[list[dict[str, str]]],
        n: int,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
        batch: int,
        seed: int,
        on_batch: Callable[[list[tuple[int, int, str]]], None] | None,
    ) -> list[list[str]]:
        self.asked += messages
        given = self.answers.pop(0) if self.answers else ["wrong"]
        return [[f"Plan.\n```python\n{given[i % len(given)]}\n```"] for i in range(len(messages))]


def run(frontend: Agent | None, midend: Agent | None = None, doubts: str | None = None, **rest: object) -> Account:
    return optimize(TASK, Referee(doubts), lambda _, c: verdict_on(c.source), CONFIG, frontend, midend, **rest)  # type: ignore[arg-type]


SLOW = "speed = 1.1 \nk[(triton.cdiv(n, 1024),)](x, BLOCK=1024)"


def test_each_agent_builds_on_the_one_before() -> None:
    midend = Agent([SLOW.replace("1.1", "1.6")])
    account = run(Agent(["wrong", SLOW, "wrong"]), midend)
    assert [step.agent for step in account.steps] == ["frontend", "midend", "backend"]
    assert [step.best for step in account.steps] == pytest.approx([1.1, 1.6, 2.0])
    assert account.found is not None and account.found.agent == "backend" and "BLOCK=512" in account.found.source


def test_the_midend_is_told_what_the_compiler_said() -> None:
    midend = Agent()
    run(Agent([SLOW]), midend)
    asked = midend.asked[0][0]["content"]
    assert "# the task" in asked and "speed = 1.1" in asked and "42 registers" in asked and "512 bytes shared" in asked


def test_a_round_without_a_gain_is_the_midends_last() -> None:
    midend = Agent(["speed = 1.0 \n"], ["speed = 3.0 \n"])
    run(Agent([SLOW]), midend)
    assert len(midend.asked) == CONFIG.midend_samples


def test_what_was_wrong_is_answered_in_the_next_turn() -> None:
    agent = Agent(["wrong"], [SLOW])
    account = run(agent)
    assert account.found is not None and "no mask here" in agent.asked[-1][2]["content"]


def test_the_lowerings_kernel_stands_where_the_agent_finds_none() -> None:
    account = run(Agent(["wrong"], ["wrong"]), lowering=lambda _: "speed = 1.2 \n")
    assert account.found is not None and account.found.agent == "compiler"


def test_a_kernel_that_fails_when_verified_again_is_not_returned() -> None:
    account = run(Agent([SLOW]), Agent(["speed = 9.0 \n"]), doubts="9.0")
    assert account.found is not None and "speed = 1.1" in account.found.source


def test_a_slower_kernel_that_came_later_stands_where_the_best_fails_again() -> None:
    account = run(Agent(["wrong"]), Agent([SLOW]), doubts="1.5", lowering=lambda _: "speed = 1.5 \n")
    assert account.found is not None and "speed = 1.1" in account.found.source


def test_without_a_correct_kernel_there_is_none_and_the_last_word_is_kept() -> None:
    account = run(Agent(["wrong"], ["wrong"]))
    assert account.found is None and account.last is not None and account.last.findings[0].rule == "mask"


def test_the_midends_prompt_leads_with_the_task() -> None:
    (message,) = midend_messages(TASK, SLOW, verdict_on(SLOW))
    assert message["content"].startswith("# the task") and message["content"].endswith("# Make it faster.")
