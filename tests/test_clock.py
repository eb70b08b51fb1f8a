"""The clock of a run: lines that outlive the process, the share that was hidden, the budget."""

import json
import time
from pathlib import Path

from tritonsmith import jsonl
from tritonsmith.train.clock import Clock


def test_a_step_is_what_was_measured_and_the_rest(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "steps.jsonl")
    with clock.counting("sample"):
        time.sleep(0.05)
    clock.add("verify", 10.0)
    clock.add("wait", 0.01)
    row = clock.close(3, kept=2.0)
    assert row["sample"] >= 0.05 and row["hidden"] == 1 - 0.01 / 10 and row["kept"] == 2
    assert abs(row["seconds"] - row["sample"] - row["wait"] - row["train"]) < 1e-9
    (kept,) = jsonl.read(tmp_path / "steps.jsonl")
    assert kept["step"] == 3 and set(kept) == set(row)


def test_nothing_to_judge_is_all_hidden_and_parts_start_anew(tmp_path: Path) -> None:
    clock = Clock(tmp_path / "steps.jsonl")
    clock.add("wait", 1.0)
    clock.close(0)
    row = clock.close(1)
    assert row["wait"] == 0.0 and row["hidden"] == 1.0


def test_the_budget_counts_what_earlier_processes_spent(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    for step, seconds in enumerate((40.0, 50.0)):
        jsonl.append(path, json.dumps({"step": step, "seconds": seconds}))
    assert 90.0 <= Clock(path).spent < 95.0
    # 90 spent, and the next step is taken to be as long as the last: 140 in all.
    assert Clock(path, minutes=2.0).over() and not Clock(path, minutes=3.0).over() and not Clock(path).over()
    assert Clock(path, minutes=3.0).over(2)


def test_a_share_of_the_budget_is_at_most_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    jsonl.append(path, json.dumps({"step": 0, "seconds": 60.0}))
    assert Clock(path).share == 0.0 and Clock(path, minutes=0.5).share == 1.0
    assert 0.5 <= Clock(path, minutes=2.0).share < 0.55
