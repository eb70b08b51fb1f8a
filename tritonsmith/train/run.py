"""The whole road of `tritonsmith run`: SFT, RL, evaluation, report, step by step in one resumable folder.

Every step finds in `run.dir` what earlier ones left and does only what is missing. The steps themselves are in
`sft`, `best_of_n`, `grpo`, `midend`, `evaluate` and `report`; the dry run is this very code on a dummy model (`dry`).
"""

import fcntl
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import transformers
from huggingface_hub import constants
from rich.console import Console

from tritonsmith import config as configuration
from tritonsmith import evaluate, metrics, reward, turns
from tritonsmith.config import Config, ConfigError
from tritonsmith.data.rows import Row
from tritonsmith.progress import Watched
from tritonsmith.report import build
from tritonsmith.tasks.format import load_spec
from tritonsmith.train import best_of_n, grpo, midend, models, ranks, sft, trainer
from tritonsmith.train.dry import DRY_TASKS, dry
from tritonsmith.train.generate import Sampler
from tritonsmith.train.leakage import check, unleaked
from tritonsmith.train.policy import Drawer
from tritonsmith.types import Record, Task
from tritonsmith.verify.pool import Verifier

log = logging.getLogger(__name__)

Setting = TypeVar("Setting")

PROGRESS = ("sft", "rl", "grpo", midend.FOLDER, "eval")
"""Folders whose presence says that a run is under way."""


def run(config: Config, dry_run: bool = False, beside: Verifier | None = None) -> Path:
    """Do `run.steps` in their order and return the run's folder; doing it again resumes.

    A verifier that is warm already can lend its processes (`beside`).

    A dry run does the same with tiny numbers on a random model, in `run.dir/dry-run`, from nothing each time.
    Raises ConfigError, in one line, for a configuration that cannot be run or is not the one the run began with.
    Where a launcher started several processes, all call this, and the first leads (`ranks`).
    """
    trainer.quiet()
    leads = _leads(config)
    if beside is not None and ranks.count() > 1:
        raise ConfigError(f"{ranks.count()} processes share one run; start several runs with one process")
    if not leads:
        return config.run.dir
    if not dry_run:
        models.check_id(config.model)
    with ranks.leading(), locked(config.run.dir):
        _same_as_before(config)
        config.save(config.run.dir / "resolved.toml")
        if dry_run:
            shutil.rmtree(config.run.dir / "dry-run", ignore_errors=True)
            config = dry(config)
            config.save(config.run.dir / "resolved.toml")
        _check_shares(config)
        transformers.set_seed(config.run.seed)
        with _offline(config), judges(config, beside) as verifier:
            _Run(config, verifier, DRY_TASKS if dry_run else None).all()
    return config.run.dir


