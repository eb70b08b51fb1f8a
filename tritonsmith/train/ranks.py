"""The processes of one training run, a rank each, as `accelerate launch` started them; one alone is rank 0.

Rank 0 leads: it alone has the run's lock, reads and writes its folder, owns the verifier and decides what is done
next. The others `follow`: they wait until they are told to do something `together`. What is said between ranks goes
over gloo, whatever training uses, with no time limit: rank 0 may judge for an hour meanwhile, and launchers end the
rest when one dies. What ranks say while they draw goes through `desk`.
"""

import atexit
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import ParamSpec, TypeVar, cast

import torch
import torch.distributed as dist
from accelerate import PartialState

from tritonsmith.errors import UserError

T = TypeVar("T")
P = ParamSpec("P")


@dataclass
class _Talk:
    """How this process speaks with the others."""

    group: dist.ProcessGroup | None = None
    """None: it is alone."""
    together: bool = False
    """Whether the others are at work rather than waiting to be told."""


_talk = _Talk()


def join() -> None:
    """Find the other processes, if a launcher started several; raises UserError where they are on several hosts."""
    if _talk.group is not None or not dist.is_torchelastic_launched():
        return
    PartialState(cpu=not torch.cuda.is_available())
    if not dist.is_initialized() or dist.get_world_size() == 1:
        return
    _talk.group = cast(dist.ProcessGroup, dist.new_group(backend="gloo", timeout=timedelta(days=30)))
    hosts = set(gathered(socket.gethostname()))
    if len(hosts) > 1:
        raise UserError(f"the processes are on {len(hosts)} hosts; they must share one, and its judges")


def count() -> int:
    """How many processes there are."""
    return 1 if _talk.group is None else dist.get_world_size()


def rank() -> int:
    """Which of them this is, from 0."""
    return 0 if _talk.group is None else dist.get_rank()


def is_first() -> bool:
    """Whether this is the one that leads, or is alone."""
    return rank() == 0


def share(total: int) -> slice:
    """This process's part of `total` rows that lie side by side; sizes differ by one at most."""
    return slice(total * rank() // count(), total * (rank() + 1) // count())


def gathered(value: T) -> list[T]:
    """What each process gave, in the order of ranks; all must call it."""
    if _talk.group is None:
        return [value]
    values: list[T | None] = [None] * count()
    dist.all_gather_object(values, value, group=_talk.group)
    return cast("list[T]", values)


def first(make: Callable[[], T]) -> T:
    """What `make` gives on rank 0, for all, who wait for it; it is not called elsewhere."""
    if _talk.group is None:
        return make()
    told: list[object] = [make() if is_first() else None]
    dist.broadcast_object_list(told, src=0, group=_talk.group)
    return cast(T, told[0])


def meet() -> None:
    """Wait for all."""
    if _talk.group is not None:
        dist.barrier(group=_talk.group)


@contextmanager
def leading() -> Iterator[None]:
    """Around what rank 0 does, at whose end the others stop following; they find out by themselves if it dies."""
    try:
        yield
    finally:
        if _talk.group is not None and not _talk.together:
            first(lambda: None)
            _part_at_exit()


@contextmanager
def together(function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> Iterator[None]:
    """On rank 0: let the others call a module's function while this block runs, and wait for them at its end."""
    if _talk.group is None:
        yield
        return
    first(lambda: (function, args, kwargs))
    _talk.together = True
    yield
    meet()
    _talk.together = False


def follow() -> None:
    """On the other ranks: do what is told until there is nothing more to do.

    What rank 0 says in a line of its own, a user's mistake included, is not said again.
    """
    logging.getLogger("tritonsmith").setLevel(logging.WARNING)
    try:
        while (told := first(_nothing)) is not None:
            function, args, kwargs = told
            function(*args, **kwargs)
            meet()
        _part_at_exit()
    except UserError as error:
        raise SystemExit(2) from error


def part() -> None:
    """Where all have done their work and none is told more: let this process end without the others."""
    if _talk.group is not None:
        _part_at_exit()


def _part_at_exit() -> None:
    """End gloo's threads at this process's exit, while Python lives.

    One that lets go of the last tensor later wants Python's lock, and its process is aborted for it. Not where others
    may be at work still: what waits for them would be waited for. Nothing else may hold the group, or it does not end.
    """

    def part() -> None:
        _talk.group = None
        if dist.is_initialized():
            dist.destroy_process_group()

    atexit.register(part)


def _nothing() -> tuple[Callable[..., object], tuple[object, ...], dict[str, object]] | None:
    return None
