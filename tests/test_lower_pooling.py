"""Pooling, resizing and padding in our own lowering: right at several sizes and precisions."""

from pathlib import Path

import pytest
from judging import judge
from small_tasks import lowered, small_task, sweep

from tritonsmith.data.lower import convert
from tritonsmith.data.pair import Miss
from tritonsmith.verify.pool import Verifier

POOLED = [
    ("self.pool = nn.MaxPool1d(3)", "self.pool(x)", "2, 3, 11"),
    ("self.pool = nn.MaxPool2d(3, stride=2, padding=1)", "self.pool(x)", "2, 3, 9, 11"),
    (
        "self.pool = nn.MaxPool2d((3, 2), stride=(2, 3), dilation=(2, 1), ceil_mode=True)",
        "self.pool(x)",
        "2, 3, 13, 11",
    ),
    ("self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)", "self.pool(x)", "3, 12, 10"),
    ("self.pool = nn.MaxPool3d(2)", "self.pool(x)", "2, 2, 4, 9, 9"),
    ("", "F.max_pool2d(x, 2, return_indices=True)[0]", "2, 3, 9, 9"),
    ("self.pool = nn.AvgPool1d(4, stride=2, padding=2)", "self.pool(x)", "2, 3, 11"),
    ("self.pool = nn.AvgPool2d(2)", "self.pool(x)", "2, 3, 9, 11"),
    ("self.pool = nn.AvgPool2d(3, 2, padding=1, count_include_pad=False)", "self.pool(x)", "2, 3, 9, 11"),
    ("self.pool = nn.AvgPool2d(3, 2, padding=1, ceil_mode=True)", "self.pool(x)", "2, 3, 10, 12"),
    ("self.pool = nn.AvgPool2d(3, 2, ceil_mode=True, count_include_pad=False)", "self.pool(x)", "2, 3, 10, 12"),
    ("self.pool = nn.AvgPool3d(2, 1, padding=1, divisor_override=5)", "self.pool(x)", "1, 2, 4, 5, 9"),
    ("self.pool = nn.AdaptiveAvgPool1d(5)", "self.pool(x)", "2, 3, 11"),
    ("self.pool = nn.AdaptiveAvgPool2d((3, None))", "self.pool(x)", "2, 3, 10, 9"),
    ("self.pool = nn.AdaptiveAvgPool2d(1)", "torch.sigmoid(self.pool(x)) * x", "2, 3, 9, 9"),
    ("self.pool = nn.AdaptiveAvgPool3d(2)", "self.pool(x)", "1, 2, 4, 5, 9"),
    ("self.pool = nn.AdaptiveMaxPool2d((2, 3))", "self.pool(x)", "2, 3, 10, 9"),
    ("self.pool = nn.AdaptiveMaxPool1d(1)", "self.pool(x)", "2, 3, 10"),
    ("", "F.lp_pool2d(x, 2, 3)", "2, 3, 11, 10"),
    (
        "self.pool = nn.MaxPool2d(2); self.bias = nn.Parameter(torch.randn(3, 1, 1))",
        "torch.tanh(self.pool(x) + self.bias)",
        "2, 3, 12, 10",
    ),
]

