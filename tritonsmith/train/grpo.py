"""Style B of RL: GRPO on TRL's trainer, with the verifier as the reward and the curriculum as the sampler.

The overrides: which tasks come next, and what a checkpoint holds beside the trainer's own state. Advantages of
plan and code segments are not here yet: they replace `advantages` after `_generate_and_score_completions`.
"""

import json
import logging
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Literal, TypedDict, cast

from datasets import Dataset
from peft import PeftModel
from torch import nn
from torch.utils.data import Sampler
from transformers import PreTrainedTokenizerBase
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from tritonsmith import jsonl, reward
from tritonsmith.config import Config, ConfigError
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import Judge, read
from tritonsmith.extract import extract
from tritonsmith.prompts import messages
from tritonsmith.train import models, trainer
from tritonsmith.types import Candidate, Record, Task, Verdict

log = logging.getLogger(__name__)

CURRICULUM = "curriculum.json"
"""The curriculum's state and its sampler's, in each checkpoint."""

Conversation = list[dict[str, str]]


class Place(TypedDict):
    """Where a `CurriculumSampler` is, as plain JSON data."""

    rng: list[object]
    """`random.Random.getstate()`."""
    drawn: list[list[int]]
    """The epoch's generation batches so far, those that the loader has read ahead among them."""


class KernelReward:
    """TRL's reward function: extract, judge, score, keep a record. One instance serves one run.

    A verdict that `records` (JSONL) holds already is not asked for again; a candidate that a resumed run draws a
    second time at the same step is not written a second time. Time limits are the verifier's.
    """

    __name__ = "kernel_reward"

    def __init__(
        self,
        tasks: Sequence[Task],
        verifier: Judge,
        records: Path,
        curriculum: Curriculum,
        score: Callable[[Verdict], float],
    ) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.verifier = verifier
        self.records = records
        self.curriculum = curriculum
        self.score = score
        self.verdicts: dict[tuple[str, str | None], Verdict] = {}
        self.written: set[tuple[int, str, int, str]] = set()
        for record in read(records):
            self.verdicts[record.task, record.source] = record.verdict
            self.written.add((record.step, record.task, record.sample, record.completion))

    def __call__(
        self,
        prompts: Sequence[Conversation],
        completions: Sequence[Conversation],
        task: Sequence[str],
        trainer_state: object,
        log_metric: Callable[[str, float], None],
        **_: object,
    ) -> list[float]:
        """Score one completion each; also logs the correct rate and what the curriculum makes of it."""
        step = int(getattr(trainer_state, "global_step", 0))
        candidates = _candidates(task, completions)
        verdicts = self._judge(candidates, step)
        rates: defaultdict[int, list[float]] = defaultdict(list)
        for candidate, verdict in zip(candidates, verdicts, strict=True):
            rates[min(self.tasks[candidate.task].level, 2)].append(float(verdict.correct))
        for level, values in sorted(rates.items()):
            self.curriculum.observe(level, fmean(values))
        log_metric("correct", fmean(float(verdict.correct) for verdict in verdicts))
        for name, value in self.curriculum.metrics().items():
            log_metric(name, value)
        return [self.score(verdict) for verdict in verdicts]

    def _judge(self, candidates: Sequence[Candidate], step: int) -> list[Verdict]:
        verdicts: dict[int, Verdict] = {}

        def settle(index: int, verdict: Verdict) -> None:
            candidate = candidates[index]
            self.verdicts[candidate.task, candidate.source] = verdict
            verdicts[index] = verdict.model_copy(update={"sample": candidate.sample})
            self._write(candidate, verdicts[index], step)

        missing = []
        for index, candidate in enumerate(candidates):
            known = self.verdicts.get((candidate.task, candidate.source))
            if known is None:
                missing.append(index)
            else:
                settle(index, known)
        jobs = [(self.tasks[candidates[index].task], candidates[index]) for index in missing]
        self.verifier.verify_many(jobs, lambda i, verdict: settle(missing[i], verdict))
        return [verdicts[index] for index in range(len(candidates))]

    def _write(self, candidate: Candidate, verdict: Verdict, step: int) -> None:
        completion = candidate.completion or ""
        key = (step, candidate.task, candidate.sample, completion)
        if key in self.written:
            return
        self.written.add(key)
        record = Record(
            phase="grpo",
            step=step,
            task=candidate.task,
            level=self.tasks[candidate.task].level,
            sample=candidate.sample,
            completion=completion,
            source=candidate.source,
            verdict=verdict,
        )
        jsonl.append(self.records, record.model_dump_json())


