"""Style B of RL: GRPO on TRL's trainer, with the verifier as the reward and the curriculum as the sampler.

Puts a run together and trains; what is ours of the trainer itself is in `learner`.

With feedback turns (`grpo.turns`, as in Kevin, Baronio et al. 2025, arXiv 2507.11948, section 3) each turn is a row of
its own: its prompt is the conversation up to there, its reward what it is worth to the conversation (`credit.returns`).
A group, over which rewards become advantages, is all turns of all conversations about a task. The rows of turns that
were not taken are in no group's mean or deviation, and neither in the loss nor in what it is a mean over.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

from peft import PeftModel
from transformers import PreTrainedModel, PreTrainedTokenizerBase, PreTrainedTokenizerFast, TrainerCallback
from trl.trainer.grpo_config import GRPOConfig

from tritonsmith import credit, jsonl, reward
from tritonsmith.config import Config, ConfigError, GrpoSection
from tritonsmith.cores import cores
from tritonsmith.curriculum import Curriculum
from tritonsmith.evaluate import Judge, read
from tritonsmith.train import models, ranks, trainer
from tritonsmith.train.advantages import Assign
from tritonsmith.train.asking import Questions
from tritonsmith.train.clock import Clock
from tritonsmith.train.conversing import Converser
from tritonsmith.train.desk import Address, Desk, Far, Report
from tritonsmith.train.imitation import Imitation
from tritonsmith.train.learner import CurriculumTrainer, FirstForward, Timed
from tritonsmith.train.order import CurriculumSampler
from tritonsmith.train.policy import Policy, make_room
from tritonsmith.train.rewarding import KernelReward
from tritonsmith.train.stage import Stage, frontend
from tritonsmith.train.telling import Silence
from tritonsmith.types import Task, Verdict

log = logging.getLogger(__name__)

RECORDS = "records.jsonl"


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
    out, own = config.run.dir / "grpo", config.grpo
    clock = Clock(out / "steps.jsonl", minutes)  # loading and asking count, as in best-of-N
    model, tokenizer = trainer.load(config, start, master=True, spread=True)
    positions = int(getattr(model.config, "max_position_embeddings", own.max_prompt + 1))
    stage, longest = stage or frontend(config), min(own.max_prompt, positions - 1)
    questions = Questions.of(tasks, stage.ask, tokenizer, longest)
    args = _arguments(config, model, out)
    curriculum = Curriculum.from_config(config.curriculum)
    rewards = _rewards(config, args, tasks, verifier, curriculum, keep)
    order = _order(config, args, questions, curriculum)
    learner = CurriculumTrainer(
        model=model,
        reward_funcs=cast("Callable[..., list[float | None]]", rewards),
        args=args,
        train_dataset=questions.dataset(),
        processing_class=tokenizer,
        peft_config=models.lora(config.lora, model)
        if config.lora.enabled and not isinstance(model, PeftModel)
        else None,
    )
    learner.questions, learner.curriculum, learner.rewards, learner.clock = questions, curriculum, rewards, clock
    learner.ahead, learner.updates, learner.silence = own.ahead, own.updates * own.iterations, Silence()
    learner.policy, learner.order = _policy(config, learner, tokenizer), order
    learner.converser = Converser(own.turns, stage, longest, learner._encode, learner._text, learner.clock)
    learner.assign = _assign(config, rewards, tokenizer)
    if own.imitate:
        learner.imitation = Imitation(own.imitate, own.rename)
        learner.imitation.recall(read(out / RECORDS))
    trainer.prepare(learner, config, "grpo")
    logging.getLogger("trl.trainer.grpo_trainer").addFilter(_is_no_dump)
    first = [FirstForward(learner)] if learner.is_fsdp_enabled else []
    for callback in (*first, Timed(learner), *callbacks):
        learner.add_callback(callback)
    try:
        trainer.run_trainer(learner, resume)
    finally:
        for rollout in (learner.due, learner.waiting):
            if rollout is not None:
                rollout.batch.stop()
    return trainer.finish(learner, out / "model")


def _arguments(config: Config, model: PreTrainedModel | PeftModel, out: Path) -> GRPOConfig:
    """TRL's settings for ours; raises ConfigError where it has none for them."""
    own = config.grpo
    learnt = own.updates * own.iterations
    try:
        args = GRPOConfig(
            **trainer.options(config, model, out / "checkpoints", own.steps * learnt),  # pyright: ignore[reportArgumentType]
            learning_rate=own.lr,
            lr_scheduler_type=_schedule(own),
            warmup_steps=own.warmup,
            max_steps=own.steps * learnt,
            **_shares(config),
            num_generations=own.num_generations * own.turns,
            num_iterations=own.iterations,
            max_completion_length=own.max_completion,
            temperature=own.temperature,
            beta=own.beta,
            loss_type=own.loss,
            delta=own.delta,
            top_entropy_quantile=own.top_entropy,
            scale_rewards=_scale(own),
            save_steps=own.save_steps * learnt,
        )
    except ValueError as error:
        raise ConfigError(f"grpo: {' '.join(str(error).split())}") from error
    trainer.alone(args)
    return args


