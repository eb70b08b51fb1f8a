"""Best-of-N: what is chosen, kept and trained on, and that nothing drawn or judged is done twice."""

import json
import random
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import pytest
from records import right

from tritonsmith import redraw
from tritonsmith.config import BestOfNConfig, Config, ModelConfig, RunConfig, SftConfig, VerifyConfig
from tritonsmith.curriculum import Curriculum
from tritonsmith.data.lower.convert import convert
from tritonsmith.data.pair import Pair
from tritonsmith.data.rows import Row
from tritonsmith.evaluate import drawn, read
from tritonsmith.gains import Given
from tritonsmith.jsonl import append
from tritonsmith.prompts import Message, render_completion
from tritonsmith.tasks import graphs
from tritonsmith.train import best_of_n, policy, rounds, sft
from tritonsmith.train.generate import Sampler
from tritonsmith.types import Task, Verdict
from tritonsmith.verify.pool import Verifier


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    with Verifier(VerifyConfig(device="cpu", timing=False)) as own:
        yield own


def lowered(task: Task) -> Pair:
    answer = convert(task)
    assert isinstance(answer, Pair)
    return answer


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    simple = graphs.generate(2, seed=0, depth=(1, 1), families=["pointwise"])
    return simple + graphs.generate(2, seed=0, depth=(2, 2), families=["pointwise"])


class Scripted(Sampler):
    """Draws with the model, then lets every first completion of the first task be a right answer."""

    tasks: list[Task]
    draws = 0

    def sample(self, messages: list, n: int, *rest: object, **named: object) -> list[list[str]]:
        Scripted.draws += n * len(messages)
        texts = [["no code"] * n for _ in messages]
        for chat, row in zip(messages, texts, strict=True):
            task = next(task for task in self.tasks if task.source.strip() == chat[-1]["content"])
            answer = lowered(task)
            row[0] = render_completion(answer.plan, answer.source)
            row[-1] = render_completion("The same again.", "# said otherwise\n" + answer.source)
        return texts


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tasks: list[Task]) -> type[Scripted]:
    monkeypatch.setattr(policy, "Sampler", Scripted)
    Scripted.tasks, Scripted.draws = tasks, 0
    return Scripted


def make_config(folder: Path, tiny: Path, **fields: object) -> Config:
    settings = {"n": 3, "keep": 2, "rounds": 2, "tasks_per_round": 2, "epochs": 1.0, "batch": 2, **fields}
    config = Config(
        run=RunConfig(dir=folder),
        model=ModelConfig(id=str(tiny), prompt_style="bare"),
        best_of_n=BestOfNConfig.model_validate(settings),
    )
    config.lora.enabled = False
    config.sft.max_length = 4096
    return config


def test_two_rounds_leave_records_curriculum_and_a_model(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted]
) -> None:
    config = make_config(tmp_path, tiny_folder)
    model = best_of_n.train(config, tasks, verifier, None)
    seen: set[str] = set()
    for number in range(2):
        folder = tmp_path / "rl" / f"round-{number:02d}"
        records = read(folder / "records.jsonl")
        assert len(records) == 6 and {record.phase for record in records} == {f"rl/round-{number:02d}"}
        assert sum(record.verdict.correct for record in records) == 4
        assert json.loads((folder / "curriculum.json").read_text())["acc"]
        # Another wording of a program is no second row, nor is a task's answer of an earlier round.
        seen |= {record.task for record in records}
        assert json.loads((folder / "round.json").read_text())["rl/kept"] == len(seen)
    assert model.resolve() == (tmp_path / "rl" / "round-01" / "model").resolve()
    assert list((tmp_path / "tensorboard" / "rl").glob("events.*"))


