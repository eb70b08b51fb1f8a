"""One round of best-of-N up to its verdicts: completions are drawn, judged as they end, and failures answered.

`Round.begun` returns once the first turn is drawn; judging goes on in the background until `Begun.held` waits for it.
In the round's folder: `records.completions.jsonl` (what was drawn), `records.jsonl` (each verdict as it came), and the
same for each later turn (`records.turn2.jsonl`, ...). What is there is not done again. What is learnt from a round is
in `best_of_n`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tritonsmith import evaluate, jsonl, redraw, turns
from tritonsmith.config import Config
from tritonsmith.cores import cores
from tritonsmith.evaluate import Judge, Key, read
from tritonsmith.prompts import Message, replied
from tritonsmith.train.clock import Clock
from tritonsmith.train.generate import Draw
from tritonsmith.train.judging import Judging
from tritonsmith.train.policy import Drawer
from tritonsmith.train.stage import Stage
from tritonsmith.types import Candidate, Record, Task, Verdict


@dataclass(frozen=True)
class Turn:
    """One turn of a round."""

    records: list[Record]
    chats: Mapping[Key, list[Message]]
    """What each of them answers whole, by task and sample."""


@dataclass(frozen=True)
class Drawn:
    """One turn's completions, all drawn and perhaps still being judged."""

    round: "Round"
    turn: int
    out: Path
    wanted: Sequence[tuple[Task, int]]
    chats: Mapping[Key, list[Message]]
    drafts: Mapping[Key, str]
    judging: Judging | None
    """None: everything was judged before."""

    def records(self) -> list[Record]:
        """Wait for the verdicts; gives a record of each that was wanted."""
        clock = self.round.clock
        if self.judging is not None:
            with clock.counting("wait"):
                self.judging.verdicts()
            self.stop()
            clock.add("verify", self.judging.seconds)
        # What an earlier process drew and did not judge, and what the verifier failed at.
        return evaluate.judged(
            self.wanted, self.drafts, self.round.verifier, self.out, self.round.phase, self.round.number, self.turn
        )

    def stop(self) -> None:
        """Give up what is not judged yet."""
        if self.judging is not None:
            self.judging.stop()


@dataclass(frozen=True)
class Begun:
    """A round whose first turn is drawn."""

    round: "Round"
    stage: Stage
    first: Drawn

    def held(self) -> list[Turn]:
        """The turns: first all candidates, then answers to what the verifier said of those that failed or are slow
        (`Stage.settled`), or, with `retry = "redraw"`, those with their ends drawn anew."""
        own = self.round.config.best_of_n
        found: list[Turn] = []
        drawn = self.first
        while True:
            records = drawn.records()
            found.append(Turn(records, self.first.chats if own.retry == "redraw" else drawn.chats))
            if len(found) == own.turns:
                return found
            chats = self._following(records, drawn.chats)
            wanted = [(task, sample) for task, sample in drawn.wanted if (task.id, sample) in chats]
            if not wanted:
                return found
            drawn = self.round.drawn(wanted, chats, drawn.turn + 1)

    def _following(self, records: Sequence[Record], chats: Mapping[Key, list[Message]]) -> dict[Key, list[Message]]:
        """What is asked in the next turn, of those that have one."""
        follow = redraw.begun if self.round.config.best_of_n.retry == "redraw" else replied
        left = {(one.task, one.sample): one for one in records if not self.stage.settled(one.verdict)}
        following = {key: follow(chats[key], one.completion, one.verdict) for key, one in left.items()}
        return {key: chat for key, chat in following.items() if len(chat) > len(self.first.chats[key])}

    def stop(self) -> None:
        """Give up what is not judged yet."""
        self.first.stop()


