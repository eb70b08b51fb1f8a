"""`tritonsmith tasks`: what a SPEC names, and whether it tells a kernel from an empty answer."""

import json
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Look at tasks.")


@app.command("list")
def tasks_list(
    spec: Annotated[
        str, typer.Argument(help="suite | suite:level1 | kernelbench:DIR | graphs:N | DIR | FILE")
    ] = "suite",
) -> None:
    """List the tasks a SPEC names."""
    from tritonsmith.tasks.format import load_spec

    for task in load_spec(spec):
        typer.echo(f"{task.id}\tlevel {task.level}")


@app.command("show")
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


@app.command("vet")
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
