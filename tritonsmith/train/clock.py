"""Where a run's time goes: seconds of sampling, judging, training and waiting, a line of JSONL a step; and a budget.

The lines outlive the process, so that a run that was stopped goes on with what is left of its budget. What a step is,
and what is counted as what, says whoever runs the clock.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tritonsmith import jsonl
from tritonsmith.train import ranks

MEASURED = ("sample", "verify", "wait")
"""Drawing completions; judging them (`Judging.seconds`), whatever else is done meanwhile; doing nothing but wait for
verdicts. The rest of a step is `train`: updating weights, loading and saving them."""


class Clock:
    """The time of one run, step by step."""

    def __init__(self, path: Path, minutes: float | None = None) -> None:
        """Go on with the lines of `path`; `minutes` is the budget of the whole run, None for no end."""
        self.path = path
        self.limit = None if minutes is None else 60.0 * minutes
        rows = list(jsonl.read(path))
        self._before = sum(_number(row.get("seconds")) for row in rows)
        self._last = _number(rows[-1].get("seconds")) if rows else 0.0
        self._mark = time.monotonic()
        self._parts: dict[str, float] = dict.fromkeys(MEASURED, 0.0)

    @contextmanager
    def counting(self, part: str) -> Iterator[None]:
        """Count a block's time as `part`."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.add(part, time.monotonic() - begin)

    def add(self, part: str, seconds: float) -> None:
        """Count seconds that were measured elsewhere."""
        self._parts[part] += seconds

    def close(self, step: int, **more: float) -> dict[str, float]:
        """End a step: write its line, and return it.

        `hidden` is the share of the judging during which other work was done; 1 where there was nothing to judge.
        """
        now = time.monotonic()
        verify, wait = self._parts["verify"], self._parts["wait"]
        row: dict[str, float] = {"step": step, "seconds": now - self._mark, **self._parts}
        row["train"] = row["seconds"] - row["sample"] - wait
        row["hidden"] = 1.0 - min(wait / verify, 1.0) if verify else 1.0
        row |= more
        if ranks.is_first():
            jsonl.append(self.path, json.dumps({key: round(value, 3) for key, value in row.items()}))
        self._before += row["seconds"]
        self._last, self._mark = row["seconds"], now
        self._parts = dict.fromkeys(MEASURED, 0.0)
        return row

    @property
    def spent(self) -> float:
        """Seconds of the run so far, those of earlier processes and of the step under way included."""
        return self._before + time.monotonic() - self._mark

    @property
    def share(self) -> float:
        """How much of the budget is spent, from 0 to 1; 0 where there is none."""
        return 0.0 if self.limit is None else min(self.spent / self.limit, 1.0)

    def over(self, steps: int = 1) -> bool:
        """Whether so many more steps, each as long as the last one, would exceed the budget."""
        return self.limit is not None and self.spent + steps * self._last > self.limit


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
