"""Operators that dispatch modes do not see are seen by the profiler, and no other is called hidden."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from tritonsmith.verify.dynamic.conduct import computes
from tritonsmith.verify.dynamic.hidden import Hidden


class Seen(TorchDispatchMode):
    """As the observers do, keep the names of operators; each of them computes for itself, too."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        self.names.add(str(func))
        torch.zeros(3).exp()
        return func(*args, **(kwargs or {}))


def hidden(compute: Callable[[torch.Tensor], object]) -> list[str]:
    x, seen = torch.randn(8, 8), Seen()
    with Hidden() as found, torch.no_grad(), seen:
        compute(x)
    return [name for name in found.beside(seen.names) if computes(f"aten.{name}.default")]


def _beside_modes(x: torch.Tensor) -> object:
    torch.empty(3)
    with torch.ExcludeDispatchKeyGuard(torch.DispatchKeySet(torch.DispatchKey.Python)):
        return x.softmax(1)


def _without_modes(x: torch.Tensor) -> object:
    with torch._C._DisableTorchDispatch():
        return x @ x


@pytest.mark.parametrize(("compute", "name"), [(_beside_modes, "_softmax"), (_without_modes, "mm")])
def test_what_modes_do_not_see_is_hidden(compute: Callable[[torch.Tensor], object], name: str) -> None:
    assert name in hidden(compute)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.softmax(1),
        lambda x: x.reshape(4, 16).transpose(0, 1).contiguous().flatten(),
        lambda x: torch.nn.functional.linear(x, x, x[0]),
        lambda x: torch.empty_like(x).copy_(x).to(torch.float16).float(),
        lambda x: torch.cat([x.T, torch.zeros(1, 8), torch.full((2, 8), 3.0)]).chunk(2),
        lambda x: torch.tensor([1, 2, 3]).sum().item() + int(x.shape[0]),
        lambda x: nn.LSTM(8, 4)(x),
        lambda x: torch.inference_mode()(lambda: x.mean(0).softmax(0))(),
    ],
)
def test_what_modes_see_is_not_hidden_nor_what_it_is_made_of(compute: Callable[[torch.Tensor], object]) -> None:
    assert hidden(compute) == []
