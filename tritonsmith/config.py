"""The one configuration of every command: TOML, `--set a.b=c` on top, a resolved copy in the run.

Does not read the environment: there are no switches of our own there.
"""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self, get_args

import tomli_w
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    model_validator,
)

from tritonsmith.errors import UserError
from tritonsmith.reward import Scheme
from tritonsmith.types import Style


class ConfigError(UserError):
    """A configuration the user must mend; its text is one line."""


Share = Annotated[float, Field(ge=0, le=1)]
"""A probability, or a weight of a mean."""


Step = Literal[
    "sft", "best_of_n", "grpo", "midend_sft", "midend_best_of_n", "midend_grpo", "eval", "report"
]  # fmt: skip
"""A part of a run."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class RunConfig(_Section):
    """Where a run lives and what it does."""

    dir: Path = Path("runs/run")
    """Everything the run writes goes below this folder."""
    seed: NonNegativeInt = 0
    steps: list[Step] = ["sft", "best_of_n", "eval", "report"]
    """What `tritonsmith run` does, in this order; what trains the mid-end has its name in front. What trains starts
    from the model of what trains before it: SFT, best-of-N, GRPO."""

    @model_validator(mode="after")
    def _somewhere(self) -> Self:
        if self.dir == Path():
            raise ValueError("dir: say a folder of the run's own")
        return self

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        known = [name for name in get_args(Step) if name not in ("eval", "report")]
        found = [name for name in self.steps if name in known]
        if found != sorted(found, key=known.index):
            raise ValueError(f"steps: what trains goes in the order {', '.join(known)}")
        return self


class ModelConfig(_Section):
    """The model that is trained or evaluated."""

    id: str = "nano"
    """`nano` (shipped in the package), a hub id, or a local path."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    load_in_8bit: bool = False
    """Quantise the frozen base through bitsandbytes; needs CUDA."""
    prompt_style: Literal["auto"] | Style = "auto"
    """`bare` shows the task's source only, `plain` that without docstrings, comments and annotations, `canonical` in
    the front end's own form, `traced` adds its ATen graph with shapes and dtypes, `full` instructions and an example;
    `auto` is what a model that was trained here was trained on, and `full` for others."""


class EndpointConfig(_Section):
    """A served model: what `eval --endpoint` asks instead of `[model]`, and the teacher of `data distill`."""

    url: str = ""
    """Base URL of an OpenAI-compatible server, such as `http://localhost:8000/v1`; empty: none."""
    model: str | None = None
    """The model's name there; where not given, the only one that is served."""
    key_file: Path | None = None
    """A file that holds the API key, where the server wants one."""
    prompt_style: Style = "full"
    concurrency: PositiveInt = 8
    """Questions under way at once."""
    timeout: PositiveFloat = 300.0
    """Seconds after which an answer is given up and asked for again."""
    retries: NonNegativeInt = 4
    max_requests: PositiveInt | None = None
    max_tokens: PositiveInt | None = None
    """The budget: completions, and tokens of prompts and completions together, that may be paid for."""


class LoraSection(_Section):
    """Low-rank adaptation (requirements row 6); off: all weights are trained."""

    enabled: bool = True
    r: PositiveInt = 16
    alpha: PositiveInt = 32
    dropout: Share = 0.05
    """r, alpha and dropout as the source documents give them (requirements row 6)."""
    target_modules: list[str] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


class TasksConfig(_Section):
    """The tasks of RL and of evaluation."""

    train: str = "graphs:64:seed=0:depth=1-3"
    """SPEC of the tasks RL trains on."""
    heldout: str = "graphs:32:seed=1:depth=1-3:split=heldout"
    """SPEC of the tasks never trained on; their graphs are checked against `train`."""


