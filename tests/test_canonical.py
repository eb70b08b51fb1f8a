"""A task in the form of the compiler's front end."""

import pytest
import torch
from judging import judge

from tritonsmith.data import lower
from tritonsmith.data.pair import Pair
from tritonsmith.plain import plain
from tritonsmith.prompts import messages
from tritonsmith.tasks.canonical import canonical
from tritonsmith.tasks.format import TaskModule, forward, load_spec
from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier

TOLD = '''
"""A module of somebody."""
import torch.nn.functional as fn
import torch
from torch import nn as layers
from torch.nn import Parameter, init

ROWS, WIDTH = 24, 40
SLOPE = 0.3


class Model(layers.Module):
    """What it is for."""

    def __init__(self, width: int, slope: float = 0.1):
        super(Model, self).__init__()
        self.gains = Parameter(torch.ones(width))  # learnt
        init.normal_(self.gains)
        with torch.no_grad():
            self.gains.mul_(2)
        self.leak = slope

    def forward(self, readings: torch.Tensor, keep):
        chosen = torch.nn.functional.leaky_relu(readings, self.leak) * keep
        return fn.softmax(chosen * self.gains, dim=-1)


def get_inputs():
    scale = 10.0 ** torch.empty(ROWS, 1).uniform_(-2, 1)
    return [torch.randn(ROWS, WIDTH) * scale, torch.rand(ROWS, WIDTH) > 0.2]


def get_init_inputs():
    return [WIDTH, SLOPE]
'''

SEEN = """import torch
import torch.nn as nn
import torch.nn.functional as F

class Model(nn.Module):

    def __init__(self, p1, p2=0.1):
        super().__init__()
        self.gains = nn.Parameter(torch.ones(p1))
        self.leak = p2

    def forward(self, x, y):
        v1 = F.leaky_relu(x, 0.3) * y
        return F.softmax(v1 * self.gains, dim=-1)

def get_inputs():
    x = torch.rand(24, 40)
    y = torch.randint(0, 2, (24, 40)).bool()
    return [x, y]

def get_init_inputs():
    return [40, 0.3]"""


def task(source: str) -> Task:
    return Task(id="t", level=1, source=source)


def test_what_a_stranger_wrote_is_told_in_one_form() -> None:
    assert canonical(task(TOLD)).source == SEEN


def test_the_canonical_form_is_its_own() -> None:
    assert canonical(task(SEEN)).source == SEEN
    for one in load_spec("graphs:12:seed=3:depth=1-4"):
        once = canonical(one)
        assert canonical(once).source == once.source


def test_every_task_of_the_suite_has_one_that_computes_the_same() -> None:
    for one in load_spec("suite"):
        told = canonical(one)
        assert told.source != plain(one.source) and told.id == one.id, one.id
        theirs, ours = TaskModule.of(one), TaskModule.of(told)
        assert [type(value) for value in ours.init_inputs()] == [type(value) for value in theirs.init_inputs()]
        with torch.device("meta"):
            first, second = theirs.model(0, "meta"), ours.model(0, "meta")
        assert list(first.state_dict()) == list(second.state_dict())
        shapes = [(value.shape, value.dtype) for value in ours.inputs(0, "meta") if isinstance(value, torch.Tensor)]
        wanted = [(value.shape, value.dtype) for value in theirs.inputs(0, "meta") if isinstance(value, torch.Tensor)]
        assert shapes == wanted, one.id


def test_values_stay() -> None:
    given, told = TaskModule.of(task(TOLD)), TaskModule.of(canonical(task(TOLD)))
    first, second = given.model(0), told.model(1)
    second.load_state_dict(first.state_dict())
    inputs = given.inputs(5)
    assert torch.equal(forward(first, inputs), forward(second, inputs))  # type: ignore[arg-type]


def test_a_candidate_for_the_canonical_task_is_one_for_the_task(verifier: Verifier) -> None:
    answer = lower.convert(canonical(task(TOLD)))
    assert isinstance(answer, Pair)
    assert judge(verifier, task(TOLD), answer.source).correct


def test_what_does_not_run_is_only_made_plain() -> None:
    broken = TOLD.replace("return [torch.randn(ROWS", "return [nothing(ROWS")
    assert canonical(task(broken)).source == plain(broken)
    assert canonical(task("class Model(")).source == "class Model("


