"""A run's configuration shrunk to a dry run's: the same steps with tiny numbers on a random model. Runs nothing."""

import re

import torch
import transformers

from tritonsmith.config import Config
from tritonsmith.train import models, ranks

DRY_TASKS = 4
"""Tasks of each SPEC that a dry run takes."""

DRY_DATA = "graphs:8:seed=0:depth=1-2:families=reduction"
"""What a dry run's mid-end learns from: rows that are walked twice can be held in registers."""


def dry(config: Config) -> Config:
    """Shrink a run to less than two minutes: a random model of nano's architecture and the smallest numbers."""
    folder = config.run.dir / "dry-run"
    dummy = folder / "dummy"
    _, tokenizer = models.load(config.model.model_copy(update={"id": "nano", "load_in_8bit": False}))
    torch.manual_seed(config.run.seed)
    models.save(transformers.Qwen3ForCausalLM(models.nano_config(tokenizer)), tokenizer, dummy)
    small = config.model_copy(deep=True)
    small.run.dir = folder
    plain = {"id": str(dummy), "load_in_8bit": False, "dtype": "float32", "prompt_style": "auto"}
    small.model = small.model.model_copy(update=plain)
    small.tasks.train, small.tasks.heldout = few(small.tasks.train), few(small.tasks.heldout)
    small.sft.data = few(small.sft.data)
    rows = max(2, ranks.count())  # which all processes can share equally
    small.sft.epochs, small.sft.batch, small.sft.save_steps = 1.0, rows, 1
    own = small.best_of_n
    own.n, own.keep, own.rounds, own.tasks_per_round, own.epochs = 2, 1, min(own.rounds, 2), 2, 1.0
    # A random model writes no kernel worth keeping: replay gives each round something to train on.
    own.batch, own.max_new_tokens, own.replay = rows, 48, rows
    small.best_of_n.turns = min(own.turns, 2)
    updates = min(small.grpo.updates, 2)  # each from a batch that all processes share
    small.grpo = small.grpo.model_copy(
        update={"steps": 2, "num_generations": rows, "batch": rows, "accumulation": updates, "updates": updates,
                "max_completion": 32, "max_prompt": 2048, "save_steps": 1, "turns": min(small.grpo.turns, 2)}
    )  # fmt: skip
    small.midend.sft = small.midend.best_of_n = small.midend.grpo = None
    small.midend.kernels, small.midend.data = "run", DRY_DATA
    small.eval.samples, small.eval.max_new_tokens, small.eval.ks = 2, 48, [1, 2]
    return small


def few(spec: str) -> str:
    """A SPEC with no more drawn graphs than a dry run takes; thousands of them take a minute to draw."""
    return re.sub(r"(?<![^,\s])graphs:(\d+)", lambda found: f"graphs:{min(int(found[1]), DRY_TASKS)}", spec)