class SftConfig(_Section):
    """Supervised fine-tuning (requirements row 8)."""

    data: str = "graphs:256:seed=2:depth=1-3"
    """SPEC of tasks whose answers are made by our own lowering and verified, or a JSONL of prompt/completion rows."""
    epochs: PositiveFloat = 1.0
    lr: PositiveFloat = 2e-4
    batch: PositiveInt = 2
    """Rows at a time, in all processes together: a step is the same however many there are."""
    accumulation: PositiveInt = 1
    most_steps: PositiveInt | None = None
    """Optimiser steps at most: more rows then make larger batches (`accumulation`), not more steps. The compiled engine
    counts packed rows; TRL's `packing` is not counted."""
    max_length: PositiveInt = 1024
    packing: bool = False
    """Several rows in one sequence of `max_length` (best-fit decreasing); rows do not see each other."""
    engine: Literal["trl", "compiled"] = "trl"
    """`compiled`: pretraining's compiled step in place of TRL's trainer, for models trained whole; it always packs, a
    row of `batch` being one of `max_length` tokens, and what was killed begins anew."""
    copies: NonNegativeInt = 0
    """Copies of each row to learn from too, the same module and kernel with other names of arguments and members: what
    a small model gets wrong first is to copy names that it has seldom seen."""
    save_steps: PositiveInt = 50


Retry = Literal["feedback", "redraw"]
"""What follows a failed answer: what the verifier said of it and a whole new answer, or its rest drawn anew."""


class BestOfNConfig(_Section):
    """RL, style A: rounds of sampling, keeping the best, fine-tuning on them."""

    n: PositiveInt = 10
    keep: PositiveInt = 3
    """N = 10, K = 3: requirements row 2."""
    memory: PositiveInt | None = None
    """Rounds whose answers are learnt from, the present one included; all where not given. What was kept early is
    learnt again in each of them, so that many rounds of few tasks learn the first ones by heart."""
    restart: bool = False
    """Learn each round anew from the model that the first round drew from (ReST-EM, arXiv 2312.06585, section 3), not
    from the one before: what was kept early is then learnt no more often than what was kept last."""
    ahead: bool = False
    """Draw the next round, from the model of the round before, while this one is judged and learnt from: where judging
    takes longest, it never stands still."""
    max_rate: Share = 1.0
    """Tasks of whose first answers a larger share is right are not learnt from: they have nothing left to teach, and
    outnumber those that have (dynamic sampling, DAPO, arXiv 2503.14476, section 3.2)."""
    turns: PositiveInt = 1
    """Turns of each completion: what failed or is slow is answered with what the verifier said of it, and drawn once
    more. A right answer in a later turn counts `credit.TURN_DISCOUNT` of one a turn earlier. Conversations of more than
    `sft.max_length` tokens are not learnt from."""
    retry: Retry = "feedback"
    """What a later turn is. `redraw`: what stands before the line that the verifier blames stays, and the rest is drawn
    anew (`redraw`); failures without such a line are left. What comes out right is learnt as an answer to the task."""
    rounds: PositiveInt = 2
    tasks_per_round: PositiveInt = 32
    epochs: PositiveFloat = 2.0
    lr: PositiveFloat = 2e-4
    batch: PositiveInt = 8
    most_steps: PositiveInt | None = None
    """Optimiser steps of a round at most, as in `[sft]`: what is kept grows from round to round."""
    temperature: NonNegativeFloat = 0.8
    top_p: Share = 1.0
    max_new_tokens: PositiveInt = 512
    sample_batch: PositiveInt = 64
    """Completions decoded together."""
    copies: NonNegativeInt = 0
    """Copies of each answer under other names, as in `[sft]`."""
    replay: NonNegativeInt = 0
    """SFT rows mixed into each round's fine-tuning, against forgetting."""


