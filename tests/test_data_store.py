import logging
from pathlib import Path

import pytest

from tritonsmith import jsonl
from tritonsmith.data.store import Answer, Item, Made, Settings, Store, Survey, said
from tritonsmith.errors import UserError
from tritonsmith.types import Task

SETTINGS = Settings(tasks="graphs", seed=0, styles=1, sources=["templates"], contrastive=False)


def made(place: int, chunk: int = 0) -> Made:
    item = Item(chunk=chunk, place=place, task=Task(id=f"t{place}", level=1, source=f"pass  # {place} \u00e9"))
    return Made(item=item, survey=Survey(), answers=[Answer(source="templates", kind="miss", reason="none")])


def test_what_is_kept_is_read_back_in_order(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.announce(0, 3)
        for place in (2, 0, 1):
            store.keep(made(place))
        assert store.read(0) == (3, [made(0), made(1), made(2)])
        assert store.read(1) == (None, [])


def test_shards_are_read_in_order(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for chunk in (10, 2, 0):
            store.keep(made(0, chunk))
        assert [one.item.chunk for one in store.all()] == [0, 2, 10]


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[: len(line) // 2],
        lambda line: line.replace("pass", "paSs"),
        lambda line: "",
        lambda line: "\x00" * len(line),
        lambda line: '{"crc": "00000000", "row": {}}',
    ],
)
def test_a_damaged_line_is_reported_and_left_out(damage, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Store(tmp_path) as store:
        for place in range(3):
            store.keep(made(place))
        path = tmp_path / "shards" / "00000.jsonl"
        lines = path.read_text().splitlines()
        path.write_text("\n".join([lines[0], damage(lines[1]), lines[2]]) + "\n")
        with caplog.at_level(logging.WARNING):
            assert store.read(0)[1] == [made(0), made(2)]
        assert "00000.jsonl: 1 damaged" in caplog.text


def test_after_a_torn_line_the_next_one_is_whole(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.keep(made(0))
        path = tmp_path / "shards" / "00000.jsonl"
        path.write_bytes(path.read_bytes()[:-40])
        store.keep(made(0))
        assert store.read(0)[1] == [made(0)]


def test_a_full_disk_is_told_in_one_line(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        (tmp_path / "shards").mkdir()
        (tmp_path / "shards" / "00000.jsonl").symlink_to("/dev/full")
        with pytest.raises(UserError, match="No space left on device; nothing that was made is lost") as error:
            store.keep(made(0))
        assert "\n" not in str(error.value)


def test_other_trouble_with_the_disk_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "no-folder").write_text("a file")
    with pytest.raises(UserError, match="no-folder"), said(tmp_path):
        jsonl.write(tmp_path / "no-folder" / "file", "text")


def test_two_processes_do_not_build_in_one_place(tmp_path: Path) -> None:
    with Store(tmp_path), pytest.raises(UserError, match="another process builds there"):
        Store(tmp_path).__enter__()


def test_a_folder_holds_one_build(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.agree(SETTINGS)
        store.agree(SETTINGS)
        with pytest.raises(UserError, match="seed 0, not 1"):
            store.agree(SETTINGS.model_copy(update={"seed": 1}))
