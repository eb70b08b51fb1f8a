"""A candidate's source out of a wrapper's steps, its kernels in plain Triton, and the task's constructor.

Says nothing of how the kernels came about; see `generate` and `rewrite`.
"""

import ast
import copy
import keyword
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch.utils import _pytree as pytree

from tritonsmith.data import externs
from tritonsmith.data.inductor.constructor import Shell
from tritonsmith.data.inductor.kernels import Kernel, clean
from tritonsmith.data.inductor.rewrite import Unsupported, dotted
from tritonsmith.data.inductor.simplify import Rename
from tritonsmith.data.inductor.wrapper import Allocate, Extern, Launch, Set, Step, Wrapper

_HEAD = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n"


@dataclass
class Names:
    """What the wrapper's names are in forward."""

    arguments: dict[str, str]
    """`arg0_1` -> `x` or `self.linear.weight`."""
    symbols: dict[str, str]
    """`s34` -> `x.shape[0]`."""
    inputs: list[str]
    """Forward's parameters that are tensors, to be made contiguous."""
    dtype: str
    """Whose dtype the outputs have that the trace gave `native`: `x.dtype`."""
    native: str
    """The dtype of the trace that stands for the task's own: `torch.float32`."""
