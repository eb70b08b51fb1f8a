import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import datasets
import psutil
import pytest
from judging import DOUBLE

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data.build import build
from tritonsmith.data.census import Census
from tritonsmith.data.draw import Drawing
from tritonsmith.data.rows import SPLITS
from tritonsmith.data.store import Store
from tritonsmith.data.workers import workers
from tritonsmith.errors import UserError
from tritonsmith.report import dataset

SPEC = "graphs:depth=1-2:families=pointwise"
HONEST = ["data_sources:honest"]
ROWS = 6
PROGRAM = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data.build import build
if __name__ == "__main__":
    build(Path(sys.argv[1]), {ROWS}, tasks={SPEC!r}, sources={HONEST!r}, contrastive=True, processes=1)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str], Census]:
    """A build that was killed in the middle and gone on with: its folder, the lines kept before, what it holds."""
    out = tmp_path_factory.mktemp("built") / "data set"
    program = out.with_suffix(".py")
    program.write_text(PROGRAM)
    process = subprocess.Popen([sys.executable, str(program), str(out)], start_new_session=True)
    shard = out / "shards" / "00000.jsonl"
    deadline = time.monotonic() + 240
    while not (shard.exists() and shard.read_bytes().count(b"\n") > 2) and time.monotonic() < deadline:
        assert process.poll() is None, "the build has ended before it could be killed"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = shard.read_text().splitlines()
    shard.write_text("\n".join(before[:-1]) + "\n" + before[-1][:50])  # as a kill may leave the last line
    census = build(out, ROWS, tasks=SPEC, sources=HONEST, contrastive=True, processes=1)
    return out, before[:-1], census


def test_what_was_kept_before_a_kill_is_not_made_again(killed: tuple[Path, list[str], Census]) -> None:
    out, before, _ = killed
    assert (out / "shards" / "00000.jsonl").read_text().splitlines()[: len(before)] == before
    with Store(out) as store:
        keys = Counter(made.item.key for made in store.all())
    assert set(keys.values()) == {1} and len(before) > 1


def test_there_are_as_many_rows_as_were_asked_for(killed: tuple[Path, list[str], Census]) -> None:
    out, _, census = killed
    rows = [row for split in SPLITS for row in read(out, split)]
    assert len(rows) == ROWS == sum(census.rows.values())
    assert len({row["graph"] for row in rows}) == ROWS == census.graphs
    assert all(row["verdict"]["correct"] and " variants" in str(row["verdict"]["message"]) for row in rows)


def test_nothing_leaks(killed: tuple[Path, list[str], Census]) -> None:
    assert killed[2].leaks == {"graphs": 0, "kernels": 0, "modules": 0, "suite": 0}


def test_datasets_loads_it_by_its_card(killed: tuple[Path, list[str], Census], tmp_path: Path) -> None:
    loaded = datasets.load_dataset(str(killed[0]), cache_dir=str(tmp_path))
    assert {str(split): len(rows) for split, rows in loaded.items()} == killed[2].rows
    row = loaded["train"][0]
    assert (
        row["prompt"][0]["content"] == row["module"].strip()
        and row["kernel"].strip() in row["completion"][0]["content"]
    )
    wrong = datasets.load_dataset(str(killed[0]), "contrastive", cache_dir=str(tmp_path))["train"]
    assert len(wrong) and not any(one["correct"] for one in wrong["verdict"]) and any(wrong["planted"])


def test_the_same_call_again_makes_nothing_and_writes_the_same(killed: tuple[Path, list[str], Census]) -> None:
    out, _, census = killed
    before = {path: path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file() and path.suffix != ".html"}
    again = build(out, ROWS, tasks=SPEC, sources=HONEST, contrastive=True, processes=1)
    assert again == census
    assert {path: path.read_bytes() for path in before} == before


def test_a_smaller_number_gives_the_first_rows(killed: tuple[Path, list[str], Census]) -> None:
    out, _, census = killed
    fewer = build(out, 3, tasks=SPEC, sources=HONEST, contrastive=True, processes=1)
    assert sum(fewer.rows.values()) == 3
    assert build(out, ROWS, tasks=SPEC, sources=HONEST, contrastive=True, processes=1) == census


def test_another_build_does_not_go_into_the_same_folder(killed: tuple[Path, list[str], Census]) -> None:
    with pytest.raises(UserError, match="holds another build"):
        build(killed[0], ROWS, tasks=SPEC, sources=HONEST, contrastive=False, processes=1)


