"""Numbers in two texts beyond which values are tried: bounds and sentinels, and no sizes."""

import pytest

from tritonsmith.tasks.literals import levels

TASK = "class Model:\n    def forward(self, x):\n        return {}\n"


@pytest.mark.parametrize(
    ("task", "candidate", "found"),
    [
        ("x", "tl.load(p, other=-10000.0)", [10000.0]),
        ("x", "tl.load(p, other=-10000)", [10000.0]),
        ("relu(x - 1000)", "", [1000.0]),
        ("where(x > 300, x, 0)", "", [300.0]),
        ("hardtanh(x, -1e4, 1e4)", "tl.minimum(x, 1e4)", [10000.0]),
        ("x", "BLOCK = 1024\ngrid = (n + 1023) // 1024", []),
        ("x[:, :512].view(-1, 64)", "", []),
        ("x", "other=-1e9", []),
        ("x", "eps = 1e-5\nslope = 0.01\nlimit = 6.0", []),
        ("x", "a = 20.0\nb = 21.0", [20.0]),
        ("x", "some = [20.0, 100.0, 1e3, 1e4, 1e5]", [20.0, 1000.0, 1e5]),
        ("x", "def (", []),
    ],
)
def test_levels_are_bounds_and_no_sizes(task: str, candidate: str, found: list[float]) -> None:
    assert levels(TASK.format(task), candidate) == found
