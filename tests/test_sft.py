"""SFT: only the completion is learned, LoRA or full, and a killed training resumes where it was whole."""

import json
import logging
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from tritonsmith import jsonl
from tritonsmith.config import Config, ConfigError, ModelConfig, RunConfig, SftConfig
from tritonsmith.data.rows import Row
from tritonsmith.train import sft, trainer
from tritonsmith.train.encoding import IGNORED, encode


def make_config(folder: Path, tiny: Path, lora: bool = False, **fields: object) -> Config:
    settings = {"epochs": 2.0, "batch": 2, "save_steps": 2, "lr": 1e-2, **fields}
    config = Config(run=RunConfig(dir=folder), model=ModelConfig(id=str(tiny)), sft=SftConfig.model_validate(settings))
    config.lora.enabled = lora
    return config


def make_rows(n: int = 6) -> list[Row]:
    return [
        Row(
            prompt=[{"role": "user", "content": "say " + "a" * i}],
            completion=[{"role": "assistant", "content": "b" * (i + 1)}],
            task=f"t{i}",
            graph="",
        )
        for i in range(n)
    ]


def run(config: Config, rows: list[Row]) -> Path:
    model, tokenizer = trainer.load(config, None)
    return sft.train(config, rows, model, tokenizer, config.run.dir / "sft")


def test_saves_a_model_that_learned_and_leaves_no_checkpoints(tmp_path: Path, tiny_folder: Path) -> None:
    folder = run(make_config(tmp_path, tiny_folder, epochs=6.0), make_rows())
    state = json.loads((folder / "trainer_state.json").read_text())
    losses = [entry["loss"] for entry in state["log_history"] if "loss" in entry]
    assert losses[-1] < losses[0] / 2
    assert not (tmp_path / "sft" / "checkpoints").exists()
    assert list((tmp_path / "tensorboard" / "sft").glob("events.*"))
    trainer.load(make_config(tmp_path, tiny_folder), folder)


def test_lora_trains_an_adapter_only(tmp_path: Path, tiny_folder: Path) -> None:
    config = make_config(tmp_path, tiny_folder, lora=True)
    folder = run(config, make_rows())
    assert set(load_file(folder / "adapter_model.safetensors"))
    model, _ = trainer.load(config, folder)
    trainable = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert trainable and all("lora_" in name for name in trainable)


def test_killed_while_saving_resumes_from_the_last_whole_checkpoint(
    tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = run(make_config(tmp_path / "whole", tiny_folder), make_rows())
    config = make_config(tmp_path / "killed", tiny_folder)
    mark = trainer.MarkWhole.on_save

    def killed(self: object, args: object, state: object, control: object, **rest: object) -> None:
        if state.global_step == 4:
            raise KeyboardInterrupt
        mark(self, args, state, control, **rest)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(trainer.MarkWhole, "on_save", killed)
        run(config, make_rows())
    assert not (config.run.dir / "sft" / "model").exists()
    (config.run.dir / "sft" / "checkpoints" / "checkpoint-4" / "optimizer.pt").write_bytes(b"torn")
    with caplog.at_level(logging.INFO):
        resumed = run(config, make_rows())
    assert "checkpoint-2" in caplog.text
    first, second = (load_file(folder / "model.safetensors") for folder in (whole, resumed))
    assert all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)


def test_rows_longer_than_max_length_are_left_out(tmp_path: Path, tiny_folder: Path) -> None:
    long = make_rows(1)[0].model_copy(update={"completion": [{"role": "assistant", "content": "c" * 200}]})
    folder = run(make_config(tmp_path, tiny_folder, max_length=64, epochs=1.0), [*make_rows(4), long])
    assert json.loads((folder / "trainer_state.json").read_text())["global_step"] == 2
    with pytest.raises(ConfigError, match="max_length"):
        run(make_config(tmp_path / "none", tiny_folder, max_length=64), [long])


def test_packing_trains_too(tmp_path: Path, tiny_folder: Path) -> None:
    assert run(make_config(tmp_path, tiny_folder, packing=True, max_length=128), make_rows()).exists()


def test_reads_rows_of_plain_text(tmp_path: Path, tiny_folder: Path) -> None:
    path = tmp_path / "rows.jsonl"
    jsonl.append(path, json.dumps({"prompt": "p", "completion": "c", "source": "elsewhere"}))
    config = make_config(tmp_path, tiny_folder, data=str(path))
    assert sft.pairs(config, None)[0].completion == [{"role": "assistant", "content": "c"}]
    jsonl.append(path, json.dumps({"prompt": "p"}))
    with pytest.raises(ConfigError, match="completion"):
        sft.pairs(config, None)


def test_tokens_and_labels_are_those_of_trls_trainer(tmp_path: Path, tiny_folder: Path) -> None:
    model, tokenizer = trainer.load(make_config(tmp_path, tiny_folder), None)
    args = SFTConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, completion_only_loss=True, report_to=[])
    plain = Dataset.from_list([row.model_dump(include={"prompt", "completion"}) for row in make_rows()])
    theirs = SFTTrainer(model=model, args=args, train_dataset=plain, processing_class=tokenizer).train_dataset
    ours = [one.columns() for one in encode(tokenizer, make_rows())]
    assert [(one["input_ids"], one["labels"]) for one in ours] == [(row["input_ids"], row["labels"]) for row in theirs]
    assert all(IGNORED in one["labels"] for one in ours)


def test_what_is_remembered_of_a_row_holds_for_its_tokenizer_alone(tmp_path: Path, tiny_folder: Path) -> None:
    _, tokenizer = trainer.load(make_config(tmp_path, tiny_folder), None)
    before = encode(tokenizer, make_rows())
    assert encode(tokenizer, [*make_rows(1), *make_rows()])[1:] == before
    tokenizer.chat_template = "{% for m in messages %}<{{ m['content'] }}>{% endfor %}"
    after = encode(tokenizer, make_rows(1))
    assert after[0].columns() != before[0].columns() and tokenizer.decode(after[0].ids) == "<say ><b>"


def test_learns_what_follows_the_common_tokens_where_a_prompt_alone_ends_otherwise(
    tiny_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, tokenizer = trainer.load(make_config(tmp_path, tiny_folder), None)
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['content'] }}|{% endfor %}{% if add_generation_prompt %}thinks{% endif %}"
    )
    (one,) = encode(tokenizer, make_rows(1))
    assert tokenizer.decode(one.ids[one.start :]) == "b|"
    assert "1 of 1 prompts" in caplog.text
