"""Credit: pure functions from rewards (and token segments) to advantages, one for every training method.

Does not compute rewards (`reward`) and does not know tokens: the masks of plan and code come from the caller.
"""

import ast
from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from tritonsmith import reward
from tritonsmith.source import parse
from tritonsmith.types import Verdict

Method = Literal["grpo", "dr_grpo", "best_of_n"]

TURN_DISCOUNT = 0.4
"""Weight of the next turn's reward in this one's."""

EPS = 1e-4
"""Added to the standard deviation, as TRL's GRPOTrainer does."""


def credit(
    rewards: Tensor | Mapping[str, Tensor],
    group: int,
    method: Method,
    *,
    masks: Mapping[str, Tensor] | None = None,
    alpha: float = reward.ALPHA,
    keep: int = 3,
    eligible: Tensor | None = None,
    blame: Tensor | None = None,
) -> Tensor:
    """Advantages of B completions in groups of `group` neighbours: (B,), or (B, T) where masks are given.

    - `rewards`: (B,), or one (B,) for each segment (`{"plan": ..., "code": ...}`). NaN leaves a row out: it has no
      part in its group's mean and its advantage is 0.
    - `masks`: (B, T) for each segment, 1 on its tokens. The plan's advantages are weighted by `alpha`, all others
      by 1 (J = alpha J_plan + J_code); tokens of no segment get 0. Without masks, rewards by segment are added up
      with the same weights first.
    - `method`: `grpo` is (r - mean) / (std + eps) (DeepSeekMath, arXiv 2402.03300, section 4.1.2; the sample
      standard deviation, as in TRL), `dr_grpo` is r - mean (arXiv 2503.20783, section 3.2), `best_of_n` is 1 on the
      `keep` highest of each group and 0 elsewhere, which gives the gradient of fine-tuning on them.
    - `eligible`: (B,) bool, rows that `best_of_n` may keep (`keepable` makes it); all with a reward above 0 if None.
    - `blame`: (B, T), 1 on the tokens that a negative advantage reaches; it reaches all if None. A wrong answer is
      mostly made of what is right: pushed down as a whole, it takes that along.

    Raises ValueError where B is no multiple of `group`, the segments of rewards and masks differ, or there is blame
    and no masks.
    """
    by_segment = None if isinstance(rewards, Tensor) else rewards
    total = rewards if isinstance(rewards, Tensor) else _weighted(rewards, alpha)
    if total.ndim != 1 or group < 1 or total.shape[0] % group:
        raise ValueError(f"rewards of shape {tuple(total.shape)} do not fall into groups of {group}")
    if masks is None:
        if blame is not None:
            raise ValueError("blame is of tokens: give masks")
        return _advantages(total, group, method, keep, eligible)
    if by_segment is not None and set(by_segment) != set(masks):
        raise ValueError(f"rewards have segments {sorted(by_segment)}, masks {sorted(masks)}")
    result = torch.zeros(())
    for name, mask in masks.items():
        # Which rows are kept is one decision for the whole completion, not one for each segment.
        own = total if by_segment is None or method == "best_of_n" else by_segment[name]
        advantages = _advantages(own, group, method, keep, eligible)
        result = result + weight(name, alpha) * advantages[:, None] * mask.to(advantages.dtype)
    return result if blame is None else torch.where(result < 0, result * blame.to(result.dtype), result)


def weight(segment: str, alpha: float) -> float:
    """What a segment's advantages count beside the others'."""
    return alpha if segment == "plan" else 1.0


def _weighted(rewards: Mapping[str, Tensor], alpha: float) -> Tensor:
    return torch.stack([weight(name, alpha) * values for name, values in rewards.items()]).sum(dim=0)


