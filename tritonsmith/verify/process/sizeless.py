"""Forwards of a candidate at sizes that no memory holds: what they launch, first and after many calls, and how much of
an output that stores.

Untrusted, as all of `runner` is. Computes no values: tensors have no data, or are zeros.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

import torch

from tritonsmith.verify.dynamic import conduct, observe, outlines, unrun
from tritonsmith.verify.dynamic.counters import FAR, Counters
from tritonsmith.verify.launches import rehearsal
from tritonsmith.verify.launches.device import on_device
from tritonsmith.verify.process import loading, wire
from tritonsmith.verify.process.session import Answer, Session
from tritonsmith.verify.process.within import within

_ZEROS_S = 10.0
"""Seconds of a forward on zeros of the task's own size: one that goes through them one by one is not told so."""
_AGAIN_S = 1.0
"""Seconds of a forward that is called a second time, and of that call."""
_COVER_S = 4.0
"""Seconds of a forward on tensors without data, of whose launches a few programs are run."""
_OFTEN_S = 4.0
"""Seconds of forwards none of whose launches is run."""
_SETTLED = 3
"""Calls after which what a candidate prepares once is there, and what counts has shown its step."""


def whole(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """Capture what a forward at sizes that no memory holds would launch: its tensors have no data, or are `zeros`.

    `tree` holds `init` and `inputs`. What was captured before is compiled no more, unless this fails. Of more
    than `observe.MAX_LAUNCHES` launches the first ones are captured. Where it ends, `own` says what it gave and
    touched, and how a second call stands to it; `weights` names the reference's.
    """
    if session.module is None or session.mode != "capture" or not isinstance(tree, dict):
        raise RuntimeError("nothing is loaded")
    before = list(session.launches.captured)
    session.launches.clear()
    session.launches.most = observe.MAX_LAUNCHES
    device = "cpu" if header.get("zeros") else "meta"
    operators = observe.Operators(session.launches, lambda tensor: tensor)
    began, own = time.monotonic(), None
    try:
        loading.seed(int(str(header["seed"])))
        with torch.no_grad(), on_device(device):
            with torch.device(device):
                model = session.module.ModelNew(*loading.sequence(tree["init"])).to(device)
            inputs = observe.emptied(tree["inputs"], device)
            names = header.get("weights")
            writes = outlines.Writes(inputs, model, map(str, names) if isinstance(names, list) else ())
            with within(_ZEROS_S) if header.get("zeros") else nullcontext(), operators, writes:
                output = _plain(model(*inputs))
            own = _told(output, writes)
    except observe.Enough:
        pass
    except BaseException:
        session.launches.captured[:] = before
        raise
    finally:
        session.launches.most = None
    if not session.launches.captured:
        session.launches.captured[:] = before
    beyond = [row for row in session.launches.violations if row["rule"] in conduct.IMPOSSIBLE]
    seen: dict[str, object] = {
        "launches": session.launches.report(),
        "operators": operators.counts,
        "memory": beyond,
        "zeros": device == "cpu",
    }
    if own is not None:
        quick = time.monotonic() - began < _AGAIN_S
        seen["own"] = _again(session, model, inputs, output, writes, device) if quick else own
    return seen, None


def _plain(output: object) -> object:
    """The output with plain tensors only, or what it is where it holds others."""
    try:
        return observe.plain(output)
    except TypeError as error:
        return str(error)


def _told(output: object, writes: outlines.Writes, earlier: object = None) -> dict[str, object]:
    """What a forward gave and touched; `earlier` is what the call before it gave."""
    alias = outlines.shared(output, writes.places, earlier)
    return {"output": outlines.outline(output), "effects": {"mutation": writes.changed, "alias": alias}}


def _again(
    session: Session,
    model: Callable[..., object],
    inputs: Sequence[object],
    earlier: object,
    writes: outlines.Writes,
    device: str,
) -> dict[str, object]:
    """What a second forward gives and touches, or the first one did where that fails; its launches are forgotten."""
    captured = list(session.launches.captured)
    session.launches.captured.clear()  # who finds a launch there again counts it
    try:
        with torch.no_grad(), on_device(device), within(_AGAIN_S), writes:
            return _told(_plain(model(*inputs)), writes, earlier)
    except Exception:  # the candidate's: what it did the first time stands
        return _told(earlier, writes)
    finally:
        session.launches.captured[:] = captured


def cover(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """How much of its outputs a forward on tensors without data can store; nothing where it runs on none.

    `tree` holds `init` and `inputs`. Also how often its loops go round (`loops`), how often they did in all forwards
    until now (`known`), what comparisons gave here and in those (`compared`, `compared_before`; see `comparisons`), and
    how long all programs would take (`seconds`).
    """
    from tritonsmith.verify.dynamic.cover import Cover, Fresh
    from tritonsmith.verify.interpreter.comparisons import comparisons, rows
    from tritonsmith.verify.interpreter.loops import passes

    if session.module is None or session.mode != "interpret" or not isinstance(tree, dict):
        raise RuntimeError("nothing is loaded")
    session.launches.clear()
    fresh, known, before = Fresh(), passes.taken(), comparisons.taken()
    cover = Cover(int(str(header["programs"])), before)
    seen: dict[str, object] = {"covered": [], "reached": []}
    try:
        loading.seed(int(str(header["seed"])))
        with torch.no_grad(), on_device("meta"), within(_COVER_S):
            with torch.device("meta"):
                model = session.module.ModelNew(*loading.sequence(tree["init"])).to("meta")
            session.launches.cover = cover
            with fresh:
                output = observe.plain(model(*loading.sequence(tree["inputs"])))
        seen |= {"covered": cover.report(output, fresh), "reached": cover.reached(output), "strays": cover.strays()}
    except Exception:  # the candidate's: not every forward runs on tensors without data
        pass
    finally:
        session.launches.cover = None
        session.launches.clear()
        rounds, passes.most = passes.taken(), known
        compared, comparisons.most = comparisons.taken(), before
    seen |= {"compared": rows(compared), "compared_before": rows(before)}
    return {**seen, "loops": _by_line(rounds), "known": _by_line(known), "seconds": cover.seconds}, None


def often(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """What forwards at the task's own sizes do otherwise after `most` calls, no launch of which is run; see `unrun`.

    `tree` holds `init` and `inputs`. Nothing where the candidate does not run on tensors without data. What it kept of
    these calls is forgotten: a table without data would be found by sizes and device when it is called with data.
    """
    if session.module is None or not isinstance(tree, dict):
        raise RuntimeError("nothing is loaded")
    calls, changed, module = 0, "", session.module
    undo = rehearsal.remember(module)
    try:
        loading.seed(int(str(header["seed"])))
        with torch.no_grad(), on_device("meta", called=True), within(_OFTEN_S):
            with torch.device("meta"):
                model = module.ModelNew(*loading.sequence(tree["init"])).to("meta")
            inputs = observe.emptied(tree["inputs"], "meta")
            weights = {name: one for name, one in loading.tensors_of(model).items() if name in session.weights}
            notes, counters = unrun.Notes(unrun.names(inputs, weights)), Counters()
            session.launches.instead = notes.launched
            for _ in range(_SETTLED):
                with notes:
                    notes.pattern(lambda: model(*inputs))
                counters.look(model, module)
            calls, changed = unrun.often(lambda: model(*inputs), notes, int(str(header["most"])))
            for far in FAR if counters.rising() else ():
                rise = partial(counters.advance, far)
                changed = changed or unrun.much_later(lambda: model(*inputs), notes, rise)
    except Exception:  # the candidate's: not every forward runs on tensors without data
        pass
    finally:
        session.launches.instead = None
        undo()
    return {"calls": calls, "changed": changed}, None


def _by_line(rounds: dict[int, int]) -> dict[str, int]:
    return {str(line): count for line, count in rounds.items()}
