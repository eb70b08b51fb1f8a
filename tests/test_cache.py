"""The cache of verdicts: found again under equal circumstances, and only there."""

import subprocess
import sys
from pathlib import Path

import pytest
from judging import DOUBLE, double

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.errors import UserError
from tritonsmith.types import Candidate, Finding, Verdict
from tritonsmith.verify.cache import MACHINE, Cache, circumstances, text_of
from tritonsmith.verify.pool import Verifier

SETTINGS, EXTENSIONS = VerifyConfig(device="cpu"), ExtensionsConfig()


def _verdict(*findings: Finding) -> Verdict:
    return Verdict(task="double", device="cpu", target="sm_90", policy="strict", findings=list(findings), seconds=1.5)


def test_a_verdict_is_found_again_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "new" / "verdicts.sqlite"
    cache = Cache(path, "here")
    cache.put(DOUBLE.source, double(), _verdict())
    program = (
        "import sys; from pathlib import Path; from tritonsmith.verify.cache import Cache; "
        "print(Cache(Path(sys.argv[1]), 'here').get(sys.argv[2], sys.argv[3]).seconds)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), DOUBLE.source, double()], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1.5\n"
    cache.close()


def test_a_verdict_is_not_found_for_another_task_candidate_or_circumstance(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c", "here")
    cache.put("task", "x = 1", _verdict())
    assert cache.get("task", "x  =  1  # same") is not None
    assert (
        cache.get("other", "x = 1") is None and cache.get("task", "x = 2") is None and cache.get("task", None) is None
    )
    assert Cache(tmp_path / "c", "there").get("task", "x = 1") is None


def test_lines_are_those_of_the_source_that_asks(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c", "here")
    cache.put("task", "x = 1\ny = 2\n", _verdict(Finding(rule="import", message="no", line=2)))
    found = cache.get("task", "# first\n\nx = 1\n\ny = 2\n")
    assert found is not None and found.findings[0].line == 5


@pytest.mark.parametrize("rule", sorted(MACHINE))
def test_what_may_be_the_machines_fault_is_not_kept(tmp_path: Path, rule: str) -> None:
    cache = Cache(tmp_path / "c", "here")
    cache.put("task", "x = 1", _verdict(Finding(rule=rule, message="")))
    assert cache.get("task", "x = 1") is None


@pytest.mark.parametrize(
    ("settings", "same"),
    [
        ({"workers": 7}, True),
        ({"cache": Path("elsewhere")}, True),
        ({"policy": "lenient"}, False),
        ({"target": "sm_80"}, False),
        ({"timing": False}, False),
        ({"timeout": 5.0}, False),
    ],
)
def test_settings_that_matter_are_part_of_the_circumstances(settings: dict[str, object], same: bool) -> None:
    other = SETTINGS.model_copy(update=settings)
    assert (circumstances(SETTINGS, EXTENSIONS, "cpu", []) == circumstances(other, EXTENSIONS, "cpu", [])) == same


def test_extensions_and_gpu_are_part_of_the_circumstances() -> None:
    words = {
        circumstances(SETTINGS, EXTENSIONS, "cpu", []),
        circumstances(SETTINGS, ExtensionsConfig(multi_input=True), "cpu", []),
        circumstances(SETTINGS, EXTENSIONS, "cuda", ["one"]),
        circumstances(SETTINGS, EXTENSIONS, "cuda", ["two"]),
    }
    assert len(words) == 4
    assert circumstances(SETTINGS, ExtensionsConfig(curriculum=False), "cpu", []) in words


def test_a_file_that_is_no_cache_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, and long enough to be read as one" * 40)
    with pytest.raises(UserError, match="text"):
        Cache(tmp_path / "text", "here")


def test_a_second_verifier_judges_nothing_again(tmp_path: Path) -> None:
    settings = VerifyConfig(device="cpu", cache=tmp_path / "verdicts.sqlite", workers=1)
    candidate = Candidate(task="double", sample=3, source=double())
    with Verifier(settings) as first:
        one = first.verify(DOUBLE, candidate)
    with Verifier(settings, score=lambda verdict: 0.25) as second:
        two = second.verify(DOUBLE, candidate.model_copy(update={"sample": 4}))
    assert one.correct and (two.sample, two.reward) == (4, 0.25)
    assert one.model_copy(update={"sample": 4, "reward": 0.25}) == two


@pytest.mark.parametrize("changed", ["verify/static/rule.py", "tasks/values.py", "source.py", "extract.py"])
def test_what_a_verdict_depends_on_makes_old_ones_void_where_it_changes(tmp_path: Path, changed: str) -> None:
    words = set()
    for number in range(2):
        package = tmp_path / str(number)
        for name in ("verify/static", "tasks"):
            (package / name).mkdir(parents=True)
        for name in ("source.py", "plain.py", "types.py", "extract.py", "reward.py"):
            (package / name).write_text("")
        (package / changed).write_text(f"allowed = {number}")
        words.add(text_of(package))
    assert len(words) == 2


def test_a_source_that_is_no_text_is_not_kept(tmp_path: Path) -> None:
    """SQLite raised for it."""
    kept = Cache(tmp_path / "cache", "here")
    kept.put("task", "x = '\udcff'", _verdict())
    assert kept.get("task", "x = '\udcff'") is None
    kept.close()
