"""Sizes that follow from the task's own: views, splits and scales of our own lowering, right at other sizes."""

from pathlib import Path

from small_tasks import lowered, sweep
from test_lower import answer, task

HEADS = task(
    "b, t, c = x.size()\n"
    "q, k = self.proj(x).split(self.width, dim=2)\n"
    "q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)\n"
    "k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)\n"
    "return (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))",
    "self.width, self.heads = width, heads\nself.proj = nn.Linear(width, 2 * width)",
    {"x": "6, 14, 60"},
    ", width, heads",
    "60, 5",
)
VISION = task(
    "b, c, h, w = x.shape\ny = x.view(b, c, h * w).permute(2, 0, 1)\n"
    "return self.attn(y, y, y)[0].permute(1, 2, 0).view(b, c, h, w)",
    "self.attn = nn.MultiheadAttention(width, heads)",
    {"x": "2, 24, 10, 10"},
    ", width, heads",
    "24, 3",
)
POOLED = task(
    "n = x.size()[1]\ny = torch.relu(x).view(-1, self.width)[:, : self.kept].reshape(-1, n, self.kept)\n"
    "return (y.transpose(1, 2) * 2.0).reshape(-1, self.kept * n)",
    "self.width, self.kept = width, kept",
    {"x": "40, 20, 36"},
    ", width, kept",
    "36, 12",
)


def test_views_are_right_at_other_sizes(tmp_path: Path) -> None:
    assert not (wrong := sweep([HEADS, VISION, POOLED], tmp_path)), wrong


def test_equal_parts_are_counted_and_not_measured() -> None:
    assert ".chunk(2, dim=2)" in answer(HEADS) and "split" not in answer(HEADS)


def test_parts_of_a_size_that_the_task_writes_have_that_size() -> None:
    one = task("a, b, c = x.split(4, dim=1)\nreturn a * b + c", shapes={"x": "6, 12"})
    assert ".split(4, dim=1)" in answer(one)


def test_unequal_parts_follow_from_members_and_the_rest() -> None:
    one = task("a, b = x.split([self.kept, 7], 1)\nreturn a.sum() * b", "self.kept = 5", {"x": "6, 12"})
    assert ".split([self.kept, 7], dim=1)" in answer(one)


def test_the_root_of_a_width_in_memory_follows_it() -> None:
    assert ".shape[3] ** -0.5" in answer(HEADS)


def test_a_number_that_names_a_dimension_is_no_size() -> None:
    body = lowered(VISION).source.split("def forward")[1]
    assert "x.reshape(x.shape[0], x.shape[1], -1)" in body and "(2, " not in body.replace("permute(2, 0, 1)", "")


def test_heads_and_batch_are_multiplied_as_the_module_does() -> None:
    assert ".shape[1] * self.attn.num_heads, -1)" in lowered(VISION).source


def test_a_product_of_sizes_is_a_product() -> None:
    assert "reshape(-1, t" in (body := answer(POOLED)) and "240" not in body and ":self.kept]" in body


def test_a_half_follows_its_size() -> None:
    one = task("a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]\nreturn torch.cat((-b, a), -1)")
    assert answer(one).count("x.shape[1] // 2") == 2 and ":5" not in answer(one) and "5:" not in answer(one)
