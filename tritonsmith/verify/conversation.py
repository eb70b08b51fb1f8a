"""The judge's side of the talk with one candidate's runners: starts them, asks, and says what went wrong.

Whatever a runner does is turned into a finding (`RunnerFailed`); it decides nothing about values.
"""

import math
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

import torch
from pydantic import ValidationError

from tritonsmith.config import VerifyConfig
from tritonsmith.tasks.trees import map_tensors
from tritonsmith.types import Finding
from tritonsmith.verify.dynamic import observe
from tritonsmith.verify.process import idle, wire
from tritonsmith.verify.process.compilers import Compilers
from tritonsmith.verify.process.ipc import Windows, extent, shown
from tritonsmith.verify.process.limits import runner_limits
from tritonsmith.verify.process.queued import Stopwatch
from tritonsmith.verify.process.raised import lacks_memory
from tritonsmith.verify.process.stable import Stable
from tritonsmith.verify.process.zygote import Runner, Zygote

SPARE_BYTES = 1 << 20
"""Bytes that an answer may hold beyond the output expected."""
_VALUES = 1024
"""Values that a forward may hand to Python, under the strict policy, until it is stopped; far fewer are allowed."""
_LAST_SECONDS = 5.0
"""What a runner has to make itself ready for another candidate."""
_DIED = {"crash", "exit", "protocol"}
"""What is found where a runner is gone, which an earlier candidate of its may be to blame for."""


