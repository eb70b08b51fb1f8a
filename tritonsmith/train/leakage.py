"""Whether a held-out task is learnt from: as a task of training, or as a row of fine-tuning.

Two graphs are told by themselves. A task of another origin has none; then texts are compared, and traced forms, which
know nothing of sizes, names and writing. Rows of graphs are not looked through for a held-out task without one.
"""

import logging
from collections.abc import Sequence

from tritonsmith.config import ConfigError
from tritonsmith.data.rows import Row
from tritonsmith.data.split import told
from tritonsmith.data.suite import written
from tritonsmith.data.survey import forms
from tritonsmith.tasks import traced_form
from tritonsmith.types import Task

log = logging.getLogger(__name__)

MOST_TRACED = 1000
"""Tasks that are traced for it; one takes some 50 ms."""


def check(train: Sequence[Task], heldout: Sequence[Task], name: str) -> None:
    """Raise ConfigError where a held-out task is one of `train`, too, which comes from the setting `name`."""
    known = {told(task) for task in train}
    leaked = [task.id for task in heldout if told(task) in known] or _of_one_form(train, heldout, name)
    if leaked:
        raise ConfigError(f"tasks.heldout: {len(leaked)} of its tasks are in {name} too, such as {leaked[0]}")


def unleaked(rows: list[Row], heldout: Sequence[Task], name: str) -> list[Row]:
    """The rows, none of which may be of a held-out task; raises ConfigError where one is, or where that is not known.

    A row whose task has no graph has its traced form there; one that says neither is known by what it is asked.
    """
    learnt = {row.graph.strip() for row in rows if row.graph}
    own = {told(task) for task in heldout}
    if heldout and (old := next(filter(traced_form.is_old, learnt), None)):
        raise ConfigError(f"{name} tells tasks by forms of an older edition, such as {old}: build it anew")
    if any(traced_form.edition(graph) is not None for graph in learnt):
        own |= set(forms(heldout)) - {""}
    if leaked := learnt & own:
        raise ConfigError(f"{name} holds {len(leaked)} of the held-out tasks, such as {min(leaked)}")
    asked = "\n".join(message["content"] for row in rows if not row.graph for message in row.prompt)
    if asked and (found := [task.id for task in heldout if task.source.strip() in asked]):
        raise ConfigError(f"{name} asks for {len(found)} of the held-out tasks, such as {found[0]}")
    return rows


def _of_one_form(train: Sequence[Task], heldout: Sequence[Task], name: str) -> list[str]:
    """The held-out tasks that are the same as a training task, where one of the two has no graph."""
    if any(task.graph is None for task in heldout):
        some, others = list(train), list(heldout)
    else:
        some = [task for task in train if task.graph is None]
        others = list(heldout) if some else []
    if not others:
        return []
    if len(some) + len(others) > MOST_TRACED:
        log.warning(
            "tasks.heldout: only by its text is it known not to be in %s: that has %d tasks, and more than %d are not "
            "traced",
            name,
            len(some),
            MOST_TRACED,
        )
        return []
    known = frozenset[str]().union(*_told_by(some))
    return [task.id for task, told_by in zip(others, _told_by(others), strict=True) if told_by & known]


def _told_by(tasks: Sequence[Task]) -> list[frozenset[str]]:
    """By task its traced form and those of its other writings, as far as they are known."""
    return [written(task.graph or "") | ({form} - {""}) for task, form in zip(tasks, forms(tasks), strict=True)]