class GrpoSection(_Section):
    """RL, style B: GRPO on TRL's trainer."""

    num_generations: PositiveInt = 4
    beta: NonNegativeFloat = 0.1
    lr: PositiveFloat = 1e-6
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """How `lr` goes over `steps`, or over the minutes that training has if they are over first; the others end at 0."""
    warmup: NonNegativeInt = 0
    """Optimiser steps over which `lr` comes up: AdamW's first steps are as large as any, and know least."""
    batch: PositiveInt = 4
    accumulation: PositiveInt = 1
    updates: PositiveInt = 1
    """Optimiser steps that one step's completions (`batch` x `accumulation`) are learnt in, each from an equal part of
    them (minibatches, PPO, arXiv 1707.06347, section 5). `steps` and `save_steps` count what is drawn."""
    iterations: PositiveInt = 1
    """How often a step's completions are gone over, `updates` optimiser steps each time (mu of GRPO, DeepSeekMath,
    arXiv 2402.03300, algorithm 1): worth its time where judging takes longer than learning."""
    max_prompt: PositiveInt = 512
    max_completion: PositiveInt = 512
    """K, beta, lr, batch and lengths: requirements row 10. `batch` counts completions in all processes together."""
    turns: PositiveInt = 1
    """Turns of each completion: what failed or is slow is answered with what the verifier said of it, and drawn once
    more. Each turn is a row to train on, worth its reward and `credit.TURN_DISCOUNT` of what the next one is worth;
    `batch` counts first turns. A conversation that exceeds `max_prompt` tokens ends: leave room for what is said."""
    steps: PositiveInt = 100
    temperature: PositiveFloat = 1.0
    ahead: bool = False
    """Train on the batch that was drawn a step before, which is judged while the next one is drawn."""
    loss: Literal["grpo", "dr_grpo", "dapo", "bnpo"] = "dr_grpo"
    """One of TRL's losses."""
    scale: Literal["auto", "group", "batch", "none"] = "auto"
    """By what deviation of rewards a group's advantages are divided: `auto` is none with `dr_grpo`, else the group's.
    Where none of a group is right and one compiles, the group's makes that a lead as large as a right answer's."""
    delta: Annotated[float, Field(gt=1)] | None = None
    """How many times as likely as when it was drawn a token may become and still be pushed further down: without this
    bound one token that has become likely and was bad decides a step (two-sided clipping, INTELLECT-2, arXiv
    2505.07291). More than the ratio's own upper bound, 1.2 by TRL's defaults."""
    top_entropy: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Share of what is learnt from at once, the tokens of highest entropy, that the loss is over (arXiv 2506.01939,
    section 5): a plan's and a kernel's forks, where most tokens follow from those before them."""
    credit: Literal["trl", "grpo", "dr_grpo", "best_of_n"] = "trl"
    """How rewards become advantages: TRL's own way for its loss, or one of `credit`'s methods."""
    keep: PositiveInt = 3
    """How many of a group `credit = "best_of_n"` keeps."""
    blame: Literal["answer", "line", "nothing"] = "answer"
    """What of a completion a negative advantage pushes down: all of it, the line alone that the verifier blames
    (nothing where none is blamed, as where values are wrong), or nothing: only what is better is pushed up."""
    imitate: NonNegativeInt = 0
    """How often a right answer to each task comes back, 1, 2, 4 ... batches later, in the place of one that says
    nothing (self-imitation, arXiv 1806.05635): without a KL term and further turns."""
    rename: bool = False
    """Each time that an answer comes back (`imitate`) it has other names of arguments and members, and so has its task,
    as `copies` have in `[sft]`."""
    save_steps: PositiveInt = 20

    @model_validator(mode="after")
    def _imitates_alone(self) -> Self:
        if self.imitate and (self.beta or self.turns > 1):
            raise ValueError("imitate needs beta = 0 and turns = 1")
        if self.rename and not self.imitate:
            raise ValueError("rename is about what comes back: set imitate too")
        return self


class MidendConfig(_Section):
    """The mid-end's stage of a run: verified kernels become tasks; what makes them faster is rewarded (`midend`)."""

    kernels: str = "run"
    """Where the kernels come from. `run`: what the frontend's training of this run stored, and our own lowering for
    tasks of which it has none; `lowering`: that alone; else a JSONL of records, or a folder of them: another run, an
    evaluation."""
    per_task: PositiveInt = 2
    """Distinct kernels of a task at most, the fastest first."""
    data: str = "graphs:256:seed=2:depth=1-3"
    """What `midend_sft` learns from: SPEC of tasks whose lowered kernels `data.faster` improves, or a JSONL of rows."""
    sft: SftConfig | None = None
    best_of_n: BestOfNConfig | None = None
    grpo: GrpoSection | None = None
    """What holds in place of `[sft]`, `[best_of_n]` and `[grpo]`; those themselves where nothing is given."""


class RewardConfig(_Section):
    """How a verdict becomes a reward."""

    scheme: Scheme = "staged"
    """`hierarchical` rewards the plan's tokens by speed and the code's by correctness, each with its own advantage;
    `uniform`, what it is measured against, all tokens by both."""
    alpha: NonNegativeFloat = 0.1
    """Weight of the plan's tokens under `hierarchical`: J = alpha J_plan + J_code (requirements row 15)."""
    cap: float = 1.0
    """Speedup gain above 1 that earns the whole speed bonus."""