def _candidates(tasks: Sequence[str], completions: Sequence[Conversation]) -> list[Candidate]:
    """Number the completions of each task and extract their code."""
    seen: defaultdict[str, int] = defaultdict(int)
    candidates = []
    for task, completion in zip(tasks, completions, strict=True):
        text = completion[0]["content"]
        candidates.append(Candidate(task=task, sample=seen[task], source=extract(text).source, completion=text))
        seen[task] += 1
    return candidates


class CurriculumSampler(Sampler[int]):
    """The order of TRL's `RepeatSampler`, with each generation batch drawn by the curriculum as it is then.

    Each of `batch` distinct tasks comes `repeat` times in a row (its group), and the whole batch `again` times.
    """

    def __init__(
        self, levels: Sequence[int], curriculum: Curriculum, batch: int, repeat: int, again: int, seed: int
    ) -> None:
        """`levels[i]` is the level of the data set's row i; everything above 1 counts as 2."""
        self.curriculum = curriculum
        self.batch = batch
        self.repeat = repeat
        self.again = again
        self.rng = random.Random(seed)
        self.drawn: list[list[int]] = []
        self.replayed: deque[list[int]] = deque()
        self.by_level: dict[int, list[int]] = {}
        for index, level in enumerate(levels):
            self.by_level.setdefault(min(level, 2), []).append(index)
        self.rows = len(levels)

    def draw(self) -> list[int]:
        """Draw distinct rows for one generation batch."""
        chosen: list[int] = []
        for level in self.curriculum.sample_levels(self.batch, self.rng, set(self.by_level)):
            free = [index for index in self.by_level[level] if index not in chosen]
            free = free or [index for index in range(self.rows) if index not in chosen]
            chosen.append(self.rng.choice(free))
        return chosen

    def __iter__(self) -> Iterator[int]:
        for _ in range(max(1, self.rows // self.batch)):
            chosen = self.replayed.popleft() if self.replayed else self.draw()
            self.drawn.append(chosen)
            for _ in range(self.again):
                for index in chosen:
                    yield from [index] * self.repeat
        self.drawn.clear()

    def __len__(self) -> int:
        return max(1, self.rows // self.batch) * self.batch * self.repeat * self.again

    def place(self) -> Place:
        """What a checkpoint must hold to go on with the very batches that come next."""
        return {"rng": list(self.rng.getstate()), "drawn": self.drawn}

    def go_to(self, place: Place) -> None:
        """Let the next epoch be that of a `place`, from its beginning: the trainer skips what it has done of it."""
        version, internal, gauss = place["rng"]
        self.rng.setstate((version, tuple(cast("list[int]", internal)), gauss))
        self.replayed = deque(place["drawn"])


class CurriculumTrainer(GRPOTrainer):
    """TRL's GRPO, whose tasks follow the curriculum and whose checkpoints remember it."""

    curriculum: Curriculum
    order: CurriculumSampler | None = None
    """None while the curriculum is off: TRL's own order holds."""

    def _get_train_sampler(self, dataset: Dataset | None = None) -> Sampler[int]:
        return self.order if self.order is not None else super()._get_train_sampler(dataset)

    def _save_checkpoint(self, model: nn.Module, trial: object) -> None:
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
    if config.extensions.curriculum:
        levels = [cast(int, row["level"]) for row in rows]
        again = learner.num_iterations * (args.steps_per_generation or 1)
        learner.order = CurriculumSampler(levels, curriculum, groups, own.num_generations, again, config.run.seed)
    trainer.prepare(learner, config, "grpo")
    trainer.run_trainer(learner, resume)
    return trainer.finish(learner, out / "model")


def _score(config: Config) -> Callable[[Verdict], float]:
    return lambda verdict: reward.score(verdict, config.reward.scheme, config.reward.cap)


def _rows(
    config: Config, tasks: Sequence[Task], tokenizer: PreTrainedTokenizerBase
) -> list[dict[str, str | int | Conversation]]:
    """Make the data set: prompt, task and level, of the tasks whose prompt is short enough."""
    style: Literal["bare", "full"] = models.prompt_style(config.model)
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