RESIZED = [
    ("", "F.interpolate(x, scale_factor=2)", "2, 3, 9, 5"),
    ("self.up = nn.Upsample(scale_factor=3)", "self.up(x) * 2.0", "2, 3, 9"),
    ("self.up = nn.Upsample(scale_factor=(2, 1, 3))", "self.up(x)", "1, 2, 3, 4, 9"),
    ("", "F.interpolate(x, size=(7, 13))", "2, 3, 9, 10"),
    ("", "F.interpolate(x, size=y.shape[2:]) + y", "2, 3, 4, 5", "2, 3, 9, 11"),
    ("", "F.interpolate(x, scale_factor=1.5, mode='nearest-exact')", "2, 3, 9, 10"),
    ("", "F.interpolate(x, scale_factor=0.5)", "2, 3, 9, 10"),
    ("self.up = nn.Upsample(scale_factor=2, mode='bilinear')", "self.up(x)", "2, 3, 9, 5"),
    ("", "F.interpolate(x, size=(5, 7), mode='bilinear', align_corners=True)", "2, 3, 9, 10"),
    ("", "F.interpolate(x, scale_factor=1.5, mode='linear')", "2, 3, 9"),
    ("", "F.interpolate(x, scale_factor=2.0, mode='trilinear', align_corners=True)", "1, 2, 3, 4, 9"),
    ("", "F.interpolate(x, size=12, mode='area')", "2, 3, 9"),
    ("self.shuffle = nn.PixelShuffle(2)", "self.shuffle(x)", "2, 8, 9, 5"),
    ("", "F.pixel_unshuffle(x, 3)", "2, 3, 9, 12"),
    ("self.shuffle = nn.ChannelShuffle(3)", "self.shuffle(x) + x", "2, 12, 9, 5"),
    ("", "F.pad(x, (1, 2, 0, 1), value=3.0)", "2, 3, 9, 10"),
    ("", "F.pad(x, (1, -2))", "3, 9"),
    ("self.pad = nn.ReflectionPad2d((1, 2, 3, 0))", "self.pad(x)", "2, 3, 9, 10"),
    ("self.pad = nn.ReplicationPad3d(2)", "self.pad(x)", "1, 2, 3, 4, 9"),
    ("self.pad = nn.ConstantPad1d(3, 1.5)", "torch.tanh(self.pad(x)) * y", "2, 3, 9", "3, 1"),
    ("", "F.pad(x, (2, 3, 1, 0), mode='circular')", "2, 3, 9, 10"),
    ("self.conv = nn.Conv2d(3, 4, (3, 5), padding=(1, 2), padding_mode='reflect')", "self.conv(x)", "2, 3, 9, 10"),
    ("", "F.pad((x > 0).long(), (1, 1), value=7)", "3, 9"),
]


def test_every_kind_of_pooling_is_right(tmp_path: Path) -> None:
    assert not sweep([small_task(*case) for case in POOLED], tmp_path)


def test_every_kind_of_resizing_is_right(tmp_path: Path) -> None:
    assert not sweep([small_task(*case) for case in RESIZED], tmp_path)


@pytest.mark.parametrize("case", [POOLED[2], POOLED[8], RESIZED[7], RESIZED[12], RESIZED[17]], ids=lambda case: case[1])
def test_the_verifier_accepts_it(verifier: Verifier, case: tuple[str, ...]) -> None:
    task = small_task(*case)
    verdict = judge(verifier, task, lowered(task).source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_what_follows_a_pooling_is_in_its_kernel() -> None:
    source = lowered(small_task(*POOLED[-1])).source
    assert source.count("@triton.jit") == 1


def test_pooling_to_one_element_is_a_mean() -> None:
    assert (
        "mean_kernel" in lowered(small_task("self.pool = nn.AdaptiveAvgPool2d(1)", "self.pool(x)", "2, 3, 9, 9")).source
    )


def test_a_kernels_window_follows_the_module() -> None:
    source = lowered(small_task(*POOLED[1])).source
    assert "KERNEL=self.pool.kernel_size" in source and "STRIDE=self.pool.stride" in source


PLACES = [
    ("", "F.max_pool2d(x, 3, 2, padding=1, return_indices=True)[1]", "2, 3, 9, 11"),
    ("self.pool = nn.MaxPool1d(3, dilation=2, return_indices=True)", "self.pool(x)[1]", "2, 3, 17"),
    ("self.pool = nn.MaxPool3d(2, ceil_mode=True, return_indices=True)", "self.pool(x)[1]", "1, 2, 4, 5, 9"),
]


def test_positions_of_maxima_are_right(tmp_path: Path) -> None:
    assert not (wrong := sweep([small_task(*case) for case in PLACES], tmp_path)), wrong


def test_the_verifier_accepts_values_and_positions(verifier: Verifier) -> None:
    task = small_task("self.pool = nn.MaxPool2d(4, 1, 1, return_indices=True)", "self.pool(x)", "2, 3, 9, 9")
    verdict = judge(verifier, task, lowered(task).source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_positions_in_windows_of_changing_size_are_a_miss() -> None:
    case = ("", "F.adaptive_max_pool2d(x, 2, return_indices=True)[1]", "2, 3, 9, 9")
    assert isinstance(convert(small_task(*case)), Miss)