class VerifyConfig(_Section):
    """What the verifier runs on, for whom it compiles, and what it allows."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    policy: Literal["strict", "lenient"] = "strict"
    target: str = "sm_90"
    isolation: Literal["process", "pooled"] = "process"
    """`process` gives each candidate processes of its own; `pooled` lets warm ones serve many, after an integrity check
    each: several times faster on a GPU, a quarter less time on the CPU."""
    compilers: bool = True
    """On a GPU, whether processes that no candidate was in compile kernels from Triton's intermediate code on, and keep
    them by its text: who writes what another wrote, be it around other code, then waits for no back end."""
    spare: PositiveInt = 2
    """Warm runners a GPU kept ready beyond those in use."""
    preset: Literal["calibrated", "long"] = "calibrated"
    """How a GPU's timing is done with extension 4 on: 10 warm-ups and 50 trials, or 100 (requirements rows 19, 20)."""
    compile_baseline: bool = False
    """On a GPU, whether to time `torch.compile` of the reference too, once a task; the speedup is over eager."""
    strided: bool = False
    """With several inputs (extension 1), whether to try some whose elements do not lie in order."""
    own_values: bool = True
    """With several inputs, without a GPU: whether values of some programs are compared at the task's own sizes, too,
    which no interpreter computes whole; a second or two for a right candidate. `data build` leaves it out."""
    sanitizer: list[Literal["memcheck", "racecheck", "initcheck", "synccheck"]] = []
    """On a GPU, tools of NVIDIA's compute-sanitizer that an accepted candidate is run under once more, at tiny sizes;
    some seconds each. The interpreter makes such checks by itself."""
    ir_lines: NonNegativeInt = 0
    """Key lines of each kernel's intermediate code (TTGIR, PTX) in a verdict; the mid-end's prompts show them."""
    timing: bool = True
    assemble: Literal["first", "right", "never"] = "first"
    """Without a GPU, when kernels go through the compiler's back end to the target's assembly: `first`, in the compile
    stage, before any value is computed; `right`, once the tiny values are right, the compile stage being the front end
    alone; `never`, for rewards of a training whose evaluation is judged by `first`. Back ends are most of what a
    candidate costs; one that only they would refuse counts as compiled where they are not asked."""
    until: Literal["ast", "compile", "tiny", "full", "timing"] = "timing"
    """The last stage that is tried; a candidate that got there before `full` is not called correct."""
    timeout: float | None = Field(default=None, gt=0)
    """Seconds a candidate may take to run, and once more for compilers; 60 on the CPU and 30 on a GPU if not given.
    What others take of the processors is not counted, to four times as long; a task whose smallest size takes the
    interpreter seconds gives twice that."""
    memory_mb: int = Field(default=4096, gt=0)
    """Memory a runner may allocate on the host."""
    workers: int | None = Field(default=None, gt=0)
    """Candidates judged at once; the number of cores where not given."""
    judges: PositiveInt | None = None
    """Processes that judge them, workers being spread over these; 1 is the program itself. Where not given: 1 on the
    CPU, on a GPU one for every 2 workers."""
    gpus: PositiveInt | Literal["all"] = "all"
    """GPUs of this host that candidates are spread over, from the first one."""
    cache: Path | None = None
    """A file in which verdicts are kept between runs; none are where not given."""

    def seconds(self, cuda: bool = False) -> float:
        """`timeout`, or what it is on a device where it is not given."""
        return self.timeout or (30.0 if cuda else 60.0)


class ExtensionsConfig(_Section):
    """The four extensions of the source documents, each a switch of its own."""

    multi_input: bool = False
    staged: bool = True
    curriculum: bool = True
    calibrated: bool = True


