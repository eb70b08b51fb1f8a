"""Whether a held-out task is learnt from: as a task of training, or as a row of fine-tuning.

Two graphs are told by themselves. A task of another origin has none; then texts are compared, and traced forms, which
know nothing of sizes, names and writing. Rows of graphs are not looked through for a held-out task without one.
"""

import logging
import re
from collections.abc import Sequence

from tritonsmith.config import ConfigError
from tritonsmith.data.rows import Row
from tritonsmith.data.split import told
from tritonsmith.data.survey import forms
from tritonsmith.types import Task

log = logging.getLogger(__name__)

MOST_TRACED = 1000
"""Tasks that are traced for it; one takes some 50 ms."""
_FORM = re.compile(r"[0-9a-f]{16}")
"""What a row has for its graph where its task has none (`tasks.traced`)."""


def check(train: Sequence[Task], heldout: Sequence[Task], name: str) -> None:
    """Raise ConfigError where a held-out task is one of `train`, too, which comes from the setting `name`."""
    known = {told(task) for task in train}
    leaked = [task.id for task in heldout if told(task) in known] or _of_one_form(train, heldout, name)
    if leaked:
        raise ConfigError(f"tasks.heldout: {len(leaked)} of its tasks are in {name} too, such as {leaked[0]}")


def unleaked(rows: list[Row], heldout: Sequence[Task], name: str) -> list[Row]:
    """The rows, none of which may be of a held-out task; raises ConfigError where one is."""
    learnt = {row.graph.strip() for row in rows if row.graph}
    own = {told(task) for task in heldout}
    if any(_FORM.fullmatch(graph) for graph in learnt):
        own |= set(forms(heldout)) - {""}
    if leaked := learnt & own:
        raise ConfigError(f"{name} holds {len(leaked)} of the held-out tasks, such as {min(leaked)}")
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
    known = set(forms(some)) - {""}
    return [task.id for task, form in zip(others, forms(others), strict=True) if form in known]
