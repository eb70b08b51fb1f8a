"""The ablation: sixteen runs that differ in the extensions alone, and effects that are what a factorial says."""

import json
import random
from pathlib import Path

import pytest
from test_run import make_config

from tritonsmith import ablate
from tritonsmith.ablate import EXTENSIONS, Setting, settings


def made(formula: dict[tuple[str, ...], float], tasks: int = 6) -> dict[Setting, dict[str, float]]:
    """Correct rates that are 0.5 and half of each effect up or down, the same for every task but a little."""
    found: dict[Setting, dict[str, float]] = {}
    for setting in settings():
        on = dict(zip(EXTENSIONS, setting, strict=True))
        rate = 0.5
        for of, size in formula.items():
            sign = 1
            for one in of:
                sign *= 1 if on[one] else -1
            rate += sign * size / 2
        found[setting] = {f"t{i}": rate + 0.001 * i for i in range(tasks)}
    return found


def test_there_are_sixteen_settings_with_folders_of_their_own() -> None:
    names = [ablate.name(setting) for setting in settings()]
    assert len(set(names)) == 16 and names[0] == "none" and names[-1] == "+".join(EXTENSIONS)


def test_effects_are_those_the_rates_were_made_of() -> None:
    formula: dict[tuple[str, ...], float] = {("staged",): 0.2, ("curriculum",): -0.1, ("staged", "calibrated"): 0.06}
    found = {effect.of: effect.estimate.value for effect in ablate.effects(made(formula))}
    assert len(found) == 10
    for of, value in found.items():
        assert value == pytest.approx(formula.get(of, 0.0), abs=1e-9), of


def test_an_interval_shows_that_tasks_differ() -> None:
    rates = made({("staged",): 0.2})
    for setting, by_task in rates.items():
        if setting[1]:
            by_task["t0"] -= 0.2
    (effect,) = [one for one in ablate.effects(rates) if one.of == ("staged",)]
    assert effect.estimate.low < effect.estimate.value < effect.estimate.high


def test_what_runs_differ_in_by_luck_excludes_nothing() -> None:
    # Three points from run to run, the same for every task, so that resampling tasks shows nothing of it.
    luck, missed = random.Random(0), 0
    for _ in range(25):
        rates = {setting: dict.fromkeys(("t0", "t1", "t2"), luck.gauss(0.5, 0.03)) for setting in settings()}
        found = [one.estimate for one in ablate.effects(rates) if len(one.of) == 1]
        missed += sum(not one.low <= 0 <= one.high for one in found)
    assert missed <= 12


def test_a_missing_setting_is_said() -> None:
    rates = made({})
    del rates[settings()[3]]
    with pytest.raises(ValueError, match="1 of 16 settings"):
        ablate.effects(rates)


def test_each_run_differs_in_the_extensions_alone(tmp_path: Path, tiny_folder: Path) -> None:
    config = make_config(tmp_path, tiny_folder)
    configs = [ablate.configure(config, setting) for setting in settings()]
    assert len({one.run.dir for one in configs}) == 16
    plain = {
        one.model_copy(update={"run": config.run, "extensions": config.extensions}).model_dump_json() for one in configs
    }
    assert plain == {config.model_dump_json()}


def test_all_settings_run_to_the_end_in_a_dry_run_and_a_second_call_trains_nothing(
    tmp_path: Path, tiny_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = make_config(tmp_path, tiny_folder, 'run.steps=["sft","eval"]', "eval.samples=1", "eval.ks=[1]")
    found = ablate.ablate(config, dry_run=True)
    assert [effect.estimate.value for effect in found] == [0.0] * 10  # a random model answers nothing
    content = json.loads((tmp_path / "ablation-dry-run.json").read_text())
    assert len(content["correct"]) == 16 and len(content["effects"]) == 10
    assert all((tmp_path / ablate.name(s) / "dry-run" / "eval" / "alike.jsonl").exists() for s in settings())