class CurriculumConfig(_Section):
    """Extension 3: how often level 2 is drawn."""

    p_min: Share = 0.1
    p_max: Share = 0.5
    threshold: PositiveFloat = 0.4
    """p(level 2) = p_min + (p_max - p_min) * min(acc_L1 / threshold, 1): requirements row 18."""
    levels: PositiveInt = 2
    """How many there are; tasks of higher levels count as the last. The formula holds from each to the next."""
    decay: Share = 0.9
    """Weight of the past in the moving average of the level-1 correct rate."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.p_min > self.p_max or self.decay == 1:
            raise ValueError("p_min may not exceed p_max, and decay is below 1")
        return self


class EvalConfig(_Section):
    """Evaluation: completions a task and how they are drawn."""

    samples: PositiveInt = 10
    turns: PositiveInt = 1
    """Turns of each conversation: what was wrong is answered with what the verifier said of it. An ablation's models,
    and the mid-end's answers, are evaluated by one turn."""
    retry: Retry = "feedback"
    """What a later turn is. `redraw`: the rest of the answer is drawn anew from the line that the verifier blames, the
    whole of it where there is no such line."""
    temperature: NonNegativeFloat = 0.8
    top_p: Share = 1.0
    max_new_tokens: PositiveInt = 512
    batch: PositiveInt = 64
    ks: list[PositiveInt] = [1, 10]
    """The k of pass@k."""


class OptimizeConfig(_Section):
    """`tritonsmith optimize`: what each agent may spend on one task."""

    samples: PositiveInt = 16
    """Completions of the frontend's agent a turn."""
    turns: PositiveInt = 2
    """Turns of the frontend's agent; later ones answer what the verifier said, while nothing is correct."""
    midend_samples: PositiveInt = 8
    midend_rounds: PositiveInt = 2
    """Rounds of the mid-end's agent, each from the best kernel so far; one without a gain is the last."""
    tune_seconds: NonNegativeFloat = 120.0
    """Time of the backend's search; 0 leaves it out."""
    tune_trials: PositiveInt = 64
    temperature: NonNegativeFloat = 0.8
    top_p: Share = 1.0
    max_new_tokens: PositiveInt = 1536
    batch: PositiveInt = 64


class Config(_Section):
    """All of it: what TOML files hold."""

    run: RunConfig = Field(default_factory=RunConfig)
    model: ModelConfig = Field(default_factory=ModelConfig)
    endpoint: EndpointConfig = Field(default_factory=EndpointConfig)
    lora: LoraSection = Field(default_factory=LoraSection)
    tasks: TasksConfig = Field(default_factory=TasksConfig)
    sft: SftConfig = Field(default_factory=SftConfig)
    best_of_n: BestOfNConfig = Field(default_factory=BestOfNConfig)
    grpo: GrpoSection = Field(default_factory=GrpoSection)
    midend: MidendConfig = Field(default_factory=MidendConfig)
    reward: RewardConfig = Field(default_factory=RewardConfig)
    verify: VerifyConfig = Field(default_factory=VerifyConfig)
    extensions: ExtensionsConfig = Field(default_factory=ExtensionsConfig)
    curriculum: CurriculumConfig = Field(default_factory=CurriculumConfig)
    eval: EvalConfig = Field(default_factory=EvalConfig)
    optimize: OptimizeConfig = Field(default_factory=OptimizeConfig)

    def save(self, path: Path) -> None:
        """Write the resolved configuration as TOML, such that `load(path)` gives it back."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(tomli_w.dumps(self.model_dump(mode="json", exclude_none=True)))


def load(path: Path | None = None, overrides: Sequence[str] = ()) -> Config:
    """Read a TOML file and apply `a.b=c` overrides; values parse as JSON where they can.

    Raises ConfigError, in one line, for anything a user got wrong.
    """
    tree: dict[str, object] = {}
    if path is not None:
        try:
            tree = tomllib.loads(path.read_text())
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not TOML: {error}") from error
    for item in overrides:
        _override(tree, item)
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        why = "there is no such setting" if first["type"] == "extra_forbidden" else first["msg"]
        raise ConfigError(f"config: {where}: {why}") from error


def _override(tree: dict[str, object], item: str) -> None:
    key, sign, text = item.partition("=")
    if not sign or not key:
        raise ConfigError(f"--set {item}: write it as section.key=value")
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError:
        value = text
    *sections, leaf = key.split(".")
    node = tree
    for section in sections:
        child = node.setdefault(section, {})
        if not isinstance(child, dict):
            raise ConfigError(f"--set {item}: {section} is not a section")
        node = child
    node[leaf] = value
