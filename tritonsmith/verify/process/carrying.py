"""What a runner does with tensors that the judge sends from the host's memory, and is asked to tell there.

Small sizes are drawn and compared on the host (`reference.hosting`). They go to the GPU through memory whose pages are
locked: such a copy takes no turn of the GPU, and a plain one waits for everybody's (`benchmarks/sharing.py`).
Untrusted, as all of `runner` is.
"""

import torch

from tritonsmith.tasks.trees import map_tensors
from tritonsmith.verify.dynamic.cuda import Guards
from tritonsmith.verify.dynamic.observe import tensors
from tritonsmith.verify.process import wire
from tritonsmith.verify.process.ipc import extent

_LEAST = 1 << 16
"""Bytes of the memory that is locked, at least."""


class Carrier:
    """Takes tensors to the GPU, each between guards."""

    def __init__(self, guards: Guards) -> None:
        self._guards = guards
        self._locked = torch.empty(_LEAST, dtype=torch.uint8, pin_memory=True)
        self._done = torch.cuda.Event()

    def carried(self, tree: wire.Tree) -> wire.Tree:
        """A message's tree with its tensors on the GPU; constructor arguments stay where they are, and what has no
        data has none there either."""
        if isinstance(tree, dict) and "init" in tree:
            rest = self.carried({key: item for key, item in tree.items() if key != "init"})
            return {"init": tree["init"], **rest}  # type: ignore[dict-item]
        given = [tensor for tensor in tensors(tree) if tensor.device.type == "cpu"]
        if not given:
            return tree
        self._done.synchronize()  # the last ones are there
        if (wanted := sum(map(_bytes, given))) > self._locked.numel():
            self._locked = torch.empty(2 * wanted, dtype=torch.uint8, pin_memory=True)
        begins = 0

        def moved(tensor: torch.Tensor) -> torch.Tensor:
            nonlocal begins
            if tensor.device.type != "cpu":
                return tensor
            place = self._guards.empty(tensor.shape, tensor.stride(), tensor.dtype)
            if size := _bytes(tensor):
                part = self._locked[begins : begins + size]
                part.copy_(_raw(tensor))
                _raw(place).copy_(part, non_blocking=True)
                begins += size
            return place

        found = map_tensors(tree, moved)
        self._done.record()
        return found  # type: ignore[return-value]


def check_answer(tree: wire.Tree) -> None:
    """Raise TypeError for an answer that is not on the GPU: where it lies is not told with its values."""
    if (strange := next((tensor for tensor in tensors(tree) if not tensor.is_cuda), None)) is not None:
        raise TypeError(f"forward returned a tensor on {strange.device.type}, and its inputs are on cuda")


def _bytes(tensor: torch.Tensor) -> int:
    return extent(tensor.shape, tensor.stride()) * tensor.element_size()


def _raw(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes from a tensor's first element to its last."""
    reach = extent(tensor.shape, tensor.stride())
    return tensor.detach().as_strided((reach,), (1,), tensor.storage_offset()).view(torch.uint8)
