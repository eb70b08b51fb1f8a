import io
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console
from serving import Reply, asked, completion, serving

from tritonsmith import jsonl
from tritonsmith.config import EvalConfig
from tritonsmith.endpoint import Endpoint, EndpointError
from tritonsmith.evaluate import draw, evaluate, read, table
from tritonsmith.types import Candidate, Task, Verdict

TASKS = [Task(id=f"t{i}", level=1 + i % 2, source=f"# {i}\nimport torch\n") for i in range(3)]
CONFIG = EvalConfig(samples=4, batch=5)


class Writer:
    """A sampler that numbers its answers and can be stopped after some batches, as a killed run would be."""

    prompt_style = "bare"

    def __init__(self, batches: int = 1000) -> None:
        self.batches = batches
        self.drawn = 0

    def sample(
        self,
        messages: Sequence[list[dict[str, str]]],
        n: int,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
        batch: int,
        seed: int,
        on_batch: Callable[[list[tuple[int, int, str]]], None] | None,
    ) -> list[list[str]]:
        wanted = [(chat, which) for chat in range(len(messages)) for which in range(n)]
        texts = [[""] * n for _ in messages]
        for start in range(0, len(wanted), batch):
            if self.batches == 0:
                raise KeyboardInterrupt
            self.batches -= 1
            rows = []
            for chat, which in wanted[start : start + batch]:
                subject = messages[chat][0]["content"].splitlines()[0]
                texts[chat][which] = f"Plan.\n```python\n{subject}\nseed = {seed + which}\n```"
                rows.append((chat, which, texts[chat][which]))
            self.drawn += len(rows)
            if on_batch is not None:
                on_batch(rows)
        return texts


class Referee:
    """A judge of the contract's shape that calls even samples correct and can be stopped in between."""

    def __init__(self, limit: int = 1000) -> None:
        self.limit = limit
        self.judged: list[tuple[str, int]] = []

    def verify_many(
        self, jobs: Sequence[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        verdicts = []
        for index, (task, candidate) in enumerate(jobs):
            if len(self.judged) == self.limit:
                raise KeyboardInterrupt
            self.judged.append((task.id, candidate.sample))
            correct = candidate.sample % 2 == 0
            verdict = Verdict(
                task=task.id, sample=candidate.sample, device="cpu", target="sm_90", policy="strict", correct=correct
            )
            verdicts.append(verdict)
            if on_verdict is not None:
                on_verdict(index, verdict)
        return verdicts


def test_judges_every_sample_of_every_task(tmp_path: Path) -> None:
    records = evaluate(Writer(), TASKS, Referee(), CONFIG, tmp_path / "eval" / "sft.jsonl")
    assert [(record.task, record.sample) for record in records] == [(t.id, s) for t in TASKS for s in range(4)]
    assert {record.phase for record in records} == {"eval/sft"}
    assert all(record.source is not None and record.source.startswith("# ") for record in records)


def test_records_are_on_file(tmp_path: Path) -> None:
    records = evaluate(Writer(), TASKS, Referee(), CONFIG, tmp_path / "sft.jsonl")
    assert read(tmp_path / "sft.jsonl") == records


def test_resumed_judging_judges_nothing_twice(tmp_path: Path) -> None:
    out, first, second = tmp_path / "sft.jsonl", Referee(limit=5), Referee()
    with pytest.raises(KeyboardInterrupt):
        evaluate(Writer(), TASKS, first, CONFIG, out)
    writer = Writer()
    records = evaluate(writer, TASKS, second, CONFIG, out)
    assert len(first.judged) == 5 and len(second.judged) == 7
    assert not set(first.judged) & set(second.judged)
    assert writer.drawn == 0
    assert len(records) == len(read(out)) == 12


def test_resumed_drawing_draws_only_what_is_missing(tmp_path: Path) -> None:
    out = tmp_path / "drafts.jsonl"
    with pytest.raises(KeyboardInterrupt):
        draw(Writer(batches=1), TASKS, CONFIG, out)
    writer = Writer()
    drafts = draw(writer, TASKS, CONFIG, out)
    assert writer.drawn == 12 - 5
    assert len(drafts) == len(list(jsonl.read(out))) == 12
    assert len({drafts["t1", sample] for sample in range(4)}) == 4


def test_torn_line_is_judged_again(tmp_path: Path) -> None:
    out = tmp_path / "sft.jsonl"
    evaluate(Writer(), TASKS, Referee(), CONFIG, out)
    out.write_bytes(out.read_bytes()[:-40])
    referee = Referee()
    evaluate(Writer(), TASKS, referee, CONFIG, out)
    assert referee.judged == [("t2", 3)]
    assert len(read(out)) == 12


def test_a_served_model_is_evaluated_as_a_local_one(tmp_path: Path) -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        return completion(f"Plan.\n```python\n{asked(body).splitlines()[0]}\n```")

    with serving(reply) as server:
        records = evaluate(
            Endpoint(server.url, prompt_style="bare"), TASKS, Referee(), CONFIG, tmp_path / "served.jsonl"
        )
    assert [(record.task, record.source) for record in records] == [
        (t.id, t.source[:4]) for t in TASKS for _ in range(4)
    ]


def test_a_server_that_fails_keeps_what_it_gave(tmp_path: Path) -> None:
    out = tmp_path / "served.jsonl"
    with serving(lambda number, body: completion("x") if number < 5 else (500, {})) as server:
        with pytest.raises(EndpointError, match="HTTP 500"):
            evaluate(Endpoint(server.url, concurrency=1, retries=0), TASKS, Referee(), CONFIG, out)
        server.reply = lambda number, body: completion("y")
        records = evaluate(Endpoint(server.url), TASKS, Referee(), CONFIG, out)
    assert sorted(record.completion for record in records) == ["x"] * 5 + ["y"] * 7


def test_table_shows_levels_rates_and_passes(tmp_path: Path) -> None:
    records = evaluate(Writer(), TASKS, Referee(), CONFIG, tmp_path / "sft.jsonl")
    console = Console(file=io.StringIO(), width=80)
    console.print(table({"SFT": records}, ks=(1, 4), title="held out"))
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    for part in ("SFT", "pass@1", "pass@4", "50%", "compiled", "correct", "fast_1", "speedup", "0-100", "all"):
        assert part in text


def test_no_seed_is_asked_twice_for_one_task(tmp_path: Path) -> None:
    """A question that failed was asked anew with the seed of another sample of its task, and so had its answer."""
    seeds: list[object] = []

    def reply(number: int, body: dict[str, object]) -> Reply:
        seeds.append(body["seed"])
        return (500, {}) if number == 9 else completion("x")

    out = tmp_path / "served.jsonl"
    with serving(reply) as server:
        for _ in range(3):
            with suppress(EndpointError):
                evaluate(Endpoint(server.url, concurrency=1, retries=0), TASKS, Referee(), CONFIG, out)
    assert len(read(out)) == 12 and len(set(seeds)) == len(seeds) > 12
