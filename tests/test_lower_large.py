"""Large tensors in our own lowering: grids that CUDA takes, offsets of 64 bits, scores in float32."""

from pathlib import Path

import pytest
from judging import judge
from small_tasks import lowered, small_task, sweep

from tritonsmith.verify.pool import Verifier

PRODUCTS = [
    ("", "torch.bmm(x, y) * z", "5, 17, 20", "5, 20, 18", "5, 1, 18"),
    ("", "torch.matmul(x.transpose(1, 2), y)", "3, 20, 17", "3, 20, 18"),
    ("", "x @ y", "17, 20", "20, 130"),
    ("", "F.scaled_dot_product_attention(x, y, y, is_causal=True)", "2, 3, 17, 9", "2, 3, 35, 9"),
]
WIDE = [
    *PRODUCTS,
    ("", "torch.softmax(x, dim=-1).sum(dim=1)", "3, 5, 70"),
    ("", "x.sum()", "40, 70"),
    ("self.net = nn.Conv2d(3, 4, 3, padding=1)", "F.avg_pool2d(self.net(x), 2)", "2, 3, 9, 11"),
    ("", "torch.cat([x, x.cumsum(1)], 1)", "9, 6"),
    ("", "x.argmax(dim=1)", "9, 70, 3"),
]


def _grid(*case: str) -> str:
    return lowered(small_task(*case)).source.split("_kernel[")[1].split("](")[0]


def test_a_batch_beyond_the_last_axis_is_on_the_first() -> None:
    assert _grid("", "torch.bmm(x, y)", "70000, 3, 4", "70000, 4, 5").startswith("(out.shape[0], triton.cdiv(")
    assert _grid("", "torch.bmm(x, y)", "700, 3, 4", "700, 4, 5").endswith(", out.shape[0])")


def test_columns_beyond_the_second_axis_are_on_the_first() -> None:
    assert _grid("", "x @ y", "7, 9", "9, 5000000").startswith("(triton.cdiv(out.shape[1], 64)")


def test_attention_of_many_heads_has_them_on_the_first_axis() -> None:
    case = ("", "F.scaled_dot_product_attention(x, x, x)", "9000, 8, 17, 9")
    assert _grid(*case).startswith("(out.shape[0] * out.shape[1], triton.cdiv(")


def test_any_order_of_the_grid_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("matmul", "attention"):
        monkeypatch.setattr(f"tritonsmith.data.lower.{name}.MAX_GRID", 1)
    assert not (wrong := sweep([small_task(*case) for case in PRODUCTS], tmp_path)), wrong


def test_offsets_have_64_bits_only_where_they_need_them() -> None:
    texts = [lowered(small_task("", "torch.relu(x)", shape)).source for shape in ("1 << 16, 1 << 16", "64, 64")]
    assert ["tl.int64" in text for text in texts] == [True, False]


def test_wide_offsets_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tritonsmith.data.lower.forward.MAX_INT32", 1)
    tasks = [small_task(*case) for case in WIDE]
    assert all("tl.int64" in lowered(task).source for task in tasks)
    assert not (wrong := sweep(tasks, tmp_path)), wrong


def test_wide_places_compile(verifier: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that a loop carries has one width; the interpreter would not mind two."""
    monkeypatch.setattr("tritonsmith.data.lower.forward.MAX_INT32", 1)
    task = small_task(*WIDE[-1])
    verdict = judge(verifier, task, lowered(task).source)
    assert verdict.correct, (verdict.findings, verdict.mismatch)


def test_scores_of_wide_heads_are_kept_in_float32() -> None:
    text = lowered(small_task("", "F.scaled_dot_product_attention(x, y, y)", "2, 17, 136", "2, 35, 136")).source
    assert text.count("dtype=torch.float32, device=x.device") == 1 and "torch.empty_like(t1, dtype=x.dtype)" in text
