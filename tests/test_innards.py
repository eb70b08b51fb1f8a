"""Frames, code and private parts of libraries, however they are named."""

import ast

import pytest

from tritonsmith.verify.static.innards import innards


@pytest.mark.parametrize(
    "source",
    [
        "steps.gi_frame",
        "getattr(steps, 'cr_frame')",
        "match steps:\n    case object(ag_frame=frame):\n        pass",
        "class Fields:\n    f_builtins: object",
        "hint._evaluate({}, {}, frozenset())",
        "x._typed_storage()",
        "class Mine:\n    def _evaluate(self):\n        return hint._evaluate()",
        "Fields.register(type(steps))\nmatch steps:\n    case Fields(frame):\n        pass",
        "x.is_meta",
        "torch.get_device_module('cuda').importlib.import_module('os')",
        "getattr(thing, 'sys').modules",
        "self.sys = 1\nthing.sys.modules",
        "def behind(self):\n    return self.sys",
        "class Mine:\n    @staticmethod\n    def behind(self):\n        return self.sys",
        "class Mine:\n    def behind(self):\n        return self.sys\nMine.behind(thing)",
    ],
)
def test_found(source: str) -> None:
    assert list(innards(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "self._cache = {}\nself._cache.get(1)",
        "def _launch():\n    pass\n\nself._launch()",
        "plan._replace(block=1)",
        "weight._version",
        "self.register_buffer('_table', t)\nself._table",
        "match block:\n    case Plan(block=1):\n        pass",
        "class Mine:\n    def size(self):\n        return self.os + 1",
        "class Mine:\n    def size(self):\n        return self.os\n    def more(self):\n        return Mine.size(self)",
    ],
)
def test_left_alone(source: str) -> None:
    assert list(innards(ast.parse(source))) == []