class _Run:
    """One run while it is at work."""

    def __init__(self, config: Config, verifier: Verifier, limit: int | None) -> None:
        self.config = config
        self.dir = config.run.dir
        self.verifier = verifier
        self.watched = Watched(verifier)
        self.train = _some(load_spec(config.tasks.train), limit)
        self.heldout = _some(load_spec(config.tasks.heldout), limit)
        self.limit = limit
        check(self.train, self.heldout, "tasks.train")
        if config.extensions.curriculum and limit is None and len({task.level for task in self.train}) == 1:
            log.warning("extensions.curriculum: all of tasks.train is of one level, so there is nothing to choose")

    def all(self) -> None:
        """Do every step, saying how long each took."""
        steps: dict[str, Callable[[], None]] = {
            "sft": self.sft,
            "best_of_n": self.best_of_n,
            "grpo": self.grpo,
            "midend_sft": self.midend_sft,
            "midend_best_of_n": self.midend_best_of_n,
            "midend_grpo": self.midend_grpo,
            "eval": self.eval,
            "report": self.report,
        }
        for name in self.config.run.steps:
            started = time.monotonic()
            log.info("%s ...", name)
            steps[name]()
            log.info("%s done in %.0f s", name, time.monotonic() - started)

    def rows(self) -> list[Row]:
        """Give the rows of SFT, none of which may be a held-out task."""
        return unleaked(sft.pairs(self.config, self.verifier, self.limit), self.heldout, "sft.data")

    def sft(self) -> None:
        """Fine-tune the configured model on verified pairs."""
        if (self.dir / "sft" / "model").exists():
            return
        rows = self.rows()
        sft.fit_from(self.config, self.config.sft, rows, None, self.dir / "sft", "sft")

    def best_of_n(self) -> None:
        """Improve the SFT model, or the configured one, by rounds of best-of-N."""
        rows = self.rows() if self.config.best_of_n.replay else []
        best_of_n.train(self.config, self.train, self.verifier, self._existing("sft"), rows)

    def grpo(self) -> None:
        """Improve what came out of the step before by GRPO."""
        if (self.dir / "grpo" / "model").exists():
            return
        start = self._existing("rl", "sft") if "best_of_n" in self.config.run.steps else self._existing("sft")
        grpo.train(self.config, self.train, self.verifier, start)

    def midend_sft(self) -> None:
        """Fine-tune the configured model on kernels and faster ones."""
        if (self.dir / midend.FOLDER / "sft" / "model").exists():
            return
        with self._midend() as (config, verifier):
            rows = self._midend_rows(config, verifier)
            sft.fit_from(config, config.sft, rows, None, config.run.dir / "sft", "sft")

    def midend_best_of_n(self) -> None:
        """Improve the mid-end by rounds of best-of-N, on the kernels that the frontend stored."""
        with self._midend() as (config, verifier):
            givens = midend.training(self.config, self.train, verifier)
            rows = self._midend_rows(config, verifier) if config.best_of_n.replay else []
            tasks, stage = [one.task for one in givens], midend.stage(config, givens)
            best_of_n.train(config, tasks, verifier, self._existing("midend/sft"), rows, stage=stage)

    def midend_grpo(self) -> None:
        """Improve the mid-end by GRPO, on the kernels that the frontend stored."""
        if (self.dir / midend.FOLDER / "grpo" / "model").exists():
            return
        with self._midend() as (config, verifier):
            givens = midend.training(self.config, self.train, verifier)
            tasks, stage = [one.task for one in givens], midend.stage(config, givens)
            grpo.train(config, tasks, verifier, self._existing("midend/rl", "midend/sft"), stage=stage)

    def _midend_rows(self, config: Config, verifier: Verifier) -> list[Row]:
        return unleaked(midend.rows(config, verifier), self.heldout, "midend.data")

    @contextmanager
    def _midend(self) -> Iterator[tuple[Config, Verifier]]:
        """The mid-end's configuration, and the verifier with its reward."""
        own = midend.settings(self.config)
        with judges(own, beside=self.verifier) as verifier:
            yield own, verifier

    def eval(self) -> None:
        """Evaluate every model of the run on the held-out tasks, under the same seeds, and print the table.

        The mid-end's is asked about the last of the others' best kernels.
        """
        found = {name: self._existing(name) for name in ("sft", "rl", "grpo")}
        present = {name: folder for name, folder in found.items() if folder is not None}
        named = (present or {"base": None}).items()
        samplers = {name: partial(_local, self.config, folder) for name, folder in named}
        results = _evaluate(self.config, samplers, self.heldout, self.watched)
        last = self._existing(*(f"{midend.FOLDER}/{name}" for name in ("grpo", "rl", "sft")))
        if last is not None:
            with self._midend() as (config, verifier):
                givens = midend.heldout(self.config, self.heldout, list(results.values())[-1], verifier)
                if givens:
                    midend.evaluate_model(config, _local(config, last), givens, Watched(verifier))

    def report(self) -> None:
        """Write `report.html`."""
        log.info("report: %s", build.build(self.dir))

    def _existing(self, *names: str) -> Path | None:
        """Give the first of these steps' models that the run has."""
        return next((self.dir / name / "model" for name in names if (self.dir / name / "model").exists()), None)


