"""What the verifier's tests share: the suite, hand-written kernels, a small task and candidates for it."""

from pathlib import Path

from tritonsmith.config import ExtensionsConfig, VerifyConfig
from tritonsmith.tasks.format import load_spec
from tritonsmith.types import Candidate, Task, Verdict
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier

KERNELS = Path(__file__).parents[1] / "examples" / "kernels"
KERNEL_IDS = sorted(path.relative_to(KERNELS).with_suffix("").as_posix() for path in KERNELS.rglob("*.py"))
SUITE = {task.id: task for task in load_spec("suite")}
HEAD = "import torch\nimport triton\nimport triton.language as tl\nfrom torch import nn\n\n"

DOUBLE = Task(
    id="double",
    level=1,
    source=(
        "import torch\nfrom torch import nn\n\n"
        "class Model(nn.Module):\n    def forward(self, x):\n        return 2.0 * x\n\n"
        "def get_inputs():\n    return [torch.randn(64, 48)]\n\n"
        "def get_init_inputs():\n    return []\n"
    ),
)
KERNEL = """@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2.0 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


"""
FORWARD = """        out = torch.empty_like(x)
        double_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
        return out
"""


def double(forward: str = FORWARD, kernel: str = KERNEL, head: str = HEAD) -> str:
    """A candidate for DOUBLE, right unless a part is replaced; `forward` is the body, indented by eight."""
    return f"{head}{kernel}class ModelNew(nn.Module):\n    def forward(self, x):\n{forward}"


def small(forward: str, inputs: str, init: str = "", arguments: str = "[]", id: str = "small") -> Task:
    """A task of one statement on one argument, `x`."""
    source = (
        f"import torch\nfrom torch import nn\n\nclass Model(nn.Module):\n{init}    def forward(self, x):\n"
        f"        {forward}\n\ndef get_inputs():\n    return [{inputs}]\n\n"
        f"def get_init_inputs():\n    return {arguments}\n"
    )
    return Task(id=id, level=1, source=source)


def kernel(task: str) -> str:
    """The hand-written kernel for a suite task."""
    return (KERNELS / f"{task}.py").read_text()


def judge(judge: Verifier | Judge, task: Task, source: str | None) -> Verdict:
    """The verdict on a source."""
    candidate = Candidate(task=task.id, source=source)
    return judge.verify(task, candidate) if isinstance(judge, Verifier) else judge.judge(task, candidate)


def another(verifier: Verifier, settings: VerifyConfig, extensions: ExtensionsConfig | None = None) -> Judge:
    """Another judge over the same warm zygotes."""
    return Judge(settings, extensions or ExtensionsConfig(), "cpu", verifier._zygotes)


def rules(verdict: Verdict) -> set[str]:
    """Names of the rules that a verdict's findings broke."""
    return {finding.rule for finding in verdict.findings}
