"""`tritonsmith optimize` put together: the models behind the agents, the verifiers, the lowering and its rewriting."""

import logging
from pathlib import Path

from tritonsmith import config as configuration
from tritonsmith.config import Config
from tritonsmith.data.faster import Improvement, faster
from tritonsmith.data.lower import templates
from tritonsmith.data.pair import Pair
from tritonsmith.errors import UserError
from tritonsmith.optimize import Account, optimize
from tritonsmith.tasks.format import load_task
from tritonsmith.train import run, trainer
from tritonsmith.train.agents import Agent, Agents
from tritonsmith.types import Task

log = logging.getLogger(__name__)


def optimize_file(config: Config, path: Path, model: bool, frontend: Path | None, midend: Path | None) -> Account:
    """Optimise the task in a file by `[model]` (if `model`) and the agents' adapters on it.

    The mid-end's agent takes part where it has an adapter: a model that was not trained for it only guesses.
    """
    trainer.quiet()
    task = load_task(path)
    given: dict[Agent, Path | None] = {"frontend": frontend, "midend": midend}
    if not model and (frontend is not None or midend is not None):
        raise UserError("--frontend and --midend are adapters of a model: say which by --model")
    adapters: dict[Agent, Path] = {agent: folder for agent, folder in given.items() if folder is not None}
    agents = Agents(config, adapters) if model else None
    config = as_trained(config, midend).model_copy(deep=True)
    config.verify.cache = None  # what is found is verified once more, and not looked up
    early = config.model_copy(deep=True)
    early.verify.until = "compile"
    with run.judges(config) as verifier, run.judges(early, beside=verifier) as compiles:
        return optimize(
            task,
            verifier,
            compiles.verify,
            config.optimize,
            agents.sampler("frontend") if agents is not None else None,
            agents.sampler("midend") if agents is not None and midend is not None else None,
            lowering,
            rewriting,
            config.run.seed,
        )


def as_trained(config: Config, midend: Path | None) -> Config:
    """The configuration with as many lines of intermediate code as the mid-end was shown in the run that trained it.

    As it is where it asks for some itself, or the adapter lies in no run's folder.
    """
    places = [parent / "resolved.toml" for parent in midend.resolve().parents] if midend is not None else []
    run_settings = next((place for place in places if place.exists()), None)
    if run_settings is None or config.verify.ir_lines:
        return config
    found = config.model_copy(deep=True)
    found.verify.ir_lines = configuration.load(run_settings).verify.ir_lines
    return found


def lowering(task: Task) -> str | None:
    """A kernel without a model; None, with the reason in the log, where there is none."""
    found = templates(task)
    if isinstance(found, Pair):
        return found.source
    log.info("%s: no lowering: %s", task.id, found.reason)
    return None


def rewriting(task: Task) -> str | None:
    """The lowering's kernel made faster by rules; None where none applies."""
    plain = templates(task)
    found = faster(task, plain) if isinstance(plain, Pair) else plain
    return found.after.source if isinstance(found, Improvement) else None