class RunnerFailed(Exception):
    """The candidate did not answer; carries the finding for the verdict."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class Conversation:
    """One candidate's runners, one a mode, and the time they share."""

    def __init__(
        self,
        settings: VerifyConfig,
        timeout: float,
        zygotes: Mapping[str, Zygote],
        stable: Stable | None,
        began: float | None,
        scarce: Callable[[], bool] = lambda: False,
        waiting: idle.Idle | None = None,
        compilers: Compilers | None = None,
    ) -> None:
        """`scarce` tells whether there is hardly any memory left where runners take theirs; `waiting` are the ones
        on the CPU that serve several candidates, None where each has its own; `compilers` work for those on a GPU,
        None where each compiles for itself."""
        self._settings, self._timeout, self._zygotes, self._stable = settings, timeout, zygotes, stable
        self._began = began
        self._runners: dict[str, Runner] = {}
        self._idle, self._compilers = waiting, compilers
        self._state: dict[str, Literal["asked", "answered", "unchanged"]] = {}
        """By mode what is known of its runner: that it was asked, and gave no answer or a worse one than a candidate's
        exception; that it answered; or that it said last that the candidate had not changed its process."""
        self._warm: Runner | None = None
        self._left: float | None = None
        self._scarce = scarce
        self._doing = ""
        self._granted = 0.0
        """Seconds that the candidate has besides."""
        self.seconds = 0.0
        """What the last question took of the candidate's time."""
        self.wanting = False
        """Whether a runner, when hardly any was left, or the judge was refused memory that others may have taken."""

    def load(self, mode: str, source: str, target: str, elsewhere: bool = False) -> None:
        """Start a runner and have it import the candidate; its time begins when the runner is warm. `elsewhere`: where
        there is no GPU it finds another one than it usually does."""
        header: dict[str, object] = {"do": "load", "mode": mode, "target": target, "source": source}
        header["elsewhere"] = elsewhere
        header["values"] = _VALUES if self._settings.policy == "strict" else None
        header |= {"lines": self._settings.ir_lines, "serves": self._idle is not None}
        if mode == "cuda" and self._stable is not None:
            if self._loaded_warm(self._stable, mode, header):
                return
            self._warm = self._stable.take()
            self._runners[mode] = self._warm
        elif self._idle is not None and self._loaded(self._idle, mode, header):
            return
        else:
            zygote = self._zygotes[mode]
            zygote.wait_until_warm()
            self._start_clock()
            most = 1 if self._idle is None else idle.MOST
            self._runners[mode] = zygote.start(runner_limits(self._settings, self._timeout, None, most))
        self.ask(mode, header)

    def _loaded(self, waiting: idle.Idle, mode: str, header: dict[str, object]) -> bool:
        """Whether a runner that waited has the candidate; one that is gone by then says nothing of it."""
        runner = waiting.take(mode)
        if runner is None:
            return False
        self._start_clock()
        self._runners[mode] = runner
        return self._answered(mode, header)

    def _loaded_warm(self, stable: Stable, mode: str, header: dict[str, object]) -> bool:
        """The same on a GPU, where one may have served before, or have waited for long."""
        self._warm = stable.take()
        self._runners[mode] = self._warm
        self._start_clock()
        return self._answered(mode, header)

    def _answered(self, mode: str, header: dict[str, object]) -> bool:
        try:
            self.ask(mode, header)
        except RunnerFailed as failure:
            if failure.finding.rule not in _DIED:
                raise
            self.end(mode)
            return False
        return True

    def at(self, doing: str) -> None:
        """Note what the candidate is asked for from here on, in words, for who runs out of time."""
        self._doing = f"; the time ran out {doing}"

    def grant(self) -> None:
        """Give the candidate its time twice, for a task that takes the interpreter long at its smallest size."""
        if not self._granted:
            self._granted = self._timeout
            self._left = self._left + self._granted if self._left is not None else None

    def has(self, mode: str) -> bool:
        """Whether a runner of this mode has the candidate loaded."""
        return mode in self._runners

    @property
    def deadline(self) -> float:
        """When the candidate's time would be up if it ran from now on (time.monotonic seconds).

        It runs while a runner is asked: what the judge computes, and waits for, is not the candidate's, nor is what
        others take of the processors (`queued`).
        """
        return math.inf if self._left is None else time.monotonic() + self._left

    def ask(
        self,
        mode: str,
        header: dict[str, object],
        tree: object = None,
        room: int = SPARE_BYTES,
        free: bool = False,
        here: bool = False,
    ) -> tuple[dict[str, object], wire.Tree]:
        """Send one message and wait for its answer, of at most `room` bytes of tensors; raises RunnerFailed.

        `free`: what is asked is a compiler's work, which must end in the time that is left and takes none of it.
        `here`: a runner on a GPU tells its tensors as they are on the host.
        """
        header = {**header, "told": "here"} if here and mode == "cuda" else header
        runner = self._runners[mode]
        self._state[mode] = "asked"
        tree = _apart(tree) if mode == "cuda" else tree
        windows, watch, deadline = Windows(), Stopwatch(runner.pid), self.deadline
        try:
            places = self._place(runner, windows, tree, deadline) if mode == "cuda" else {}
            wire.send(runner.channel, header, tree, deadline, lambda tensor: _named(tensor, places))  # type: ignore[arg-type]
            budget = [room]
            find = (lambda place: _snapshot(windows, place, budget)) if mode == "cuda" and not here else None
            deadline = self._awaited(runner, watch)
            reply, result = wire.receive(runner.channel, deadline, room, find)
            while (wanted := reply.get("lower")) is not None:  # before it can answer
                wire.send(runner.channel, self._lowered(wanted, watch, deadline), None, deadline)
                deadline = self._awaited(runner, watch)
                reply, result = wire.receive(runner.channel, deadline, room, find)
        except wire.WireTimeout as error:
            most = self._timeout + self._granted
            message = f"no answer within {most:g} s in total, for all that it is tried on{self._doing}"
            raise RunnerFailed(Finding(rule="timeout", message=message)) from error
        except wire.WireError as error:
            raise RunnerFailed(self._post_mortem(mode, error)) from error
        finally:
            windows.close()
            self.seconds = watch.spent()
            if self._left is not None and not free:
                self._left -= self.seconds
        if (error := reply.get("error")) is not None:
            found = describe(error)
            self.wanting = self.wanting or (found.rule == "memory" and self._scarce())
            if found.rule == "exception":
                self._state[mode] = "answered"
            raise RunnerFailed(found)
        self._state[mode] = "unchanged" if header["do"] == "check" and reply.get("changes") == [] else "answered"
        return reply, result

    def _lowered(self, wanted: object, watch: Stopwatch, deadline: float) -> dict[str, object]:
        """What a runner is told that wants a kernel compiled."""
        if self._compilers is None:
            return {}
        reply, waited = self._compilers.answer(wanted, deadline)
        watch.excuse(waited)
        return reply

    def _awaited(self, runner: Runner, watch: Stopwatch) -> float:
        """Wait until an answer begins, and give the deadline of its rest; raises WireTimeout where the time is up."""
        while (left := math.inf if self._left is None else self._left - watch.spent()) > 0:
            if wire.comes(runner.channel, left):
                return time.monotonic() + left
        raise wire.WireTimeout("no answer in time")

    def end(self, mode: str) -> None:
        """End a mode's runner."""
        if (runner := self._runners.pop(mode, None)) is None:
            return
        if runner is self._warm and self._stable is not None:
            self._stable.end(runner)
            self._warm = None
        else:
            self._zygotes[mode].end(runner)

    def leave(self, mode: str, clean: bool = True) -> None:
        """Be done with a mode's runner: one on the CPU may serve on, where a `clean` candidate left it as it was."""
        if self._idle is not None and clean and mode in self._runners and self._state[mode] != "asked":
            left, self._left = self._left, _LAST_SECONDS
            with suppress(RunnerFailed):
                if self._state[mode] != "unchanged":
                    self.ask(mode, {"do": "check"})
                if self._state[mode] == "unchanged":
                    self.ask(mode, {"do": "reset"})
                    self._idle.give_back(mode, self._runners.pop(mode))
            self._left = left
        self.end(mode)

    def close(self, clean: bool = False) -> None:
        """End all runners, or let them serve on where the candidate did nothing wrong and settings say so."""
        for mode in [mode for mode in self._runners if mode != "cuda" or not clean or self._stable is None]:
            self.leave(mode, clean)
        if self._warm is None or self._stable is None:
            return
        self._left = _LAST_SECONDS
        with suppress(RunnerFailed):
            if self._state.get("cuda") != "unchanged" and self.ask("cuda", {"do": "check"})[0].get("changes") != []:
                self.end("cuda")
                return
            self.ask("cuda", {"do": "reset"})
            self._stable.give_back(self._warm, clean=True)
            self._runners.pop("cuda")
            return
        self.end("cuda")

    def _start_clock(self) -> None:
        if self._left is None:
            spent = time.monotonic() - self._began if self._began is not None else 0.0
            self._left = max(self._timeout - spent, self._timeout / 3) + self._granted

    def _place(self, runner: Runner, windows: Windows, tree: object, deadline: float) -> dict[int, str]:
        """Copy a tree's GPU tensors into memory that the runner allocates for them; their names by identity."""
        given = {id(t): t for t in observe.tensors(tree) if t.is_cuda}
        if not given:
            return {}
        names = {key: str(number) for number, key in enumerate(given)}
        sources = {names[key]: _compact(tensor) for key, tensor in given.items()}
        rows = {name: wire.form(tensor) for name, tensor in sources.items()}
        wire.send(runner.channel, {"do": "place", "tensors": rows}, None, deadline)
        reply, _ = wire.receive(runner.channel, deadline, SPARE_BYTES)
        if (error := reply.get("error")) is not None:
            raise RunnerFailed(describe(error))
        places = reply.get("places")
        for name, tensor in sources.items():
            place = places.get(name) if isinstance(places, dict) else None
            if not isinstance(place, dict):
                raise wire.WireError("the runner gave no place")
            reach = extent(tensor.shape, tensor.stride())
            flat = {**place, **{"shape": [reach], "stride": [1], "dtype": rows[name]["dtype"]}}
            windows.view(flat).copy_(tensor.as_strided((reach,), (1,)))
        torch.cuda.current_stream().synchronize()
        return names

    def _post_mortem(self, mode: str, error: wire.WireError) -> Finding:
        runner = self._runners.pop(mode)
        if runner is self._warm and self._stable is not None:
            status, self._warm = self._stable.end(runner), None
        else:
            status = self._zygotes[mode].end(runner)
        if not isinstance(error, wire.Closed):  # its status is then that of having been ended here
            return Finding(rule="protocol", message=str(error))
        if status == 0:
            return Finding(rule="exit", message="the candidate ended its process")
        if status < 0:
            if -status == signal.SIGKILL:
                return Finding(rule="protocol", message=str(error))
            known = {int(number) for number in signal.Signals}
            name = signal.Signals(-status).name if -status in known else f"signal {-status}"
            return Finding(rule="crash", message=f"the candidate's process died of {name}")
        return Finding(rule="crash", message=f"the candidate's process ended with status {status}")


