"""Endpoints against a real HTTP server: order, concurrency, retries, junk, refusals, budgets."""

import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

import pytest
from serving import Reply, asked, completion, serving

from tritonsmith import endpoint
from tritonsmith.config import EndpointConfig
from tritonsmith.endpoint import Answer, Budget, BudgetSpent, Endpoint, EndpointError, Question
from tritonsmith.errors import UserError

QUESTIONS = [Question([{"role": "user", "content": f"q{i}"}]) for i in range(6)]


def echo(number: int, body: dict[str, object]) -> Reply:
    return completion(f"answer to {asked(body)}")


def error(endpoint: Endpoint, questions: list[Question] = QUESTIONS) -> tuple[str, dict[int, Answer]]:
    """The one line that asking ends with, and the answers before it."""
    answers: dict[int, Answer] = {}
    with pytest.raises(EndpointError) as caught:
        for index, answer in endpoint.answers(questions):
            answers[index] = answer
    assert "\n" not in str(caught.value)
    return str(caught.value), answers


def test_a_section_of_the_configuration_is_an_endpoint(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret\n")
    section = EndpointConfig(url="http://x/v1", model="m", key_file=key, prompt_style="traced", max_requests=5)
    endpoint = Endpoint.of(section)
    assert endpoint == Endpoint("http://x/v1", "m", "secret", "traced", budget=Budget(requests=5))


@pytest.mark.parametrize("section", [EndpointConfig(), EndpointConfig(url="http://x", key_file=Path("/nowhere"))])
def test_a_section_without_a_server_or_key_is_one_line(section: EndpointConfig) -> None:
    with pytest.raises(UserError) as caught:
        Endpoint.of(section)
    assert "\n" not in str(caught.value)


def test_every_question_gets_its_own_answer() -> None:
    with serving(echo) as server:
        answers = dict(Endpoint(server.url).answers(QUESTIONS))
    assert {index: answer.text for index, answer in answers.items()} == {i: f"answer to q{i}" for i in range(6)}
    assert {answer.tokens for answer in answers.values()} == {10}


def test_sampling_is_sent_as_the_server_expects_it() -> None:
    with serving(echo) as server:
        list(Endpoint(server.url, key="secret").answers([Question(QUESTIONS[0].messages, 0.3, 0.9, 77, seed=5)]))
    (body,) = server.asked
    assert (body["model"], body["temperature"], body["top_p"], body["max_tokens"], body["seed"]) == (
        "teacher", 0.3, 0.9, 77, 5,
    )  # fmt: skip
    assert server.keys == ["Bearer secret"]


def test_no_more_questions_at_once_than_allowed() -> None:
    def slow(number: int, body: dict[str, object]) -> Reply:
        time.sleep(0.05)
        return completion("x")

    with serving(slow) as server:
        list(Endpoint(server.url, concurrency=2).answers(QUESTIONS))
    assert server.most == 2


def test_a_busy_or_broken_server_is_asked_again() -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        return echo(number, body) if number > 1 else (503 if number else 429, {"error": {"message": "busy"}})

    with serving(reply) as server:
        answers = dict(Endpoint(server.url, concurrency=1, retries=3).answers(QUESTIONS[:1]))
    assert answers[0].text == "answer to q0" and len(server.asked) == 3


def _limited(number: int, body: dict[str, object]) -> Reply:
    return echo(number, body) if number else (429, {"error": {"message": "slow down"}})


@pytest.mark.parametrize("told", [lambda: "2", lambda: formatdate(time.time() + 3, usegmt=True)])
def test_a_server_that_is_asked_too_often_is_asked_again_when_it_says(told: Callable[[], str]) -> None:
    with serving(_limited) as server:
        server.retry_after, began = told(), time.monotonic()
        answers = dict(Endpoint(server.url, concurrency=1, retries=0).answers(QUESTIONS))
    assert len(answers) == 6 and time.monotonic() - began > 1.5


def test_a_limit_of_unknown_length_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "_PAUSE", 0.1)
    with serving(lambda number, body: _limited(max(number - 5, 0), body)) as server:
        assert len(dict(Endpoint(server.url, concurrency=1, retries=0).answers(QUESTIONS))) == 6
        assert len(server.asked) == 6 + 6


@pytest.mark.parametrize("told", ["3600", "nan", "inf"])
def test_a_limit_that_is_too_long_ends_in_one_line(told: str) -> None:
    with serving(lambda number, body: _limited(0, body)) as server:
        server.retry_after = told
        message, answers = error(Endpoint(server.url, concurrency=1, retries=0))
    assert "HTTP 429: slow down" in message and not answers


def test_a_quota_that_is_spent_is_not_waited_for() -> None:
    spent: Reply = 429, {"error": {"message": "no credit", "code": "insufficient_quota"}}
    with serving(lambda number, body: spent) as server:
        server.retry_after = "1"
        assert "no credit" in error(Endpoint(server.url, concurrency=1, retries=0))[0]
        assert len(server.asked) == 3


