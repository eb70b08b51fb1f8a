"""The command line: DESIGN section 7's contract, one function a command.

Heavy imports wait inside the commands: `--help` and a usage error answer at once. Nothing is decided here;
each command reads its arguments, calls the library, and prints.
"""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from tritonsmith import cli_data, cli_tasks
from tritonsmith.cli_options import (
    ConfigFile,
    Device,
    DryRun,
    Policy,
    Set,
    Target,
    config_of,
    endpoint_overrides,
    readable,
    verify_overrides,
    verify_settings,
    writable,
)
from tritonsmith.errors import UserError

if TYPE_CHECKING:
    from tritonsmith.types import Verdict

# A second of a candidate's time is kept for what the clock does not see: Python's start, and the way out.
_BEGAN = time.monotonic() - 1.0


class _Commands(TyperGroup):
    """A user's mistake ends in one line and exit code 2, Ctrl-C in 130, a closed pipe in 141."""

    def invoke(self, ctx: typer.Context) -> object:
        try:
            return super().invoke(ctx)
        except UserError as error:
            typer.echo(f"tritonsmith: {str(error).splitlines()[0]}", err=True)
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            typer.echo("interrupted; the same command resumes", err=True)
            raise typer.Exit(130) from error
        except BrokenPipeError as error:
            raise typer.Exit(141) from error


app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
app.add_typer(cli_tasks.app, name="tasks")
app.add_typer(cli_data.app, name="data")


def main() -> None:
    """Entry point of the `tritonsmith` command."""
    logging.basicConfig(format="%(message)s")
    logging.getLogger("tritonsmith").setLevel(logging.INFO)
    app()


@app.command()
def verify(
    task: Annotated[Path, typer.Argument(help="task file: Model, get_inputs, get_init_inputs")],
    kernel: Annotated[Path, typer.Argument(help="candidate file: ModelNew")],
    device: Device = "auto",
    policy: Policy = "strict",
    target: Target = "sm_90",
    timing: Annotated[bool, typer.Option(help="time (cuda) or predict (cpu) the speedup")] = True,
    json_only: Annotated[bool, typer.Option("--json", help="print the verdict as JSON and nothing else")] = False,
    set_: Set = None,
) -> None:
    """Judge one candidate. Exit code 0: correct; 1: rejected; 2: bad usage or unreadable file."""
    source, settings, extensions = _candidate(kernel), *verify_settings(device, policy, target, timing, set_)
    from tritonsmith import reward
    from tritonsmith.tasks.format import load_task
    from tritonsmith.types import Candidate
    from tritonsmith.verify.pool import Verifier

    loaded = load_task(readable(task))
    settings.judges = 1  # a process of its own for one candidate would only have to start
    with (
        _working(f"judging {kernel.name}", quiet=json_only),
        Verifier(settings, extensions=extensions, score=reward.score) as verifier,
    ):
        verdict = verifier.verify(loaded, Candidate(task=loaded.id, source=source), began=_BEGAN)
    if (broken := next((finding for finding in verdict.findings if finding.rule == "task"), None)) is not None:
        raise UserError(broken.message)  # the candidate is not to blame
    if json_only:
        typer.echo(verdict.model_dump_json())
    else:
        _show(verdict)
    raise typer.Exit(0 if verdict.correct else 1)


@app.command("verify-batch")
def verify_batch(
    candidates: Annotated[
        Path, typer.Argument(help='JSONL: {"task": ..., "sample": 0, "completion" or "source": ...}')
    ],
    tasks: Annotated[str, typer.Option(help="SPEC of the tasks the candidates answer")],
    out: Annotated[Path, typer.Option(help="JSONL of verdicts, appended to")],
    workers: Annotated[int | None, typer.Option(min=1, help="candidates at once; default: cores")] = None,
    device: Device = "auto",
    policy: Policy = "strict",
    target: Target = "sm_90",
    timing: bool = True,
    set_: Set = None,
) -> None:
    """Judge many candidates; what is in OUT already is not judged again."""
    settings, extensions = verify_settings(device, policy, target, timing, set_)
    from tritonsmith import batch

    if workers is not None:
        settings.workers = workers
    counts = batch.verify_file(readable(candidates), tasks, writable(out), settings, extensions)
    typer.echo(f"{counts.judged} judged, {counts.known} known, {counts.correct} correct of {counts.total}; {out}")


@app.command()
def sft(config: ConfigFile, set_: Set = None, dry_run: DryRun = False) -> None:
    """Supervised fine-tuning alone."""
    _run(config, set_, dry_run, ["sft"])


@app.command("best-of-n")
def best_of_n(config: ConfigFile, set_: Set = None, dry_run: DryRun = False) -> None:
    """Best-of-N alone, from the run's SFT model if there is one."""
    _run(config, set_, dry_run, ["best_of_n"])


@app.command()
def grpo(config: ConfigFile, set_: Set = None, dry_run: DryRun = False) -> None:
    """GRPO alone, from the run's SFT model if there is one."""
    _run(config, set_, dry_run, ["grpo"])