def evaluate_model(config: Config) -> Path:
    """Evaluate `[endpoint]`, or else `[model]`, alone on `tasks.heldout`, into `run.dir/eval/model.jsonl`; print the
    table, write the report.

    Raises ConfigError as `run` does, and where a server would be asked to go on with an answer.
    """
    trainer.quiet()
    if config.endpoint.url and config.eval.turns > 1 and config.eval.retry == "redraw":
        raise ConfigError('eval.retry = "redraw" needs a model of this process; a server is asked with "feedback"')
    if not _leads(config):
        return config.run.dir
    with ranks.leading(), locked(config.run.dir):
        _same_as_before(config)
        config.save(config.run.dir / "resolved.toml")
        tasks = load_spec(config.tasks.heldout)
        with _offline(config), judges(config) as verifier:
            _evaluate(config, {"model": partial(_sampler, config)}, tasks, Watched(verifier))
        build.build(config.run.dir)
    return config.run.dir


def evaluate_alike(
    config: Config, runs: Mapping[Setting, Path], verifier: Verifier, dry_run: bool = False
) -> dict[Setting, list[Record]]:
    """Evaluate the last model of each run on `tasks.heldout` by one verifier and under one seed; resumes.

    A run's records are in its `eval/alike.jsonl`. A run without a model is evaluated as it began.
    """
    found: dict[Setting, list[Record]] = {}
    tasks = _some(load_spec(config.tasks.heldout), DRY_TASKS if dry_run else None)
    with _offline(config):
        watched = Watched(verifier)
        for setting, folder in runs.items():
            own = configuration.load(folder / "resolved.toml")
            last = next((folder / n / "model" for n in ("grpo", "rl", "sft") if (folder / n / "model").exists()), None)
            model, tokenizer = trainer.load(own, last)
            sampler = Sampler(trainer.to_device(model), tokenizer, models.prompt_style(own.model))
            out = folder / "eval" / "alike.jsonl"
            found[setting] = evaluate.evaluate(sampler, tasks, watched, own.eval, out, seed=config.run.seed)
    return found


def judges(config: Config, beside: Verifier | None = None) -> Verifier:
    """The verifier that a configuration asks for, whose verdicts carry its rewards."""
    own = config.reward
    score = partial(reward.score, scheme=own.scheme, cap=own.cap, alpha=own.alpha)
    return Verifier(config.verify, extensions=config.extensions, score=score, beside=beside, apart=_overlaps(config))


def _overlaps(config: Config) -> bool:
    """Whether this process may train, or make ready for it, while candidates are judged."""
    steps = {name.removeprefix("midend_") for name in config.run.steps}
    overlapping = {
        "grpo": config.grpo.ahead or ranks.count() > 1,
        "best_of_n": config.best_of_n.ahead or ranks.count() > 1 or config.sft.engine == "compiled",
    }
    return any(overlapping[name] for name in steps & overlapping.keys())


def _sampler(config: Config) -> evaluate.Sampler:
    """What the configuration evaluates: a served model, or else the run's base."""
    if not config.endpoint.url:
        return _local(config, None)
    from tritonsmith.endpoint import Endpoint  # the openai client is needed here alone

    return Endpoint.of(config.endpoint)


def _local(config: Config, folder: Path | None) -> evaluate.Sampler:
    """The model in a folder, or the run's base, in this process, or in all processes of the run."""
    return Drawer(config).of(folder)