def test_names_from_outside_are_not_taken() -> None:
    source = SEEN.replace("v1 = F", "v1 = z * F").replace("class Model", "z = 2.0\n\nclass Model")
    source = source.replace("forward(self, x, y)", "forward(self, x, y, w)").replace(
        "return F.softmax(", "return w + F.softmax("
    )
    source = source.replace("return [x, y]", "w = torch.rand(40)\n    return [x, y, w]")
    told = canonical(task(source)).source
    assert "def forward(self, x, y, x4):" in told and "v1 = z * F.leaky_relu(x, 0.3) * y" in told


def test_strange_bindings_keep_their_names() -> None:
    source = SEEN.replace("        v1 = F", "        global COUNT\n        COUNT = 1\n        v1 = F")
    assert canonical(task(source)).source == plain(source)


def test_a_variable_that_hides_what_is_torchs_is_not_taken_for_it() -> None:
    source = SEEN.replace("import torch\n", "import torch\nfrom torch import relu\n", 1)
    source = source.replace("        v1 = F", "        relu = 2.0\n        v1 = relu * F")
    assert canonical(task(source)).source == plain(source)


def test_a_prompt_shows_it() -> None:
    assert messages(task(TOLD), "canonical") == [{"role": "user", "content": SEEN}]


# Members that are settings


def model(constructor: str, forward: str, given: str = "1", arguments: str = "size") -> str:
    """A task's source with one argument of its constructor."""
    return (
        "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
        f"    def __init__(self, {arguments}):\n        super().__init__()\n        {constructor}\n\n"
        f"    def forward(self, x):\n        {forward}\n\n\n"
        f"def get_inputs():\n    return [torch.randn(4, 6)]\n\n\ndef get_init_inputs():\n    return [{given}]\n"
    )


@pytest.mark.parametrize(
    ("constructor", "forward", "given", "seen"),
    [
        ("self.dim = size", "return x.sum(dim=self.dim)", "1", "x.sum(dim=1)"),
        ("self.dim = size", "return x.sum(dim=self.dim)", "-1", "x.sum(dim=-1)"),
        ("self.eps = size", "return x / (x + self.eps)", "1e-05", "x / (x + 1e-05)"),
        ("self.keep = size", "return x.sum(1, keepdim=self.keep)", "True", "keepdim=True"),
        ("self.dims = (0, 1)", "return x.sum(self.dims)", "1", "x.sum((0, 1))"),
        ("self.mode = 'mean'", "return F.mse_loss(x, x, reduction=self.mode)", "1", "reduction='mean'"),
    ],
)
def test_a_member_that_is_a_setting_is_written_out(constructor: str, forward: str, given: str, seen: str) -> None:
    told = canonical(task(model(constructor, forward, given))).source
    assert seen in told and "self." not in told.partition("def forward")[2]


@pytest.mark.parametrize(
    ("constructor", "forward", "given"),
    [
        ("self.size = size", "return x.view(-1, self.size)", "6"),  # other at other sizes
        ("self.size = size + 1", "return x.sum(self.size)", "0"),  # worked out
        ("self.dim = size", "self.dim = 0; return x.sum(self.dim)", "1"),  # changed later
        ("self.dim = self.other = size", "return x.sum(self.dim) + self.other", "1"),
    ],
)
def test_other_members_stay(constructor: str, forward: str, given: str) -> None:
    assert "self." in canonical(task(model(constructor, forward, given))).source.partition("def forward")[2]


def test_an_argument_that_is_not_given_has_its_default() -> None:
    told = canonical(task(model("self.dim = size", "return x.sum(self.dim)", "", "size=-1"))).source
    assert "x.sum(-1)" in told


def test_a_candidate_for_settings_written_out_is_one_for_the_task(verifier: Verifier) -> None:
    one = task(model("self.dim, self.eps = size, 1e-3", "return x.mean(dim=self.dim) + self.eps", "1"))
    plain_one = task(model("self.dim = size", "return x.mean(dim=self.dim) * 3.0", "1"))
    for given in (one, plain_one):
        answer = lower.convert(canonical(given))
        assert isinstance(answer, Pair)
        assert judge(verifier, given, answer.source).correct
