"""Documents as rows to learn from."""

from dataclasses import replace

import pytest
import torch

from tritonsmith.errors import UserError
from tritonsmith.train import tokenizer as bpe
from tritonsmith.train.pretrain import prepare
from tritonsmith.train.pretrain.prepare import PART
from tritonsmith.train.pretrain.rows import Document, chat

MODULE = "class Model(nn.Module):\n\n    def forward(self, x):\n        return x + {n}"
ANSWER = "class ModelNew(nn.Module):\n    def forward(self, x):\n        return add(x, {n})\n```"


def documents(count: int) -> list[Document]:
    return [
        Document(chat([{"role": "user", "content": MODULE.format(n=n)}]), f"```python\n{ANSWER.format(n=n)}", 1, str(n))
        for n in range(count)
    ]


def test_rows_are_the_same_for_any_number_of_processes() -> None:
    some = documents(PART + 10)
    words = bpe.train([one.prompt + one.completion for one in some], 400)
    alone, together = (prepare.prepare(words, some, 256, 1, 3, processes) for processes in (1, 2))
    assert alone.documents == together.documents > len(some)
    assert alone.text == together.text
    for one, other in ((alone.ids, together.ids), (alone.kinds, together.kinds), (alone.positions, together.positions)):
        assert torch.equal(one, other)


def test_copies_are_added_to_what_is_learnt() -> None:
    some = documents(20)
    words = bpe.train([one.prompt + one.completion for one in some], 400)
    assert prepare.prepare(words, some, 256, 0, 3, 1).documents == 20
    assert prepare.prepare(words, some, 256, 2, 3, 1).documents > 30


def test_plain_prompts_are_the_same_for_any_number_of_processes() -> None:
    some = documents(PART + 10)
    noisy = [replace(one, prompt=one.prompt.replace("self, x", "self, x: Tensor,  # said\n ")) for one in some]
    alone, together = (prepare.plainly(noisy, processes) for processes in (1, 2))
    assert alone == together
    assert [one.prompt for one in alone] == [one.prompt for one in some]


def test_rows_that_are_not_canonical_are_refused() -> None:
    told = "import torch\nimport torch.nn as nn\n\nclass Model(nn.Module):\n\n"
    told += "    def forward(self, x):\n        return x + {n}\n\n"
    told += "def get_inputs():\n    x = torch.rand({n})\n    return [x]\n\ndef get_init_inputs():\n    return []"
    some = [replace(documents(1)[0], prompt=chat([{"role": "user", "content": told.format(n=n)}])) for n in range(2, 9)]
    prepare.check_canonical(some)
    others = [replace(one, prompt=one.prompt.replace("(self, x)", "(self, a)").replace("x +", "a +")) for one in some]
    with pytest.raises(UserError, match="0 of 7 rows tried are canonical"):
        prepare.check_canonical(others)
