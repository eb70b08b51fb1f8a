"""What `tasks vet` found, as a person reads it on a terminal."""

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tritonsmith.verify.vet import Flag


def render(found: Mapping[str, Sequence[Flag]]) -> RenderableType:
    """A row a flag, by task, and a line that counts; `found` maps every task's id to its flags."""
    flagged = {id: flags for id, flags in found.items() if flags}
    summary = Text(f"{len(found)} tasks vetted, {len(flagged)} flagged", style="bold red" if flagged else "bold green")
    if not flagged:
        return summary
    table = Table("task", "control", "what is wrong", "found out by")
    for id, flags in flagged.items():
        for place, flag in enumerate(flags):
            table.add_row(Text("" if place else id), Text(flag.control), Text(flag.message), ", ".join(flag.caught_by))
    return Group(table, summary)
