import ast
import random
from collections import Counter

import pytest
from judging import KERNEL_IDS, SUITE, judge, kernel

from tritonsmith.data.lower import templates
from tritonsmith.data.mutate import KINDS, mutate
from tritonsmith.data.pair import Pair
from tritonsmith.verify.pool import Verifier


def bugs(id: str, count: int = 40) -> dict[str, str]:
    found = [mutate(kernel(id), random.Random(seed)) for seed in range(count)]
    return {bug.kind: bug.source for bug in found if bug is not None}


def test_every_hand_written_kernel_takes_a_bug_and_still_parses() -> None:
    kinds: Counter[str] = Counter()
    for id in KERNEL_IDS:
        for seed in range(4):
            bug = mutate(kernel(id), random.Random(f"{id}/{seed}"))
            assert bug is not None and ast.dump(ast.parse(bug.source)) != ast.dump(ast.parse(kernel(id))), id
            kinds[bug.kind] += 1
    assert set(kinds) == set(KINDS)


def test_a_bug_changes_one_line_of_one_kernel() -> None:
    for id in KERNEL_IDS[::7]:
        for source in bugs(id, 8).values():
            pairs = list(zip(kernel(id).splitlines(), source.splitlines(), strict=True))
            assert sum(one != other for one, other in pairs) == 1


def test_a_bug_is_in_a_kernel_and_not_in_what_launches_it() -> None:
    pair = templates(SUITE["level2/gemm_softmax"])
    assert isinstance(pair, Pair) and "def launch_" in pair.source
    lines, kernel = pair.source.splitlines(), False
    inside = []
    for line in lines:
        kernel = line == "@triton.jit" or (kernel and not line.startswith(("def launch_", "class ")))
        inside.append(kernel)
    for seed in range(40):
        bug = mutate(pair.source, random.Random(seed))
        assert bug is not None
        pairs = zip(lines, bug.source.splitlines(), strict=True)
        assert [inside[place] for place, (one, other) in enumerate(pairs) if one != other] == [True]


def test_the_same_seed_plants_the_same_bug() -> None:
    assert mutate(kernel("level1/softmax"), random.Random(3)) == mutate(kernel("level1/softmax"), random.Random(3))


@pytest.mark.parametrize("source", ["", "def f(:\n", "x = 1\n", "@triton.jit\ndef k(p):\n    pass\n"])
def test_there_is_not_always_something_to_edit(source: str) -> None:
    assert mutate(source, random.Random(0)) is None


def test_text_outside_ascii_does_not_move_the_edit() -> None:
    source = "# \u00e4\u00f6\u00fc\n@triton.jit\ndef k(p):\n    x = 'é' ; y = 2.0 * p  # \u00e9\n"
    found = {bug.source for seed in range(9) if (bug := mutate(source, random.Random(seed))) is not None}
    assert found == {source.replace("2.0 *", "2.5 *"), source.replace("2.0 *", "2.0 +")}


def test_the_verifier_finds_planted_bugs(verifier: Verifier) -> None:
    for kind, source in bugs("level1/gelu").items():
        verdict = judge(verifier, SUITE["level1/gelu"], source)
        assert not verdict.correct, kind
