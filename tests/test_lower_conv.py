"""Convolutions in our own lowering: right at several sizes and precisions, fused, with no size of the task in them."""

from pathlib import Path

import pytest
from judging import judge
from small_tasks import lowered, small_task, sweep

from tritonsmith.verify.pool import Verifier

CASES = [
    ("self.conv = nn.Conv1d(3, 4, 3)", "self.conv(x)", "2, 3, 11"),
    ("self.conv = nn.Conv1d(4, 6, 4, padding='same', dilation=3, groups=2)", "self.conv(x)", "2, 4, 13"),
    ("self.conv = nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=(1, 0), bias=False)", "self.conv(x)", "2, 3, 9, 11"),
    ("self.conv = nn.Conv2d(3, 4, 3, padding='valid', dilation=(2, 1))", "self.conv(x)", "2, 3, 9, 10"),
    ("self.conv = nn.Conv2d(6, 9, 3, padding=1, groups=3)", "self.conv(x)", "2, 6, 9, 9"),
    ("self.conv = nn.Conv2d(5, 5, 3, padding=2, stride=2, dilation=2, groups=5)", "self.conv(x)", "2, 5, 9, 11"),
    ("self.conv = nn.Conv2d(3, 6, 3, groups=3, padding=1, bias=False)", "self.conv(x)", "2, 3, 9, 9"),
    ("self.conv = nn.Conv2d(1, 4, 3, padding=1)", "self.conv(x)", "3, 1, 9, 9"),
    ("self.conv = nn.Conv2d(3, 4, 3, padding=1)", "self.conv(x)", "3, 9, 9"),
    ("self.w = nn.Parameter(torch.randn(4, 3, 2, 2))", "F.conv2d(x, self.w, stride=2, padding=1)", "2, 3, 9, 9"),
    ("", "F.conv2d(x, y.transpose(0, 1), padding='same')", "2, 3, 9, 9", "3, 4, 3, 3"),
    ("self.conv = nn.Conv3d(2, 3, 3, stride=(1, 2, 2), padding=1)", "self.conv(x)", "1, 2, 4, 9, 9"),
    ("self.conv = nn.Conv3d(3, 3, 2, groups=3)", "self.conv(x)", "1, 3, 4, 9, 9"),
    ("self.conv = nn.ConvTranspose1d(3, 4, 4, stride=3, padding=1, output_padding=2)", "self.conv(x)", "2, 3, 9"),
    ("self.conv = nn.ConvTranspose2d(3, 4, 3)", "self.conv(x)", "2, 3, 9, 9"),
    ("self.conv = nn.ConvTranspose2d(4, 6, 3, 2, padding=1, groups=2, dilation=2)", "self.conv(x)", "2, 4, 9, 9"),
    ("self.conv = nn.ConvTranspose2d(4, 4, 4, stride=2, padding=1, groups=4)", "self.conv(x)", "2, 4, 9, 9"),
    ("self.conv = nn.ConvTranspose3d(2, 3, 2, stride=2, bias=False)", "self.conv(x)", "1, 2, 3, 4, 9"),
    (
        "self.conv = nn.Conv2d(3, 6, 3, padding=1); self.scale = nn.Parameter(torch.randn(6, 1, 1))",
        "torch.relu(self.conv(x)) * self.scale + y", "2, 3, 9, 9", "2, 6, 9, 9",
    ),
    ("self.conv = nn.Conv2d(4, 4, 3, padding=1, groups=4)", "F.gelu(self.conv(x)) + x", "2, 4, 9, 9"),
    ("self.conv = nn.Conv2d(4, 6, 3, groups=2)", "self.conv(x) * y", "2, 4, 9, 9", "2, 6, 1, 1"),
    ("self.conv = nn.Conv2d(3, 4, 3, padding=1)", "self.conv(x) + y", "2, 3, 9, 9", "9, 9"),
    ("self.a = nn.Conv2d(3, 4, 3); self.b = nn.Conv2d(4, 3, 3)", "self.b(torch.relu(self.a(x)))", "2, 3, 11, 9"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_every_kind_of_convolution_is_right(tmp_path: Path) -> None:
    assert not sweep([small_task(*case) for case in CASES], tmp_path)


@pytest.mark.parametrize("case", [CASES[2], CASES[5], CASES[14], CASES[18]], ids=lambda case: case[0].split(";")[0])
def test_the_verifier_accepts_a_convolution(verifier: Verifier, case: tuple[str, ...]) -> None:
    task = small_task(*case)
    verdict = judge(verifier, task, lowered(task).source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_bias_activation_and_residual_are_in_the_convolutions_kernel() -> None:
    source = lowered(small_task(*CASES[18])).source
    assert source.count("@triton.jit") == 1
    assert source.count("tl.store") == 1
    assert "//" not in source[source.index("tl.dot") : source.index("tl.store")]  # operands need no division


def test_the_same_text_answers_other_sizes() -> None:
    texts = {
        lowered(small_task(CASES[2][0], "self.conv(x)", shape)).source for shape in ("2, 3, 9, 11", "5, 3, 64, 48")
    }
    assert len(texts) == 1


def test_one_filter_a_channel_needs_no_product() -> None:
    assert "tl.dot" not in lowered(small_task(*CASES[5])).source


def test_dimensions_differ_by_their_axes_alone() -> None:
    cases = [
        (f"self.conv = nn.Conv{rank}d(3, 4, 3, padding=1)", "self.conv(x)", "2, 3" + ", 9" * rank) for rank in (1, 2, 3)
    ]
    lengths = [len(lowered(small_task(*case)).source.splitlines()) for case in cases]
    assert lengths[0] < lengths[1] < lengths[2] < lengths[0] + 12
