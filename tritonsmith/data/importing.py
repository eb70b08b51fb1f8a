"""Other people's data sets as task files: `tritonsmith data import SPEC --out DIR`, and DIR is a SPEC from then on.

A file a task, in `levelN/`; what could not be taken over is in `skipped.jsonl`, with the reason. Judges nothing: see
`tritonsmith tasks vet DIR`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from tritonsmith.errors import UserError
from tritonsmith.tasks.hub import Skipped
from tritonsmith.types import Task

KINDS = ("kernelbench", "kernelbook", "tritonbench")
"""SPECs that can be imported; each names a module below `tasks` with `convert`."""


@dataclass
class Counts:
    """What became of a data set's rows."""

    tasks: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """How many rows were left out for each reason."""


def write(spec: str, out: Path) -> Counts:
    """Write the tasks of a SPEC below `out`, anew; raises UserError for another SPEC, and where nothing can be written.

    What an earlier call wrote is written over, so that a call that was killed is made good by the next.
    """
    kind, _, rest = spec.partition(":")
    if kind not in KINDS:
        raise UserError(f"{spec}: give {', '.join(f'{one}:WHERE' for one in KINDS)}")
    convert: Callable[[str], Iterator[Task | Skipped]] = import_module(f"tritonsmith.tasks.{kind}").convert
    counts, left = Counts(), []
    try:
        for one in convert(rest):
            if isinstance(one, Skipped):
                counts.skipped[one.reason] += 1
                left.append(json.dumps(vars(one)) + "\n")
                continue
            path = out / place(one)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(one.source)
            counts.tasks += 1
        out.mkdir(parents=True, exist_ok=True)
        (out / "skipped.jsonl").write_text("".join(left))
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}; run it again") from error
    if not counts.tasks:
        told = ", ".join(f"{count} x {reason}" for reason, count in counts.skipped.most_common(3))
        raise UserError(f"{spec}: no tasks there" + (f" ({told})" if told else ""))
    return counts


def place(task: Task) -> Path:
    """`level2/kernelbook_7_Scale.py`: the folder keeps the level, the file the rest of the id."""
    name = re.sub(r"^level\d+/", "", task.id)
    return Path(f"level{task.level}") / (re.sub(r"[^\w.-]+", "_", name) + ".py")