def test_a_question_that_fails_alone_is_left_out() -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        return (400, {"error": {"message": "too long"}}) if asked(body) == "q2" else echo(number, body)

    with serving(reply) as server:
        answers = dict(Endpoint(server.url, concurrency=1).answers(QUESTIONS))
    assert sorted(answers) == [0, 1, 3, 4, 5]


JUNK: list[Reply] = [
    (200, "<html>It works!</html>"),
    (200, "{"),
    (200, {"choices": []}),
    (200, {"choices": [{"message": {"content": 7}}]}),
    (200, {"error": "out of memory"}),
    (200, "[]"),
]


@pytest.mark.parametrize("junk", JUNK)
def test_junk_ends_in_one_line(junk: Reply) -> None:
    with serving(lambda number, body: junk) as server:
        message, answers = error(Endpoint(server.url, concurrency=2))
    assert "no chat completion" in message and not answers


def test_empty_content_is_an_answer() -> None:
    with serving(lambda number, body: completion(None, reasoning_content="hm")) as server:
        answers = dict(Endpoint(server.url).answers(QUESTIONS[:1]))
    assert answers[0] == Answer("", "hm", 10)


def test_timeouts_end_in_one_line() -> None:
    gone = threading.Event()

    def hang(number: int, body: dict[str, object]) -> Reply:
        gone.wait(10)
        return completion("late")

    with serving(hang) as server:
        message, _ = error(Endpoint(server.url, timeout=0.2, retries=0))
        gone.set()
    assert "no answer within 0.2 s" in message


def test_a_server_that_is_not_there_is_one_line() -> None:
    with serving(echo) as server:
        url = server.url
    assert "cannot be reached" in error(Endpoint(url, model="m", retries=0))[0]
    assert "cannot be reached" in error(Endpoint(url, retries=0))[0]


def test_a_server_that_fails_after_some_answers_keeps_them() -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        return echo(number, body) if number < 3 else (500, "<html>dead</html>")

    with serving(reply) as server:
        message, answers = error(Endpoint(server.url, concurrency=1, retries=0))
    assert "HTTP 500" in message and sorted(answers) == [0, 1, 2]
    assert len(server.asked) == 6  # three failures in a row are the end of its patience


@pytest.mark.parametrize(("status", "says"), [(401, "refuses the key"), (404, "no such path or model")])
def test_refusals_are_not_asked_again(status: int, says: str) -> None:
    with serving(lambda number, body: (status, {"error": {"message": "no"}})) as server:
        message, _ = error(Endpoint(server.url, concurrency=1))
    assert says in message and len(server.asked) == 1


@pytest.mark.parametrize("models", [(), ("a", "b")])
def test_a_model_must_be_named_where_it_is_not_the_only_one(models: tuple[str, ...]) -> None:
    with serving(echo, models) as server:
        assert "name one" in error(Endpoint(server.url))[0]
        assert len(dict(Endpoint(server.url, model="b").answers(QUESTIONS))) == 6


def test_parameters_that_a_server_refuses_are_left_out() -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        for name in ("max_tokens", "temperature"):
            if name in body:
                return 400, {"error": {"message": f"unsupported: {name}", "param": name}}
        return echo(number, body)

    with serving(reply) as server:
        answers = dict(Endpoint(server.url).answers(QUESTIONS))
    assert len(answers) == 6
    assert "max_completion_tokens" in server.asked[-1] and "temperature" not in server.asked[-1]


def test_the_budget_of_requests_is_kept() -> None:
    with serving(echo) as server:
        message, answers = error(Endpoint(server.url, concurrency=3, budget=Budget(requests=4)))
    assert "budget of 4 completions" in message and len(answers) == len(server.asked) == 4


def test_the_budget_of_tokens_stops_new_questions() -> None:
    with serving(echo) as server, pytest.raises(BudgetSpent):
        list(Endpoint(server.url, concurrency=1, budget=Budget(tokens=25)).answers(QUESTIONS))
    assert len(server.asked) == 3


def test_a_budget_that_is_just_enough_is_no_error() -> None:
    with serving(echo) as server:
        assert len(list(Endpoint(server.url, budget=Budget(requests=6)).answers(QUESTIONS))) == 6


def test_a_failed_question_costs_no_budget() -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        return (500, {}) if number == 0 else echo(number, body)

    budget = Budget(requests=6)
    with serving(reply) as server:
        list(Endpoint(server.url, concurrency=1, retries=0, budget=budget).answers(QUESTIONS))
    assert budget.spent_requests == 5


def test_tokens_are_estimated_where_the_server_does_not_count() -> None:
    with serving(lambda number, body: completion("x" * 38, tokens=None)) as server:
        answers = dict(Endpoint(server.url).answers(QUESTIONS[:1]))
    assert answers[0].tokens == 10


