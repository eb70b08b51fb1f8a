import pytest

from tritonsmith.data.draw import CHUNK, Drawing
from tritonsmith.data.split import split_of
from tritonsmith.errors import UserError
from tritonsmith.tasks.format import TaskModule, load_spec


def test_a_chunk_is_always_the_same_and_chunks_differ() -> None:
    drawing = Drawing("graphs:depth=1-2", 3)
    assert drawing.chunk(1) == drawing.chunk(1)
    sources = [{item.task.source for item in chunk or []} for chunk in (drawing.chunk(0), drawing.chunk(1))]
    assert len(sources[0]) == CHUNK and sources[0] != sources[1]
    assert drawing.chunk(0) != Drawing("graphs:depth=1-2", 4).chunk(0)


def test_a_number_bounds_a_generator() -> None:
    drawing = Drawing(f"graphs:{CHUNK + 5}:depth=2-2")
    assert [len(drawing.chunk(number) or []) for number in range(3)] == [CHUNK, 5, 0]
    assert drawing.chunk(2) is None and drawing.most() == CHUNK + 5
    assert Drawing("graphs").most() is None


def test_writings_share_a_graph_and_differ_in_text() -> None:
    items = Drawing("graphs:3:depth=1-2", styles=4).chunk(0) or []
    assert len({item.task.graph for item in items}) == 3 and len(items) > 8
    assert len({item.task.source for item in items}) == len(items)
    assert [item.place for item in items] == list(range(len(items)))


def test_every_writing_of_a_small_task_is_small() -> None:
    """The second was of any size."""
    items = Drawing("graphs:6:depth=1-2:sizes=small", styles=3).chunk(0) or []
    elements = [max(one.numel() for one in TaskModule.of(item.task).inputs(0)) for item in items]  # type: ignore[attr-defined]
    assert len(items) > 6 and max(elements) <= 1 << 16


def test_a_generator_gives_all_splits_unless_one_is_asked_for() -> None:
    def splits(spec: str) -> set[str]:
        return {split_of(item.task) for number in range(3) for item in Drawing(spec).chunk(number) or []}

    assert splits("graphs:depth=1-2") == {"train", "validation", "heldout"}
    assert splits("graphs:8:depth=1-2:split=heldout") == {"heldout"}


def test_a_spec_that_names_tasks_gives_them_in_chunks() -> None:
    names = [item.task.id for number in range(9) for item in Drawing("suite").chunk(number) or []]
    assert names == [task.id for task in load_spec("suite")]


@pytest.mark.parametrize("spec", ["graphs:5:deep=3", "graphs:5:depth=x", "no-such-folder"])
def test_a_bad_spec_is_told_in_one_line(spec: str) -> None:
    with pytest.raises(UserError):
        Drawing(spec).chunk(0)
