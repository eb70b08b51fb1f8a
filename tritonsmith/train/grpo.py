"""Style B of RL: GRPO on TRL's trainer, with the verifier as the reward and the curriculum as the sampler.

The overrides: which tasks come next, what a checkpoint holds beside the trainer's own state, and, where TRL's own
advantages are not the ones wanted, `credit`'s over plan and code tokens in their place.
"""

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from datasets import Dataset
from peft import PeftModel
from torch import Tensor, nn
from torch.utils.data import Sampler
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from tritonsmith import credit, reward
from tritonsmith.config import Config, ConfigError
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import Judge
from tritonsmith.prompts import messages
from tritonsmith.train import models, trainer
from tritonsmith.train.advantages import Assign, everywhere
from tritonsmith.train.order import CurriculumSampler
from tritonsmith.train.rewarding import Conversation, KernelReward
from tritonsmith.types import Task, Verdict

log = logging.getLogger(__name__)

CURRICULUM = "curriculum.json"
"""The curriculum's state and its sampler's, in each checkpoint."""


class CurriculumTrainer(GRPOTrainer):
    """TRL's GRPO, whose tasks follow the curriculum and whose checkpoints remember it."""

    curriculum: Curriculum
    order: CurriculumSampler | None = None
    """None while the curriculum is off: TRL's own order holds."""
    assign: Assign | None = None
    """None: the advantages are TRL's own."""

    def _generate_and_score_completions(self, inputs: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        made = super()._generate_and_score_completions(inputs)
        if self.assign is not None:
            ids, mask = made["completion_ids"], made["completion_mask"]
            rows = [row[keep.bool()].tolist() for row, keep in zip(ids, mask, strict=True)]
            made["advantages"] = self._shared(self.assign, rows, ids.shape[1]).to(ids.device)
        return made

    def _shared(self, assign: Assign, rows: list[list[int]], width: int) -> Tensor:
        """This process's advantages (B, T): a group may lie on several processes, so all of them are known to each."""
        device = self.accelerator.device
        found = assign.masks(rows, width)
        rewards = {name: everywhere(values.to(device)) for name, values in assign.rewards().items()}
        wide = {
            name: everywhere(cast(Tensor, self.accelerator.pad_across_processes(mask.to(device), dim=1)))
            for name, mask in found.items()
        }
        all_of_them = assign(rewards, wide, everywhere(assign.eligible().to(device)))
        own = self.accelerator.process_index * len(rows)
        return all_of_them[own : own + len(rows), :width]

    def _get_train_sampler(self, dataset: Dataset | None = None) -> Sampler[int]:
        return self.order if self.order is not None else super()._get_train_sampler(dataset)

    def _save_checkpoint(self, model: nn.Module, trial: None) -> None:
        super()._save_checkpoint(model, trial)
        folder = Path(self.args.output_dir or ".") / f"checkpoint-{self.state.global_step}"
        place = self.order.place() if self.order is not None else None
        (folder / CURRICULUM).write_text(json.dumps({"curriculum": self.curriculum.state_dict(), "place": place}))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        state = json.loads((Path(checkpoint) / CURRICULUM).read_text())
        self.curriculum.load_state_dict(state["curriculum"])
        if self.order is not None and state["place"] is not None:
            self.order.go_to(state["place"])


def train(config: Config, tasks: Sequence[Task], verifier: Judge, start: Path | None, resume: bool = True) -> Path:
    """Run the `[grpo]` section from the model in `start` (None: the configured one); return `run.dir/grpo/model`.

    Raises ConfigError where the numbers do not fit together or no prompt fits into `max_prompt` tokens.
    """
    out = config.run.dir / "grpo"
    own = config.grpo
    model, tokenizer = trainer.load(config, start)
    rows = _rows(config, tasks, tokenizer)
    try:
        args = GRPOConfig(
            **trainer.options(config, model, out / "checkpoints", own.steps),  # pyright: ignore[reportArgumentType]
            learning_rate=own.lr,
            lr_scheduler_type="constant",
            max_steps=own.steps,
            per_device_train_batch_size=own.batch,
            gradient_accumulation_steps=own.accumulation,
            num_generations=own.num_generations,
            max_completion_length=own.max_completion,
            temperature=own.temperature,
            beta=own.beta,
            loss_type=own.loss,
            scale_rewards="none" if own.loss == "dr_grpo" else "group",
            save_steps=own.save_steps,
        )
    except ValueError as error:
        raise ConfigError(f"grpo: {' '.join(str(error).split())}") from error
    groups = (args.generation_batch_size or own.batch) // own.num_generations
    if groups > len(rows):
        raise ConfigError(f"grpo: a step draws {groups} distinct tasks, and tasks.train has {len(rows)} that fit")
    curriculum = Curriculum.from_config(config.curriculum)
    rewards = KernelReward(tasks, verifier, out / "records.jsonl", curriculum, _score(config))
    learner = CurriculumTrainer(
        model=model,
        reward_funcs=cast("Callable[..., list[float | None]]", rewards),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=models.lora(config.lora) if config.lora.enabled and not isinstance(model, PeftModel) else None,
    )
    learner.curriculum = curriculum
    learner.assign = _assign(config, rewards, tokenizer)
    if config.extensions.curriculum:
        levels = [cast(int, row["level"]) for row in rows]
        again = learner.num_iterations * (args.steps_per_generation or 1)
        learner.order = CurriculumSampler(levels, curriculum, groups, own.num_generations, again, config.run.seed)
    trainer.prepare(learner, config, "grpo")
    trainer.run_trainer(learner, resume)
    return trainer.finish(learner, out / "model")


def _assign(config: Config, rewards: KernelReward, tokenizer: PreTrainedTokenizerBase) -> Assign | None:
    """`credit` in place of TRL's advantages, where the reward has parts or the method is named."""
    own, scheme = config.grpo, config.reward
    if own.credit == "trl" and scheme.scheme != "hierarchical":
        return None
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise ConfigError("grpo.credit and the hierarchical reward need a fast tokenizer, which this model has not")
    fallback: credit.Method = "dr_grpo" if own.loss == "dr_grpo" else "grpo"
    method = fallback if own.credit == "trl" else own.credit
    return Assign(rewards, tokenizer, own.num_generations, method, scheme.scheme, scheme.alpha, scheme.cap, own.keep)


def _score(config: Config) -> Callable[[Verdict], float]:
    return lambda verdict: reward.score(verdict, config.reward.scheme, config.reward.cap)


def _rows(
    config: Config, tasks: Sequence[Task], tokenizer: PreTrainedTokenizerBase
) -> list[dict[str, str | int | Conversation]]:
    """Make the data set: prompt, task and level, of the tasks whose prompt is short enough."""
    style = models.prompt_style(config.model)
    rows: list[dict[str, str | int | Conversation]] = []
    for task in tasks:
        prompt = messages(task, style)
        length = len(
            tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=True, return_dict=False)
        )
        if length <= config.grpo.max_prompt:
            rows.append({"prompt": prompt, "task": task.id, "level": task.level})
    if len(rows) < len(tasks):
        log.warning("grpo: %d of %d prompts exceed grpo.max_prompt", len(tasks) - len(rows), len(tasks))
    if not rows:
        raise ConfigError(f"grpo.max_prompt = {config.grpo.max_prompt} is shorter than every prompt")
    return rows
