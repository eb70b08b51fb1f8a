"""How much of a GPU's memory a runner keeps when nothing of it is used: the judge plans with that, the runner heeds it.

Has no state and loads nothing, for it is used on both sides.
"""

_MOST, _SHARE = 512 << 20, 256
"""Bytes at most, and what part of the memory."""


def runner_keeps(memory: int) -> int:
    """Bytes that a runner may keep without using them, of a GPU with so many."""
    return min(_MOST, memory // _SHARE)
