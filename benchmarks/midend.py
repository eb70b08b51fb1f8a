"""What each agent adds to speed: frontend, mid-end, backend, over held-out tasks, and whether anything wrong comes out.

    python benchmarks/midend.py --out runs/midend > benchmarks/midend.md                    by rules, without a model
    python benchmarks/midend.py --model nano --frontend ADAPTER --midend ADAPTER --out runs/midend-agents

Each task goes through `optimize`: without a model our own lowering is the frontend and `data.faster` the mid-end, with
one they are beside it; the backend turns launch parameters where time is measured (`--device cuda`). A search keeps
the best of many noisy times, so the kernel that stood after each step is verified and timed once more: the figures are
those second times, over eager, and a step's gain is paired by task. Times on a CPU are predicted, as the table says.
Wanted: at least 50 tasks, the geometric mean rises from step to step where it is measured and never falls, and every
kernel that is returned is correct. Tasks done are kept in `--out`; a second call goes on.

A dry run: --tasks graphs:3:seed=5:depth=2:split=heldout --device cpu --model nano --samples 1 --tokens 64 --least 1
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Literal, ParamSpec, TypeVar

import typer
from commands import same_settings, start
from pydantic import BaseModel

from tritonsmith import jsonl, metrics
from tritonsmith.config import Config, ExtensionsConfig, ModelConfig, OptimizeConfig, VerifyConfig
from tritonsmith.errors import UserError
from tritonsmith.metrics import Estimate
from tritonsmith.optimize import optimize
from tritonsmith.progress import bar
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import run
from tritonsmith.train.agents import Agent, Agents
from tritonsmith.train.optimizing import as_trained, lowering, rewriting
from tritonsmith.types import Candidate, Task, Verdict

log = logging.getLogger(__name__)
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

P = ParamSpec("P")
T = TypeVar("T")

STEPS = ("frontend", "midend", "backend")
HELDOUT = "graphs:60:seed=77:depth=2-6:split=heldout"


class Row(BaseModel):
    """What became of one task."""

    task: str
    speedups: dict[str, float | None]
    """Over eager, of the kernel that stood after each step, verified once more; that of the step before where it was
    wrong then, None where none was right."""
    returned: bool
    """Whether a kernel was returned."""
    correct: bool
    """Whether the kernel that was returned was correct when it was judged by another verifier."""
    kind: str
    """`measured`, `predicted`, or empty."""
    seconds: dict[str, float]


@app.command(help=__doc__)
def main(
    tasks: Annotated[str, typer.Option(help="SPEC")] = HELDOUT,
    model: Annotated[str | None, typer.Option(help="nano, a hub id or a path; none: by rules alone")] = None,
    frontend: Annotated[Path | None, typer.Option(help="the frontend's adapter on the model")] = None,
    midend: Annotated[Path | None, typer.Option(help="the mid-end's adapter on the model")] = None,
    samples: Annotated[int, typer.Option(min=1, help="completions of each agent a turn")] = 16,
    tokens: Annotated[int, typer.Option(min=1, help="tokens a completion may have")] = 1024,
    tune_seconds: Annotated[float, typer.Option(min=0.0, help="time of the backend a task")] = 20.0,
    beside: Annotated[int, typer.Option(min=1, help="tasks at once; one at a time where there is a model")] = 4,
    device: Literal["auto", "cpu", "cuda"] = "auto",
    least: Annotated[int, typer.Option(help="tasks that must be done for the claim")] = 50,
    out: Path = Path("runs/bench-midend"),
) -> None:
    """Optimise what is missing, print the tables; fails where the claim does."""
    if model is None and (frontend or midend):
        raise UserError("--frontend and --midend are adapters on a model: give --model too")
    config = Config(
        model=ModelConfig(id=model or "nano"),
        verify=VerifyConfig(device=device),
        extensions=ExtensionsConfig(multi_input=True),
        optimize=OptimizeConfig(
            samples=samples, midend_samples=samples, max_new_tokens=tokens, batch=samples, tune_seconds=tune_seconds
        ),
    )
    config = as_trained(config, midend)
    given: dict[Agent, Path | None] = {"frontend": frontend, "midend": midend}
    adapters: dict[Agent, Path] = {agent: folder for agent, folder in given.items() if folder is not None}
    chosen, path = load_spec(tasks), out / "tasks.jsonl"
    agents_of = {"model": model, "frontend": frontend, "midend": midend, "samples": samples, "tokens": tokens}
    same_settings(out, {**agents_of, "tune_seconds": tune_seconds, "device": device}, path)
    known = {row.task: row for row in map(Row.model_validate, jsonl.read(path))}
    missing = [task for task in chosen if task.id not in known]
    if missing:
        agents = Agents(config, adapters) if model is not None else None
        threads = ThreadPoolExecutor(beside if agents is None else 1)
        with _Bench(config, agents) as bench, threads, bar("tasks", len(missing)) as advance:
            try:
                for row in threads.map(bench.row, missing):
                    jsonl.append(path, row.model_dump_json())
                    known[row.task] = row
                    advance(1)
            except KeyboardInterrupt:
                log.info("stopping; what is being judged ends first")
                raise
            finally:
                bench.over.set()
    rows = [known[task.id] for task in chosen]
    typer.echo(report(rows, tasks, model))
    reason = missed(rows, least)
    if reason is not None:
        typer.echo(f"the claim does not hold: {reason}", err=True)
        raise typer.Exit(1)


class Over(Exception):
    """The benchmark is over: nothing more is begun."""


class _Bench(contextlib.ExitStack):
    """The verifiers and agents that tasks are optimised with."""

    def __init__(self, config: Config, agents: Agents | None) -> None:
        super().__init__()
        self.config = config
        early, plain = config.model_copy(deep=True), config.model_copy(deep=True)
        early.verify.until, plain.verify.timing = "compile", False
        self.verifier = self.enter_context(run.judges(config))
        self.compiles = self.enter_context(run.judges(early, beside=self.verifier))
        self.other = self.enter_context(run.judges(plain))
        self.frontend = agents.sampler("frontend") if agents is not None else None
        self.midend = agents.sampler("midend") if agents is not None and "midend" in agents.adapters else None
        self.tracing = threading.Lock()
        self.over = threading.Event()
        """Set where no task under way is to be gone on with."""

    def row(self, task: Task) -> Row:
        """Optimise one task, and time what stood after each step once more."""
        account = optimize(
            task, self, self.going(self.compiles.verify), self.config.optimize, self.frontend, self.midend,
            self.alone(lowering), self.alone(rewriting), self.config.run.seed,
        )  # fmt: skip
        again: dict[str, Verdict] = {}
        standing: float | None = None
        speedups: dict[str, float | None] = {}
        for step in account.steps:
            if step.found is not None:
                source = step.found.source
                if source not in again:
                    again[source] = self.going(self.verifier.verify)(task, Candidate(task=task.id, source=source))
                verdict = again[source]
                standing = verdict.speedup.median if verdict.correct and verdict.speedup else standing
            speedups[step.agent] = standing
        found, timing = account.found, account.found.verdict.timing if account.found else None
        last = Candidate(task=task.id, source=found.source) if found is not None else None
        return Row(
            task=task.id,
            speedups=speedups,
            returned=last is not None,
            correct=last is not None and self.other.verify(task, last).correct,
            kind=timing.kind if timing is not None else "",
            seconds={step.agent: round(step.seconds, 1) for step in account.steps},
        )

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        """The verifier's verdicts (`evaluate.Judge`)."""
        return self.going(self.verifier.verify_many)(jobs, on_verdict)

    def alone(self, function: Callable[[Task], str | None]) -> Callable[[Task], str | None]:
        """The function, in one thread at a time: torch traces with global state."""

        def locked(task: Task) -> str | None:
            with self.tracing:
                return self.going(function)(task)

        return locked

    def going(self, function: Callable[P, T]) -> Callable[P, T]:
        """The function, which raises Over once the benchmark is."""

        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            if self.over.is_set():
                raise Over
            return function(*args, **kwargs)

        return checked


