"""Recurrent networks: layers, directions, states that come out, and that their answers are right."""

import re
from pathlib import Path

from judging import judge
from small_tasks import lowered, small_task, sweep

from tritonsmith.data.lower import convert, templates
from tritonsmith.data.pair import Miss, Pair
from tritonsmith.types import Task
from tritonsmith.verify.pool import Verifier

_CASES = [
    ("self.net = nn.LSTM(6, 8, 2)", "self.net(x, (y, z))[0]", "5, 3, 6", "2, 3, 8", "2, 3, 8"),
    ("self.net = nn.LSTM(6, 7, 2)", "self.net(x, (y, z))[1][0]", "5, 3, 6", "2, 3, 7", "2, 3, 7"),
    ("self.net = nn.LSTM(6, 8)", "self.net(x, (y, z))[1][1]", "5, 3, 6", "1, 3, 8", "1, 3, 8"),
    ("self.net = nn.LSTM(6, 40, batch_first=True, bidirectional=True)", "self.net(x)[0][:, -1] * 2.0", "3, 5, 6"),
    ("self.net = nn.GRU(6, 8, 2, bidirectional=True)", "self.net(x, y)[0]", "4, 3, 6", "4, 3, 8"),
    ("self.net = nn.GRU(6, 7, 2, bias=False)", "self.net(x, y)[1]", "5, 3, 6", "2, 3, 7"),
    ("self.net = nn.RNN(6, 36)", "self.net(x)[0]", "5, 17, 6"),
    ("self.net = nn.RNN(6, 8, nonlinearity='relu', batch_first=True)", "self.net(x, y)[1]", "3, 5, 6", "1, 3, 8"),
    ("self.net = nn.GRU(6, 8)", "self.net(x)[0]", "5, 6"),
]


def _task(case: tuple[str, ...]) -> Task:
    return small_task(*case)


def test_every_kind_of_recurrence_is_right(tmp_path: Path) -> None:
    assert not (wrong := sweep([_task(case) for case in _CASES], tmp_path)), wrong


def test_the_verifier_accepts_a_recurrence(verifier: Verifier) -> None:
    task = _task(_CASES[4])
    pair = templates(task)
    assert isinstance(pair, Pair)
    verdict = judge(verifier, task, pair.source)
    assert verdict.correct, (verdict.stages, verdict.mismatch, verdict.findings)


def test_layers_and_directions_share_one_kernel_of_a_step() -> None:
    source = lowered(_task(_CASES[4])).source
    assert source.count("def gru_step_kernel") == 1 and source.count("gru_step_kernel[") == 4


def test_no_number_of_steps_is_in_the_answer() -> None:
    sources = [
        lowered(small_task("self.net = nn.GRU(6, 9)", "self.net(x)[0]", f"{steps}, 3, 6")).source for steps in (5, 11)
    ]
    assert sources[0] == sources[1] and not re.search(r"\b5\b", sources[0])


def test_dropout_between_layers_is_a_miss() -> None:
    found = convert(small_task("self.net = nn.LSTM(6, 9, 2, dropout=0.5)", "self.net(x)[0]", "5, 3, 6"))
    assert isinstance(found, Miss) and "random numbers" in found.reason