@dataclass(frozen=True)
class Round:
    """Who draws and judges a round, and where it is kept."""

    config: Config
    verifier: Judge
    drawer: Drawer
    model: Path | None
    """What is drawn from; None: the configured model."""
    folder: Path
    number: int
    clock: Clock

    def begun(self, tasks: Sequence[Task], stage: Stage, before: "Begun | None" = None) -> "Begun":
        """Draw the first turn and leave it to the judges, which see to a round `before` first."""
        own = self.config.best_of_n
        asked = {task.id: stage.ask(task) for task in tasks}
        wanted = [(task, sample) for task in tasks for sample in range(own.n)]
        chats = {(task.id, sample): asked[task.id] for task, sample in wanted}
        return Begun(self, stage, self.drawn(wanted, chats, 1, before.first.judging if before is not None else None))

    def drawn(
        self,
        wanted: Sequence[tuple[Task, int]],
        chats: Mapping[Key, list[Message]],
        turn: int,
        before: Judging | None = None,
    ) -> "Drawn":
        """One turn's completions, of which what is missing is drawn and handed to the judges."""
        out = turns.file_of(self.folder / "records.jsonl", turn)
        known = {(record.task, record.sample) for record in read(out)}
        if all((task.id, sample) in known for task, sample in wanted):
            return Drawn(self, turn, out, wanted, chats, evaluate.drawn(out.with_suffix(".completions.jsonl")), None)
        jobs: list[tuple[Task, Candidate]] = []

        def settle(place: int, verdict: Verdict) -> None:
            record = evaluate.recorded(*jobs[place], verdict, self.phase, self.number, turn)
            jsonl.append(out, record.model_dump_json())

        with ExitStack() as stack:
            workers = self.config.verify.workers or cores()
            timeout = self.config.verify.seconds()
            judging = stack.enter_context(Judging(self.verifier, workers, before, settle, timeout))

            def submit(task: Task, candidate: Candidate) -> None:
                jobs.append((task, candidate))
                judging.submit(task, candidate)

            with self.clock.counting("sample"):
                drafts = self._draw(wanted, chats, out, turn, submit)
            self.drawer.rest()
            judging.close()
            stack.pop_all()  # it goes on; `Drawn` ends it
        return Drawn(self, turn, out, wanted, chats, drafts, judging)

    @property
    def phase(self) -> str:
        """What its records say they belong to."""
        return f"rl/round-{self.number:02d}"

    def _draw(
        self,
        wanted: Sequence[tuple[Task, int]],
        chats: Mapping[Key, list[Message]],
        out: Path,
        turn: int,
        submit: Callable[[Task, Candidate], None],
    ) -> dict[Key, str]:
        """A turn's completions: those on file, and new ones, appended as they end, which `submit` gets as candidates.

        Random numbers go by a candidate's place among all that are wanted: a round that was stopped draws what it would
        have drawn.
        """
        own, path = self.config.best_of_n, out.with_suffix(".completions.jsonl")
        drafts = evaluate.drawn(path, (task for task, _ in wanted))
        places = [place for place, (task, sample) in enumerate(wanted) if (task.id, sample) not in drafts]
        whole = turn == 1 and not drafts  # then a prompt is read once for all its completions
        n, keys = (own.n, None) if whole else (1, [divmod(place, own.n if turn == 1 else 1) for place in places])

        def keep(batch: Sequence[Draw]) -> None:
            told = [(*wanted[places[n * chat + which]], text) for chat, which, text in batch]
            for task, sample, text in evaluate.note(path, drafts, told):
                submit(task, evaluate.candidate(task, sample, text))

        if places:
            seed = self.config.run.seed + 1_000_003 * (self.number + 1) + (1000 * turn if turn > 1 else 0)
            asked = [chats[wanted[place][0].id, wanted[place][1]] for place in places[::n]]
            lengths = own.temperature, own.top_p, own.max_new_tokens, own.sample_batch
            texts = self.drawer.of(self.model).sample(asked, n, *lengths, seed, keep, keys=keys)
            keep([(chat, which, text) for chat, row in enumerate(texts) for which, text in enumerate(row)])
        return drafts
