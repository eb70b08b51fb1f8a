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

from tritonsmith.errors import UserError

if TYPE_CHECKING:
    from tritonsmith.config import Config, ExtensionsConfig, VerifyConfig
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
tasks_app = typer.Typer(no_args_is_help=True, help="Look at tasks.")
app.add_typer(tasks_app, name="tasks")
data_app = typer.Typer(no_args_is_help=True, help="Make training data.")
app.add_typer(data_app, name="data")

Device = Annotated[str, typer.Option(help="auto, cpu or cuda")]
Policy = Annotated[str, typer.Option(help="strict or lenient")]
Target = Annotated[str, typer.Option(help="GPU to compile for: sm_90, sm_80, gfx942, ...")]
Set = Annotated[list[str] | None, typer.Option("--set", help="section.key=value, over the file")]
ConfigFile = Annotated[Path, typer.Argument(help="a TOML file, see configs/", show_default=False)]
DryRun = Annotated[bool, typer.Option(help="the whole pipeline on a dummy model, in minutes")]


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
    source, settings, extensions = _candidate(kernel), *_verify_settings(device, policy, target, timing, set_)
    from tritonsmith import reward
    from tritonsmith.tasks.format import load_task
    from tritonsmith.types import Candidate
    from tritonsmith.verify.pool import Verifier

    loaded = load_task(_readable(task))
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
    workers: Annotated[int | None, typer.Option(help="candidates at once; default: cores")] = None,
    device: Device = "auto",
    policy: Policy = "strict",
    target: Target = "sm_90",
    timing: bool = True,
    set_: Set = None,
) -> None:
    """Judge many candidates; what is in OUT already is not judged again."""
    settings, extensions = _verify_settings(device, policy, target, timing, set_)
    from tritonsmith import batch

    if workers is not None:
        settings.workers = workers
    counts = batch.verify_file(_readable(candidates), tasks, out, settings, extensions)
    typer.echo(f"{counts.judged} judged, {counts.known} known, {counts.correct} correct of {counts.total}; {out}")


@tasks_app.command("list")
def tasks_list(
    spec: Annotated[
        str, typer.Argument(help="suite | suite:level1 | kernelbench:DIR | graphs:N | DIR | FILE")
    ] = "suite",
) -> None:
    """List the tasks a SPEC names."""
    from tritonsmith.tasks.format import load_spec

    for task in load_spec(spec):
        typer.echo(f"{task.id}\tlevel {task.level}")


@tasks_app.command("show")
def tasks_show(spec: Annotated[str, typer.Argument(help="a SPEC, or suite:ID such as suite:level1/relu")]) -> None:
    """Print a task's source, and the sizes it is tried at on the CPU."""
    from tritonsmith.tasks import scaling
    from tritonsmith.tasks.format import TaskError, load_spec

    head, _, wanted = spec.partition(":")
    tasks = (
        [task for task in load_spec("suite") if task.id == wanted]
        if head == "suite" and "/" in wanted
        else load_spec(spec)
    )
    if not tasks:
        raise TaskError(f"{spec}: no such task; `tritonsmith tasks list suite` lists them")
    for task in tasks:
        small, full = scaling.tiny(task), scaling.full(task)
        typer.echo(f"# {task.id}, level {task.level}; on the CPU tiny: {small.shapes}; full: {full.shapes}")
        typer.echo(task.source)