def test_the_step_is_compiled_once_while_the_first_round_is_judged(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    config, done, fit = make_config(tmp_path, tiny_folder), [], sft.fit_from
    config.sft.engine = "compiled"

    def ready(*given: object, **named: object) -> None:
        done.append("ready")
        assert not (tmp_path / "rl" / "round-00" / "round.json").exists()
        assert len(drawn(tmp_path / "rl" / "round-00" / "records.completions.jsonl")) == 6

    monkeypatch.setattr(sft, "ready_from", ready)
    monkeypatch.setattr(sft, "fit_from", lambda *given, **named: (done.append("fit"), fit(*given, **named)))
    best_of_n.train(config, tasks, verifier, None)
    assert done == ["ready", "fit", "fit"]


def test_only_the_rounds_in_memory_are_learnt_from(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted]
) -> None:
    config = make_config(tmp_path, tiny_folder)
    config.best_of_n.memory = 1
    best_of_n.train(config, tasks, verifier, None)
    for number in range(2):
        folder = tmp_path / "rl" / f"round-{number:02d}"
        right = {record.task for record in read(folder / "records.jsonl") if record.verdict.correct}
        assert json.loads((folder / "round.json").read_text())["rl/kept"] == len(right)


def test_copies_under_other_names_are_made_once_and_learnt_in_each_round(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    learnt: list[set[tuple[str, str]]] = []

    def fit(config: Config, settings: SftConfig, rows: list[Row], *given: object, **named: object) -> None:
        assert settings.copies == 0  # they are among the rows
        learnt.append({(row.prompt[0]["content"], row.completion[0]["content"]) for row in rows})

    monkeypatch.setattr(sft, "fit_from", fit)
    config = make_config(tmp_path, tiny_folder, copies=2)
    best_of_n.train(config, tasks, verifier, None)
    for number, rows in enumerate(learnt):
        closed = json.loads((tmp_path / "rl" / f"round-{number:02d}" / "round.json").read_text())
        assert closed["rl/kept"] < len(rows) <= 3 * closed["rl/kept"]  # of a task drawn again no others
    assert learnt[0] < learnt[1]


@pytest.mark.parametrize(("turns", "followed"), [(1, 0), (2, 2)])
def test_what_failures_are_asked_next_is_made_where_there_is_a_next_turn(
    turns: int,
    followed: int,
    tmp_path: Path,
    tiny_folder: Path,
    tasks: list[Task],
    verifier: Verifier,
    scripted: type[Scripted],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For 2,600 failures it took ten seconds of each round, and was thrown away."""
    asked: list[Verdict] = []

    def begun(chat: list[Message], completion: str, verdict: Verdict) -> list[Message]:
        asked.append(verdict)
        return redraw.begun(chat, completion, verdict)

    monkeypatch.setattr(rounds, "redraw", SimpleNamespace(begun=begun))
    best_of_n.train(make_config(tmp_path, tiny_folder, rounds=1, turns=turns, retry="redraw"), tasks, verifier, None)
    assert len([one for one in asked if not one.correct]) == followed


@pytest.mark.parametrize("restart", [False, True])
def test_each_round_learns_from_the_one_before_or_from_the_first_model(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted],
    monkeypatch: pytest.MonkeyPatch, restart: bool,
) -> None:  # fmt: skip
    config = make_config(tmp_path, tiny_folder, restart=restart)
    starts: list[Path | None] = []
    real = best_of_n._fit

    def fit(config: Config, rows: list[Row], model: Path | None, folder: Path, number: int) -> None:
        starts.append(model)
        real(config, rows, model, folder, number)

    monkeypatch.setattr(best_of_n, "_fit", fit)
    best_of_n.train(config, tasks, verifier, None)
    assert starts == [None, None if restart else tmp_path / "rl" / "round-00" / "model"]


def test_a_finished_run_draws_and_judges_nothing_again(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted]
) -> None:
    config = make_config(tmp_path, tiny_folder)
    best_of_n.train(config, tasks, verifier, None)
    before, drawn = (tmp_path / "rl" / "round-01" / "records.jsonl").read_bytes(), scripted.draws
    best_of_n.train(config, tasks, verifier, None)
    assert (tmp_path / "rl" / "round-01" / "records.jsonl").read_bytes() == before and scripted.draws == drawn


def test_killed_while_judging_loses_no_verdict(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted]
) -> None:
    config = make_config(tmp_path, tiny_folder, rounds=1)

    class Killed:
        """Fails in the background, and is interrupted when what is missing is asked for again."""

        def verify_many(self, jobs: Iterable, on_verdict: object = None) -> list:
            if isinstance(jobs, list):
                raise KeyboardInterrupt

            def stop(index: int, verdict: object) -> None:
                on_verdict(index, verdict)
                if len(read(tmp_path / "rl" / "round-00" / "records.jsonl")) == 4:
                    raise RuntimeError

            return verifier.verify_many(jobs, stop)

    with pytest.raises(KeyboardInterrupt):
        best_of_n.train(config, tasks, Killed(), None)
    path = tmp_path / "rl" / "round-00" / "records.jsonl"
    first = path.read_bytes()
    best_of_n.train(config, tasks, verifier, None)
    assert path.read_bytes().startswith(first)
    assert Counter((record.task, record.sample) for record in read(path)).most_common(1)[0][1] == 1
    assert len(read(path)) == scripted.draws == 6


def test_a_round_in_which_nothing_is_right_changes_no_weights(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier
) -> None:
    config = make_config(tmp_path, tiny_folder, max_new_tokens=4)
    model = best_of_n.train(config, tasks, verifier, None)
    assert (model / "config.json").exists() and not (tmp_path / "rl" / "round-00" / "model").exists()


def test_chooses_by_the_curriculum_and_what_was_drawn_least() -> None:
    tasks = [Task(id=f"{level}/{i}", level=level, source="") for level in (1, 2) for i in range(20)]
    curriculum, rng = Curriculum(p_min=0.1, p_max=0.5), random.Random(0)
    levels = [task.level for task in best_of_n.choose(tasks, 20, curriculum, rng, Counter(), True)]
    assert levels.count(2) == 2
    drawn = Counter({f"1/{i}": 1 for i in range(18)})
    ids = {task.id for task in best_of_n.choose(tasks, 20, curriculum, rng, drawn, True)}
    assert {"1/18", "1/19"} <= ids and len(ids) == 20
    assert len(best_of_n.choose(tasks[:5], 20, curriculum, rng, Counter(), True)) == 5
    uniform = best_of_n.choose(tasks, 40, curriculum, rng, Counter(), False)
    assert {task.id for task in uniform} == {task.id for task in tasks}


def test_no_round_is_begun_that_would_exceed_the_time(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted]
) -> None:
    config = make_config(tmp_path, tiny_folder, rounds=5)
    append(tmp_path / "rl" / "steps.jsonl", json.dumps({"step": 0, "seconds": 70.0}))
    model = best_of_n.train(config, tasks, verifier, None, minutes=2.0)
    # 70 seconds are spent and another 70 would be too many: the model is what it was.
    assert not (tmp_path / "rl" / "round-00").exists() and (model / "config.json").exists()


def test_completions_are_judged_while_others_are_drawn(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = threading.Event()

    class Watching:
        def verify_many(self, jobs: Iterable, on_verdict: object = None) -> list:
            def seen() -> Iterator:
                for job in jobs:
                    taken.set()
                    yield job

            return verifier.verify_many(seen(), on_verdict)

    class Slow(Sampler):
        def sample(self, messages: list, n: int, *rest: object, **named: object) -> list[list[str]]:
            on_batch = rest[-1]
            on_batch([(0, 0, "no code")])
            assert taken.wait(30)
            return [["no code"] * n for _ in messages]

    monkeypatch.setattr(policy, "Sampler", Slow)
    config = make_config(tmp_path, tiny_folder, rounds=1)
    best_of_n.train(config, tasks, Watching(), None)
    (step,) = [json.loads(line) for line in (tmp_path / "rl" / "steps.jsonl").read_text().splitlines()]
    assert step["verify"] > 0 and len(read(tmp_path / "rl" / "round-00" / "records.jsonl")) == 6


def test_a_round_is_drawn_ahead_from_the_last_model_that_is_ready_and_resumes_on_the_same_course(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, scripted: type[Scripted],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    config = make_config(tmp_path, tiny_folder, rounds=3, ahead=True)
    drawn_from: list[Path | None] = []
    second = threading.Event()
    real = policy.Drawer.of

    def of(self: policy.Drawer, model: Path | None) -> object:
        drawn_from.append(model)
        if len(drawn_from) > 1:
            second.set()
        return real(self, model)

    class Patient:
        """Judges nothing before the second round is drawn, and nothing of the third."""

        asked = 0

        def verify_many(self, jobs: Iterable, on_verdict: object = None) -> list:
            self.asked += 1
            if self.asked > 2:
                raise RuntimeError("killed")
            assert second.wait(60)
            return verifier.verify_many(jobs, on_verdict)

    monkeypatch.setattr(policy.Drawer, "of", of)
    with pytest.raises(RuntimeError, match="killed"):
        best_of_n.train(config, tasks, Patient(), None)
    rounds = [tmp_path / "rl" / f"round-{number:02d}" for number in range(3)]
    assert drawn_from == [None, None, rounds[0] / "model"]
    texts = [(folder / "records.completions.jsonl").read_bytes() for folder in rounds]
    best_of_n.train(config, tasks, verifier, None)
    assert drawn_from == [None, None, rounds[0] / "model"]
    assert [(folder / "records.completions.jsonl").read_bytes() for folder in rounds] == texts
    for folder in rounds:
        records = read(folder / "records.jsonl")
        assert len({(one.task, one.sample) for one in records}) == len(records) == 6
    closed = [json.loads(line)["step"] for line in (tmp_path / "rl" / "steps.jsonl").read_text().splitlines()]
    assert closed == [0, 1, 2]


class Learns(Sampler):
    """Fails at once, and answers rightly when told what was wrong; the last completion never does."""

    asked: ClassVar[list[list[dict[str, str]]]] = []

    def sample(self, messages: list, n: int, *rest: object, **named: object) -> list[list[str]]:
        Learns.asked += messages
        texts = []
        for chat in messages:
            task = next(task for task in Scripted.tasks if task.source.strip() == chat[0]["content"])
            answer = lowered(task)
            texts.append([self.written(chat, render_completion(answer.plan, answer.source), len(texts))] * n)
        return texts

    def written(self, chat: list[dict[str, str]], right: str, place: int) -> str:
        return right if len(chat) > 1 and place % 3 != 2 else "no code"


def test_what_failed_is_answered_drawn_again_and_learnt_from_in_its_turn(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "Sampler", Learns)
    Scripted.tasks, Learns.asked = tasks, []
    config = make_config(tmp_path, tiny_folder, rounds=1, turns=2)
    best_of_n.train(config, tasks, verifier, None)
    folder = tmp_path / "rl" / "round-00"
    first, second = read(folder / "records.jsonl"), read(folder / "records.turn2.jsonl")
    assert [(len(part), {one.turn for one in part}) for part in (first, second)] == [(6, {1}), (6, {2})]
    assert sum(one.verdict.correct for one in second) == 4
    closed = json.loads((folder / "round.json").read_text())
    assert closed["rl/correct"] == 0.0 and closed["rl/correct_at_last"] == pytest.approx(4 / 6)
    assert closed["rl/return"] == pytest.approx(0.4 * 0.7 * 4 / 6) and closed["candidates"] == 12
    drawn = len(Learns.asked)
    best_of_n.train(config, tasks, verifier, None)
    assert len(Learns.asked) == drawn  # a finished round's turns are read from the disk


class Slips(Learns):
    """Calls a name that is not there in its answer's last line but one, and goes on rightly from what stays."""

    def written(self, chat: list[dict[str, str]], right: str, place: int) -> str:
        assert len(chat) == 1 or right.startswith(chat[1]["content"])
        head, tail = right.rsplit("        return ", 1)
        return right if len(chat) > 1 else f"{head}        slip()\n        return {tail}"


def test_what_failed_at_a_line_is_drawn_anew_from_there_and_learnt_as_an_answer_to_the_task(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "Sampler", Slips)
    Scripted.tasks, Learns.asked = tasks, []
    config = make_config(tmp_path, tiny_folder, rounds=1, turns=2, retry="redraw", copies=1)
    best_of_n.train(config, tasks, verifier, None)
    first = read(tmp_path / "rl" / "round-00" / "records.jsonl")
    second = read(tmp_path / "rl" / "round-00" / "records.turn2.jsonl")
    assert not any(one.verdict.correct for one in first) and all(one.verdict.correct for one in second)
    begun = [chat[1]["content"] for chat in Learns.asked if len(chat) > 1]
    assert len(begun) == len(second) == 6 and all(one.endswith("\n") and "slip" not in one for one in begun)
    chats = {(one.task, one.sample): Learns.asked[0] for one in second}
    rows = best_of_n.keep(config, tasks, [best_of_n.Turn(first, chats), best_of_n.Turn(second, chats)])
    assert {row.task for row in rows} == {one.task for one in second} and all(len(row.prompt) == 1 for row in rows)


def test_failures_are_answered_while_the_next_round_is_judged(
    tmp_path: Path, tiny_folder: Path, tasks: list[Task], verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy, "Sampler", Learns)
    Scripted.tasks, Learns.asked = tasks, []
    best_of_n.train(make_config(tmp_path, tiny_folder, turns=2, ahead=True), tasks, verifier, None)
    for number in range(2):
        folder = tmp_path / "rl" / f"round-{number:02d}"
        first, second = read(folder / "records.jsonl"), read(folder / "records.turn2.jsonl")
        assert [len(first), len(second)] == [6, 6] and sum(one.verdict.correct for one in second) == 4


def test_an_answer_in_a_later_turn_is_kept_with_its_conversation_after_earlier_ones(tmp_path: Path) -> None:
    config = Config(best_of_n=BestOfNConfig(keep=2))
    task = Task(id="t", level=1, source="import torch")
    ask, more = [{"role": "user", "content": "do"}], [{"role": "user", "content": "do better"}]
    found = [
        best_of_n.Turn([right("t", 0, "a = 1", speed=1.1)], {("t", 0): ask}),
        best_of_n.Turn(
            [right("t", 1, "b = 1", 2, speed=1.9), right("t", 2, "c = 1", 2, speed=1.2)],
            {("t", 1): more, ("t", 2): more},
        ),
    ]
    rows = best_of_n.keep(config, [task], found)
    assert [(row.prompt, row.completion[0]["content"]) for row in rows] == [(ask, "a = 1"), (more, "b = 1")]


def test_of_a_kernel_that_was_given_only_what_is_clearly_faster_is_learnt_from() -> None:
    task = Task(id="t", level=1, source="import torch")
    records = [right("t", 0, "a = 1", speed=1.5), right("t", 1, "b = 1", speed=1.51), right("t", 2, "c = 1", speed=1.8)]
    found = [best_of_n.Turn(records, {("t", i): [] for i in range(3)})]
    given = Given(task=task, kernel="g = 1", verdict=right("t", 0, "g = 1", speed=1.5).verdict)
    rows = best_of_n.keep(Config(), [task], found, {"t": given})
    assert [row.completion[0]["content"] for row in rows] == ["c = 1"]


def test_a_copy_of_the_kernel_that_was_given_is_not_learnt_from() -> None:
    # As fast as what it was made of, whatever a second measurement says.
    task = Task(id="t", level=1, source="import torch")
    given = Given(task=task, kernel="g = 1", verdict=right("t", 0, "g = 1", speed=1.5).verdict)
    found = [best_of_n.Turn([right("t", 0, "g = 1  # mine", speed=1.8)], {("t", 0): []})]
    assert best_of_n.keep(Config(), [task], found, {"t": given}) == []


def test_what_is_solved_already_is_not_learnt_from() -> None:
    tasks = [Task(id=name, level=1, source="import torch") for name in ("easy", "hard", "never")]
    wrong = right("hard", 1, "h = 2")
    wrong = wrong.model_copy(update={"verdict": wrong.verdict.model_copy(update={"correct": False})})
    missed = wrong.model_copy(update={"task": "never"})
    records = [right("easy", 0, "e = 1"), right("easy", 1, "e = 2"), right("hard", 0, "h = 1"), wrong, missed]
    found = [best_of_n.Turn(records, {(one.task, one.sample): [] for one in records})]
    for rate, learnt in ((1.0, ["easy", "easy", "hard"]), (0.9, ["hard"]), (0.4, [])):
        rows = best_of_n.keep(Config(best_of_n=BestOfNConfig(max_rate=rate)), tasks, found)
        assert [row.task for row in rows] == learnt
