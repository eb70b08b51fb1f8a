"""Rows for the mid-end's SFT out of `faster`: asked as the agent is asked later, answered by the faster kernel.

Keeps pairs of which both kernels are correct and the second is clearly faster where it was measured. On a CPU it is
enough not to be predicted slower: the roofline sees neither caches nor what is in flight, for which most are made.
"""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from tritonsmith import reward
from tritonsmith.data.faster import Gain, Improvement, faster
from tritonsmith.data.lower import templates
from tritonsmith.data.pair import Pair
from tritonsmith.data.pairs import kept_rows
from tritonsmith.data.rows import Row
from tritonsmith.data.split import told
from tritonsmith.prompts import Style, as_asked, midend_messages, render_completion
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Job, Verifier

log = logging.getLogger(__name__)

NOT_SLOWER = 0.95
"""A predicted ratio from which on a kernel counts as not slower."""


def write_rows(tasks: Sequence[Task], verifier: Verifier, path: Path, style: Style) -> list[Row]:
    """The rows of those tasks that have an improvement, in their order, kept in a JSONL file as they are found.

    What the file holds already is not judged again; a task that left no row is tried again by a second call.
    """
    return kept_rows(tasks, path, lambda missing: _verified(missing, verifier, style), "faster kernels")


def row(task: Task, improvement: Improvement, before: Verdict, style: Style) -> Row:
    """An improvement as a row; `before` is the verdict on the kernel that it improves."""
    answer = render_completion(improvement.reason, improvement.after.source)
    return Row(
        prompt=midend_messages(task, improvement.before.source, before, style),
        completion=[{"role": "assistant", "content": answer}],
        task=task.id,
        graph=told(task),
    )


def _verified(tasks: Sequence[Task], verifier: Verifier, style: Style) -> Iterator[Row | None]:
    """A row for each task, in the order in which verdicts come; None for one that has none."""
    asked: list[tuple[Task, Improvement]] = []
    verdicts: dict[int, Verdict] = {}

    def jobs() -> Iterator[Job]:
        for task in tasks:
            given = as_asked(task, style)
            plain = templates(given)
            found = faster(given, plain) if isinstance(plain, Pair) else plain
            if not isinstance(found, Improvement):
                log.debug("nothing faster for %s: %s", task.id, found.reason)
                continue
            asked.append((task, found))
            for pair in (found.before, found.after):
                yield task, Candidate(task=task.id, source=pair.source)

    for index, verdict in verifier.stream(jobs()):
        verdicts[index] = verdict
        before, after = (verdicts.get(index - index % 2 + k) for k in (0, 1))
        if before is not None and after is not None:
            yield row(*asked[index // 2], before, style) if _gained(Gain(before, after)) else None
    yield from [None] * (len(tasks) - len(asked))


def _gained(gain: Gain) -> bool:
    if gain.ratio is None:
        return False
    measured = gain.after.timing is not None and gain.after.timing.kind == "measured"
    return reward.beats(gain.after, gain.before) if measured else gain.ratio >= NOT_SLOWER
