"""The order of a build's work, with threads for its processes and a rule for its verifier: thousands a minute."""

import random
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from tritonsmith.data import choose
from tritonsmith.data.build import Builder
from tritonsmith.data.draw import CHUNK, Drawing
from tritonsmith.data.store import Answer, Item, Made, Settings, Store, Survey
from tritonsmith.errors import UserError
from tritonsmith.types import Task, Verdict
from tritonsmith.verify import form

SETTINGS = Settings(tasks="graphs:depth=1-2:families=pointwise", seed=0, styles=2, sources=["rule"], contrastive=False)


@cache
def chunk(drawing: Drawing, number: int) -> list[Item] | None:
    """What is always the same is drawn once for all tests."""
    return drawing.chunk(number)


class Threads:
    """What a builder uses of `workers.Workers`; every second answer is right, and they come in any order."""

    def __init__(self) -> None:
        self.threads = ThreadPoolExecutor(4)
        self.drawn: list[int] = []

    def draw(self, drawing: Drawing, number: int) -> "Future[list[Item] | None]":
        self.drawn.append(number)
        return self.threads.submit(chunk, drawing, number)

    def convert(self, task: Task, sources: list[str]) -> "Future[tuple[Survey, list[Answer]]]":
        code = f"kernel = {task.source!r}"
        answer = Answer(source=sources[0], kind="candidate", code=code, program=form.program(code))
        return self.threads.submit(lambda: (Survey(writing=form.program(task.source)), [answer]))

    def judge(self, item: Item, answers: list[Answer]) -> "Future[list[Answer]]":
        def told() -> list[Answer]:
            time.sleep(random.random() / 1000)
            right = len(item.task.source) % 2 == 0
            verdict = Verdict(task=item.task.id, device="cpu", target="sm_90", policy="strict", correct=right)
            return [answer.model_copy(update={"verdict": verdict}) for answer in answers]

        return self.threads.submit(told)


class Killed(Store):
    """A store whose process is killed when it has kept so many tasks."""

    left = 10**9

    def keep(self, made: Made) -> None:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        super().keep(made)


def go(
    out: Path, n: int, kill: int = 10**9, settings: Settings = SETTINGS, pools: Threads | None = None
) -> tuple[list[str], Threads]:
    """Build until there are `n` rows or it is killed; the rows' kernels, and the processes."""
    pools = pools or Threads()
    with Killed(out) as store:
        store.left = kill
        builder = Builder(store, settings, frozenset(), width=3)
        if not builder.is_done(n):
            builder.pools = pools  # pyright: ignore[reportAttributeAccessIssue]
            try:
                builder.run(n, lambda _: None)
            except KeyboardInterrupt:
                pools.threads.shutdown()
        chooser = choose.Chooser()
        return [answer.code for made in store.all() for answer in chooser.chosen(made)][:n], pools


@pytest.mark.parametrize("kills", [[1], [30], [65], [7, 50, 100], [1, 1, 1]])
def test_a_killed_build_ends_with_the_rows_of_one_that_was_not(kills: list[int], tmp_path: Path) -> None:
    wanted, _ = go(tmp_path / "whole", 90)
    for kill in kills:
        go(tmp_path / "killed", 90, kill)
    found, _ = go(tmp_path / "killed", 90)
    assert found == wanted and len(found) == 90
    with Store(tmp_path / "killed") as store:
        assert set(Counter((made.item.chunk, made.item.place) for made in store.all()).values()) == {1}


def test_a_larger_build_begins_with_the_smaller_one_and_draws_nothing_again(tmp_path: Path) -> None:
    few, _ = go(tmp_path, 40)
    many, pools = go(tmp_path, 120)
    assert many[:40] == few and len(many) == 120
    with Store(tmp_path) as store:
        whole = [chunk for chunk in store.chunks() if store.read(chunk)[0] == len(store.read(chunk)[1])]
    assert whole and (go(tmp_path, 200)[1].drawn[:1] or [99])[0] not in whole[:-1]
    assert go(tmp_path, 120)[1].drawn == [] and pools.drawn


def test_a_damaged_line_is_made_again_in_its_place(tmp_path: Path) -> None:
    wanted, _ = go(tmp_path, 60)
    path = tmp_path / "shards" / "00000.jsonl"
    lines = path.read_text().splitlines()
    for number in (0, 5, 11):
        lines[number] = lines[number].replace("kernel", "kernal").replace("tasks", "tusks")
    path.write_text("\n".join(lines) + "\n")
    assert go(tmp_path, 60)[0] == wanted


def test_a_generator_with_an_end_ends_the_build(tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"tasks": f"graphs:{CHUNK + 3}:depth=1-2", "styles": 1})
    found, _ = go(tmp_path, 1000, settings=settings)
    with Store(tmp_path) as store:
        assert CHUNK < len(list(store.all())) <= CHUNK + 3 and len(found) > 0


class Repeating(Threads):
    """Processes that draw the same tasks again and again."""

    def draw(self, drawing: Drawing, number: int) -> "Future[list[Item] | None]":
        items = [item.model_copy(update={"chunk": number}) for item in chunk(drawing, 0) or []]
        return self.threads.submit(lambda: items)


def test_a_generator_that_gives_nothing_new_ends_the_build(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found, _ = go(tmp_path, 10_000, pools=Repeating())
    assert 0 < len(found) <= 2 * CHUNK and "were all known" in caplog.text


def test_a_generator_that_has_not_enough_says_so(tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"tasks": "graphs:depth=1-1:families=attention", "styles": 1})
    with pytest.raises(UserError, match="no 32 distinct graphs"):
        go(tmp_path, 50, settings=settings)