class Tags(HTMLParser):
    """What a page would load or run."""

    loads: tuple[str, ...] = ()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = [f"{key}={value}" for key, value in attrs if key in ("src", "href") and not str(value).startswith("#")]
        self.loads += (*found, *([tag] if tag in ("script", "link", "iframe", "img") else []))


def test_the_page_shows_the_numbers_and_loads_nothing(killed: tuple[Path, list[str], Census]) -> None:
    text = dataset.build(killed[0]).read_text()
    tags = Tags()
    tags.feed(text)
    assert not tags.loads and not re.search(r"#0000(0|1)\d\b", text)
    for part in (f"{ROWS} verified pairs", "Family", "Operators", "Length", "Planted bugs", "ModelNew", SPEC):
        assert part in text, part


def test_a_source_that_dies_hangs_or_raises_costs_its_own_task(tmp_path: Path) -> None:
    kinds = ("dies", "hangs", "raises", "misses", "wrong", "right")
    for place, kind in enumerate(kinds):
        source = DOUBLE.source.replace("2.0 * x", "2.0 * x" + " + 0.0" * place)
        (tmp_path / f"{place}_{kind}.py").write_text(source)
    out = tmp_path / "out"
    census = build(out, None, tasks=str(tmp_path), sources=["data_sources:hostile"], processes=2, convert_seconds=15.0)
    with Store(out) as store:
        ends = {made.item.task.id.split("_")[-1]: made.answers[0] for made in store.all()}
    assert set(ends) == set(kinds)
    reasons = {kind: (ends[kind].kind, ends[kind].reason) for kind in kinds[:4]}
    assert reasons == {
        "dies": ("failed", "its process died (exit code 3)"),
        "hangs": ("failed", "its process did not end in time"),
        "raises": ("failed", "ZeroDivisionError: a bug of its own"),
        "misses": ("miss", "not for me"),
    }
    assert [bool(ends[kind].verdict and ends[kind].verdict.correct) for kind in ("wrong", "right")] == [False, True]
    assert sum(census.rows.values()) == 1
    source = census.sources["data_sources:hostile"]
    assert (source.asked, source.candidates, source.correct, sum(source.failures.values())) == (6, 2, 1, 3)


def test_an_error_ends_every_process() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    settings, extensions = VerifyConfig(device="cpu", timing=False), ExtensionsConfig()
    with pytest.raises(UserError, match="the disk is full"), workers(1, settings, extensions) as pools:
        pools.draw(Drawing(SPEC), 0).result(timeout=120)
        pools.draw(Drawing(SPEC), 1)
        raise UserError("the disk is full")
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    names = [" ".join(child.cmdline()) for child in left]
    assert not [name for name in names if "zygote" in name], names


INTERRUPTED = """
import multiprocessing.util
import sys
import psutil
from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.data import work
from tritonsmith.verify.process import scratch
if __name__ == "__main__":
    work.start_judge(VerifyConfig(device="cpu"), ExtensionsConfig())
    bench = work._verifier._court.bench
    zygotes, sizings = list(bench.members), [judge._sizing for judge in bench._judges]
    for lock in [zygotes[0]._process._waitpid_lock, *(one._lock for one in [bench, *zygotes, *sizings])]:
        lock.acquire()
    assert scratch.root().exists() and psutil.Process().children()
    multiprocessing.util._exit_function()  # what pebble's handler of SIGTERM calls
    running = [one for one in psutil.Process().children() if one.status() != psutil.STATUS_ZOMBIE]
    sys.exit(bool(running) or any(folder.exists() for folder, _ in scratch._roots.values()))
"""


def test_a_worker_that_is_ended_while_it_holds_its_verifiers_locks_ends(tmp_path: Path) -> None:
    program = tmp_path / "interrupted.py"
    program.write_text(INTERRUPTED)
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_a_source_or_a_number_that_is_not_there_is_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no source of answers 'teacher'"):
        build(tmp_path, 2, sources=["teacher"])
    with pytest.raises(UserError, match="has no end"):
        build(tmp_path, None, tasks=SPEC, sources=HONEST)


def read(out: Path, split: str) -> list[dict[str, dict[str, object]]]:
    files = [str(path) for path in sorted((out / "data").glob(f"{split}-*.parquet"))]
    return datasets.Dataset.from_parquet(files, keep_in_memory=True).to_list() if files else []


def test_settings_are_written_down(killed: tuple[Path, list[str], Census]) -> None:
    assert json.loads((killed[0] / "settings.json").read_text())["tasks"] == SPEC
