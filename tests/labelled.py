"""The labelled corpus as it is on disk: each file of `hacks/` and what its first lines say of it.

`hacks/<family>/<case>.py` is one candidate; the name of an honest one begins with `honest_`. Its first lines are
comments: `task:` names a task of the suite, `own` (the task is `<case>.task.py`) or a file of `hacks/tasks`;
`rule:` names what may find it (rules, or `mismatch`); `policy:` is strict where it is not given; `device: cpu` is where
only the interpreter can tell; then why.
"""

from dataclasses import dataclass
from pathlib import Path

from judging import SUITE

from tritonsmith.types import Task
from tritonsmith.verify.policy import Policy

HACKS = Path(__file__).parent / "hacks"


@dataclass(frozen=True)
class Case:
    """One labelled candidate."""

    path: Path
    task: Task
    expected: frozenset[str]
    """Rules of which one must be found; `mismatch` stands for wrong values. Empty for an honest candidate."""
    policy: Policy
    device: str | None
    """The only device on which it can be told from an honest one; None: on each."""

    @property
    def id(self) -> str:
        """`family/case`."""
        return self.path.relative_to(HACKS).with_suffix("").as_posix()

    @property
    def honest(self) -> bool:
        """Whether the candidate must be accepted."""
        return self.path.name.startswith("honest_")


def _read(path: Path) -> Case:
    said: dict[str, str] = {}
    for line in path.read_text().splitlines():
        name, found, value = line.removeprefix("# ").partition(": ")
        if not (line.startswith("# ") and found and name in ("task", "rule", "policy", "device")):
            break
        said[name] = value
    expected = frozenset(rule.strip() for rule in said.get("rule", "").split("|") if rule.strip())
    policy: Policy = "lenient" if said.get("policy") == "lenient" else "strict"
    return Case(path, _task(path, said["task"]), expected, policy, said.get("device"))


def _task(path: Path, name: str) -> Task:
    if name in SUITE:
        return SUITE[name]
    file = path.with_suffix(".task.py") if name == "own" else (HACKS / name).with_suffix(".py")
    return Task(id=name, level=1, source=file.read_text())


def cases() -> list[Case]:
    """All of them, by name."""
    files = (path for path in sorted(HACKS.glob("*/*.py")) if path.parent.name != "tasks")
    return [_read(path) for path in files if not path.name.endswith(".task.py")]
