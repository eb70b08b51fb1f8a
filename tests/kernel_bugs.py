"""What a planted bug is: one textual change to a hand-written kernel that makes it wrong.

The bugs themselves stand in `kernel_bugs_level1.py` and `kernel_bugs_level2.py`; this file judges nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bug:
    """One wrong edit of the kernel `examples/kernels/<task>.py`."""

    task: str
    """Suite id of the task, such as `level1/relu`."""
    kind: str
    """What sort of bug: `missing mask`, `wrong axis`, `wrong epsilon`, `race`, `off by one`, `wrong dtype`, ..."""
    old: str
    """Text of the right kernel; occurs in it exactly once."""
    new: str
    """What stands in its place in the wrong one."""
    stages: tuple[str, ...]
    """Stages of the funnel at which a rejection is right."""

    def plant(self, source: str) -> str:
        """Return `source` with the bug in it; ValueError if `old` does not occur exactly once."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.task}, {self.kind}: {self.old!r} occurs {source.count(self.old)} times")
        return source.replace(self.old, self.new)
