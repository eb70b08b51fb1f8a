"""KernelBench's tasks: `kernelbench:WHERE[:level1]`, levels 1 to 4.

WHERE is a checkout of the repository (or its `KernelBench` folder), the hub id `ScalingIntelligence/KernelBench`, or
a local copy of that data set: columns `code`, `level`, `name`, `problem_id`, a split `level_N` a level. Ids are those
of the checkout, `level1/19_ReLU`, wherever the tasks come from. Nothing here is for training: see `data.build`.
"""

from collections.abc import Iterator
from pathlib import Path

from tritonsmith.tasks import hub
from tritonsmith.tasks.format import TaskError, read_task
from tritonsmith.tasks.hub import Row, Skipped
from tritonsmith.types import Task


def load(rest: str) -> list[Task]:
    """The tasks, ordered by level and then by number. Raises TaskError where there are none."""
    where, _, level = rest.partition(":")
    root = _checkout(Path(where)) if where else None
    if root is not None:
        return _files(root, level, rest)
    return sorted(hub.tasks(f"kernelbench:{rest}", convert(rest)), key=lambda task: (task.level, _number(task.id)))


def convert(rest: str) -> Iterator[Task | Skipped]:
    """The tasks of a data set, and the rows that are none, in its order; or those of a checkout."""
    where, _, level = rest.partition(":")
    if not where:
        raise TaskError("kernelbench: name a checkout, a data set or a hub id")
    if (root := _checkout(Path(where))) is not None:
        yield from _files(root, level, rest)
        return
    if level and not (level.startswith("level") and level[5:].isdigit()):
        raise TaskError(f"kernelbench:{rest}: there is no {level}; write level1, level2, ...")
    for place, row in enumerate(hub.rows(where)):
        if isinstance(row, Skipped):
            yield row
            continue
        try:
            task = task_of(row)
        except TaskError as error:
            yield Skipped(str(row.get("name", place)), str(error))
            continue
        if not level or task.level == int(level[5:]):
            yield task


def task_of(row: Row) -> Task:
    """The task of a row; raises TaskError, in a few words, for one that is none."""
    source, name, level = hub.text(row, "code"), hub.text(row, "name"), hub.number(row, "level")
    if level is None:
        raise TaskError("no number in column level")
    if "class Model" not in source:
        raise TaskError("no class Model in column code")
    problem = hub.number(row, "problem_id")
    stem = name.removesuffix(".py")
    if problem is not None and not stem.startswith(f"{problem}_"):
        stem = f"{problem}_{stem}"
    return Task(id=f"level{level}/{stem}", level=level, source=source)


def _checkout(folder: Path) -> Path | None:
    return next((path for path in (folder / "KernelBench", folder) if _levels(path)), None)


def _levels(root: Path) -> list[Path]:
    return sorted(path for path in root.glob("level[1-9]") if path.is_dir())


def _files(root: Path, level: str, rest: str) -> list[Task]:
    levels = [root / level] if level else _levels(root)
    files = [file for path in levels for file in sorted(path.glob("*.py"), key=lambda file: _number(file.stem))]
    if not files:
        raise TaskError(f"kernelbench:{rest}: no task files in {', '.join(path.name for path in levels)}")
    return [read_task(file) for file in files]


def _number(name: str) -> tuple[int, str]:
    stem = name.rpartition("/")[2]
    head = stem.split("_")[0]
    return (int(head) if head.isdigit() else 1 << 30, stem)
