"""Tasks of a KernelBench checkout: `kernelbench:DIR[:level1]`, folders level1 to level4.

Does not download anything; DIR is the checkout, its `KernelBench` folder, or a level's parent.
"""

from pathlib import Path

from tritonsmith.tasks.format import TaskError, read_task
from tritonsmith.types import Task


def load(rest: str) -> list[Task]:
    """The tasks below DIR, ordered by level and then by the number in the file's name."""
    folder, _, level = rest.partition(":")
    root = next((path for path in (Path(folder) / "KernelBench", Path(folder)) if (path / "level1").is_dir()), None)
    if root is None:
        raise TaskError(f"kernelbench:{rest}: no folder level1 below {folder or '.'}")
    levels = [root / level] if level else sorted(path for path in root.glob("level[1-9]") if path.is_dir())
    files = [file for path in levels for file in sorted(path.glob("*.py"), key=_number)]
    if not files:
        raise TaskError(f"kernelbench:{rest}: no task files in {', '.join(path.name for path in levels)}")
    return [read_task(file) for file in files]


def _number(file: Path) -> tuple[int, str]:
    head = file.stem.split("_")[0]
    return (int(head) if head.isdigit() else 1 << 30, file.stem)