def _evaluate(
    config: Config,
    samplers: Mapping[str, Callable[[], evaluate.Sampler]],
    tasks: Sequence[Task],
    judge: evaluate.Judge,
) -> dict[str, Sequence[Record]]:
    """Evaluate each model under the same seed, into `eval/NAME.jsonl` and `.summary.json`, and print the table."""
    results: dict[str, Sequence[Record]] = {}
    solved: dict[str, list[metrics.Estimate]] = {}
    own, seed = config.eval, config.run.seed
    for name, sampler in samplers.items():
        out = config.run.dir / "eval" / f"{name}.jsonl"
        conversations = turns.converse(sampler(), tasks, judge, own, out, turns=own.turns, seed=seed)
        results[name], solved[name] = conversations[0], turns.solved(conversations)
        rows = [row.model_dump(mode="json") for row in metrics.summary(results[name], config.eval.ks)]
        out.with_suffix(".summary.json").write_text(json.dumps(rows, indent=1))
    Console().print(evaluate.table(results, config.eval.ks, f"held-out tasks: {config.tasks.heldout}"))
    for name, shares in solved.items() if own.turns > 1 else ():
        said = ", ".join(f"{evaluate.percent(share)} after {turn}" for turn, share in enumerate(shares, start=1))
        Console().print(f"{name}, correct by turn: {said}")
    return results


def _check_shares(config: Config) -> None:
    """Raise ConfigError where the processes cannot share equally the rows of a training that is yet to come."""
    for name in config.run.steps:
        own, kind = (midend.settings(config) if name.startswith("midend_") else config), name.removeprefix("midend_")
        batches = {
            "sft": (own.sft.batch, own.sft.accumulation, "sft"),
            "best_of_n": (own.best_of_n.batch, 1, "rl"),
            "grpo": (*grpo.an_update(own.grpo), "grpo"),
        }
        if kind in batches:
            batch, accumulation, folder = batches[kind]
            if not (own.run.dir / folder / "model").exists():
                trainer.divided(batch, accumulation, name)


def _some(tasks: list[Task], limit: int | None) -> list[Task]:
    """Take `limit` tasks spread over the list, so that a dry run sees more than its first level."""
    if limit is None or len(tasks) <= limit:
        return tasks
    return tasks[:: len(tasks) // limit][:limit]


def _same_as_before(config: Config) -> None:
    """Raise ConfigError if `run.dir` holds a run that was begun with other settings.

    Only what cannot change a result may differ: the steps, how many candidates are judged at once, where a served
    model is and how often it may be asked.
    """
    path = config.run.dir / "resolved.toml"
    if not path.exists() or not any((config.run.dir / name).exists() for name in PROGRESS):
        return
    before, now = _flat(configuration.load(path)), _flat(config)
    changed = [key for key in now if now[key] != before.get(key)]
    if changed:
        key = changed[0]
        raise ConfigError(
            f"{config.run.dir} holds a run with {key} = {before.get(key)}, not {now[key]}: "
            "set run.dir to a new folder, or remove this one"
        )


def _flat(config: Config) -> dict[str, object]:
    tree = config.model_dump(mode="json")
    skipped = {"run.dir", "run.steps", "verify.workers", "verify.judges", "endpoint.key_file", "endpoint.concurrency"}
    skipped |= {"endpoint.timeout", "endpoint.retries", "endpoint.max_requests", "endpoint.max_tokens"}
    flat = {f"{section}.{key}": value for section, fields in tree.items() for key, value in fields.items()}
    flat["endpoint.url"] = bool(config.endpoint.url)  # a server may move
    return {key: value for key, value in flat.items() if key not in skipped}


def _leads(config: Config) -> bool:
    """Whether this process is the one that does the run; any other does its part until the run is over."""
    ranks.join()
    if not ranks.is_first():
        transformers.set_seed(config.run.seed)
        with _offline(config):
            ranks.follow()
    return ranks.is_first()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep two processes from working in one run; the lock ends with the process, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("w")
    except OSError as error:
        raise ConfigError(f"run.dir: cannot write to {folder}: {error.strerror}") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ConfigError(f"another process is at work in {folder}") from error
        yield


@contextmanager
def _offline(config: Config) -> Iterator[None]:
    """Keep a local model's run off the network: nothing it needs is there."""
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or config.model.id == "nano" or Path(config.model.id).exists()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before