def gains(rows: Sequence[Row]) -> dict[str, tuple[Estimate, Estimate | None, int]]:
    """By step: the geometric mean speedup, how much it is over the step before, and on how many tasks it is faster.

    Over the tasks that have a kernel from the first step on; a step that was not taken leaves its kernel as it was.
    """
    found: dict[str, tuple[Estimate, Estimate | None, int]] = {}
    full = [row for row in rows if row.speedups.get(STEPS[0])]
    before: list[float] = []
    for step in STEPS:
        values = [row.speedups.get(step) or (before[i] if before else 0.0) for i, row in enumerate(full)]
        ratios = [late / early for early, late in zip(before, values, strict=True)] if before else []
        gain = metrics.geometric(ratios) if ratios else None
        found[step] = metrics.geometric(values), gain, sum(ratio > 1.0 for ratio in ratios)
        before = values
    return found


def report(rows: Sequence[Row], tasks: str, model: str | None) -> str:
    """The table as Markdown."""
    kinds = sorted({row.kind for row in rows if row.kind})
    who = model or "rules: our own lowering, then `data.faster`"
    lines = [
        f"# Frontend, mid-end, backend: {who}\n",
        f"{len(rows)} tasks of `{tasks}`; speedups over eager are {' and '.join(kinds) or 'none'}.\n",
        "| after | geometric mean | gain of the step | faster than before | seconds a task |",
        "|---|---|---|---|---|",
    ]
    full = sum(bool(row.speedups.get(STEPS[0])) for row in rows)
    for step, (mean, gain, faster) in gains(rows).items():
        took = [row.seconds[step] for row in rows if step in row.seconds]
        cells = [step, _times(mean), _times(gain) if gain else "", f"{faster} of {full}" if gain else ""]
        lines.append(f"| {' | '.join(cells)} | {sum(took) / len(took) if took else 0.0:.1f} |")
    returned = sum(row.returned for row in rows)
    correct = sum(row.correct for row in rows)
    return "\n".join([*lines, f"\n{returned} of {len(rows)} tasks have a kernel; {correct} of these are correct."])


def missed(rows: Sequence[Row], least: int) -> str | None:
    """What the claim lacks; None where it holds."""
    returned = [row for row in rows if row.returned]
    if wrong := [row.task for row in returned if not row.correct]:
        return f"{len(wrong)} of the kernels that were returned are wrong, such as that for {wrong[0]}"
    if len(returned) < least:
        return f"{len(returned)} tasks have a kernel, {least} are wanted"
    measured = all(row.kind == "measured" for row in returned)
    for step, (_, gain, _) in gains(rows).items():
        if gain is not None and not (gain.value > 1.0 or (not measured and gain.value >= 1.0)):
            return f"the {step} gains nothing: {_times(gain)}"
    return None


def _times(one: Estimate) -> str:
    return f"{one.value:.2f}x ({one.low:.2f}-{one.high:.2f})"


if __name__ == "__main__":
    start(app)