@tasks_app.command("vet")
def tasks_vet(
    spec: Annotated[str, typer.Argument(help="a SPEC, such as suite or kernelbench:DIR")] = "suite",
    as_json: Annotated[bool, typer.Option("--json", help="print a list of tasks and their flags, and only it")] = False,
) -> None:
    """Put null controls before every task: zeros, a constant, an input, yesterday's output. Exit code 1: flagged."""
    from tritonsmith import progress
    from tritonsmith.tasks.format import load_spec
    from tritonsmith.verify.vet import vet

    tasks = load_spec(spec)
    with progress.bar("vetting", len(tasks)) as advance:
        flags = []
        for task in tasks:
            flags.append(vet(task))
            advance(1)
    if as_json:
        rows = [
            {"task": task.id, "flags": [vars(flag) for flag in found]} for task, found in zip(tasks, flags, strict=True)
        ]
        typer.echo(json.dumps(rows))
    else:
        from rich.console import Console

        from tritonsmith.report.vetting import render

        Console(highlight=False).print(render(dict(zip((task.id for task in tasks), flags, strict=True))))
    raise typer.Exit(1 if any(flags) else 0)


@data_app.command("build")
def data_build(
    out: Annotated[Path, typer.Option(help="folder of the data set; the same command goes on there")],
    n: Annotated[int | None, typer.Option("--n", min=1, help="verified pairs; default: all that --tasks gives")] = None,
    sources: Annotated[str, typer.Option(help="where answers come from, with commas")] = "inductor,templates",
    tasks: Annotated[str, typer.Option(help="SPEC; a generator's goes without a number too")] = "graphs",
    seed: Annotated[int, typer.Option(min=0)] = 0,
    styles: Annotated[int, typer.Option(min=1, help="writings of each graph")] = 1,
    contrastive: Annotated[bool, typer.Option(help="keep wrong candidates too, and plant bugs")] = False,
    workers: Annotated[int | None, typer.Option(min=1, help="processes of each kind; default: cores")] = None,
    device: Device = "cpu",
    policy: Policy = "strict",
    target: Target = "sm_90",
    set_: Set = None,
) -> None:
    """Make verified pairs: Parquet by split, a dataset card, and histogram.html."""
    given = ["extensions.multi_input=true", *(set_ or [])]
    settings, extensions = _verify_settings(device, policy, target, False, given)
    from tritonsmith.data.build import build
    from tritonsmith.report import dataset

    census = build(
        out,
        n,
        tasks=tasks,
        sources=[name.strip() for name in sources.split(",")],
        seed=seed,
        styles=styles,
        contrastive=contrastive,
        processes=workers,
        verify=settings,
        extensions=extensions,
    )
    page = dataset.build(out)
    for name, one in census.sources.items():
        typer.echo(f"{name}: {one.asked} asked, {one.candidates} candidates, {one.correct} correct")
    splits = ", ".join(f"{rows} {split}" for split, rows in census.rows.items())
    typer.echo(f"{sum(census.rows.values())} pairs of {census.graphs} graphs ({splits}); {page}")
    if any(census.leaks.values()):
        raise UserError(f"the splits overlap ({census.leaks}); this data set is not to be used")


@data_app.command("import")
def data_import(
    spec: Annotated[str, typer.Argument(help="kernelbench:WHERE | kernelbook:WHERE | tritonbench:PATH")],
    out: Annotated[Path, typer.Option(help="folder of task files; a SPEC from then on")],
) -> None:
    """Take over another data set's tasks, as files; WHERE is a hub id or a local copy."""
    from tritonsmith.data import importing

    counts = importing.write(spec, out)
    for reason, count in counts.skipped.most_common():
        typer.echo(f"{count:6} skipped: {reason}")
    typer.echo(f"{counts.tasks} tasks in {out}; {counts.skipped.total()} rows skipped")


