"""TRL's GRPO trainer with our own parts in it: the curriculum as its sampler, our drawing, our advantages.

The overrides: which tasks come next, how completions are drawn, what a checkpoint holds beside the trainer's own state,
and, where TRL's own advantages are not the ones wanted, `credit`'s over plan and code tokens in their place. Knows
nothing of configurations: `grpo` puts a run together.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

import torch
from datasets import Dataset
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
from torch.utils.data import Sampler
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.utils import RepeatSampler

from tritonsmith.curriculum import Curriculum
from tritonsmith.train import ranks
from tritonsmith.train.advantages import Assign, everywhere
from tritonsmith.train.asking import Questions
from tritonsmith.train.clock import Clock
from tritonsmith.train.conversing import Converser
from tritonsmith.train.imitation import Imitation, placed
from tritonsmith.train.order import CurriculumSampler, Reshuffled
from tritonsmith.train.policy import Policy
from tritonsmith.train.rewarding import Conversation, KernelReward
from tritonsmith.train.rollout import Inputs, Rollout, joined, padded
from tritonsmith.train.telling import ROW_MEANS, Silence, speaking, telling

CURRICULUM = "curriculum.json"
"""The curriculum's state and its sampler's, in each checkpoint."""
AHEAD = "ahead.pt"
"""In each checkpoint, the batch that was drawn and not trained on, where batches are drawn ahead; of all processes."""


class CurriculumTrainer(GRPOTrainer):
    """TRL's GRPO, whose tasks follow the curriculum and whose checkpoints remember it.

    With `ahead`, a step draws its batch and trains on the one before, which is judged meanwhile. The gradient then
    follows the ratio of the policy to the one that drew, whose log-probabilities are kept; the first batch is trained
    on twice.
    """

    questions: Questions
    """What the data set's rows stand for."""
    curriculum: Curriculum
    rewards: KernelReward
    clock: Clock
    order: CurriculumSampler | None = None
    """None while the curriculum is off: TRL's own order holds, another each epoch."""
    assign: Assign | None = None
    """None: the advantages are TRL's own."""
    policy: Policy | None = None
    """What completions are drawn with; None: TRL's own way, for DeepSpeed's weights."""
    converser: Converser
    """Who draws a batch's turns."""
    ahead: bool = False
    updates: int = 1
    """Optimiser steps of each batch, over all iterations; `step` is elsewhere what is drawn, and an optimiser's step
    TRL's `global_step`."""
    waiting: Rollout | None = None
    """What was drawn ahead."""
    due: Rollout | None = None
    """What the step under way trains on."""
    scoring: bool = False
    """Whether TRL makes a batch of what is due."""
    silence: Silence
    """Says where batches tell nothing."""
    imitation: Imitation | None = None
    """Right answers that come back in later batches."""

    def _generate_and_score_completions(self, inputs: Sequence[Mapping[str, int]]) -> dict[str, Tensor]:
        asked = self.questions.asked(inputs)
        if self.policy is not None:
            fresh = self._draw(self.policy, asked)
            self.due = (self.waiting or fresh) if self.ahead else fresh
            self.waiting = fresh if self.ahead else None
            self.rewards.due = self.due.batch
            if not self.due.batch.settled:
                with self.clock.counting("wait"):
                    self.due.batch.found()
                    ranks.meet()  # without a limit in time: what follows has one, and another's verdicts may be late
                self.clock.add("verify", self.due.batch.seconds)
            asked = self.due.inputs
        self.scoring = True
        made = super()._generate_and_score_completions(asked)
        self.scoring = False
        if self.due is not None and self.due.logps is not None:
            made["old_per_token_logps"] = self.due.logps.to(made["completion_ids"].device)
        if self.due is not None and self.converser.turns > 1:
            self._leave_out(made, torch.tensor(self.due.taken))
        if self.assign is not None:
            ids, mask = made["completion_ids"], made["completion_mask"]
            # All at once: a GPU is waited for at each question.
            rows = [row[:count] for row, count in zip(ids.tolist(), mask.sum(1).tolist(), strict=True)]
            made["advantages"] = self._shared(self.assign, rows, ids.shape[1]).to(ids.device)
        if self.imitation is not None and self.due is not None:
            made = self._imitate(made, self.imitation, self.due)
        heard = int(everywhere(speaking(made).sum()).sum())
        if ranks.is_first():
            self.silence.heard(heard)
        return made

    def _imitate(self, made: dict[str, Tensor], imitation: Imitation, due: Rollout) -> dict[str, Tensor]:
        """Put earlier right answers where rows say nothing, and keep this batch's for later ones."""
        verdicts, candidates = due.batch.found()
        right = [
            (one.task, one.completion or "")
            for one, verdict in zip(candidates, verdicts, strict=True)
            if one is not None and verdict is not None and verdict.correct
        ]
        for some in ranks.gathered(right):
            imitation.add(due.step, some)
        answers = imitation.due(due.step)
        chats, seed = self.questions.chats, f"{self.args.seed}/{due.step}"
        silent = (~speaking(made)).nonzero().flatten().tolist()
        mine = [one for one in answers[ranks.share(len(answers))] if one[0] in chats][: len(silent)]
        told = [imitation.told(chats[task], text, f"{seed}/{task}") for task, text in mine]
        prompts, completions = self._encoded(told)
        # Equally many on each process: where weights are spread, a forward pass needs all of them.
        count = min(ranks.gathered(min(len(prompts), len(silent))))
        if not count:
            return made
        prompts, completions = prompts[:count], completions[:count]
        pad = cast(int, self._tokenizer.pad_token_id)
        logps = self._logps(prompts, completions)
        weights = None if self.assign is None else self.assign.weights(completions, logps.shape[1])
        made = placed(made, silent[:count], prompts, completions, logps, pad, weights)
        made["num_items_in_batch"] = everywhere(made["completion_mask"].sum()).sum()
        return made

    def _encoded(self, answers: Sequence[tuple[Conversation, str]]) -> tuple[list[list[int]], list[list[int]]]:
        """The tokens of prompts and of answers, the end token included, that are no longer than what is drawn."""
        if not answers:
            return [], []
        asked = self._encode([chat for chat, _ in answers])
        said = self._tokenizer([text for _, text in answers], add_special_tokens=False)["input_ids"]
        whole = [[*ids, cast(int, self._tokenizer.eos_token_id)] for ids in cast("list[list[int]]", said)]
        fit = [place for place, ids in enumerate(whole) if len(ids) <= cast(int, self.max_completion_length)]
        return [asked[place] for place in fit], [whole[place] for place in fit]

    def _draw(self, policy: Policy, inputs: Inputs) -> Rollout:
        """Draw this process's part of a batch, each completion of which goes to be judged as it ends."""
        step = self.state.global_step // self.updates
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

    def _tokenize_prompts(self, prompts: list[Conversation]) -> tuple[list[list[int]], None, dict[str, object]]:
        known = [self.questions.known(one) for one in prompts]
        others = [one for one, ids in zip(prompts, known, strict=True) if ids is None]
        fresh = iter(super()._tokenize_prompts(others)[0] if others else [])
        return [next(fresh) if ids is None else ids for ids in known], None, {}

    def _text(self, ids: list[int]) -> str:
        return cast(str, self._tokenizer.decode(ids, skip_special_tokens=True))

    @torch.no_grad()
    def _logps(self, prompts: list[list[int]], completions: list[list[int]]) -> Tensor:
        """Log-probabilities (B, T) of what was drawn, under the policy as it is now and as training computes them."""
        ids, mask, width = padded(prompts, completions, cast(int, self._tokenizer.pad_token_id))
        device, size = self.accelerator.device, self.args.per_device_train_batch_size
        return self._get_per_token_logps_and_entropies(self.model, ids.to(device), mask.to(device), width, size)[0]

    def _get_per_token_logps_and_entropies(
        self, model: nn.Module | None, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """TRL's; not once more of what is due, under weights that did not draw it, where TRL asks for nothing else."""
        known = self.due.logps if self.scoring and self.beta == 0 and self.due is not None else None
        if known is not None:
            return known.to(self.accelerator.device), None, None
        found = super()._get_per_token_logps_and_entropies(model, *args, **kwargs)
        return cast("tuple[Tensor, Tensor | None, Tensor | None]", found)

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
        share: Tensor | float = 1.0
        if self.beta == 0 and not self.aux_loss_enabled and inputs["advantages"].shape[0] > 1:
            inputs, share = telling(inputs, self.loss_type, int(everywhere(speaking(inputs).sum()).max()))
        loss = super()._compute_loss(model, inputs) * share
        if "share_taken" not in inputs or self.loss_type not in ROW_MEANS:
            return loss
        return loss / inputs["share_taken"]  # a mean over all rows becomes one over those that were taken

    def _shared(self, assign: Assign, rows: list[list[int]], width: int) -> Tensor:
        """This process's advantages (B, T): a group may lie on several processes, so all of them are known to each."""
        device = self.accelerator.device
        found = assign.masks(rows, width)
        rewards = {name: everywhere(values.to(device)) for name, values in assign.rewards().items()}
        wide = {name: self._wide(mask) for name, mask in found.items()}
        blame = assign.blame(rows, width)
        eligible = everywhere(assign.eligible().to(device))
        all_of_them = assign(rewards, wide, eligible, None if blame is None else self._wide(blame))
        own = self.accelerator.process_index * len(rows)
        return all_of_them[own : own + len(rows), :width]

    def _wide(self, mask: Tensor) -> Tensor:
        """The masks (B, T) of all processes, each as wide as the widest."""
        return everywhere(cast(Tensor, self.accelerator.pad_across_processes(mask.to(self.accelerator.device), dim=1)))

    def create_scheduler(self, num_training_steps: int, optimizer: Optimizer | None = None) -> LRScheduler:
        """TRL's, whose rate falls by the minutes where those will be over before the steps are."""
        scheduler = super().create_scheduler(num_training_steps, optimizer)
        if self.clock.limit is not None and isinstance(scheduler, LambdaLR):
            steps, warmup = num_training_steps, int(self.args.warmup_steps)
            hasten(scheduler, lambda: steps * ranks.first(lambda: self.clock.share), warmup)
        return scheduler

    def _get_train_sampler(self, dataset: Dataset | None = None) -> Sampler[int]:
        if self.order is not None:
            return self.order
        return Reshuffled(cast(RepeatSampler, super()._get_train_sampler(dataset)))

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


def hasten(scheduler: LambdaLR, due: Callable[[], float], warmup: int = 0) -> None:
    """Let a schedule be no earlier than at step `due()`, from its next step on; its warm-up goes step by step."""
    scheduler.lr_lambdas = [
        lambda step, before=before: before(step if step < warmup else max(step, int(due())))
        for before in scheduler.lr_lambdas
    ]


class Timed(TrainerCallback):
    """Writes a line for each step, where its time went, and the entropy of the rows last learnt from (nats a token).

    Ends the training when its budget is spent.
    """

    def __init__(self, learner: CurriculumTrainer) -> None:
        self.learner = learner

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Close the step, with the last update from its batch."""
        step, rest = divmod(state.global_step, self.learner.updates)
        if rest:
            return
        entropies = self.learner._metrics["train"]["entropy"]
        more = {"entropy": float(entropies[-1])} if entropies else {}
        row = self.learner.clock.close(step, **more)
        for part in row.keys() - {"step", *more}:
            self.learner._metrics["train"][f"time/{part}"].append(row[part])
        control.should_training_stop |= ranks.first(self.learner.clock.over)


class FirstForward(TrainerCallback):
    """Runs a model that FSDP spreads once, with its adapters on, before anything else does.

    At a model's first forward FSDP notes the precision that gradients are to be given, which is that of the weights
    that are trained then. TRL's first forward is the reference's, with the adapters off: nothing is trained then, and
    later no gradient fits its weight ("attempting to assign a gradient with dtype BFloat16", torch 2.11).
    """

    def __init__(self, learner: CurriculumTrainer) -> None:
        self.learner = learner

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: object
    ) -> None:
        """Run one token through it."""
        with torch.no_grad():
            cast(nn.Module, kwargs["model"])(
                input_ids=torch.zeros((1, 1), dtype=torch.long, device=self.learner.accelerator.device)
            )
