"""Style B of RL: GRPO on TRL's trainer, with the verifier as the reward and the curriculum as the sampler.

The overrides: which tasks come next, how completions are drawn, what a checkpoint holds beside the trainer's own state,
and, where TRL's own advantages are not the ones wanted, `credit`'s over plan and code tokens in their place.

With feedback turns (`grpo.turns`, as in Kevin, Baronio et al. 2025, arXiv 2507.11948, section 3) each turn is a row of
its own: its prompt is the conversation up to there, its reward what it is worth to the conversation (`credit.returns`).
A group, over which rewards become advantages, is all turns of all conversations about a task. The rows of turns that
were not taken are in no group's mean or deviation, and neither in the loss nor in what it is a mean over.
"""

import contextlib
import json
import logging
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import torch
from datasets import Dataset
from peft import PeftModel
from torch import Tensor, nn
from torch.utils.data import Sampler
from transformers import (
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from tritonsmith import credit, jsonl, reward
from tritonsmith.config import Config, ConfigError
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import Judge
from tritonsmith.prompts import Ask
from tritonsmith.train import models, ranks, trainer
from tritonsmith.train.advantages import Assign, everywhere
from tritonsmith.train.clock import Clock
from tritonsmith.train.conversing import Converser
from tritonsmith.train.desk import Address, Desk, Far, Report
from tritonsmith.train.order import CurriculumSampler
from tritonsmith.train.policy import Policy, make_room
from tritonsmith.train.rewarding import Conversation, KernelReward
from tritonsmith.train.rollout import Inputs, Rollout, joined, padded
from tritonsmith.train.stage import Stage, frontend
from tritonsmith.types import Task, Verdict

log = logging.getLogger(__name__)

CURRICULUM = "curriculum.json"
"""The curriculum's state and its sampler's, in each checkpoint."""
AHEAD = "ahead.pt"
"""In each checkpoint, the batch that was drawn and not trained on, where batches are drawn ahead; of all processes."""
RECORDS = "records.jsonl"
ROW_MEANS = ("grpo", "dr_grpo")
"""TRL's losses that are means over the rows of a step."""


class CurriculumTrainer(GRPOTrainer):
    """TRL's GRPO, whose tasks follow the curriculum and whose checkpoints remember it.

    With `ahead`, a step draws its batch and trains on the one before, which is judged meanwhile. The gradient then
    follows the ratio of the policy to the one that drew, whose log-probabilities are kept; the first batch is trained
    on twice.
    """

    curriculum: Curriculum
    rewards: KernelReward
    clock: Clock
    order: CurriculumSampler | None = None
    """None while the curriculum is off: TRL's own order holds."""
    assign: Assign | None = None
    """None: the advantages are TRL's own."""
    policy: Policy | None = None
    """What completions are drawn with; None: TRL's own way, for DeepSpeed's weights."""
    converser: Converser
    """Who draws a batch's turns."""
    ahead: bool = False
    waiting: Rollout | None = None
    """What was drawn ahead."""
    due: Rollout | None = None
    """What the step under way trains on."""

    def _generate_and_score_completions(self, inputs: Inputs) -> dict[str, Tensor]:
        if self.policy is not None:
            fresh = self._draw(self.policy, inputs)
            self.due = (self.waiting or fresh) if self.ahead else fresh
            self.waiting = fresh if self.ahead else None
            self.rewards.due = self.due.batch
            if not self.due.batch.settled:
                with self.clock.counting("wait"):
                    self.due.batch.found()
                    ranks.meet()  # without a limit in time: what follows has one, and another's verdicts may be late
                self.clock.add("verify", self.due.batch.seconds)
            inputs = self.due.inputs
        made = super()._generate_and_score_completions(inputs)
        if self.due is not None and self.due.logps is not None:
            made["old_per_token_logps"] = self.due.logps.to(made["completion_ids"].device)
        if self.due is not None and self.converser.turns > 1:
            self._leave_out(made, torch.tensor(self.due.taken))
        if self.assign is not None:
            ids, mask = made["completion_ids"], made["completion_mask"]
            rows = [row[keep.bool()].tolist() for row, keep in zip(ids, mask, strict=True)]
            made["advantages"] = self._shared(self.assign, rows, ids.shape[1]).to(ids.device)
        return made

    def _draw(self, policy: Policy, inputs: Inputs) -> Rollout:
        """Draw this process's part of a batch, each completion of which goes to be judged as it ends."""
        step = self.state.global_step
        before = self.waiting.batch if self.waiting is not None else None
        rollout = Rollout(list(inputs), step, self.rewards.begin([str(row["task"]) for row in inputs], step, before))
        turns, seed = self.converser.turns, self.args.seed + 1_000_003 * (step + 1)
        many = len(inputs) // turns

        def draw(turn: int, numbers: Sequence[int], prompts: Sequence[list[int]]) -> list[list[int]]:
            return policy.complete(
                prompts,
                self.temperature,
                cast(int, self.max_completion_length),
                seed + 1000 * turn,
                lambda place, ids: rollout.batch.add(numbers[place] * turns + turn, self._text(ids)),
                [ranks.rank() * many + number for number in numbers],
                many,
                again=turn > 0,
            )

        prompts = self.converser.converse(rollout, draw)
        rollout.batch.close()
        if self.ahead:
            with self.clock.counting("sample"):
                ranks.meet()  # where weights are spread, what follows needs all processes
                rollout.logps = self._logps(prompts, rollout.said())
        return rollout

    def _encode(self, chats: list[Conversation]) -> list[list[int]]:
        return cast("list[list[int]]", self._tokenize_prompts(chats)[0])

    def _text(self, ids: list[int]) -> str:
        return cast(str, self._tokenizer.decode(ids, skip_special_tokens=True))

    @torch.no_grad()
    def _logps(self, prompts: list[list[int]], completions: list[list[int]]) -> Tensor:
        """Log-probabilities (B, T) of what was drawn, under the policy as it is now and as training computes them."""
        ids, mask, width = padded(prompts, completions, cast(int, self._tokenizer.pad_token_id))
        device, size = self.accelerator.device, self.args.per_device_train_batch_size
        return self._get_per_token_logps_and_entropies(self.model, ids.to(device), mask.to(device), width, size)[0]

    def _generate_single_turn(
        self,
        prompt_ids: list[list[int]],
        images: None,
        multimodal_fields: dict[str, object],
        num_generations: int,
        has_tool_images: bool = False,
    ) -> tuple[list[list[int]], list[list[float]] | None]:
        if self.due is None:
            return super()._generate_single_turn(
                prompt_ids, images, multimodal_fields, num_generations, has_tool_images
            )
        return self.due.said(), None

    def _leave_out(self, made: dict[str, Tensor], taken: Tensor) -> None:
        """Take the rows of turns that were not taken out of the loss and of what it is a mean over."""
        taken = taken.to(self.accelerator.device)
        made["tool_mask"] = made["completion_mask"] * taken[:, None]
        made["num_items_in_batch"] = everywhere(made["tool_mask"].sum()).sum()
        made["share_taken"] = everywhere(taken.float()).mean()

    def _compute_loss(self, model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
        loss = super()._compute_loss(model, inputs)
        if "share_taken" not in inputs or self.loss_type not in ROW_MEANS:
            return loss
        return loss / inputs["share_taken"]  # a mean over all rows becomes one over those that were taken

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
        waiting = joined(ranks.gathered(self.waiting.state())) if self.waiting is not None else None
        if not ranks.is_first():
            return
        place = self.order.place() if self.order is not None else None
        (folder / CURRICULUM).write_text(json.dumps({"curriculum": self.curriculum.state_dict(), "place": place}))
        if waiting is not None:
            torch.save(waiting, folder / AHEAD)

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        super()._load_optimizer_and_scheduler(checkpoint)
        if checkpoint is None:
            return
        state = json.loads((Path(checkpoint) / CURRICULUM).read_text())
        self.curriculum.load_state_dict(state["curriculum"])
        if self.order is not None and state["place"] is not None:
            self.order.go_to(state["place"])
        if (Path(checkpoint) / AHEAD).exists():
            self.waiting = Rollout.of(torch.load(Path(checkpoint) / AHEAD), self.rewards, self._text)


class _Timed(TrainerCallback):
    """Writes a line for each step, where its time went; ends the training when its budget is spent."""

    def __init__(self, learner: CurriculumTrainer) -> None:
        self.learner = learner

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Close the step."""
        row = self.learner.clock.close(state.global_step)
        for part, seconds in row.items():
            if part != "step":
                self.learner._metrics["train"][f"time/{part}"].append(seconds)
        control.should_training_stop |= ranks.first(lambda: self.learner.clock.over)


def train(
    config: Config,
    tasks: Sequence[Task],
    verifier: Judge,
    start: Path | None,
    resume: bool = True,
    *,
    minutes: float | None = None,
    callbacks: Sequence[TrainerCallback] = (),
    stage: Stage | None = None,
) -> Path:
    """Run the `[grpo]` section from the model in `start` (None: the configured one); return `run.dir/grpo/model`.

    Ends early when `minutes` are spent, those of earlier processes included (`run.dir/grpo/steps.jsonl`). Raises
    ConfigError where the numbers do not fit together or no prompt fits into `max_prompt` tokens. Called on rank 0,
    whose verifier judges what all ranks draw; `callbacks` are rank 0's alone. `stage` is the frontend's where not
    given.
    """
    keep = partial(jsonl.append, config.run.dir / "grpo" / RECORDS)
    with contextlib.ExitStack() as stack:
        if ranks.count() > 1:
            desk = stack.enter_context(Desk(verifier, keep))
            stack.enter_context(
                ranks.together(_train_far, config, list(tasks), desk.address, start, resume, minutes, stage)
            )
        return _train(config, tasks, verifier, keep, start, resume, minutes, callbacks, stage)


def _train_far(
    config: Config,
    tasks: list[Task],
    address: Address,
    start: Path | None,
    resume: bool,
    minutes: float | None,
    stage: Stage | None,
) -> None:
    """Another rank's part of `train`."""
    make_room()
    report = Report(address)
    try:
        _train(config, tasks, Far(address), report, start, resume, minutes, (), stage)
    finally:
        report.close()


def _train(
    config: Config,
    tasks: Sequence[Task],
    verifier: Judge,
    keep: Callable[[str], None],
    start: Path | None,
    resume: bool,
    minutes: float | None,
    callbacks: Sequence[TrainerCallback],
    stage: Stage | None,
) -> Path:
    """Train on this rank; `keep` adds a line to the records."""
    out = config.run.dir / "grpo"
    own = config.grpo
    model, tokenizer = trainer.load(config, start, master=True, spread=True)
    positions = int(getattr(model.config, "max_position_embeddings", own.max_prompt + 1))
    stage, longest = stage or frontend(config), min(own.max_prompt, positions - 1)
    rows = _rows(config, tasks, stage.ask, tokenizer, longest)
    try:
        args = GRPOConfig(
            **trainer.options(config, model, out / "checkpoints", own.steps),  # pyright: ignore[reportArgumentType]
            learning_rate=own.lr,
            lr_scheduler_type="constant",
            max_steps=own.steps,
            **_shares(config),
            num_generations=own.num_generations * own.turns,
            max_completion_length=own.max_completion,
            temperature=own.temperature,
            beta=own.beta,
            loss_type=own.loss,
            scale_rewards="none" if own.loss == "dr_grpo" else "group",
            save_steps=own.save_steps,
        )
    except ValueError as error:
        raise ConfigError(f"grpo: {' '.join(str(error).split())}") from error
    trainer.alone(args)
    group = own.num_generations * own.turns
    groups = (args.generation_batch_size or own.batch) // group
    if groups > len(rows):
        raise ConfigError(f"grpo: a step draws {groups} distinct tasks, and tasks.train has {len(rows)} that fit")
    curriculum = Curriculum.from_config(config.curriculum)
    workers = max(1, (config.verify.workers or os.cpu_count() or 1) // ranks.count())
    rewards = KernelReward(tasks, verifier, out / RECORDS, curriculum, _score(config), workers, keep)
    rewards.first = ranks.rank() * args.per_device_train_batch_size * (args.steps_per_generation or 1)
    rewards.turns = own.turns
    rewards.first = rewards.first % group // own.turns
    learner = CurriculumTrainer(
        model=model,
        reward_funcs=cast("Callable[..., list[float | None]]", rewards),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=models.lora(config.lora) if config.lora.enabled and not isinstance(model, PeftModel) else None,
    )
    learner.curriculum, learner.rewards = curriculum, rewards
    learner.clock = Clock(out / "steps.jsonl", minutes)
    learner.ahead = own.ahead
    if not learner.is_deepspeed_enabled:
        drawn_from = learner.accelerator.unwrap_model(learner.model)
        learner.policy = Policy(drawn_from, tokenizer, trainer.dtype(config), learner.is_fsdp_enabled)
    elif own.turns > 1:
        raise ConfigError("grpo.turns: feedback turns are not drawn from DeepSpeed's weights; DDP and FSDP have them")
    learner.converser = Converser(own.turns, stage, longest, learner._encode, learner._text, learner.clock)
    learner.assign = _assign(config, rewards, tokenizer)
    if config.extensions.curriculum:
        levels = [cast(int, row["level"]) for row in rows]
        again = learner.num_iterations * (args.steps_per_generation or 1)
        learner.order = CurriculumSampler(levels, curriculum, groups, group, again, config.run.seed)
    trainer.prepare(learner, config, "grpo")
    logging.getLogger("trl.trainer.grpo_trainer").addFilter(_is_no_dump)
    for callback in (_Timed(learner), *callbacks):
        learner.add_callback(callback)
    try:
        trainer.run_trainer(learner, resume)
    finally:
        for rollout in (learner.due, learner.waiting):
            if rollout is not None:
                rollout.batch.stop()
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
    group = own.num_generations * own.turns
    return Assign(rewards, tokenizer, group, method, scheme.scheme, scheme.alpha, scheme.cap, own.keep)


def _shares(config: Config) -> dict[str, int]:
    """TRL's arguments for each process's part of a step: whole conversations, as many rows at a time as with one turn.

    Raises ConfigError where the processes cannot share equally, or the loss cannot leave rows out.
    """
    own = config.grpo
    if own.turns > 1 and own.loss == "bnpo":
        raise ConfigError('grpo.turns: loss = "bnpo" is a mean over what is at hand at a time; "dapo" is one over all')
    shares = trainer.divided(own.batch, own.accumulation, "grpo")
    shares["gradient_accumulation_steps"] *= own.turns
    return shares


def _is_no_dump(record: logging.LogRecord) -> bool:
    """Not TRL's of a prompt without a reward: turns that were not taken have none, and who fails to judge says so."""
    return "All reward functions returned None" not in record.getMessage()


def _score(config: Config) -> Callable[[Verdict], float]:
    return lambda verdict: reward.score(verdict, config.reward.scheme, config.reward.cap)


def _rows(
    config: Config, tasks: Sequence[Task], ask: Ask, tokenizer: PreTrainedTokenizerBase, longest: int
) -> list[dict[str, str | int | Conversation]]:
    """Make the data set: prompt, task and level, of the tasks whose prompt has at most `longest` tokens."""
    rows: list[dict[str, str | int | Conversation]] = []
    for task in tasks:
        prompt = ask(task)
        length = len(
            tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=True, return_dict=False)
        )
        if length <= longest:
            rows.append({"prompt": prompt, "task": task.id, "level": task.level})
    if len(rows) < len(tasks):
        log.warning("grpo: %d of %d prompts exceed %d tokens", len(tasks) - len(rows), len(tasks), longest)
    if not rows:
        raise ConfigError(f"grpo.max_prompt = {config.grpo.max_prompt}: every prompt exceeds {longest} tokens")
    return rows