@data_app.command("distill")
def data_distill(
    endpoint: Annotated[str, typer.Option(help="base URL of the teacher's OpenAI-compatible server")],
    tasks: Annotated[str, typer.Option(help="SPEC of the tasks to ask for")],
    out: Annotated[Path, typer.Option(help="folder; the same command goes on there")],
    model: Annotated[str | None, typer.Option(help="the teacher's name there")] = None,
    samples: Annotated[int, typer.Option(min=1, help="answers a task")] = 1,
    temperature: Annotated[float, typer.Option(min=0)] = 0.8,
    max_new_tokens: Annotated[int, typer.Option(min=1)] = 4096,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    device: Device = "auto",
    policy: Policy = "strict",
    target: Target = "sm_90",
    set_: Set = None,
) -> None:
    """Ask a teacher, judge its answers with all kinds of inputs, keep the correct ones as training rows.

    The budget: --set endpoint.max_requests=1000 --set endpoint.max_tokens=2000000.
    """
    given = [*_endpoint_overrides(endpoint, model), "extensions.multi_input=true"]
    config = _config(None, [*given, *_verify_overrides(device, policy, target, False), *(set_ or [])])
    from tritonsmith.data import distill
    from tritonsmith.endpoint import Endpoint
    from tritonsmith.tasks.format import load_spec
    from tritonsmith.verify.pool import Verifier

    teacher = Endpoint.of(config.endpoint)
    sampling = distill.Sampling(samples=samples, temperature=temperature, max_new_tokens=max_new_tokens, seed=seed)
    with Verifier(config.verify, extensions=config.extensions) as verifier:
        counts = distill.distill(load_spec(tasks), teacher, verifier, out, sampling)
    failed = counts.wanted - counts.known - counts.asked
    if failed:
        typer.echo(f"{failed} questions failed ({teacher.trouble}); the same command asks again", err=True)
    typer.echo(
        f"{counts.asked} answers asked for, {counts.known} known, {failed} failed; {counts.correct} correct of "
        f"{counts.wanted}, {counts.kept} pairs in {out / 'pairs.jsonl'}; {counts.tokens} tokens"
    )


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
    settings = _config(config, list(set_ or []))
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
    given = _endpoint_overrides(endpoint, model) if endpoint else [f"model.id={json.dumps(model)}"]
    given += [f"eval.samples={samples}", f"eval.turns={turns}", f"run.dir={json.dumps(str(out))}"]
    given += [f"tasks.heldout={json.dumps(tasks)}", *_verify_overrides(device, policy, target, True)]
    config = _config(None, [*given, *(set_ or [])])
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
    given = _verify_overrides(device, policy, target, True)
    given += [f"model.id={json.dumps(model)}"] if model else []
    config = _config(None, [*given, "extensions.multi_input=true", *(set_ or [])])
    from rich.console import Console

    from tritonsmith.report import account
    from tritonsmith.train.optimizing import optimize_file

    with _working("optimizing", quiet=False):
        found = optimize_file(config, _readable(task), model is not None, frontend, midend)
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
    config = _config(path, given)
    from tritonsmith.train import run as runs

    runs.run(config, dry_run=dry_run)


def _config(path: Path | None, overrides: list[str]) -> "Config":
    from tritonsmith import config

    return config.load(path, overrides)


def _verify_overrides(device: str, policy: str, target: str, timing: bool) -> list[str]:
    return [
        f"verify.device={json.dumps(device)}",
        f"verify.policy={json.dumps(policy)}",
        f"verify.target={json.dumps(target)}",
        f"verify.timing={json.dumps(timing)}",
    ]


def _endpoint_overrides(url: str, model: str | None) -> list[str]:
    return [f"endpoint.url={json.dumps(url)}", *([f"endpoint.model={json.dumps(model)}"] if model else [])]


def _verify_settings(
    device: str, policy: str, target: str, timing: bool, overrides: list[str] | None
) -> "tuple[VerifyConfig, ExtensionsConfig]":
    config = _config(None, [*_verify_overrides(device, policy, target, timing), *(overrides or [])])
    return config.verify, config.extensions


def _readable(path: Path) -> Path:
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file")
    if not path.exists():
        raise UserError(f"{path} does not exist")
    return path


def _candidate(path: Path) -> str:
    """The candidate's text; bytes that are no text stay in it and are rejected by the `ast` stage."""
    try:
        return _readable(path).read_bytes().decode(errors="surrogateescape")
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