def _rewards(
    config: Config,
    args: GRPOConfig,
    tasks: Sequence[Task],
    verifier: Judge,
    curriculum: Curriculum,
    keep: Callable[[str], None],
) -> KernelReward:
    """What scores this rank's completions."""
    turns, group = config.grpo.turns, config.grpo.num_generations * config.grpo.turns
    workers = max(1, (config.verify.workers or cores()) // ranks.count())
    path = config.run.dir / "grpo" / RECORDS
    rewards = KernelReward(tasks, verifier, path, curriculum, _score(config), workers, keep)
    earlier = ranks.rank() * args.per_device_train_batch_size * (args.steps_per_generation or 1)
    rewards.turns, rewards.first, rewards.timeout = turns, earlier % group // turns, config.verify.seconds()
    return rewards


def _order(config: Config, args: GRPOConfig, questions: Questions, curriculum: Curriculum) -> CurriculumSampler | None:
    """In which order tasks are drawn where the curriculum says it; raises ConfigError where a step wants too many."""
    own = config.grpo
    group = own.num_generations * own.turns
    groups = (args.generation_batch_size or own.batch) // group
    if groups > (there := len(questions.rows)):
        raise ConfigError(f"grpo: a step draws {groups} distinct tasks, and tasks.train has {there} that fit")
    if not config.extensions.curriculum:
        return None
    levels = [cast(int, row["level"]) for row in questions.rows]
    again = own.iterations * (args.steps_per_generation or 1)
    return CurriculumSampler(levels, curriculum, groups, group, again, config.run.seed)


def _policy(config: Config, learner: CurriculumTrainer, tokenizer: PreTrainedTokenizerBase) -> Policy | None:
    """What draws from the weights in training; None under DeepSpeed, where TRL does, and some settings are refused."""
    if not learner.is_deepspeed_enabled:
        drawn_from = learner.accelerator.unwrap_model(learner.model)
        return Policy(drawn_from, tokenizer, trainer.dtype(config), learner.is_fsdp_enabled)
    if config.grpo.turns > 1:
        raise ConfigError("grpo.turns: feedback turns are not drawn from DeepSpeed's weights; DDP and FSDP have them")
    if config.grpo.imitate:
        raise ConfigError("grpo.imitate: right answers do not come back under DeepSpeed; under DDP and FSDP they do")
    return None


def _assign(config: Config, rewards: KernelReward, tokenizer: PreTrainedTokenizerBase) -> Assign | None:
    """`credit` in place of TRL's advantages: of rewards in parts, by a named method, or where not all of a failure is
    blamed."""
    own, scheme = config.grpo, config.reward
    if own.credit == "trl" and own.blame == "answer" and scheme.scheme != "hierarchical":
        return None
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise ConfigError(
            "grpo.credit, grpo.blame and the hierarchical reward need a fast tokenizer, which this model has not"
        )
    if own.credit == "trl" and own.scale == "batch":
        raise ConfigError('grpo.scale = "batch" is of TRL\'s own advantages: not with grpo.blame or a reward in parts')
    if own.credit != "trl" and own.scale != "auto":
        raise ConfigError(f'grpo.scale is of TRL\'s credit: credit = "{own.credit}" says itself what it divides by')
    fallback: credit.Method = "dr_grpo" if _scale(own) == "none" else "grpo"
    method = fallback if own.credit == "trl" else own.credit
    group = own.num_generations * own.turns
    return Assign(rewards, tokenizer, group, method, scheme.scheme, scheme.alpha, scheme.cap, own.keep, own.blame)


def _schedule(own: GrpoSection) -> str:
    """transformers' name for how the rate goes: its constant one has no warm-up."""
    return "constant_with_warmup" if own.schedule == "constant" and own.warmup else own.schedule


def _scale(own: GrpoSection) -> str:
    """TRL's name for what advantages are divided by."""
    if own.scale != "auto":
        return own.scale
    return "none" if own.loss == "dr_grpo" else "group"


def an_update(own: GrpoSection) -> tuple[int, int]:
    """How many rows an optimiser's step takes at a time, and how often; raises ConfigError where that does not fit."""
    part, rest = divmod(own.batch * own.accumulation, own.updates)
    if rest:
        rows = f"batch x accumulation = {own.batch} x {own.accumulation} rows"
        raise ConfigError(f"grpo: a step has {rows}, which updates = {own.updates} cannot share equally")
    return (own.batch, part // own.batch) if part % own.batch == 0 else (part, 1)


def _shares(config: Config) -> dict[str, int]:
    """TRL's arguments for each process's part of a step: whole conversations, as many rows at a time as with one turn.

    Raises ConfigError where processes or updates cannot share equally, or the loss cannot leave rows out.
    """
    own = config.grpo
    if own.turns > 1 and own.loss == "bnpo":
        raise ConfigError('grpo.turns: loss = "bnpo" is a mean over what is at hand at a time; "dapo" is one over all')
    shares = trainer.divided(*an_update(own), "grpo")
    shares["gradient_accumulation_steps"] *= own.turns
    return {**shares, "steps_per_generation": shares["gradient_accumulation_steps"] * own.updates}


def _is_no_dump(record: logging.LogRecord) -> bool:
    """Not TRL's of a prompt without a reward: turns that were not taken have none, and who fails to judge says so."""
    return "All reward functions returned None" not in record.getMessage()


def _score(config: Config) -> Callable[[Verdict], float]:
    own = config.reward
    return lambda verdict: reward.score(verdict, own.scheme, own.cap, own.alpha)
