"""Turns: what the verifier said of a candidate leads to another, up to a number of turns.

It is said to the model in words, or shows where the answer's end is drawn anew (`redraw`).

The first turn is a plain evaluation; each later one is a file of its own beside it, so that a killed evaluation goes on
where it was. Turns that are trained on are drawn in `train.rounds` and `train.conversing`; what one is worth is in
`credit`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from tritonsmith import metrics, redraw
from tritonsmith.config import EvalConfig
from tritonsmith.evaluate import Judge, Key, Sampler, drawn, evaluate, judged, note
from tritonsmith.metrics import Estimate
from tritonsmith.prompts import Message, Style, messages, replied
from tritonsmith.types import Record, Task


def converse(
    sampler: Sampler,
    tasks: Sequence[Task],
    verifier: Judge,
    config: EvalConfig,
    out: Path,
    *,
    turns: int,
    seed: int = 0,
) -> list[list[Record]]:
    """The records of each turn: in the first of all candidates, in the next of those whose conversation went on.

    A conversation ends with its first correct candidate. Turn t from 2 on is kept in `<out>.turn<t>.jsonl`. Raises
    ValueError for less than one turn.
    """
    if turns < 1:
        raise ValueError(f"a conversation has a turn or more, not {turns}")
    known = {task.id: task for task in tasks}
    follow = redraw.begun if config.retry == "redraw" else replied
    found = [evaluate(sampler, tasks, verifier, config, out, seed=seed)]
    said: dict[Key, list[Message]] = {}
    for turn in range(2, turns + 1):
        wrong = {(one.task, one.sample): one for one in found[-1] if not one.verdict.correct}
        if not wrong:
            break
        style = cast(Style, sampler.prompt_style)
        for key, record in wrong.items():
            before = said.get(key) or messages(known[record.task], style)
            said[key] = follow(before, record.completion, record.verdict)
        path = file_of(out, turn)
        wanted = [(known[task], sample) for task, sample in wrong]
        drafts = draw(sampler, wanted, said, config, path, seed=seed + 1000 * turn)
        found.append(judged(wanted, drafts, verifier, path, f"{path.parent.name}/{path.stem}", turn, turn))
    return found


def file_of(out: Path, turn: int) -> Path:
    """Where a turn's records are: the first one's in `out`."""
    return out if turn == 1 else out.with_name(f"{out.stem}.turn{turn}.jsonl")


def later(out: Path) -> list[Path]:
    """The files of the turns after the first that there are."""
    paths: list[Path] = []
    while (path := file_of(out, len(paths) + 2)).exists():
        paths.append(path)
    return paths


def draw(
    sampler: Sampler,
    wanted: Sequence[tuple[Task, int]],
    chats: Mapping[Key, list[Message]],
    config: EvalConfig,
    out: Path,
    *,
    seed: int,
) -> dict[Key, str]:
    """A completion of each conversation that is wanted: those on file, and new ones, appended as they end.

    The file is `<out>.completions.jsonl`.
    """
    path = out.with_suffix(".completions.jsonl")
    drafts = drawn(path, (task for task, _ in wanted))
    missing = [(task, sample) for task, sample in wanted if (task.id, sample) not in drafts]

    def keep(batch: list[tuple[int, int, str]]) -> None:
        note(path, drafts, [(*missing[chat], text) for chat, _, text in batch])

    if missing:
        given = [chats[task.id, sample] for task, sample in missing]
        lengths = config.temperature, config.top_p, config.max_new_tokens, config.batch
        texts = sampler.sample(given, 1, *lengths, seed + len(drafts), keep)
        keep([(chat, 0, row[0]) for chat, row in enumerate(texts)])
    return drafts


def solved(found: Sequence[Sequence[Record]]) -> list[Estimate]:
    """After each turn, the share of conversations that have a correct candidate by then, resampled over tasks."""
    right: dict[str, dict[int, bool]] = {}
    for record in found[0]:
        right.setdefault(record.task, {})[record.sample] = False
    shares = []
    for records in found:
        for record in records:
            right[record.task][record.sample] |= record.verdict.correct
        shares.append(metrics.bootstrap([sum(one.values()) / len(one) for one in right.values()]))
    return shares