def _apart(tree: object) -> object:
    """The same contents where no two tensors are one: each has memory of its own in the runner."""
    known: set[int] = set()

    def own(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) in known:
            return tensor.clone()
        known.add(id(tensor))
        return tensor

    return map_tensors(tree, own)


def _named(tensor: torch.Tensor, places: Mapping[int, str]) -> wire.Place:
    """How the runner finds a tensor that does not travel: its memory by name, or its form where it has no data."""
    return wire.form(tensor) if tensor.is_meta else {"name": places[id(tensor)]}


def _compact(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a dense copy where its elements lie far apart."""
    tensor = tensor.detach()
    return tensor if extent(tensor.shape, tensor.stride()) <= 4 * tensor.numel() else tensor.contiguous()


def _snapshot(windows: Windows, place: wire.Place, budget: list[int]) -> torch.Tensor:
    """The judge's own copy of a runner's tensor: what the runner does to it later does not count."""
    view = windows.view(place)
    budget[0] -= view.numel() * view.element_size()
    if budget[0] < 0:
        raise wire.WireError("more bytes of output than were expected")
    return shown(view, place).clone()


def describe(error: object) -> Finding:
    """The finding for an exception that a candidate raised."""
    row = error if isinstance(error, dict) else {}
    kind, line = str(row.get("kind", "error")), row.get("line")
    rule = "memory" if lacks_memory(row) else "cuda" if "CUDA error" in str(row.get("message")) else "exception"
    rule = "resources" if row.get("resources") is True else rule
    rule = "host-compute" if row.get("host") is True else rule
    text = f"{kind}: {row.get('message', '')}".strip()[:2000]
    return Finding(rule=rule, message=text, line=line if isinstance(line, int) else None)


def memory_findings(seen: dict[str, object]) -> list[Finding]:
    """What a runner says of accesses outside memory."""
    try:
        return [Finding.model_validate(row) for row in rows(seen, "memory")]
    except ValidationError:
        return [Finding(rule="protocol", message="the runner's answer has no known form")]


def rows(reply: dict[str, object], key: str) -> list[dict[str, object]]:
    """A list of objects in an answer; an empty one for anything else."""
    found = reply.get(key)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
