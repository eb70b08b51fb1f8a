import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from tritonsmith import jsonl
from tritonsmith.config import Config
from tritonsmith.gains import Given
from tritonsmith.report.build import build, compare
from tritonsmith.report.run import ReportError, best, load, passed, reason, worst
from tritonsmith.report.verdict import render
from tritonsmith.types import Finding, Interval, Mismatch, Record, StageResult, Task, Timing, Verdict

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


def timed(name: str, sample: int, speed: float, *, step: int = 0) -> Record:
    """A correct answer of the mid-end of a measured speedup; reward as its scheme gives it."""
    interval = Interval(median=speed, low=0.98 * speed, high=1.02 * speed)
    timing = Timing(kind="measured", reference_ms=1.0, candidate_ms=1.0 / speed, speedup=interval)
    found = record("midend", name, sample, "correct", step=step)
    update = {"speedup": interval, "timing": timing, "reward": 1.0 + speed}
    return found.model_copy(update={"verdict": found.verdict.model_copy(update=update)})


def wrong(name: str, sample: int, *, step: int = 0) -> Record:
    found = record("midend", name, sample, "wrong", step=step)
    return found.model_copy(update={"verdict": found.verdict.model_copy(update={"reward": -10.0})})


@pytest.fixture
def two_stage(run_dir: Path) -> Path:
    """The run above, and a mid-end after it: three held-out kernels, of which it made one twice as fast."""
    folder = run_dir / "midend"
    for path, count in (("kernels.jsonl", 2), ("eval/kernels.jsonl", 3)):
        for i in range(count):
            task = Task(id=f"t{i}@0", level=1, source="pass")
            given = Given(task=task, kernel=f"given = {i}", verdict=timed(task.id, 0, 1.2).verdict)
            jsonl.append(folder / path, given.model_dump_json())
    write(folder / "eval" / "midend.jsonl", [timed("t0@0", 0, 2.4), timed("t1@0", 0, 1.1), wrong("t2@0", 0)])
    for number in range(2):
        rows = [timed("t0@0", 0, 1.3 + number, step=number), wrong("t1@0", 1, step=number)]
        write(folder / "rl" / f"round-{number:02d}" / "records.jsonl", rows)
        write(folder / "grpo" / "records.jsonl", rows)
    return run_dir


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


def test_an_evaluation_that_is_not_over_is_said_to_be(run_dir: Path) -> None:
    rows = [json.dumps({"task": f"t{i}", "sample": 0, "completion": "x"}) for i in range(9)]
    (run_dir / "eval" / "sft.completions.jsonl").write_text("\n".join(rows) + "\n")
    assert "8 of 9 answers are judged so far" in build(run_dir).read_text()


def test_a_place_without_a_finite_number_is_shown() -> None:
    """JSON made it None, and the page a traceback."""
    wrong = Mismatch(variant="as given", output="output", message="wrong values", index=[0], expected=1.0, got=None)
    verdict = Verdict(task="t", device="cpu", target="sm_90", policy="strict", mismatch=wrong)
    console = Console(file=io.StringIO())
    console.print(render(verdict))
    assert "expected 1, got no finite number" in console.file.getvalue()  # type: ignore[attr-defined]


def test_records_of_another_version_are_left_out_and_named(run_dir: Path) -> None:
    (run_dir / "eval" / "sft.jsonl").write_text('{"task": "t1", "old": true}\n')
    text = build(run_dir).read_text()
    assert "eval/sft.jsonl is left out" in text


def test_a_step_drawn_again_after_a_kill_counts_once(tmp_path: Path) -> None:
    again = [record("grpo", "a", 0, "wrong"), record("grpo", "a", 1, "wrong"), record("grpo", "a", 0, "correct")]
    write(tmp_path / "grpo" / "records.jsonl", again)
    assert [(r.sample, r.verdict.correct) for r in load(tmp_path).training.grpo] == [(0, True), (1, False)]


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


def test_the_midends_part_is_on_the_page_with_its_gain_and_its_training(two_stage: Path) -> None:
    text = build(two_stage).read_text()
    for part in (
        "The mid-end",
        "1 of 3 became clearly faster",
        f"{2 ** (1 / 3):.2f} times",
        "Speedups, before and after",
        "Best-of-N, reward by round",
        "Best-of-N, speedup by round",
        "GRPO, reward by step",
        "clearly faster than the kernel given",
        "The largest gains",
        "the kernel it was given, 1.20x",
    ):
        assert part in text, part
    assert load(two_stage).notes == []
    ids = parsed(two_stage / "report.html").ids
    assert len(ids) == len(set(ids))


def test_a_run_without_a_midend_says_nothing_of_one(run_dir: Path) -> None:
    assert "mid-end" not in build(run_dir).read_text().lower()


def test_a_midend_without_any_kernel_to_ask_about_says_so(two_stage: Path) -> None:
    (two_stage / "midend" / "eval" / "kernels.jsonl").write_text("")
    (two_stage / "midend" / "eval" / "midend.jsonl").unlink()
    text = build(two_stage).read_text()
    assert "no held-out task has a right kernel" in text and "nanx" not in text


def test_a_midend_under_way_has_its_training_alone(two_stage: Path) -> None:
    shutil.rmtree(two_stage / "midend" / "eval")
    text = build(two_stage).read_text()
    assert "The mid-end is not evaluated yet" in text and "GRPO, reward by step" in text


def test_rewards_that_are_no_shares_have_a_figure_of_their_own(tmp_path: Path) -> None:
    write(tmp_path / "grpo" / "records.jsonl", [wrong("a", 0, step=i) for i in range(2)])
    text = build(tmp_path).read_text()
    assert "GRPO by step" in text and "GRPO, reward by step" in text


def test_later_turns_are_no_models_of_their_own(run_dir: Path) -> None:
    again = [record("eval/rl.turn2", "t1", 3, "correct").model_copy(update={"turn": 2})]
    write(run_dir / "eval" / "rl.turn2.jsonl", again)
    run = load(run_dir)
    assert list(run.evals) == ["SFT", "RL"] and [len(part) for part in run.conversations["RL"]] == [8, 1]
    text = build(run_dir).read_text()
    assert "RL, correct by turn: 75 % (75-75) after 1, 88 % (75-100) after 2." in text
