"""Distillation: nano as the teacher behind a real server, and what happens when servers, answers and processes fail."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from judging import DOUBLE, HEAD, KERNEL, double
from serving import Reply, asked, completion, serving

from tritonsmith import jsonl
from tritonsmith.config import VerifyConfig
from tritonsmith.data.distill import Row, Sampling, Teacher, distill, pair, read
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.endpoint import Answer, Budget, BudgetSpent, Endpoint, EndpointError
from tritonsmith.errors import UserError
from tritonsmith.extract import extract
from tritonsmith.prompts import messages, render_completion
from tritonsmith.tasks.format import load_spec
from tritonsmith.train.models import NANO
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.pool import Verifier

RIGHT = render_completion("One pass over the elements.", double())
WRONG = render_completion("One pass.", double(kernel=KERNEL.replace("2.0 *", "3.0 *")))
TASKS = [
    DOUBLE.model_copy(update={"id": f"double{i}", "source": DOUBLE.source.replace("48", f"{48 + i}")}) for i in range(4)
]


class Referee:
    """A judge of the contract's shape, for tests of what is kept: correct is what doubles."""

    def verify_many(
        self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
    ) -> list[Verdict]:
        verdicts = []
        for index, (task, candidate) in enumerate(jobs):
            correct = candidate.source == double()
            verdicts.append(Verdict(task=task.id, device="cpu", target="sm_90", policy="strict", correct=correct))
            if on_verdict is not None:
                on_verdict(index, verdicts[-1])
        return verdicts


@pytest.fixture(scope="module")
def nano_url() -> Iterator[str]:
    """`transformers serve` with nano."""
    pytest.importorskip("fastapi")
    pytest.importorskip("uvicorn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    transformers = str(Path(sys.executable).with_name("transformers"))
    command = ["timeout", "300", transformers, "serve", str(NANO), "--device", "cpu", "--port", str(port)]
    quiet = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(command, env=os.environ | quiet, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(2400):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, "transformers serve has ended"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


@pytest.mark.slow
def test_nano_teaches_through_transformers_serve(nano_url: str, verifier: Verifier, tmp_path: Path) -> None:
    from tritonsmith.train.sft import _row  # imports much, and this file is imported by a process below

    tasks = load_spec("graphs:4:seed=5:depth=1-2")
    nano = Endpoint(nano_url, model=str(NANO), prompt_style="canonical", concurrency=2)
    counts = distill(tasks, nano, verifier, tmp_path, Sampling(temperature=0.0, max_new_tokens=512))
    rows = read(tmp_path / "pairs.jsonl")
    assert counts.asked == 4 and counts.tokens > 0
    assert len(rows) == counts.kept >= 3
    for row in rows:
        task = next(task for task in tasks if task.id == row.task)
        assert row.prompt == messages(task, "bare") and row.graph == task.graph
        assert row.plan and "<|" not in row.plan and "import torch" not in row.plan
        assert extract(row.completion[0]["content"]).source == row.kernel
        assert _row(row.model_dump()).completion == row.completion


def test_only_what_is_correct_is_kept_and_everything_is_on_file(verifier: Verifier, tmp_path: Path) -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        texts = {"48": RIGHT, "49": WRONG, "50": "I cannot do that.", "51": ""}
        return completion(next(text for size, text in texts.items() if f", {size})" in asked(body)))

    with serving(reply) as server:
        counts = distill(TASKS, Endpoint(server.url, prompt_style="bare"), verifier, tmp_path)
    assert (counts.wanted, counts.asked, counts.correct, counts.kept) == (4, 4, 1, 1)
    (row,) = read(tmp_path / "pairs.jsonl")
    assert (row.task, row.plan) == ("double0", "One pass over the elements.")
    assert len(list(jsonl.read(tmp_path / "records.jsonl"))) == len(list(jsonl.read(tmp_path / "answers.jsonl"))) == 4


def test_the_same_call_again_asks_and_judges_nothing(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(RIGHT)) as server:
        first = distill(TASKS, Endpoint(server.url), Referee(), tmp_path)
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        again = distill(TASKS, Endpoint(server.url), Referee(), tmp_path)
        assert len(server.asked) == 4
    assert (again.known, again.asked) == (4, 0)
    assert (again.correct, again.kept, again.tokens) == (first.correct, first.kept, first.tokens) == (4, 4, 40)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_equal_answers_to_a_task_are_kept_once(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(RIGHT)) as server:
        counts = distill(TASKS[:1], Endpoint(server.url), Referee(), tmp_path, Sampling(samples=3))
    assert (counts.correct, counts.kept) == (3, 1)
    assert len({body["seed"] for body in server.asked}) == 3


def test_a_task_that_has_changed_is_asked_again(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(RIGHT)) as server:
        distill(TASKS[:1], Endpoint(server.url), Referee(), tmp_path)
        changed = TASKS[1].model_copy(update={"id": TASKS[0].id})
        assert distill([changed], Endpoint(server.url), Referee(), tmp_path).asked == 1


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({"sampling": Sampling(temperature=0.2)}, "temperature 0.8, not 0.2"),
        ({"style": "full"}, "style 'bare', not 'full'"),
        ({"verify": VerifyConfig(policy="lenient")}, "policy 'strict', not 'lenient'"),
    ],
)
def test_a_folder_of_other_settings_is_one_line(tmp_path: Path, others: dict[str, Any], told: str) -> None:
    with serving(lambda number, body: completion(RIGHT)) as server:
        distill(TASKS[:1], Endpoint(server.url), Referee(), tmp_path)
        with pytest.raises(UserError) as caught:
            distill(TASKS, Endpoint(server.url), Referee(), tmp_path, **others)
        assert len(server.asked) == 1
    assert told in str(caught.value) and "give another --out" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["another", None])
