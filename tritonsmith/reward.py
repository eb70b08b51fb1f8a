"""Rewards: pure functions of a verdict, one for each scheme of the design.

Does not spread rewards over tokens or groups: that is `credit`. Does not verify anything.
"""

import math
from typing import Literal

from tritonsmith.types import Interval, StageName, Verdict

Scheme = Literal["staged", "binary", "frontend", "midend", "hierarchical", "uniform"]

STAGE_CREDIT: dict[StageName | None, float] = {
    None: 0.0,
    "ast": 0.0,
    "compile": 0.3,
    "tiny": 0.5,
    "full": 0.7,
    "timing": 0.7,
}
"""Reward by the last stage passed (the report on modular extensions of TritonRL: 0 / 0.3 / 0.5 / 0.7)."""
SPEED_BONUS = 0.3
"""What full speed adds to the 0.7 of a correct candidate, so that the whole stays within 0 to 1."""
FAILURE = -10.0
"""What the two-stage GRPO report gives any candidate that fails, in both of its schemes."""
ALPHA = 0.1
"""Weight of the plan's objective: J = alpha J_plan + J_code (TritonRL, arXiv 2510.17891)."""


def score(verdict: Verdict, scheme: str = "staged", cap: float = 1.0, alpha: float = ALPHA) -> float:
    """One number for a verdict.

    `staged` lies in 0 to 1: the stage's credit, and for a correct candidate 0.3 * clip(speedup - 1, 0, cap) / cap;
    a cap of 0 or less takes the bonus away. `binary` is 0 or 1, `frontend` -10 or 1, `midend` -10 or 1 + speedup
    (without a limit, as its source defines it). `hierarchical` is alpha * plan + code, and so is `uniform`, which
    gives it to all tokens alike. Raises ValueError for a scheme that does not exist.
    """
    match scheme:
        case "staged":
            return _staged(verdict, cap)
        case "binary":
            return 1.0 if verdict.correct else 0.0
        case "frontend":
            return 1.0 if verdict.correct else FAILURE
        case "midend":
            return 1.0 + speedup(verdict) if verdict.correct else FAILURE
        case "hierarchical" | "uniform":
            both = parts(verdict, "hierarchical", cap)
            return alpha * both["plan"] + both["code"]
    raise ValueError(f"no reward scheme {scheme!r}")


def parts(verdict: Verdict, scheme: str = "hierarchical", cap: float = 1.0, alpha: float = ALPHA) -> dict[str, float]:
    """The rewards of the plan's and of the code's tokens, `{"plan": r, "code": r}`.

    Under `hierarchical` the plan earns valid x correct x clip(speedup, 0, 1 + cap) and the code valid x correct;
    every other scheme gives both the same.
    """
    if scheme != "hierarchical":
        both = score(verdict, scheme, cap, alpha)
        return {"plan": both, "code": both}
    code = 1.0 if verdict.valid and verdict.correct else 0.0
    return {"plan": code * min(max(speedup(verdict), 0.0), 1.0 + max(cap, 0.0)), "code": code}


def speedup(verdict: Verdict) -> float:
    """The speedup that counts: 1 where there is none, or where a measured one is not significant.

    A prediction has no interval and counts as it is. The verdict holds the median and the interval as they were found.
    """
    interval = verdict.speedup
    if interval is None or not math.isfinite(interval.median):
        return 1.0
    predicted = verdict.timing is not None and verdict.timing.kind == "predicted"
    return interval.median if predicted else counted(interval)


def counted(measured: Interval) -> float:
    """A measured speedup as it counts: 1 where it is not significant, for 1 lies within its interval."""
    return 1.0 if measured.low <= 1.0 <= measured.high else measured.median


def beats(verdict: Verdict, other: Verdict) -> bool:
    """Whether a candidate is correct and clearly faster: its speedup's interval lies above the other's median."""
    if not verdict.correct or verdict.speedup is None:
        return False
    return other.speedup is None or verdict.speedup.low > other.speedup.median


def _staged(verdict: Verdict, cap: float) -> float:
    if verdict.correct:
        gain = min(max(speedup(verdict) - 1.0, 0.0), cap) / cap if cap > 0 else 0.0
        return STAGE_CREDIT["full"] + SPEED_BONUS * gain
    if not verdict.valid:
        return 0.0
    return min(STAGE_CREDIT[verdict.stage], STAGE_CREDIT["tiny"])
