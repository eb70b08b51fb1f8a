"""What a model is shown and how it should answer: chat messages, the canonical completion, feedback turns.

Texts live in `templates/*.j2`. Does not tokenise: chat templates belong to the model's tokenizer.
"""

import re
from collections.abc import Callable
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from tritonsmith.plain import plain
from tritonsmith.types import Style, Task, Verdict

Message = dict[str, str]
"""One chat message: `role` and `content`."""


Ask = Callable[[Task], list[Message]]
"""How tasks are asked for."""


def messages(task: Task, style: Style) -> list[Message]:
    """The chat that asks for a candidate.

    `bare` is one user message that is exactly the task's source, stripped; `plain` is the source in one form, without
    docstrings, comments and annotations (`tritonsmith.plain`); `canonical` is the task in the form that the compiler's
    front end gives it, whoever wrote it (`tasks.canonical`); `traced` adds to `bare` what the compiler's front end
    sees of it, the ATen graph with shapes and dtypes, as a comment below, and is `bare` where there is no trace;
    `full` adds to `bare` the rule, the answer's form and a worked example, for models that were not trained on this
    very form.
    """
    if style != "full":
        return [{"role": "user", "content": _shown(task, style)}]
    return [
        {"role": "system", "content": _render("system.j2")},
        {"role": "user", "content": _render("task.j2", source=task.source.strip(), example=_example())},
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


def replied(chat: list[Message], completion: str, verdict: Verdict) -> list[Message]:
    """The chat one turn on: with what was answered, and what the verifier says of it."""
    return [*chat, {"role": "assistant", "content": completion}, feedback_message(verdict)]


def midend_messages(task: Task, source: str, verdict: Verdict, style: Style = "bare") -> list[Message]:
    """The chat that asks for a faster form of a verified kernel: the task, the kernel, what compiler and clock say.

    `style` is one of `messages`, as far as it goes: it writes the task so, and `full` adds the rules.
    """
    content = _render(
        "midend.j2", source=_shown(task, style), kernel=source.strip(), verdict=verdict, full=style == "full"
    )
    asked = [{"role": "user", "content": content}]
    return [{"role": "system", "content": _render("system.j2")}, *asked] if style == "full" else asked


def as_asked(task: Task, style: Style) -> Task:
    """The task as a model of that style knows it, for whom answers to learn from are made; the source of most is as it
    is."""
    if style != "canonical":
        return task
    from tritonsmith.tasks.canonical import canonical  # runs the task, so torch is needed

    return canonical(task)


def _shown(task: Task, style: Style) -> str:
    """The task's text in a style."""
    source = as_asked(task, style).source.strip()
    if style == "traced":
        from tritonsmith.tasks import traced  # likewise

        graph = traced.describe(task)
        return source if graph is None else _render("traced.j2", source=source, lines=graph.splitlines())
    return plain(source) if style == "plain" else source


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
