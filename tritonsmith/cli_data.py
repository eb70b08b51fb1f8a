"""`tritonsmith data`: verified pairs built here, taken over from others, or asked of a teacher."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tritonsmith.cli_options import (
    Device,
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

app = typer.Typer(no_args_is_help=True, help="Make training data.")

PromptStyle = Literal["bare", "plain", "canonical", "full", "traced"]
"""`types.Style`, which would bring pydantic in before it is needed."""
Canonical = Annotated[bool, typer.Option("--canonical", help="tasks in one form, as `prompt_style = canonical` asks")]


@app.command("build")
def data_build(
    out: Annotated[Path, typer.Option(help="folder of the data set; the same command goes on there")],
    n: Annotated[int | None, typer.Option("--n", min=1, help="verified pairs; default: all that --tasks gives")] = None,
    sources: Annotated[str, typer.Option(help="where answers come from, with commas")] = "inductor,templates",
    tasks: Annotated[str, typer.Option(help="SPEC; a generator's goes without a number too")] = "graphs",
    seed: Annotated[int, typer.Option(min=0)] = 0,
    styles: Annotated[int, typer.Option(min=1, help="writings of each graph")] = 1,
    contrastive: Annotated[bool, typer.Option(help="keep wrong candidates too, and plant bugs")] = False,
    canonical: Canonical = False,
    workers: Annotated[int | None, typer.Option(min=1, help="processes of each kind; default: cores")] = None,
    device: Device = "cpu",
    policy: Policy = "strict",
    target: Target = "sm_90",
    set_: Set = None,
) -> None:
    """Make verified pairs: Parquet by split, a dataset card, and histogram.html."""
    settings, extensions = verify_settings(device, policy, target, False, set_)
    from tritonsmith.data.build import build
    from tritonsmith.report import dataset

    census = build(
        out,
        n,
        tasks=tasks,
        sources=[name.strip() for name in sources.split(",")],
        seed=seed,
        styles=styles,
        canonical=canonical,
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


@app.command("draft")
def data_draft(
    out: Annotated[Path, typer.Option(help="folder of the drafts; the same command goes on there")],
    n: Annotated[int, typer.Option("--n", min=1, help="drafts")],
    tasks: Annotated[str, typer.Option(help="SPEC; a generator's goes without a number too")] = "graphs:split=train",
    source: Annotated[str, typer.Option(help="where answers come from, with commas")] = "templates",
    seed: Annotated[int, typer.Option(min=0)] = 0,
    styles: Annotated[int, typer.Option(min=1, help="writings of each graph")] = 1,
    canonical: Canonical = False,
    workers: Annotated[int | None, typer.Option(min=1, help="processes; default: cores")] = None,
) -> None:
    """Make answers that nobody judges, to pretrain on: hundreds of times as fast as build."""
    from tritonsmith.data.draft import draft

    found = draft(out, n, tasks=tasks, answers=source, seed=seed, styles=styles, canonical=canonical, processes=workers)
    typer.echo(f"{found} drafts, unjudged, in {out / 'train'}")


@app.command("repairs")
def data_repairs(
    tasks: Annotated[str, typer.Option(help="SPEC of the tasks that they answer")],
    out: Annotated[Path, typer.Option(help="JSONL file of rows, for sft.data")],
    records: Annotated[list[Path] | None, typer.Argument(help="records of runs and evaluations, as JSONL")] = None,
    style: Annotated[PromptStyle, typer.Option(help="the model's prompt_style")] = "bare",
    most: Annotated[int, typer.Option(min=1, help="wrong answers a task")] = 4,
    lowering: Annotated[bool, typer.Option(help="our own lowering answers too, verified")] = False,
    plant: Annotated[
        int,
        typer.Option(
            min=0, help="bugs planted into a right answer of each task, the records' or the lowering's, and judged"
        ),
    ] = 0,
    device: Device = "cpu",
    policy: Policy = "strict",
    target: Target = "sm_90",
    set_: Set = None,
) -> None:
    """Make conversations of recorded wrong answers: what was wrong with each, then a right one for the same task."""
    settings, extensions = verify_settings(device, policy, target, False, set_)
    files = [readable(path) for path in records or []]
    if not files and not plant:
        raise UserError("nothing to mend: name files of records, or plant bugs with --plant")
    writable(out)
    from tritonsmith import jsonl
    from tritonsmith.data.pairs import write_pairs
    from tritonsmith.data.repairs import planted, recorded, repairs
    from tritonsmith.tasks.format import load_spec
    from tritonsmith.verify.pool import Verifier

    found = [record for path in files for record in recorded(path)]
    asked = {task.id: task for task in load_spec(tasks)}
    answers: dict[str, str] = {}
    right = {one.task: one.completion for one in reversed(found) if one.verdict.correct and one.task in asked}
    if lowering or plant:
        failed = {record.task for record in found if not record.verdict.correct}
        wanted = [task for name, task in asked.items() if name in failed or not files]
        with Verifier(settings, extensions=extensions) as verifier:
            if lowering or not files:
                pairs = write_pairs(wanted, verifier, out.with_suffix(".pairs.jsonl"), style)
                answers = {row.task: row.completion[0]["content"] for row in pairs}
            found += planted(answers | right, asked, verifier, most=plant) if plant else []
    rows = repairs(found, asked, style, answers=answers, most=most)
    jsonl.write(out, "".join(row.model_dump_json() + "\n" for row in rows))
    mended = sum(any(message["role"] == "assistant" for message in row.prompt) for row in rows)
    typer.echo(f"{mended} repairs and {len(rows) - mended} first answers of {len(asked)} tasks in {out}")


@app.command("import")
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


@app.command("distill")
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
    given = endpoint_overrides(endpoint, model)
    config = config_of(None, [*given, *verify_overrides(device, policy, target, False), *(set_ or [])])
    from tritonsmith.data import distill
    from tritonsmith.endpoint import Endpoint
    from tritonsmith.tasks.format import load_spec
    from tritonsmith.verify.pool import Verifier

    teacher = Endpoint.of(config.endpoint)
    sampling = distill.Sampling(samples=samples, temperature=temperature, max_new_tokens=max_new_tokens, seed=seed)
    with Verifier(config.verify, extensions=config.extensions) as verifier:
        counts = distill.distill(
            load_spec(tasks),
            teacher,
            verifier,
            out,
            sampling,
            verify=config.verify,
            extensions=config.extensions,
        )
    failed = counts.wanted - counts.known - counts.asked
    if failed:
        typer.echo(f"{failed} questions failed ({teacher.trouble}); the same command asks again", err=True)
    typer.echo(
        f"{counts.asked} answers asked for, {counts.known} known, {failed} failed; {counts.correct} correct of "
        f"{counts.wanted}, {counts.kept} pairs in {out / 'pairs.jsonl'}; {counts.tokens} tokens"
    )
