import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tritonsmith import jsonl
from tritonsmith.config import Config
from tritonsmith.report.build import build, compare
from tritonsmith.report.run import ReportError, best, load, passed, reason, worst
from tritonsmith.types import Finding, Interval, Mismatch, Record, StageResult, Timing, Verdict

SOURCE = "import triton\n\n\nclass ModelNew:\n    label = '<b>$x$</b>'\n"


def record(phase: str, task: str, sample: int, outcome: str, *, level: int = 1, step: int = 0) -> Record:
    """A candidate that is `correct`, has `wrong` values, breaks a `rule`, or holds no code (`none`)."""
    interval = Interval(median=1.5 + sample / 10, low=1.0, high=2.0)
    verdict = Verdict(task=task, sample=sample, device="cpu", target="sm_90", policy="strict")
    if outcome == "correct":
        timing = Timing(kind="predicted", reference_ms=1.0, candidate_ms=0.5, speedup=interval, roofline_share=0.5)
        update = {"stage": "timing", "correct": True, "reward": 0.9, "speedup": interval, "timing": timing}
    elif outcome == "wrong":
        mismatch = Mismatch(variant="as given", output="output", message="values differ", index=[1, 2], expected=0.1)
        failed = StageResult(name="tiny", ok=False, seconds=0.1, detail="values differ")
        update = {"stage": "compile", "reward": 0.3, "mismatch": mismatch, "stages": [failed]}
    else:
        update = {"findings": [Finding(rule="<script>", message="<script>alert('$')</script>", line=1)]}
    if outcome in ("correct", "wrong"):
        update |= {"valid": True, "compiled": True}
    return Record(
        phase=phase,
        step=step,
        task=task,
        level=level,
        sample=sample,
        completion="I do not know <i>.</i>",
        source=None if outcome == "none" else SOURCE,
        verdict=verdict.model_copy(update=update),
    )


def write(path: Path, records: list[Record]) -> None:
    for row in records:
        jsonl.append(path, row.model_dump_json())


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    config = Config()
    config.run.dir = tmp_path / "run"
    config.run.seed = 7
    config.save(config.run.dir / "resolved.toml")
    outcomes = {"sft": ["correct", "wrong", "rule", "none"], "rl": ["correct", "correct", "correct", "wrong"]}
    for name, sequence in outcomes.items():
        for level in (1, 2):
            rows = [record(f"eval/{name}", f"t{level}", i, o, level=level) for i, o in enumerate(sequence)]
            write(config.run.dir / "eval" / f"{name}.jsonl", rows)
    (config.run.dir / "eval" / "sft.completions.jsonl").write_text('{"task": "t1"}\n')
    for number in range(2):
        folder = config.run.dir / "rl" / f"round-{number:02d}"
        write(folder / "records.jsonl", [record("rl", "t", i, "correct", step=number) for i in range(2)])
        (folder / "curriculum.json").write_text(json.dumps({"weights": {"1": 0.8, "2": 0.2}, "acc": {"1": 0.1}}))
    write(config.run.dir / "grpo" / "records.jsonl", [record("grpo", "t", 0, "wrong", step=i) for i in range(3)])
    (config.run.dir / "sft" / "model").mkdir(parents=True)
    history = {"log_history": [{"step": 1, "loss": 2.0}, {"step": 2, "loss": 1.0}, {"step": 2, "train_loss": 1.5}]}
    (config.run.dir / "sft" / "model" / "trainer_state.json").write_text(json.dumps(history))
    return config.run.dir