def test_answers_are_told_at_once_however_slow_the_listener() -> None:
    told: list[int] = []
    with serving(echo) as server:
        answers = Endpoint(server.url).answers(QUESTIONS, lambda index, answer: told.append(index))
        next(answers)
        deadline = time.monotonic() + 10
        while len(told) < 6 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sorted(told) == list(range(6))
        answers.close()


def test_an_error_while_keeping_an_answer_is_the_listeners() -> None:
    def full(index: int, answer: Answer) -> None:
        raise OSError(28, "No space left on device")

    with serving(echo) as server, pytest.raises(OSError, match="No space left"):
        list(Endpoint(server.url).answers(QUESTIONS, full))


def test_stopping_early_ends_the_thread() -> None:
    with serving(lambda number, body: (time.sleep(0.2), completion("x"))[1]) as server:
        answers = Endpoint(server.url).answers(QUESTIONS * 50)
        next(answers)
        answers.close()
        assert len(server.asked) < 50
    assert not [thread for thread in threading.enumerate() if thread.name == "tritonsmith-endpoint"]


def test_an_echoed_prompt_is_cut_off() -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        return completion(f"<|task|>{asked(body)}<|answer|>A plan.<|end|>")

    with serving(reply) as server:
        answers = dict(Endpoint(server.url).answers(QUESTIONS))
    assert {answer.text for answer in answers.values()} == {"A plan."}


def test_an_answer_that_repeats_the_question_later_is_left_as_it_is() -> None:
    with serving(lambda number, body: completion(f"You ask {asked(body)}? Done.")) as server:
        assert dict(Endpoint(server.url).answers(QUESTIONS))[3].text == "You ask q3? Done."


def test_sample_gives_completions_in_the_order_of_chats() -> None:
    chats = [[{"role": "user", "content": f"c{i}"}] for i in range(3)]
    told: list[tuple[int, int, str]] = []
    with serving(echo) as server:
        texts = Endpoint(server.url).sample(chats, 2, on_batch=told.extend)
    assert texts == [[f"answer to c{i}"] * 2 for i in range(3)]
    assert sorted(told) == [(i, j, f"answer to c{i}") for i in range(3) for j in range(2)]
    assert len({body["seed"] for body in server.asked}) == 6


def _but_one(status: int) -> Callable[[int, dict[str, object]], Reply]:
    def reply(number: int, body: dict[str, object]) -> Reply:
        return (status, {"error": {"message": "too long"}}) if asked(body) == "c1" else echo(number, body)

    return reply


CHATS = [[{"role": "user", "content": f"c{i}"}] for i in range(3)]


def test_sample_says_how_many_failed() -> None:
    with serving(_but_one(500)) as server, pytest.raises(EndpointError, match="1 of 3 questions failed") as caught:
        Endpoint(server.url, retries=0).sample(CHATS, 1)
    assert "HTTP 500: too long" in str(caught.value)


def test_a_question_that_the_server_refuses_has_an_empty_completion() -> None:
    told: list[tuple[int, int, str]] = []
    with serving(_but_one(400)) as server:
        texts = Endpoint(server.url).sample(CHATS, 1, on_batch=told.extend)
    assert texts == [["answer to c0"], [""], ["answer to c2"]]
    assert (1, 0, "") in told


def test_a_server_that_refuses_every_question_is_told_of() -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        return 400, {"error": {"message": "no chat template"}}

    with serving(reply) as server, pytest.raises(EndpointError, match="no chat template"):
        Endpoint(server.url).sample(CHATS, 1)
    with serving(reply) as server, pytest.raises(EndpointError, match="no chat template"):
        Endpoint(server.url, concurrency=1).sample(CHATS, 100)
    assert len(server.asked) < 20


def test_many_questions_that_are_refused_do_not_end_the_others() -> None:
    def reply(number: int, body: dict[str, object]) -> Reply:
        if int(asked(body)[1:]) < 8:
            return 400, {"error": {"message": "too long"}}
        time.sleep(0.05)
        return echo(number, body)

    chats = [[{"role": "user", "content": f"c{i}"}] for i in range(20)]
    with serving(reply) as server:
        texts = Endpoint(server.url).sample(chats, 1)
    assert texts == [[""]] * 8 + [[f"answer to c{i}"] for i in range(8, 20)]


def test_what_is_not_needed_of_a_reply_may_be_of_any_form() -> None:
    parts = [{"type": "text", "text": "answer"}, {"type": "image"}, {"type": "text", "text": " in parts"}]

    def reply(number: int, body: dict[str, object]) -> Reply:
        message = {"content": parts, "reasoning": {"tokens": 3}}
        return 200, {"choices": [{"message": message, "finish_reason": 1}], "usage": {"total_tokens": -1}}

    with serving(reply) as server:
        answers = dict(Endpoint(server.url).answers(QUESTIONS[:1]))
    assert answers[0].text == "answer in parts" and answers[0].reasoning == "" and answers[0].tokens > 0