def test_a_folder_of_another_teacher_is_one_line(tmp_path: Path, name: str | None) -> None:
    """Named, or the only one at its server."""
    with serving(lambda number, body: completion(RIGHT)) as server:
        distill(TASKS[:1], Endpoint(server.url), Referee(), tmp_path)
    with serving(lambda number, body: completion(RIGHT), models=("another",)) as server:
        with pytest.raises(UserError, match="teacher 'teacher', not 'another'"):
            distill(TASKS, Endpoint(server.url, name), Referee(), tmp_path)
        assert not server.asked


def test_a_teacher_that_never_answered_binds_nobody(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(RIGHT) if body["model"] == "teacher" else (404, {})) as server:
        with pytest.raises(EndpointError, match="no such path or model"):
            distill(TASKS, Endpoint(server.url, "taecher"), Referee(), tmp_path)
        assert distill(TASKS, Endpoint(server.url, "teacher"), Referee(), tmp_path).kept == 4


def test_tasks_and_samples_may_be_added_to_a_folder(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(RIGHT)) as server:
        distill(TASKS[:1], Endpoint(server.url), Referee(), tmp_path)
        counts = distill(TASKS[:2], Endpoint(server.url, "teacher"), Referee(), tmp_path, Sampling(samples=2))
    assert (counts.known, counts.asked) == (1, 3)
    assert {row.teacher for row in read(tmp_path / "pairs.jsonl")} == {"teacher"}


def test_a_server_that_dies_leaves_what_it_gave_and_the_next_call_goes_on(tmp_path: Path) -> None:
    dead: Reply = (500, "<html>dead</html>")
    with serving(lambda number, body: completion(RIGHT) if number < 2 else dead) as server:
        endpoint = Endpoint(server.url, concurrency=1, retries=0, patience=2)
        with pytest.raises(EndpointError) as caught:
            distill(TASKS, endpoint, Referee(), tmp_path)
    assert "\n" not in str(caught.value)
    for part in ("HTTP 500", "2 pairs of 2 answers", str(tmp_path), "asks for the other 2"):
        assert part in str(caught.value)
    assert len(read(tmp_path / "pairs.jsonl")) == 2
    with serving(lambda number, body: completion(RIGHT)) as server:
        counts = distill(TASKS, Endpoint(server.url), Referee(), tmp_path)
    assert (counts.known, counts.asked, counts.kept) == (2, 2, 4)


def test_the_budget_is_that_of_the_folder(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(RIGHT)) as server:
        for _ in range(2):
            with pytest.raises(BudgetSpent):
                distill(TASKS, Endpoint(server.url, budget=Budget(requests=3)), Referee(), tmp_path)
        assert len(server.asked) == 3
    assert len(read(tmp_path / "pairs.jsonl")) == 3


KILLED = """
import sys
from pathlib import Path
from test_distill import TASKS, Referee
from tritonsmith.data.distill import distill
from tritonsmith.endpoint import Endpoint

distill(TASKS, Endpoint(sys.argv[1], concurrency=1), Referee(), Path(sys.argv[2]))
"""


