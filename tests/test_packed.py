"""Fine-tuning on packed rows: the loss is TRL's, each fit begins from what it is given, and two processes are one."""

import itertools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from test_sft import make_rows

from tritonsmith import config as configuration
from tritonsmith import jsonl
from tritonsmith.config import Config, ConfigError, SftConfig
from tritonsmith.data.rows import Row
from tritonsmith.errors import UserError
from tritonsmith.train import packed, sft, trainer
from tritonsmith.train.encoding import encode
from tritonsmith.train.pretrain.packing import ANSWER, Packed


def make_config(folder: Path, tiny: Path, **sets: object) -> Config:
    sets = {"sft.engine": "compiled", "lora.enabled": "false", "sft.batch": 2, "sft.max_length": 64, **sets}
    given = [f"{key}={value}" for key, value in sets.items()]
    return configuration.load(None, [f"run.dir={folder}", f"model.id={tiny}", "sft.lr=1e-2", *given])


def fitted(config: Config, rows: list[Row]) -> Path:
    model, tokenizer = trainer.load(config, None)
    return sft.train(config, rows, model, tokenizer, config.run.dir / "sft")


def losses(folder: Path) -> list[float]:
    history = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    return [entry["loss"] for entry in history if "loss" in entry]


def test_each_row_is_learnt_once_an_epoch_in_steps_of_one_size() -> None:
    steps = list(packed.orders(7, 2.0, 3, 0))
    assert [len(step) for step in steps] == [3] * 5
    order = torch.cat(steps)
    assert sorted(order[:7].tolist()) == sorted(order[7:14].tolist()) == list(range(7))
    assert order[:7].tolist() != order[7:14].tolist()


def test_fewer_rows_than_a_step_has_make_steps_of_all() -> None:
    assert [sorted(step.tolist()) for step in packed.orders(2, 3.0, 8, 0)] == [[0, 1]] * 3


@pytest.mark.parametrize(("rows", "wanted"), [(10, 1), (133, 1), (134, 2), (1000, 8)])
def test_more_rows_make_larger_batches_where_steps_are_bounded(rows: int, wanted: int) -> None:
    own = SftConfig(batch=8, epochs=1.5, most_steps=25)
    assert trainer.accumulated(rows, own) == wanted
    assert trainer.accumulated(rows, SftConfig(batch=8)) == 1


@pytest.mark.parametrize(
    ("rows", "batch", "epochs", "most", "times", "steps"),
    [(10, 1, 2.0, 3, 10, 2), (10, 2, 3.0, 4, 5, 3), (10, 8, 2.0, 1, 3, 1), (10, 2, 3.0, None, 1, 15)],
)
def test_steps_are_bounded_where_each_epoch_begins_with_a_new_one(
    rows: int, batch: int, epochs: float, most: int | None, times: int, steps: int
) -> None:
    """TRL took 4, 6 and 2."""
    own = SftConfig(batch=batch, epochs=epochs, most_steps=most)
    assert sft.schedule(rows, own) == (times, steps)


def test_steps_are_bounded_by_the_rows_that_are_learnt_packed(tiny_folder: Path, tmp_path: Path) -> None:
    """Counted by answers, of which five lay in a row, a late round took half the steps that it might have."""
    config = make_config(tmp_path, tiny_folder, **{"sft.batch": 1, "sft.epochs": 1, "sft.most_steps": 6})
    rows = make_rows(24)
    _, tokenizer = trainer.load(config, None)
    there = len(packed.pack(encode(tokenizer, rows), config.sft.max_length, 0))
    assert there < len(rows)
    assert len(losses(fitted(config, rows))) == math.ceil(there / math.ceil(there / 6))


def test_what_is_learnt_is_what_the_labels_say(tiny_folder: Path, tmp_path: Path) -> None:
    _, tokenizer = trainer.load(make_config(tmp_path, tiny_folder), None)
    encoded = encode(tokenizer, make_rows(9))
    rows = packed.pack(encoded, 64, 0)
    assert int((rows.kinds == ANSWER).sum()) == sum(len(one.ids) - one.start for one in encoded)
    whole = sorted(one.ids.tolist() for one in encoded)
    assert sorted(document for row in range(len(rows)) for document in documents(rows, row)) == whole


def documents(rows: Packed, row: int) -> list[list[int]]:
    """What stands in a row, padding left out."""
    starts = [*(rows.positions[row] == 0).nonzero().flatten().tolist(), rows.ids.shape[1]]
    found = [rows.ids[row, a:b].tolist() for a, b in itertools.pairwise(starts)]
    return [one for one in found if len(one) > 1]


