"""One base model and an adapter for each agent, switched without loading anything again.

An agent without an adapter is the base itself. Training an agent is `sft`, `best_of_n` or `grpo` with that agent's
reward; here agents only write.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Literal, cast

from peft import PeftModel
from transformers import PreTrainedModel

from tritonsmith.config import Config, ConfigError
from tritonsmith.prompts import Message
from tritonsmith.train import models, trainer
from tritonsmith.train.generate import Draw, Sampler

Agent = Literal["frontend", "midend"]


class Agents:
    """Samplers that share one model."""

    def __init__(self, config: Config, adapters: Mapping[Agent, Path]) -> None:
        """Load `[model]` and the adapters on it. Raises ConfigError for a folder that holds no adapter."""
        base, self.tokenizer = models.load(config.model)
        self.model: PreTrainedModel | PeftModel = base
        for agent, folder in adapters.items():
            if not (folder / "adapter_config.json").exists():
                raise ConfigError(f"{folder} holds no adapter for the {agent}; give a full model as [model] instead")
            if isinstance(self.model, PeftModel):
                self.model.load_adapter(str(folder), adapter_name=agent)
            else:
                self.model = PeftModel.from_pretrained(base, str(folder), adapter_name=agent)
        self.adapters = frozenset(adapters)
        self._sampler = Sampler(trainer.to_device(self.model), self.tokenizer, models.prompt_style(config.model))

    def sampler(self, agent: Agent) -> "AgentSampler":
        """The agent as something that writes completions."""
        return AgentSampler(self, agent)

    def sample_as(self, agent: Agent, draw: Callable[[Sampler], list[list[str]]]) -> list[list[str]]:
        """Let an agent write, with its adapter in place."""
        if not isinstance(self.model, PeftModel):
            return draw(self._sampler)
        if agent in self.adapters:
            self.model.set_adapter(agent)
        self._sampler.release()  # what was prepared for another adapter's weights
        with nullcontext() if agent in self.adapters else self.model.disable_adapter():
            return draw(self._sampler)


class AgentSampler:
    """One agent; see `evaluate.Sampler`."""

    def __init__(self, agents: Agents, agent: Agent) -> None:
        self.agents = agents
        self.agent: Agent = agent

    @property
    def prompt_style(self) -> str:
        """How the base expects its prompts."""
        return cast(str, self.agents._sampler.prompt_style)

    def sample(
        self,
        messages: Sequence[list[Message]],
        n: int,
        temperature: float,
        top_p: float,
        max_new_tokens: int,
        batch: int,
        seed: int,
        on_batch: Callable[[list[Draw]], None] | None,
    ) -> list[list[str]]:
        """Draw `n` completions of each chat as this agent."""
        return self.agents.sample_as(
            self.agent,
            lambda sampler: sampler.sample(messages, n, temperature, top_p, max_new_tokens, batch, seed, on_batch),
        )
