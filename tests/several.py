"""`tritonsmith` as tests of several processes start it.

accelerate offers FSDP only where it finds several GPUs, so processes on the CPU are told that they have one each; all
else, gloo and the CPU's tensors included, is as it is. A random model is never right: rewards go by the completion's
number, so that there is something to learn.
"""

import os
import sys

from accelerate import PartialState
from accelerate.utils import DistributedType

from tritonsmith import reward
from tritonsmith.cli import main
from tritonsmith.types import Verdict

_init = PartialState.__init__


def _as_on_gpus(self: PartialState, *args: object, **kwargs: object) -> None:
    _init(self, *args, **kwargs)
    under_fsdp = os.environ.get("ACCELERATE_USE_FSDP") == "true"
    if under_fsdp and self.distributed_type is DistributedType.MULTI_CPU:
        self.distributed_type = DistributedType.MULTI_GPU


def by_number(verdict: Verdict, *_: object, **__: object) -> float:
    """1 for every other completion of a task."""
    return float(verdict.sample % 2)


def by_task(verdict: Verdict, *_: object, **__: object) -> float:
    """1 for every other completion of every other task."""
    return float(verdict.sample % 2 and int(verdict.task[-1], 16) % 2)


if __name__ == "__main__":
    PartialState.__init__ = _as_on_gpus
    reward.score = by_task if sys.argv.pop(1) == "by_task" else by_number
    main()