@app.command()
def run(config: ConfigFile, set_: Set = None, dry_run: DryRun = False) -> None:
    """Everything the config names: SFT, RL, evaluation, report. The same command resumes."""
    _run(config, set_, dry_run, None)


@app.command()
def ablate(config: ConfigFile, set_: Set = None, dry_run: DryRun = False) -> None:
    """All 16 settings of the four extensions, each a run of its own, and what each of them is worth."""
    settings = config_of(config, list(set_ or []))
    from rich.console import Console

    from tritonsmith import ablate as ablation

    Console().print(ablation.table(ablation.ablate(settings, dry_run=dry_run)))


@app.command("eval")
def eval_(
    model: Annotated[str | None, typer.Option(help="nano, a hub id, a path, or a name at the endpoint")] = None,
    endpoint: Annotated[str | None, typer.Option(help="base URL of an OpenAI-compatible server")] = None,
    tasks: Annotated[str, typer.Option(help="SPEC")] = "suite",
    samples: Annotated[int, typer.Option(help="completions a task")] = 10,
    turns: Annotated[int, typer.Option(min=1, help="turns a completion has; later ones answer what was wrong")] = 1,
    out: Annotated[Path, typer.Option(help="folder for records and summary")] = Path("runs/eval"),
    device: Device = "auto",
    policy: Policy = "strict",
    target: Target = "sm_90",
    set_: Set = None,
) -> None:
    """Sample a model, here or served, judge its kernels, print valid / compiled / correct / speedup / pass@k."""
    if model is None and endpoint is None:
        raise UserError("give --model, or --endpoint, or both: the model's name there")
    given = endpoint_overrides(endpoint, model) if endpoint else [f"model.id={json.dumps(model)}"]
    given += [f"eval.samples={samples}", f"eval.turns={turns}", f"run.dir={json.dumps(str(out))}"]
    given += [f"tasks.heldout={json.dumps(tasks)}", *verify_overrides(device, policy, target, True)]
    config = config_of(None, [*given, *(set_ or [])])
    from tritonsmith.train import run as runs

    runs.evaluate_model(config)


@app.command()
def optimize(
    task: Annotated[Path, typer.Argument(help="a task file")],
    out: Annotated[Path, typer.Option("-o", "--out", help="where the kernel goes")],
    model: Annotated[str | None, typer.Option(help="nano, a hub id, or a path; none: the lowering alone")] = None,
    frontend: Annotated[Path | None, typer.Option(help="adapter of the agent that writes kernels")] = None,
    midend: Annotated[Path | None, typer.Option(help="adapter of the agent that makes them faster")] = None,
    device: Device = "auto",
    policy: Policy = "strict",
    target: Target = "sm_90",
    set_: Set = None,
) -> None:
    """Find the best verified kernel for a task: frontend, mid-end, backend. Exit code 1: none was found."""
    readable(task)
    writable(out)
    given = verify_overrides(device, policy, target, True)
    given += [f"model.id={json.dumps(model)}"] if model else []
    config = config_of(None, [*given, *(set_ or [])])
    from rich.console import Console

    from tritonsmith.report import account
    from tritonsmith.train.optimizing import optimize_file

    with _working("optimizing", quiet=False):
        found = optimize_file(config, task, model is not None, frontend, midend)
    Console(highlight=False).print(account.render(found))
    if found.found is None:
        raise typer.Exit(1)
    out.write_text(found.found.source)
    typer.echo(str(out))


@app.command()
def report(run_dir: Annotated[Path, typer.Argument(help="a run's folder")]) -> None:
    """Write RUN_DIR/report.html anew."""
    from tritonsmith.report.build import build

    typer.echo(str(build(run_dir)))


@app.command()
def doctor() -> None:
    """Say what this machine gives: torch, triton, GPU, ptxas, sandbox layers; and what is missing."""
    from tritonsmith import doctor as checks

    rows = checks.examine()
    for row in rows:
        typer.echo(f"{'ok  ' if row.ok else 'MISS'}  {row.name:<22} {row.detail}")
    raise typer.Exit(0 if all(row.ok or row.optional for row in rows) else 1)


def _run(path: Path, overrides: list[str] | None, dry_run: bool, steps: list[str] | None) -> None:
    given = list(overrides or [])
    if steps is not None:
        given.append(f"run.steps={json.dumps(steps)}")
    config = config_of(path, given)
    from tritonsmith.train import run as runs

    runs.run(config, dry_run=dry_run)


def _candidate(path: Path) -> str:
    """The candidate's text; bytes that are no text stay in it and are rejected by the `ast` stage."""
    try:
        return readable(path).read_bytes().decode(errors="surrogateescape")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


@contextmanager
def _working(what: str, quiet: bool) -> Iterator[None]:
    from rich.console import Console

    console = Console(stderr=True, quiet=quiet)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def _show(verdict: "Verdict") -> None:
    from rich.console import Console

    from tritonsmith.report.verdict import render

    Console(highlight=False).print(render(verdict))


if __name__ == "__main__":
    main()
