"""The words of the project as plain, serialisable data: task, candidate, stage, timing, verdict.

Does not decide anything: verdicts are made by `verify.funnel`, rewards by `reward`.
"""

from hashlib import sha256
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

StageName = Literal["ast", "compile", "tiny", "full", "timing"]
Style = Literal["bare", "plain", "canonical", "full", "traced"]
"""How much a prompt says beside the task; see `prompts.messages`."""
STAGES: tuple[StageName, ...] = ("ast", "compile", "tiny", "full", "timing")


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Task(_Data):
    """A PyTorch module to replace, as source in KernelBench's format."""

    id: str
    """Stable name such as `level1/relu`; unique within a task list."""
    level: int
    """1 = one operator, 2 = a fusion, 3 = a network."""
    source: str
    """Python source with `Model`, `get_inputs` and `get_init_inputs`."""
    graph: str | None = None
    """Canonical operator graph where the generator knows it; splits are made by it."""

    @property
    def writing(self) -> str:
        """What tells this text from other writings of the same graph, which have the same `id`."""
        return sha256(self.source.encode()).hexdigest()[:12]


class Candidate(_Data):
    """Source text that claims to replace a task's `Model`."""

    task: str
    """`Task.id` this candidate answers."""
    sample: int = 0
    """Which of the completions drawn for the task this is."""
    source: str | None
    """Python source with `ModelNew`, or None where extraction found no code."""
    completion: str | None = None
    """The whole text the model wrote, where a model wrote it."""


class Finding(_Data):
    """One reason against a candidate, or one remark about it."""

    rule: str
    """Name of the rule, such as `import`, `decoy` or `out-of-bounds`."""
    message: str
    line: int | None = None
    """Line of the candidate's source, from 1, where one is to blame."""


class Mismatch(_Data):
    """Where and by how much a candidate's output differs from the truth."""

    model_config = ConfigDict(ser_json_inf_nan="constants")  # else NaN comes back as nothing

    variant: str
    """Which inputs: `as given`, `values x2`, ..."""
    output: str
    """Path of the output tensor: `output`, `output[1]`, `output["loss"]`."""
    message: str
    """One line for a person: the kind of difference."""
    index: list[int] | None = None
    """Position of the worst wrong element."""
    expected: float | None = None
    got: float | None = None
    wrong_share: float | None = None
    """Share of wrong elements, 0 to 1."""


class KernelStats(_Data):
    """What the compiler made of one distinct launch of a kernel."""

    name: str
    registers: int | None
    """Registers per thread; None where the target's tools do not tell."""
    spills: int | None
    """Bytes spilled to local memory per thread (loads plus stores)."""
    shared: int
    """Shared memory per block in bytes."""
    launches: int
    """How many times `forward` launched it."""
    warps: int | None = None
    """Warps a block (`num_warps`)."""
    stages: int | None = None
    """`num_stages`: how many iterations of a loop are under way at once."""
    grid: list[int] | None = None
    """Blocks of its largest launch, by dimension."""
    occupancy: float | None = None
    """Theoretical occupancy of a multiprocessor, 0 to 1 (`verify.occupancy`); None for a target that is not known."""
    lines: list[str] = Field(default_factory=list)
    """Key lines of the intermediate code (`verify.ir`), where `verify.ir_lines` asks for them."""


class Interval(_Data):
    """A speedup with its uncertainty; low = median = high for a prediction."""

    median: float
    low: float
    high: float


class Timing(_Data):
    """How long reference and candidate take, measured or predicted."""

    kind: Literal["measured", "predicted"]
    reference_ms: float
    candidate_ms: float
    speedup: Interval
    reference_wall_ms: float | None = None
    """Milliseconds a call takes as a user sees it, launches included; None for a prediction or a single run."""
    candidate_wall_ms: float | None = None
    compiled_ms: float | None = None
    """Milliseconds of the reference under `torch.compile`, where the settings ask for that baseline too."""
    bytes_moved: int | None = None
    """Bytes the candidate's kernels load and store in one forward."""
    flops: int | None = None
    """Floating-point operations of the task in one forward."""
    roofline_share: float | None = None
    """Time of the hardware's floor over the candidate's time, 0 to 1."""
    recorded: bool = False
    """Whether the trials were CUDA graphs, which no launch of the host's disturbs; else they ran from a stream."""


class StageResult(_Data):
    """One step of the funnel."""

    name: StageName
    ok: bool
    seconds: float
    detail: str = ""
    """One line: what was run, or why it failed."""


class Verdict(_Data):
    """The record of one candidate."""

    task: str
    sample: int = 0
    device: Literal["cpu", "cuda"]
    target: str
    policy: Literal["strict", "lenient"]
    stage: StageName | None = None
    """Last stage passed; None if not even `ast` was."""
    valid: bool = False
    """The candidate obeys the policy: static rules, and what `forward` was seen to do."""
    compiled: bool = False
    correct: bool = False
    reward: float = 0.0
    """Under the scheme of who asked: `staged` on the command line, `reward.scheme` in a run; see `reward`."""
    speedup: Interval | None = None
    timing: Timing | None = None
    findings: list[Finding] = Field(default_factory=list)
    mismatch: Mismatch | None = None
    kernels: list[KernelStats] = Field(default_factory=list)
    triton_share: float | None = None
    """Share of the forward's work (bytes and matrix operations) that kernels did and torch did not, 0 to 1."""
    stages: list[StageResult] = Field(default_factory=list)
    seconds: float = 0.0


class Record(_Data):
    """One candidate and its verdict as a run keeps it, a line of JSONL each."""

    phase: str
    """Which part of the run drew it: `eval/sft`, `rl/round-00`, `grpo`, ..."""
    step: int = 0
    """Training step or round it was drawn at."""
    turn: int = 1
    """Turn of its conversation, from 1: later ones answer what the verifier said of the one before."""
    task: str
    writing: str = ""
    """`Task.writing`; empty where a record was kept without it."""
    level: int
    sample: int
    completion: str
    source: str | None
    verdict: Verdict