def test_the_first_loss_is_that_of_trls_trainer(tiny_folder: Path, tmp_path: Path) -> None:
    rows = make_rows(8)
    ours = losses(fitted(make_config(tmp_path / "ours", tiny_folder, **{"sft.batch": 1, "sft.accumulation": 8}), rows))
    theirs = {"sft.engine": "trl", "sft.batch": 8}
    assert ours[0] == pytest.approx(
        losses(fitted(make_config(tmp_path / "theirs", tiny_folder, **theirs), rows))[0], rel=1e-3
    )


def test_a_model_learns_and_each_fit_begins_from_what_it_is_given(tiny_folder: Path, tmp_path: Path) -> None:
    rows = make_rows(12)
    first, again = (fitted(make_config(tmp_path / name, tiny_folder, **{"sft.epochs": 8}), rows) for name in "ab")
    assert losses(first)[-1] < losses(first)[0] / 2
    weights = load_file(first / "model.safetensors")
    for name, weight in load_file(again / "model.safetensors").items():
        torch.testing.assert_close(weight, weights[name], rtol=0, atol=0)
    assert list((tmp_path / "a" / "tensorboard" / "sft").glob("events.*"))


def test_what_is_made_ready_learns_nothing_and_is_what_a_fit_takes(tiny_folder: Path, tmp_path: Path) -> None:
    rows = make_rows(12)
    plain = fitted(make_config(tmp_path / "a", tiny_folder), rows)
    config = make_config(tmp_path / "b", tiny_folder)
    packed._at_hand = None
    sft.ready_from(config, config.sft, None)
    step = packed._at_hand
    assert step is not None
    before, _ = trainer.load(config, None)
    for name, weight in before.named_parameters():
        torch.testing.assert_close(step.model.get_parameter(name), weight, rtol=0, atol=0)
        assert step.model.get_parameter(name).grad is None
    assert losses(fitted(config, rows)) == losses(plain)
    assert packed._at_hand is step


def test_what_cannot_be_compiled_is_not_made_ready(tiny_folder: Path, tmp_path: Path) -> None:
    packed._at_hand = None
    for name, value in (("lora.enabled", "true"), ("sft.engine", "trl")):
        config = make_config(tmp_path, tiny_folder, **{name: value})
        sft.ready_from(config, config.sft, None)
    assert packed._at_hand is None


def test_adapters_are_refused_with_what_to_do(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"lora\.enabled = false"):
        fitted(make_config(tmp_path, tiny_folder, **{"lora.enabled": "true"}), make_rows(2))


def test_a_batch_that_processes_cannot_share_is_refused(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed.ranks, "count", lambda: 2)
    config = make_config(tmp_path, tiny_folder, **{"sft.batch": 3})
    model, tokenizer = trainer.load(config, None)
    with pytest.raises(ConfigError, match="3 rows are not to be shared by 2 processes"):
        packed.fit(config, config.sft, encode(tokenizer, make_rows(3)), model, tokenizer, tmp_path, "sft")


def test_a_rate_that_breaks_the_weights_is_told_and_nothing_is_saved(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="begin again with a lower lr"):
        fitted(make_config(tmp_path, tiny_folder, **{"sft.lr": 1e30, "sft.epochs": 4}), make_rows(6))
    assert not (tmp_path / "sft" / "model").exists()


@pytest.mark.slow
def test_two_processes_learn_what_one_does(tiny_folder: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    for i in range(11):
        jsonl.append(rows, json.dumps({"prompt": "say " + "a" * i, "completion": "b" * (i + 1), "task": f"t{i}"}))
    sets = {
        "run.steps": '["sft"]',
        "sft.data": rows,
        "sft.epochs": 3,
        "sft.batch": 2,
        "sft.accumulation": 2,
        "verify.device": "cpu",
    }
    found = []
    for count in (1, 2):
        config = make_config(tmp_path / str(count), tiny_folder, **sets)
        config.save(tmp_path / f"{count}.toml")
        launcher = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", str(count)]
        command = [*launcher, "-m", "tritonsmith.cli", "run", str(tmp_path / f"{count}.toml")]
        done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, timeout=300)
        assert done.returncode == 0, done.stderr.decode()[-3000:]
        found.append(load_file(tmp_path / str(count) / "sft" / "model" / "model.safetensors"))
    for name, weight in found[0].items():
        torch.testing.assert_close(found[1][name], weight, rtol=0, atol=1e-4)
