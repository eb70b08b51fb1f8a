"""Completions from a server that speaks OpenAI's chat API: vLLM, `transformers serve`, a vendor's.

`Endpoint` asks many questions side by side, waits and asks again where a server is busy or broken, and stops at its
budget. What a model wrote is data, however poor; only a server that does not do its work is an error, of one line.
It has the `sample` of `train.generate.Sampler`, so whatever evaluates a local model evaluates a served one.

Keeps nothing on disk: `evaluate` and `data.distill` do. No streaming, no tools, no log-probabilities.
"""

import asyncio
import logging
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar, cast

import openai
from openai.types.chat import ChatCompletionMessageParam
from pydantic import ValidationError

from tritonsmith import progress
from tritonsmith.chat import Answer, Question, Reply, answer_of, cause, one_line, said, told_to_wait
from tritonsmith.config import EndpointConfig
from tritonsmith.errors import UserError
from tritonsmith.prompts import Message, Style

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FOR_GOOD = {401: "refuses the key", 403: "refuses access", 404: "has no such path or model", 405: "takes no chats"}
"""HTTP status codes that asking again does not change, and what they mean."""

_OF_A_QUESTION = {400, 413, 422}
"""HTTP status codes that say of one question that it is not to be asked so: it is too long, as a rule."""

_LIMITED = 300.0
"""Seconds for which a question is asked again where the client has given up on a limit to how often one may ask."""
_PAUSE = 15.0
"""Seconds between, where the server says no time: such limits are of a minute, as a rule."""
_MOST_PAUSE = 120.0
"""Seconds that the client waits by itself, at most, before it asks again."""

_OPTIONAL = ("temperature", "top_p", "max_tokens", "seed")
"""Parameters that some servers refuse, as reasoning models of vendors do."""


class EndpointError(UserError):
    """A server that does not answer, or does not speak the protocol; its text is one line."""


class BudgetSpent(EndpointError):
    """The budget does not allow another question."""


@dataclass
class Budget:
    """How much may be asked for, and how much has been."""

    requests: int | None = None
    """Completions to pay for; None: any number."""
    tokens: int | None = None
    """Tokens to pay for, prompts and completions together. What is under way when they are spent is still answered."""
    spent_requests: int = 0
    """Answers paid for already, and those under way."""
    spent_tokens: int = 0

    def take(self) -> bool:
        """Set a request aside; False where there is none left."""
        enough = self.requests is None or self.spent_requests < self.requests
        if not enough or (self.tokens is not None and self.spent_tokens >= self.tokens):
            return False
        self.spent_requests += 1
        return True

    def __str__(self) -> str:
        limits = ((self.requests, "completions"), (self.tokens, "tokens"))
        return " and ".join(f"{limit} {what}" for limit, what in limits if limit is not None)