def _advantages(rewards: Tensor, group: int, method: Method, keep: int, eligible: Tensor | None) -> Tensor:
    grouped = rewards.view(-1, group)
    counted = grouped.isfinite()
    if method == "best_of_n":
        may = (grouped > 0 if eligible is None else eligible.view(-1, group).bool()) & counted
        ranked = torch.where(may, grouped, -torch.inf).argsort(dim=1, descending=True, stable=True)
        best = torch.zeros_like(grouped).scatter(1, ranked[:, :keep], 1.0)
        return (best * may).view(-1)
    # Counted from one of the group's own: the mean of equal numbers need not be that number, and what is left would be
    # divided by a deviation as small.
    first = grouped.gather(1, counted.int().argmax(dim=1, keepdim=True))
    known = torch.where(counted, grouped - first, 0.0)
    number = counted.sum(dim=1, keepdim=True)
    centred = torch.where(counted, known - known.sum(dim=1, keepdim=True) / number.clamp(min=1), 0.0)
    if method == "dr_grpo":
        return centred.view(-1)
    if method == "grpo":
        std = (centred.square().sum(dim=1, keepdim=True) / (number - 1).clamp(min=1)).sqrt()
        return (centred / (std + EPS)).view(-1)
    raise ValueError(f"no credit method {method!r}")


def discounted(rewards: Sequence[float], gamma: float = TURN_DISCOUNT) -> list[float]:
    """What each turn of a conversation is worth: its own reward and those of later turns, discounted.

    R_t = sum over s >= t of gamma^(s - t) r_s (Kevin, arXiv 2507.11948, section 3, where gamma = 0.4).
    """
    values: list[float] = []
    ahead = 0.0
    for one in reversed(rewards):
        ahead = one + gamma * ahead
        values.insert(0, ahead)
    return values


def returns(rewards: Sequence[float | None], turns: int, gamma: float = TURN_DISCOUNT) -> list[float | None]:
    """`discounted` for rows of several conversations, `turns` neighbours each; None for turns that were not taken.

    A conversation ends at its first None, and what was said last counts in each turn left, as if it were said again:
    whoever is right is asked no more, and a nearly right answer that is then mended would else be worth more than one
    that is right at once (0.5 + 0.4 x 0.7 against 0.7 under `staged`). Kevin's conversations all have as many turns.
    """
    found: list[float | None] = []
    for start in range(0, len(rewards), turns):
        said: list[float] = []
        for one in rewards[start : start + turns]:
            if one is None:
                break
            said.append(one)
        left = turns - len(said)
        found += [*discounted([*said, *said[-1:] * left], gamma)[: len(said)], *[None] * left]
    return found


def first_turn(value: float, turn: int) -> float:
    """What a reward in a turn, from 1, is worth to the first one, where those between count nothing.

    A reward below 0 is not made smaller by coming late.
    """
    return discounted([0.0] * (turn - 1) + [value])[0] if value > 0 else value


def select_best(
    verdicts: Sequence[Verdict],
    sources: Sequence[str | None],
    keep: int,
    *,
    scheme: str = "staged",
    cap: float = 1.0,
    rewards: Sequence[float] | None = None,
) -> list[int]:
    """Indices of at most `keep` candidates of one task: correct, distinct, best reward first, earlier before later.

    `rewards` are those of the scheme where not given.
    """
    worth = rewards if rewards is not None else [reward.score(verdict, scheme, cap) for verdict in verdicts]
    order = sorted(range(len(verdicts)), key=lambda i: -worth[i])
    right = [(i, source) for i in order if verdicts[i].correct and (source := sources[i]) is not None]
    if len(right) == 1:  # which equals no other: there is nothing to normalise
        return [right[0][0]][:keep]
    chosen: dict[str, int] = {}
    for i, source in right:
        chosen.setdefault(normalise(source), i)
    return list(chosen.values())[:keep]


def keepable(verdicts: Sequence[Verdict], sources: Sequence[str | None], group: int) -> Tensor:
    """(B,) bool for `credit(method="best_of_n")`: correct, and the best of its group among equal sources."""
    result = torch.zeros(len(verdicts), dtype=torch.bool)
    for start in range(0, len(verdicts), group):
        part = slice(start, start + group)
        for i in select_best(verdicts[part], sources[part], group):
            result[start + i] = True
    return result


def normalise(source: str) -> str:
    """The source without what changes nothing: comments, layout, docstrings. Text that is no Python stays as it is."""
    try:
        tree = parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
                node.body = node.body[1:] or [ast.Pass()]
        return ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source.strip()
