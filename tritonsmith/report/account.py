"""What `tritonsmith optimize` did for a task, for a terminal: a line an agent, and the verdict on what came out."""

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tritonsmith.optimize import Account
from tritonsmith.report import verdict


def render(account: Account) -> Group:
    """A table of the agents and the verdict."""
    steps = Table("agent", "candidates", "correct", "speedup so far", "seconds", "", box=None, pad_edge=False)
    for column in steps.columns[1:5]:
        column.justify = "right"
    for step in account.steps:
        best = "-" if step.best is None else f"{step.best:.2f}x"
        steps.add_row(step.agent, str(step.candidates), str(step.correct), best, f"{step.seconds:.1f}", step.note)
    found = account.found
    said = "no correct kernel was found" if found is None else f"the {found.agent}'s kernel, verified once more:"
    parts = [steps, Text(), Text(said)]
    return Group(*parts, *([verdict.render(account.last)] if account.last is not None else []))
