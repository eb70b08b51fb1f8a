"""Agents: one base, an adapter each, and switching changes what is written but never the base."""

from pathlib import Path

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model

from tritonsmith.config import Config, ConfigError, ModelConfig
from tritonsmith.train import models
from tritonsmith.train.agents import Agents

CHAT = [[{"role": "user", "content": "import torch"}]]


def adapter(tiny: Path, folder: Path, seed: int) -> Path:
    """An adapter whose weights are loud enough to be heard."""
    model, _ = models.load(ModelConfig(id=str(tiny)))
    made = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "down_proj"]))  # type: ignore[arg-type]
    assert isinstance(made, PeftModel)
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if "lora_" in name:
                weight.normal_(0.0, 3.0)
    made.save_pretrained(str(folder))
    return folder


def written(agents: Agents, agent: str) -> str:
    return agents.sampler(agent).sample(CHAT, 1, 0.0, 1.0, 12, 4, 0, None)[0][0]  # type: ignore[arg-type]


def test_each_agent_writes_with_its_own_adapter(tmp_path: Path, tiny_folder: Path) -> None:
    config = Config(model=ModelConfig(id=str(tiny_folder), prompt_style="bare"))
    base = written(Agents(config, {}), "frontend")
    first, second = (adapter(tiny_folder, tmp_path / str(seed), seed) for seed in (1, 2))
    agents = Agents(config, {"frontend": first, "midend": second})
    front, mid = written(agents, "frontend"), written(agents, "midend")
    assert len({base, front, mid}) == 3
    assert written(agents, "frontend") == front
    assert written(Agents(config, {"midend": second}), "frontend") == base


def test_a_folder_without_an_adapter_is_said(tmp_path: Path, tiny_folder: Path) -> None:
    with pytest.raises(ConfigError, match="no adapter for the midend"):
        Agents(Config(model=ModelConfig(id=str(tiny_folder))), {"midend": tmp_path})