class Tags(HTMLParser):
    """Collects what a page holds and what it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.loads: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for key, value in attrs:
            if key == "id" and value:
                self.ids.append(value)
            if key in ("src", "href", "xlink:href") and value and not value.startswith("#"):
                self.loads.append(value)


def parsed(page: Path) -> Tags:
    tags = Tags()
    tags.feed(page.read_text())
    return tags


def test_page_holds_every_part(run_dir: Path) -> None:
    text = build(run_dir).read_text()
    for part in (
        "SFT loss",
        "Best-of-N by round",
        "GRPO by step",
        "Curriculum",
        "The funnel",
        "Why candidates were rejected",
        "Best candidates",
        "Worst candidates",
        "pass@1",
        "predicted (roofline)",
        "resolved.toml",
    ):
        assert part in text, part
    assert load(run_dir).notes == []


def test_page_loads_nothing_and_runs_nothing(run_dir: Path) -> None:
    tags = parsed(build(run_dir))
    assert tags.loads == []
    assert not {"script", "link", "iframe", "img"} & set(tags.names)


def test_what_a_model_wrote_is_text_not_markup(run_dir: Path) -> None:
    text = build(run_dir).read_text()
    assert "<script" not in text
    assert "<b>$" not in text
    assert "&lt;script&gt;" in text


def test_figures_share_no_ids(run_dir: Path) -> None:
    ids = parsed(build(run_dir)).ids
    assert len(ids) == len(set(ids))


def test_figures_take_their_colours_from_the_page(run_dir: Path) -> None:
    text = build(run_dir).read_text()
    assert "var(--series-2)" in text
    assert not re.search(r"#0000(0|1)\d\b", text)


def test_change_is_said_with_its_interval(run_dir: Path) -> None:
    text = build(run_dir).read_text()
    assert "+50.0 points" in text
    assert "RL raises the correct rate" in text


def test_change_without_significance_is_not_called_a_rise(tmp_path: Path) -> None:
    before = [record("eval/sft", f"t{i}", 0, "correct" if i % 2 else "wrong") for i in range(6)]
    after = [record("eval/rl", f"t{i}", 0, "wrong" if i % 3 else "correct") for i in range(6)]
    write(tmp_path / "eval" / "sft.jsonl", before)
    write(tmp_path / "eval" / "rl.jsonl", after)
    assert "does not clearly move" in build(tmp_path).read_text()


def test_empty_run_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "sft").mkdir()
    text = build(tmp_path).read_text()
    for part in ("No settings", "No SFT curve", "No evaluation", "No reinforcement learning"):
        assert part in text


def test_records_of_another_version_are_left_out_and_named(run_dir: Path) -> None:
    (run_dir / "eval" / "sft.jsonl").write_text('{"task": "t1", "old": true}\n')
    text = build(run_dir).read_text()
    assert "eval/sft.jsonl is left out" in text


def test_a_step_drawn_again_after_a_kill_counts_once(tmp_path: Path) -> None:
    again = [record("grpo", "a", 0, "wrong"), record("grpo", "a", 1, "wrong"), record("grpo", "a", 0, "correct")]
    write(tmp_path / "grpo" / "records.jsonl", again)
    assert [(r.sample, r.verdict.correct) for r in load(tmp_path).grpo] == [(0, True), (1, False)]


def test_a_folder_without_a_run_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="not a run folder"):
        build(tmp_path)
    assert not list(tmp_path.iterdir())


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="not a run folder"):
        build(tmp_path / "nowhere")


def test_best_are_the_fastest_of_distinct_tasks() -> None:
    rows = [record("e", "a", 1, "correct"), record("e", "a", 4, "correct"), record("e", "b", 3, "correct")]
    assert [(row.task, row.sample) for row in best([*rows, record("e", "c", 0, "wrong")])] == [("a", 4), ("b", 3)]


def test_worst_show_one_candidate_for_each_reason() -> None:
    rows = [record("e", "a", i, outcome) for i, outcome in enumerate(["wrong", "wrong", "none", "rule", "correct"])]
    assert [reason(row) for row in worst(rows)] == ["no code", "<script>", "wrong values"]


def test_stage_passed_includes_those_before() -> None:
    verdict = record("e", "a", 0, "wrong").verdict
    assert passed(verdict, "ast") and passed(verdict, "compile") and not passed(verdict, "tiny")


def test_comparison_sets_first_and_last_side_by_side(run_dir: Path) -> None:
    table = compare([run_dir])
    lines = table.splitlines()
    assert len(lines) == 2 + 6
    assert all(line.count("|") == lines[0].count("|") for line in lines)
    assert "| run | 7 | 2 | 1 | RL |" in table
    assert "+50.0 points" in table
