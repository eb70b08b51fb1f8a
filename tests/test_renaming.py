"""Documents under other names: still the same module and kernel."""

import ast
import random
import re

import pytest

from tritonsmith.data.lower import templates
from tritonsmith.data.pair import Pair
from tritonsmith.data.rows import Row
from tritonsmith.prompts import messages, render_completion
from tritonsmith.tasks import graphs
from tritonsmith.train.pretrain.renaming import read, renamed, with_copies
from tritonsmith.train.pretrain.rows import Document, chat
from tritonsmith.types import Task
from tritonsmith.verify import form


def document(task: Task) -> Document | None:
    pair = templates(task)
    if not isinstance(pair, Pair):
        return None
    return Document(chat(messages(task, "bare")), render_completion(pair.plan, pair.source), task.level, "")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [one for task in graphs.generate(40, 8) if (one := document(task)) is not None]


def module_of(one: Document) -> str:
    return one.prompt.removeprefix("<|task|>").removesuffix("<|answer|>")


def code_of(one: Document) -> str:
    return one.completion.partition("```python\n")[2].partition("\n```")[0]


def test_most_documents_can_be_renamed(documents: list[Document]) -> None:
    found = list(renamed(documents, 3, random.Random(0)))
    assert len(found) > 3 * len(documents) and len({one.prompt for one in found}) == len(found)


def test_kernels_stay_as_they_are(documents: list[Document]) -> None:
    rng = random.Random(1)
    for one in documents:
        anatomy = read(one)
        assert anatomy is not None
        other = anatomy.rename(rng)
        ours, known = code_of(other).partition("class ModelNew")[0], code_of(one).partition("class ModelNew")[0]
        assert ours == known and "def launch_" in known


def test_the_lowering_of_a_renamed_task_is_the_renamed_answer(documents: list[Document]) -> None:
    rng = random.Random(2)
    for one in documents:
        anatomy = read(one)
        assert anatomy is not None
        other = anatomy.rename(rng)
        ast.parse(code_of(other))
        made = templates(Task(id="renamed", level=1, source=module_of(other)))
        assert isinstance(made, Pair), made
        # A number's parameter of a kernel has the name of the member as it was, for kernels stay as they are.
        assert _parts(made.source) == _parts(code_of(other))


def _parts(source: str) -> tuple[str, str]:
    """An answer's kernels with their names numbered as they come, equal for two that differ in names alone; its module
    in any spacing."""
    kernels, head, module = source.partition("class ModelNew")
    known: dict[str, str] = {}
    text = ast.unparse(ast.parse(kernels))
    numbered = re.sub(r"[A-Za-z_]\w*", lambda found: known.setdefault(found[0], f"name{len(known)}"), text)
    return numbered, form.program(head + module)


def test_an_answer_without_a_class_is_left_alone() -> None:
    one = Document("<|task|>class Model:\n    pass<|answer|>", "no code here", 1, "")
    assert read(one) is None


def test_arguments_keep_their_names_where_members_alone_change(documents: list[Document]) -> None:
    changed = 0
    for one in documents:
        for other in list(renamed([one], 2, random.Random(1), members=True))[1:]:
            header = [line for line in module_of(one).splitlines() if "def " in line]
            assert [line for line in module_of(other).splitlines() if "def " in line] == header
            changed += other.prompt != one.prompt
    assert changed > 0


def test_rows_have_copies_under_other_names_and_conversations_have_none(documents: list[Document]) -> None:
    def row(one: Document, *more: dict[str, str]) -> Row:
        answer = [{"role": "assistant", "content": one.completion}]
        asked = [{"role": "user", "content": module_of(one)}, *more]
        return Row(prompt=asked, completion=answer, task="t", graph=one.graph)

    rows = [row(one) for one in documents]
    found = with_copies(rows, 2, 0)
    assert len(found) > 2 * len(rows) and [one for one in found if one in rows] == rows
    assert found == with_copies(rows, 2, 0)
    for one in found:
        ast.parse(one.prompt[0]["content"])
    told = row(documents[0], {"role": "assistant", "content": "pass"}, {"role": "user", "content": "again"})
    assert with_copies([told], 2, 0) == [told]
