"""A candidate's side of its timing: inputs are held, autotuners measure, and blocks of calls are timed.

Untrusted, as all of `runner` is: the judge's clock stands behind the times that are told here; see `measure`.
"""

from collections.abc import Callable

import torch

from tritonsmith.verify import cuda_graph, timing
from tritonsmith.verify.dynamic import observe
from tritonsmith.verify.dynamic.replay import refill
from tritonsmith.verify.process import loading, wire
from tritonsmith.verify.process.session import Answer, Session


def hold(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """Take sets of inputs that are to be timed, or new contents for the storage of one that was."""
    if (number := header.get("set")) is not None:
        refill(session.held[int(str(number))], tree)
        return {"ok": True}, None
    session.held.extend(loading.sequence(observe.to_device(tree, session.device)))  # type: ignore[arg-type]
    return {"ok": True}, None


def tune(session: Session, header: dict[str, object], _: wire.Tree) -> Answer:
    """Let autotuners measure and everything be compiled, while other candidates may still have the GPU.

    At a `glance`: calls that are to be recorded need no more than that.
    """
    if session.model is None or session.watch is None:
        raise RuntimeError("nothing is built")
    session.watch.tune()
    session.stopwatch = timing.Stopwatch()
    calls, watch = _calls(session), session.stopwatch
    first = watch.glance(calls) if header.get("glance") else watch.warm(calls, int(str(header["warmups"])))
    return {"milliseconds": first}, None


def record(session: Session, header: dict[str, object], _: wire.Tree) -> Answer:
    """Record `forward` on each of the held inputs; answers with what a call takes, roughly, where that is possible.

    It is not where a forward waits, or tells its kernels another number each time, which a recorded call would not.
    """
    if session.stopwatch is None or session.watch is None:
        raise RuntimeError("nothing is tuned")
    calls, said = _calls(session), []
    for _ in range(2):
        session.watch.said = []
        calls[0]()
        said.append(session.watch.said)
    session.watch.said = None
    recording = None if said[0] != said[1] or cuda_graph.waits(calls) else session.stopwatch.record(calls)
    estimate = recording.estimate() if recording is not None else None
    session.recorded = (recording, session.outputs) if recording is not None and estimate is not None else None
    return {"milliseconds": estimate}, None


def make(session: Session, header: dict[str, object], _: wire.Tree) -> Answer:
    """Make so many trials of so many recorded calls."""
    if session.recorded is None:
        raise RuntimeError("nothing is recorded")
    repeats, trials = int(str(header["repeats"])), int(str(header["trials"]))
    if not (made := session.recorded[0].make(repeats, trials, singly=True)):
        session.recorded = None
    return {"made": made}, None


def time(session: Session, header: dict[str, object], _: wire.Tree) -> Answer:
    """Time `forward` on the held inputs in turn, as it was recorded or anew; answers with each trial's milliseconds."""
    if session.stopwatch is None:
        raise RuntimeError("nothing is tuned")
    trials, repeats = int(str(header["trials"])), int(str(header["repeats"]))
    if header["recorded"] and session.recorded is not None:
        return {"milliseconds": session.recorded[0].block(trials)}, None
    return {"milliseconds": session.stopwatch.block(_calls(session), trials, repeats, bool(header["hide"]))}, None


def wall(session: Session, header: dict[str, object], _: wire.Tree) -> Answer:
    """Call `forward` so many times with nothing between, and wait for the last one; the judge holds the clock."""
    if session.stopwatch is None:
        raise RuntimeError("nothing is tuned")
    session.stopwatch.back_to_back(_calls(session), int(str(header["calls"])))
    return {"ok": True}, None


def renew(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """Run what was recorded on held sets before and after they hold new contents, which `tree` is a list of.

    A round names a set and the contents for it; `times` are the runs before and after. Answers with the milliseconds of
    each, and, where `outputs` are wanted, with what each round's last run gave. Rounds of different sets go side by
    side, for one wait does for all of them.
    """
    if session.recorded is None:
        raise RuntimeError("nothing is recorded")
    recording, session.outputs = session.recorded
    before, after = header["times"]  # type: ignore[misc]
    contents, outputs, spent = loading.sequence(tree), [], list[list[list[float]]]()

    def ran(numbers: list[int], keep: bool = False) -> list[float]:
        for number in numbers:
            recording.begin(number)
            if keep:  # another set's run may write to the same memory
                outputs.append(observe.frozen(observe.plain(session.outputs[number])))
        return recording.ended(numbers)

    for part in _different(header["rounds"]):  # type: ignore[arg-type]
        numbers = [number for number, _ in part]
        known = [ran(numbers) for _ in range(before)]
        for number, place in part:
            refill(session.held[number], contents[place])
        new = [ran(numbers, bool(header.get("outputs")) and run == after - 1) for run in range(after)]
        spent += [[[one[place] for one in side] for side in (known, new)] for place in range(len(part))]
    if outputs:
        torch.cuda.synchronize()  # the judge looks at the copies
    return {"milliseconds": spent}, outputs


def _different(rounds: list[list[int]]) -> list[list[list[int]]]:
    """The rounds in their order, in parts in which no set comes twice."""
    parts: list[list[list[int]]] = []
    for number, place in rounds:
        if not parts or any(number == other for other, _ in parts[-1]):
            parts.append([])
        parts[-1].append([number, place])
    return parts


def timed(session: Session, header: dict[str, object], _: wire.Tree) -> Answer:
    """The output of the last timed call on one of the held sets."""
    return {"ok": True}, observe.plain(session.outputs[int(str(header["set"]))])


def _calls(session: Session) -> list[Callable[[], object]]:
    session.outputs = [None] * len(session.held)
    return [lambda place=place: _call(session, place) for place in range(len(session.held))]


def _call(session: Session, place: int) -> None:
    with torch.no_grad():
        session.outputs[place] = session.model(*session.held[place])  # type: ignore[misc]
