"""Samplers that outlive a change of weights: what is overwritten, what is loaded anew, and what a copy follows."""

from pathlib import Path

import pytest
import torch
from conftest import tiny_model, tiny_tokenizer
from peft import LoraConfig, get_peft_model

from tritonsmith.config import Config, ModelConfig
from tritonsmith.train import models, trainer
from tritonsmith.train.policy import Drawer, Policy


def other_weights() -> torch.nn.Module:
    model = tiny_model()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.5)
    return model


def test_weights_are_written_over_in_place() -> None:
    model, fresh = tiny_model(), other_weights()
    places = [weight.data_ptr() for weight in model.parameters()]
    assert trainer.overwrite(model, fresh)
    assert places == [weight.data_ptr() for weight in model.parameters()]
    assert all(map(torch.equal, model.parameters(), fresh.parameters()))


def test_another_shape_or_an_adapter_is_not_written_over() -> None:
    model = tiny_model()
    model.resize_token_embeddings(300)
    assert not trainer.overwrite(model, tiny_model())
    assert not trainer.overwrite(tiny_model(), get_peft_model(tiny_model(), LoraConfig(target_modules=["o_proj"])))


def test_a_drawer_keeps_its_sampler(tmp_path: Path, tiny_folder: Path) -> None:
    models.save(other_weights(), tiny_tokenizer(), tmp_path / "next")
    drawer = Drawer(Config(model=ModelConfig(id=str(tiny_folder))))
    first = drawer.of(None)
    before = first.model.lm_head.weight.clone()
    assert drawer.of(tmp_path / "next") is first
    assert torch.allclose(first.model.lm_head.weight, 1.5 * before)


def test_weights_to_be_trained_in_full_are_float32(tiny_folder: Path) -> None:
    config = Config(model=ModelConfig(id=str(tiny_folder), dtype="bfloat16"))
    config.lora.enabled = False
    assert trainer.load(config, None)[0].dtype == torch.bfloat16 == trainer.dtype(config)
    assert trainer.load(config, None, master=True)[0].dtype == torch.float32
    config.lora.enabled = True
    assert trainer.load(config, None, master=True)[0].dtype == torch.bfloat16


def test_on_a_cpu_the_policy_itself_draws() -> None:
    model = tiny_model()
    policy = Policy(model, tiny_tokenizer(), torch.bfloat16)
    assert policy.copy is None and policy.sampler.model is model
    assert [len(ids) for ids in policy.complete([[5, 6], [7]], 1.0, 4, 0)] == [4, 4]


@pytest.mark.gpu
def test_on_a_gpu_a_copy_follows_the_weights() -> None:
    model = tiny_model().cuda()
    policy = Policy(model, tiny_tokenizer(), torch.bfloat16)
    first = policy.complete([[5, 6, 7]] * 3, 1.0, 40, 0)
    assert policy.copy is not None and policy.copy.dtype == torch.bfloat16
    graphs = policy.sampler._slots
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.randn_like(model.model.embed_tokens.weight))
    assert policy.complete([[5, 6, 7]] * 3, 1.0, 40, 0) != first
    assert policy.sampler._slots is graphs
    assert torch.equal(policy.copy.lm_head.weight, model.lm_head.weight.bfloat16())


@pytest.mark.parametrize("lora", [False, True])
def test_the_copy_of_spread_weights_draws_what_the_model_does(lora: bool) -> None:
    model = tiny_model()
    if lora:
        model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "o_proj"], init_lora_weights=False))
    copied, own = (Policy(model, tiny_tokenizer(), torch.float32, spread) for spread in (True, False))
    model.config.use_cache = False  # trainers set this, and a copy must not decode without one
    for step in range(2):
        drawn = copied.complete([[5, 6, 7]] * 3, 1.0, 40, step)
        assert copied.copy is not None and drawn == own.complete([[5, 6, 7]] * 3, 1.0, 40, step)
        with torch.no_grad():
            for weight in model.parameters():
                if weight.requires_grad:
                    weight.add_(0.1 * torch.randn_like(weight))