@pytest.mark.slow
def test_kill_9_loses_no_answer(tmp_path: Path) -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        if number == 3:
            process.kill()
        return completion(RIGHT)

    with serving(reply) as server:
        command = [sys.executable, "-c", KILLED, server.url, str(tmp_path)]
        process = subprocess.Popen(command, cwd=Path(__file__).parent)
        assert process.wait(120) == -signal.SIGKILL
        assert len(list(jsonl.read(tmp_path / "answers.jsonl"))) == 3
        counts = distill(TASKS, Endpoint(server.url), Referee(), tmp_path)
    assert (counts.known, counts.asked, counts.kept) == (3, 1, 4)
    assert [row.task for row in sorted(read(tmp_path / "pairs.jsonl"), key=lambda row: row.task)] == [
        t.id for t in TASKS
    ]


def test_torn_and_corrupted_lines_are_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with serving(lambda number, body: completion(RIGHT)) as server:
        distill(TASKS, Endpoint(server.url), Referee(), tmp_path)
        answers, records = tmp_path / "answers.jsonl", tmp_path / "records.jsonl"
        lines = answers.read_text().splitlines()
        answers.write_text("\n".join([json.dumps({"task": 7}), *lines[1:3], lines[3][:-9]]))
        records.write_text(records.read_text()[:-40])
        counts = distill(TASKS, Endpoint(server.url), Referee(), tmp_path)
    assert (counts.known, counts.asked, counts.kept) == (2, 2, 4)
    assert "1 corrupted rows" in caplog.text
    assert len(read(tmp_path / "pairs.jsonl")) == 4


def test_a_folder_in_use_is_one_line(tmp_path: Path) -> None:
    with serving(lambda number, body: completion(RIGHT)) as server:

        class Nested(Referee):
            def verify_many(
                self, jobs: Iterable[tuple[Task, Candidate]], on_verdict: Callable[[int, Verdict], None] | None = None
            ) -> list[Verdict]:
                distill(TASKS, Endpoint(server.url), Referee(), tmp_path)
                return []

        with pytest.raises(UserError, match="another process works there"):
            distill(TASKS, Endpoint(server.url), Nested(), tmp_path)


def test_a_full_disk_is_one_line_and_the_next_call_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0

    def full(path: Path, line: str) -> None:
        nonlocal written
        if written == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += 1
        append(path, line)

    append = jsonl.append
    with serving(lambda number, body: completion(RIGHT)) as server:
        monkeypatch.setattr(jsonl, "append", full)
        with pytest.raises(UserError, match="No space left on device; what is there is kept"):
            distill(TASKS, Endpoint(server.url, concurrency=1), Referee(), tmp_path)
        monkeypatch.undo()
        assert distill(TASKS, Endpoint(server.url), Referee(), tmp_path).kept == 4


def test_a_teacher_is_a_source_of_pairs() -> None:
    task = Task(id="t", level=1, source=HEAD)
    with serving(lambda number, body: completion(RIGHT)) as server:
        found = Teacher(Endpoint(server.url))(task)
    assert found == Pair("One pass over the elements.", double())


def test_the_plan_is_what_stands_before_the_code() -> None:
    assert pair(Answer(f"<think>long\nthoughts</think>\n{RIGHT}")) == Pair("One pass over the elements.", double())


@pytest.mark.parametrize("answer", [Answer(f"<think>A thought.</think>{RIGHT[29:]}"), Answer(RIGHT[29:], "A thought.")])
def test_without_such_a_plan_it_is_what_was_thought(answer: Answer) -> None:
    assert answer.text.endswith(RIGHT[29:]) and pair(answer) == Pair("A thought.", double())


def test_a_plan_that_would_be_taken_for_the_answer_is_left_out() -> None:
    draft = "```python\nclass ModelNew(nn.Module):\n    pass\n```"
    found = pair(Answer(RIGHT[29:], f"First I write\n{draft}\nand then more."))
    assert isinstance(found, Pair) and extract(render_completion(found.plan, found.source)).source == double()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer("I cannot."), "no code in the answer"),
        (Answer("<think>hm", cut=True), "cut at the limit of tokens"),
        (Answer(""), "no code in the answer"),
    ],
)
def test_an_answer_without_code_is_a_miss(answer: Answer, reason: str) -> None:
    assert pair(answer) == Miss(reason)


def test_rows_have_the_columns_of_training_data() -> None:
    assert {"prompt", "completion", "task", "graph", "level", "source", "plan", "kernel"} <= Row.model_fields.keys()
