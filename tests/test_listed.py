"""Attributes by names that a loop lists."""

import pytest
from judging import double

from tritonsmith.verify.policy import check_source


@pytest.mark.parametrize(
    ("loop", "allowed"),
    [
        ('for name in ("q", "k"):\n            setattr(self, name, 1)', True),
        ('self.both = [getattr(self, name) for name in ["q", "k"]]', True),
        ('for name in ("q", "forward"):\n            setattr(self, name, 1)', False),
        ('for name in ("q", "__class__"):\n            setattr(self, name, 1)', False),
        ('for name in ("q", "numpy"):\n            getattr(self, name)', False),
        ('for name in ("q", "k"):\n            setattr(torch, name, 1)', False),
        ('for name in ("q", "k"):\n            name = "for" + "ward"\n            setattr(self, name, 1)', False),
        ('for name in ("q", "k"):\n            setattr(self, name + "", 1)', False),
        ("for name in names:\n            setattr(self, name, 1)", False),
        (
            'for name in ("q",):\n            pass\n        for name in names:\n            setattr(self, name, 1)',
            False,
        ),
    ],
)
def test_names_that_a_loop_lists_are_as_plain_as_written_ones(loop: str, allowed: bool) -> None:
    source = double().replace(
        "class ModelNew(nn.Module):\n",
        f"class ModelNew(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {loop}\n\n",
    )
    assert "super().__init__()" in source
    found = {finding.rule for finding in check_source(source, "strict")}
    assert found.isdisjoint({"builtin", "getattr"}) is allowed
