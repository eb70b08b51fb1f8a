"""Drafts: answers that nobody judged."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pyarrow.parquet as parquet
import pytest

from tritonsmith.data import draft
from tritonsmith.errors import UserError
from tritonsmith.tasks import graphs
from tritonsmith.tasks.graphs.graph import Graph
from tritonsmith.train.pretrain import __main__ as command
from tritonsmith.train.pretrain import rows

SETTINGS = draft.Settings(tasks="graphs:40", seed=4, styles=1, source="templates")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("drafts") / "train" / "train-00000.parquet"
    path.parent.mkdir()
    assert draft.shard(path, SETTINGS, frozenset(), 0) == (parquet.read_metadata(path).num_rows, False)
    return path


def test_only_training_graphs_are_drafted(path: Path) -> None:
    graphs = parquet.read_table(path)["graph"].to_pylist()
    assert 25 < len(graphs) < 40 and {Graph.parse(graph).split for graph in graphs} == {"train"}


def test_the_suite_is_not_drafted(path: Path, tmp_path: Path) -> None:
    forms = parquet.read_table(path)["form"].to_pylist()
    known = frozenset(forms[:5])
    count, _ = draft.shard(tmp_path / "train-00000.parquet", SETTINGS, known, 0)
    assert count == sum(form not in known for form in forms)


def test_each_source_drafts_an_answer_of_its_own(path: Path, tmp_path: Path) -> None:
    both = tmp_path / "train-00000.parquet"
    draft.shard(both, SETTINGS.model_copy(update={"source": "templates,pieces"}), frozenset(), 0)
    whole, more = (parquet.read_table(one).to_pylist() for one in (path, both))
    added = [row for row in more if "at most 3 operators" in row["completion"][0]["content"]]
    assert added and [row for row in more if row not in added] == whole
    assert {row["task"] for row in added} <= {row["task"] for row in whole}


def test_a_shard_that_is_there_is_not_made_again(path: Path) -> None:
    before = path.stat().st_mtime_ns
    assert draft.shard(path, SETTINGS, frozenset(), 0)[0] == parquet.read_metadata(path).num_rows
    assert path.stat().st_mtime_ns == before


def test_drafts_are_learnt_from_with_their_traced_graphs(path: Path) -> None:
    bare, traced = (rows.read([path.parent.parent], prompt) for prompt in ("prompt", "traced"))
    shown = {one.completion: one.prompt for one in traced["train"]}
    assert all(one.completion in shown for one in bare["train"])
    assert all(
        shown[one.completion].startswith(one.prompt.removesuffix("<|answer|>")) and "->" in shown[one.completion]
        for one in bare["train"]
    )


def test_a_call_writes_all_that_the_tasks_give_and_goes_on_from_there(tmp_path: Path) -> None:
    found = draft.draft(tmp_path, 1000, tasks="graphs:40", seed=4, processes=1)
    assert 25 < found < 40 and [one.name for one in (tmp_path / "train").iterdir()] == ["train-00000.parquet"]
    assert draft.draft(tmp_path, 1000, tasks="graphs:40", seed=4, processes=1) == found
    with pytest.raises(UserError, match="other settings"):
        draft.draft(tmp_path, 1000, tasks="graphs:40", seed=5, processes=1)


def test_tasks_of_which_none_can_be_drafted_are_a_line(tmp_path: Path) -> None:
    """The call drew on for ever."""
    with pytest.raises(UserError, match="shards in a row without a draft"):
        draft.draft(tmp_path, 10, tasks="graphs:depth=1:families=pointwise:split=heldout", processes=2)
    assert not list((tmp_path / "train").iterdir())


def test_a_check_leaves_out_what_computes_the_same_as_a_draft(path: Path) -> None:
    learnt = rows.forms([path.parent.parent])
    assert learnt == set(parquet.read_table(path)["form"].to_pylist())
    # Other writings of most operators are other operators in part (`x / c`, `x * (1 / c)`); a convolution's are not.
    texts = [text for text in parquet.read_table(path)["graph"].to_pylist() if "conv" in text][:3]
    drafted = [graphs.task(Graph.parse(text), 7) for text in texts]
    other = graphs.from_spec("3:900:split=heldout:depth=4-5")
    assert command.unseen([*drafted, *other], learnt) == other


def test_drafts_that_are_told_by_older_forms_are_not_compared_with(path: Path, tmp_path: Path) -> None:
    table = parquet.read_table(path)
    older = [text.partition("-")[2] for text in table["form"].to_pylist()]
    (tmp_path / "train").mkdir()
    place = table.schema.get_field_index("form")
    parquet.write_table(table.set_column(place, "form", [older]), tmp_path / "train" / path.name)
    with pytest.raises(UserError, match=r"older edition, such as .*: make them anew"):
        rows.forms([tmp_path])


def test_nothing_works_on_once_it_was_killed(tmp_path: Path) -> None:
    """Workers went on with their shard, some half a minute, and the server that forks them with them."""
    tasks = "--tasks=graphs:depth=6-8:split=train"
    command = [sys.executable, "-m", "tritonsmith", "data", "draft", "--n=100000", tasks, f"--out={tmp_path}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        mine: list[psutil.Process] = []
        while not any(one.children() for one in mine):  # the server has forked a worker
            assert process.poll() is None
            time.sleep(0.2)
            mine = psutil.Process(process.pid).children(recursive=True)
        time.sleep(2.0)  # it has begun a shard
        process.kill()
        _, left = psutil.wait_procs(mine, timeout=10)
        assert not left


def test_a_folder_of_a_build_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"tasks": "graphs", "contrastive": false}')
    with pytest.raises(UserError, match="holds what another command or version made"):
        draft.draft(tmp_path, 10)