@dataclass
class Endpoint:
    """A server, and how it is treated."""

    url: str
    """Base URL, such as `http://localhost:8000/v1`."""
    model: str | None = None
    """The model's name there; where not given, the only one that is served."""
    key: str | None = None
    """API key, where the server wants one. The environment is not asked: a key must not go to another's server."""
    prompt_style: Style = "full"
    """How prompts for this model are to be written; for the caller, who makes them."""
    concurrency: int = 8
    """Questions under way at once."""
    timeout: float = 300.0
    """Seconds after which an answer is given up and asked for again."""
    retries: int = 4
    """How often the client asks again after a time-out, a lost connection, or a server that is busy or broken."""
    patience: int = 3
    """Questions in a row that may fail, after all retries, before the server is given up."""
    budget: Budget = field(default_factory=Budget)
    trouble: str = field(default="", init=False)
    """Why the last question that failed did."""
    limited: bool = field(default=False, init=False)
    """Whether it was said that the server limits how often it may be asked."""
    refused: set[int] = field(default_factory=set, init=False)
    """Places of questions, of those asked last, that the server refused to answer while it answered others."""

    @classmethod
    def of(cls, section: EndpointConfig) -> "Endpoint":
        """The server of an `[endpoint]` section; raises UserError where there is none, or its key cannot be read."""
        if not section.url:
            raise UserError("endpoint.url: no server is given")
        try:
            key = section.key_file.read_text().strip() if section.key_file is not None else None
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"endpoint.key_file: cannot read {section.key_file}") from error
        return cls(
            url=section.url,
            model=section.model,
            key=key,
            prompt_style=section.prompt_style,
            concurrency=section.concurrency,
            timeout=section.timeout,
            retries=section.retries,
            budget=Budget(section.max_requests, section.max_tokens),
        )

    def name(self) -> str:
        """The model's name there; raises EndpointError where none is given and the server does not say one."""
        return self.model or asyncio.run(self._only_model())

    def _client(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(
            base_url=self.url, api_key=self.key or "none", timeout=self.timeout, max_retries=self.retries
        )

    async def _only_model(self) -> str:
        """The name of the only model that is served."""
        try:
            async with self._client() as client:
                names = [model.id for model in (await self._patiently(client.models.list)).data]
        except openai.APIStatusError as error:
            raise EndpointError(f"{self.url}: does not say which models it serves ({said(error)}); name one") from error
        except openai.APIConnectionError as error:
            raise EndpointError(f"{self.url}: cannot be reached: {cause(error)}") from error
        except (openai.APIError, ValueError, AttributeError, TypeError) as error:  # junk, in whatever form
            raise EndpointError(f"{self.url}: does not say which models it serves; name one") from error
        if len(names) != 1:
            raise EndpointError(f"{self.url}: serves {', '.join(names) or 'no model'}; name one")
        return names[0]

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` gives, asked again as the server tells, or as `_PAUSE` has it, where that is too often.

        The client does so too, but gives up after seconds where no time is told, and at once where a long one is.
        """
        end = None
        while True:
            try:
                return await ask()
            except openai.RateLimitError as error:
                now, pause = time.monotonic(), told_to_wait(error) or _PAUSE
                end = end or now + _LIMITED
                if error.code == "insufficient_quota" or not now + pause <= end:  # what is no number ends it too
                    raise
            if not self.limited:
                self.limited = True
                logger.warning("%s: asked too often; waiting %.0f s, and whenever it says so again", self.url, pause)
            await asyncio.sleep(pause)

    def answers(
        self, questions: Iterable[Question], on_answer: Callable[[int, Answer], None] | None = None
    ) -> Generator[tuple[int, Answer], None, None]:
        """Ask side by side; gives each question's place and its answer as it comes.

        `on_answer` gets them too, at once and in another thread, so that an answer is kept however slow the listener.
        A question that fails where others do not is left out; `refused` has those that the server would refuse again.
        Raises EndpointError where the server fails `patience` times in a row or refuses for good, BudgetSpent where
        questions are left when the budget is not; both after the answers that were under way.
        """
        talk = _Talk(self, enumerate(questions), on_answer)
        thread = threading.Thread(target=talk.run, name="tritonsmith-endpoint", daemon=True)
        thread.start()
        try:
            while (item := talk.found.get()) is not None:
                yield item
        finally:
            talk.stop()
            thread.join()
        if talk.error is not None:
            raise talk.error

    def sample(
        self,
        messages: Sequence[list[Message]],
        n: int,
        temperature: float = 0.8,
        top_p: float = 1.0,
        max_new_tokens: int = 512,
        batch: int = 64,
        seed: int = 0,
        on_batch: Callable[[list[tuple[int, int, str]]], None] | None = None,
    ) -> list[list[str]]:
        """Draw `n` completions of each chat, as `train.generate.Sampler.sample` does; `batch` is the server's matter.

        `on_batch` gets every completion as it comes, so that what there is is kept when this raises EndpointError:
        the server fails, the budget is spent, or some questions failed. A question that it refuses while it answers
        others, as one that is too long, has an empty completion.
        """
        places = [(chat, which) for chat in range(len(messages)) for which in range(n)]
        questions = [
            Question(messages[chat], temperature, top_p, max_new_tokens, seed + number)
            for number, (chat, _) in enumerate(places)
        ]
        drawn: dict[tuple[int, int], str] = {}
        with progress.bar("drawing", len(places)) as advance:
            for index, answer in self.answers(questions):
                drawn[places[index]] = answer.text
                if on_batch is not None:
                    on_batch([(*places[index], answer.text)])
                advance(1)
            if drawn:
                self._told_of_refusals([places[index] for index in sorted(self.refused)], drawn, on_batch)
        if missing := len(places) - len(drawn):
            raise EndpointError(
                f"{self.url}: {missing} of {len(places)} questions failed ({self.trouble}); the same command asks again"
            )
        return [[drawn[chat, which] for which in range(n)] for chat in range(len(messages))]

    def _told_of_refusals(
        self,
        places: Sequence[tuple[int, int]],
        drawn: dict[tuple[int, int], str],
        on_batch: Callable[[list[tuple[int, int, str]]], None] | None,
    ) -> None:
        """Nothing for what the server refuses while it answers the rest, as a model here gives to a prompt that is too
        long for it."""
        if places:
            logger.warning(
                "%s: refuses %d questions, which count as unanswered (%s)", self.url, len(places), self.trouble
            )
        for place in places:
            drawn[place] = ""
            if on_batch is not None:
                on_batch([(*place, "")])


class _Failure(Exception):
    """A question without an answer, and why."""


class _Refused(_Failure):
    """A question that the server refuses, and would again."""


class _Talk:
    """One run of questions, in a thread with an event loop of its own."""

    def __init__(
        self,
        settings: Endpoint,
        questions: Iterator[tuple[int, Question]],
        on_answer: Callable[[int, Answer], None] | None,
    ) -> None:
        self.settings, self.questions, self.on_answer = settings, questions, on_answer
        self.found: queue.Queue[tuple[int, Answer] | None] = queue.Queue()
        self.error: BaseException | None = None
        self.failures = 0
        """Questions that have failed since the last answer."""
        self.answered = False
        settings.refused.clear()
        self.dropped: set[str] = set()
        """Parameters that this server does not take."""
        self.model = ""
        self.loop = asyncio.new_event_loop()
        self.main: asyncio.Task[None] = self.loop.create_task(self._ask_all())

    def run(self) -> None:
        """Ask everything; None in `found` is the end, and `error` says whether it was a good one."""
        try:
            self.loop.run_until_complete(self.main)
        except asyncio.CancelledError:
            logger.debug("%s: stopped by who listens", self.settings.url)
        except BaseException as error:  # belongs to the thread that listens, and is raised there
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            self.error = error
        finally:
            self.loop.close()
            self.found.put(None)

    @property
    def _unanswered(self) -> int:
        """Questions in a row that may be refused before one is answered: a server that refuses all is none."""
        return 4 * self.settings.concurrency

    def stop(self) -> None:
        """End now; what is under way is dropped."""
        with suppress(RuntimeError):  # the loop is closed: it has ended by itself
            self.loop.call_soon_threadsafe(self.main.cancel)

    async def _ask_all(self) -> None:
        async with self.settings._client() as client, asyncio.TaskGroup() as group:
            self.model = self.settings.model or await self.settings._only_model()
            for _ in range(self.settings.concurrency):
                group.create_task(self._ask_on(client))

    async def _ask_on(self, client: openai.AsyncOpenAI) -> None:
        """Ask one question after another, until there is none, no budget, or no server."""
        budget = self.settings.budget
        while self.error is None and (item := next(self.questions, None)) is not None:
            if not budget.take():
                self.error = self.error or BudgetSpent(f"the budget of {budget} is spent; raise it to go on")
                return
            index, question = item
            try:
                answer = await self._ask(client, question)
            except _Failure as failure:
                budget.spent_requests -= 1
                if isinstance(failure, _Refused) and (self.answered or len(self.settings.refused) < self._unanswered):
                    self.settings.refused.add(index)
                else:
                    self.failures += 1
                self.settings.trouble = str(failure)
                logger.debug("%s: question %d: %s", self.settings.url, index, failure)
                if self.failures >= self.settings.patience:
                    self.error = self.error or EndpointError(f"{self.settings.url}: {failure}")
                continue
            except EndpointError as error:
                self.error = self.error or error
                return
            self.failures, self.answered = 0, True
            budget.spent_tokens += answer.tokens
            if self.on_answer is not None:
                self.on_answer(index, answer)
            self.found.put((index, answer))

    async def _ask(self, client: openai.AsyncOpenAI, question: Question) -> Answer:
        """Ask one question; raises _Failure where it has no answer, EndpointError where no question will have one."""

        async def once() -> bytes:
            # The client's time limit is for each read; this one is for a server that sends a byte now and then.
            async with asyncio.timeout((self.settings.timeout + _MOST_PAUSE) * (self.settings.retries + 1)):
                raw = await client.chat.completions.with_raw_response.create(
                    model=self.model,
                    messages=cast(list[ChatCompletionMessageParam], list(question.messages)),
                    extra_body=self._parameters(question),
                )
            return raw.content

        for _ in range(len(_OPTIONAL) + 1):
            try:
                return answer_of(Reply.model_validate_json(await self.settings._patiently(once)), question)
            except ValidationError as error:
                raise _Failure("what it sends is no chat completion; is this its chat API's base URL?") from error
            except openai.APIStatusError as error:
                if (unwanted := self._unwanted(error)) is None:
                    self._check(error)
                    raise (_Refused if error.status_code in _OF_A_QUESTION else _Failure)(said(error)) from error
                self.dropped.add(unwanted)
            except (openai.APITimeoutError, TimeoutError) as error:
                raise _Failure(f"no answer within {self.settings.timeout:g} s; is it overloaded?") from error
            except openai.APIConnectionError as error:
                raise _Failure(f"cannot be reached: {cause(error)}") from error
            except openai.APIError as error:
                raise _Failure(one_line(str(error))) from error
        raise _Failure("it takes none of the usual parameters")

    def _parameters(self, question: Question) -> dict[str, float]:
        """The parameters of sampling; those that this server was seen to refuse are left out."""
        limit = "max_completion_tokens" if "max_tokens" in self.dropped else "max_tokens"
        values = {"temperature": question.temperature, "top_p": question.top_p, limit: question.max_new_tokens}
        if question.seed is not None:
            values["seed"] = question.seed
        return {name: value for name, value in values.items() if name not in self.dropped}

    def _unwanted(self, error: openai.APIStatusError) -> str | None:
        """The parameter that a server refuses to take, if that is what it complains about."""
        name = error.param if error.status_code in (400, 422) else None
        if name not in _OPTIONAL:
            return None
        if name not in self.dropped:
            logger.warning("%s: does not take %s; asking without it", self.settings.url, name)
        return name

    def _check(self, error: openai.APIStatusError) -> None:
        """Raise EndpointError for what asking again does not change."""
        if error.status_code in _FOR_GOOD:
            raise EndpointError(f"{self.settings.url}: {_FOR_GOOD[error.status_code]} ({said(error)})") from error
