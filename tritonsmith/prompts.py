"""What a model is shown and how it should answer: chat messages, the canonical completion, feedback turns.

Texts live in `templates/*.j2`. Does not tokenise: chat templates belong to the model's tokenizer.
"""

import re
from functools import cache
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

from tritonsmith.plain import plain
from tritonsmith.types import Task, Verdict

Message = dict[str, str]
"""One chat message: `role` and `content`."""


Style = Literal["bare", "plain", "full", "traced"]
"""How much a prompt says beside the task; see `messages`."""


def messages(task: Task, style: Style) -> list[Message]:
    """The chat that asks for a candidate.

    `bare` is one user message that is exactly the task's source, stripped; `plain` is the source in one form, without
    docstrings, comments and annotations (`tritonsmith.plain`); `traced` adds to `bare` what the compiler's front end
    sees of it, the ATen graph with shapes and dtypes, as a comment below, and is `bare` where there is no trace;
    `full` adds to `bare` the rule, the answer's form and a worked example, for models that were not trained on this
    very form.
    """
    source = task.source.strip()
    if style == "traced":
        return [{"role": "user", "content": _traced(task, source)}]
    if style == "bare":
        return [{"role": "user", "content": source}]
    if style == "plain":
        return [{"role": "user", "content": plain(source)}]
    return [
        {"role": "system", "content": _render("system.j2")},
        {"role": "user", "content": _render("task.j2", source=source, example=_example())},
    ]


def render_completion(plan: str, source: str) -> str:
    """The canonical completion, the inverse of `extract.extract`: plan, blank line, one fenced block.

    The fence is longer than any run of backticks in the source, as CommonMark (section 4.5) asks.
    """
    longest = max((len(run) for run in re.findall(r"`+", source)), default=0)
    fence = "`" * max(3, longest + 1)
    block = f"{fence}python\n{source.strip()}\n{fence}"
    return f"{plan.strip()}\n\n{block}" if plan.strip() else block


def feedback_message(verdict: Verdict) -> Message:
    """A user turn that tells a model what became of its candidate: stage, rules, mismatch, kernels, speed."""
    failed = next((stage for stage in verdict.stages if not stage.ok), None)
    return {"role": "user", "content": _render("feedback.j2", verdict=verdict, failed=failed)}


def midend_messages(task: Task, source: str, verdict: Verdict) -> list[Message]:
    """The chat that asks for a faster form of a verified kernel: the task, the kernel, what compiler and clock say."""
    content = _render("midend.j2", source=task.source.strip(), kernel=source.strip(), verdict=verdict)
    return [{"role": "user", "content": content}]


def _traced(task: Task, source: str) -> str:
    from tritonsmith.tasks import traced  # torch is needed here alone

    graph = traced.describe(task)
    return source if graph is None else _render("traced.j2", source=source, lines=graph.splitlines())


def _render(name: str, **values: object) -> str:
    return _environment().get_template(name).render(**values).strip()


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("tritonsmith"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )


@cache
def _example() -> dict[str, str]:
    """The worked example: a module, and the completion that answers it."""
    plan = _render("example_plan.j2")
    answer = render_completion(plan, _render("example_answer.py.j2"))
    return {"task": _render("example_task.py.j2"), "completion": answer}
