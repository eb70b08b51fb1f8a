"""Loops that go round once at all small sizes, and sizes in the order of the task's own."""

from judging import small

from tritonsmith.tasks import rescaling, scaling
from tritonsmith.tasks.lengths import apart, parts
from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.interpreter.loops import Passes

SQUARE = small("return x @ x", "torch.randn(4096, 4096)")
GROUPS = small(
    "return self.norm(x)",
    "torch.randn(8, 64, 128, 128)",
    "    def __init__(self, groups, channels):\n        super().__init__()\n"
    "        self.norm = nn.GroupNorm(groups, channels)\n\n",
    "[32, 64]",
)


def test_parts_of_a_size_grow_and_are_more_than_the_full_one() -> None:
    full = scaling.full(SQUARE)
    found = [max(rescaling.sizes(one)) for one in parts(SQUARE, full)]
    assert found == sorted(found) and full.cap is not None and found[0] > full.cap


def test_groups_keep_several_channels_at_one_size() -> None:
    (one,) = apart(GROUPS, scaling.full(GROUPS))
    pairs = dict(rescaling.paired(GROUPS, one.task))
    assert 1 < pairs[32] < pairs[64] < pairs[128]


def test_a_loop_is_wanted_where_it_goes_round_more_often_at_the_tasks_own_sizes() -> None:
    own = {"loops": {"3": 2, "5": 1, "7": 2}, "known": {"3": 1, "5": 1, "7": 2}}
    wanted = conduct.unturned(own)
    assert wanted == {"3": 2}
    assert conduct.turned({"loops": {"3": 1}}, wanted) == set()
    assert conduct.turned({"loops": {"3": 2}}, wanted) == {"3"}
    assert conduct.unturned({}) == {}


def test_rounds_of_others_are_not_noted() -> None:
    passes = Passes()
    assert list(passes.rounds(range(3))) == [0, 1, 2] and passes.taken() == {}
