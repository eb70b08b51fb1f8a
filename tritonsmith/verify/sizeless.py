"""Forwards of a candidate at sizes that no memory holds: what they launch, and how much of an output that stores.

Untrusted, as all of `runner` is. Computes no values: tensors have no data, or are zeros.
"""

from contextlib import nullcontext

import torch

from tritonsmith.verify import conduct, loading, observe, wire
from tritonsmith.verify.device import on_device
from tritonsmith.verify.session import Answer, Session
from tritonsmith.verify.within import within

_ZEROS_S = 10.0
"""Seconds of a forward on zeros of the task's own size: one that goes through them one by one is not told so."""
_COVER_S = 4.0
"""Seconds of a forward on tensors without data, of whose launches a few programs are run."""


def whole(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """Capture what a forward at sizes that no memory holds would launch: its tensors have no data, or are `zeros`.

    `tree` holds `init` and `inputs`. What was captured before is compiled no more, unless this fails. Of more
    than `observe.MAX_LAUNCHES` launches the first ones are captured.
    """
    if session.module is None or session.mode != "capture" or not isinstance(tree, dict):
        raise RuntimeError("nothing is loaded")
    before = list(session.launches.captured)
    session.launches.clear()
    session.launches.most = observe.MAX_LAUNCHES
    device = "cpu" if header.get("zeros") else "meta"
    operators = observe.Operators(session.launches, lambda tensor: tensor)
    try:
        loading.seed(int(str(header["seed"])))
        with torch.no_grad(), on_device(device):
            with torch.device(device):
                model = session.module.ModelNew(*loading.sequence(tree["init"])).to(device)
            inputs = observe.emptied(tree["inputs"], device)
            with within(_ZEROS_S) if header.get("zeros") else nullcontext(), operators:
                model(*inputs)
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
    return {"launches": session.launches.report(), "operators": operators.counts, "memory": beyond}, None


def cover(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """How much of its outputs a forward on tensors without data can store; nothing where it runs on none.

    `tree` holds `init` and `inputs`.
    """
    from tritonsmith.verify.cover import Cover, Fresh

    if session.module is None or session.mode != "interpret" or not isinstance(tree, dict):
        raise RuntimeError("nothing is loaded")
    session.launches.clear()
    cover, fresh = Cover(int(str(header["programs"]))), Fresh()
    try:
        loading.seed(int(str(header["seed"])))
        with torch.no_grad(), on_device("meta"), within(_COVER_S):
            with torch.device("meta"):
                model = session.module.ModelNew(*loading.sequence(tree["init"])).to("meta")
            session.launches.cover = cover
            with fresh:
                output = observe.plain(model(*loading.sequence(tree["inputs"])))
        return {"covered": cover.report(output, fresh), "reached": cover.reached(output)}, None
    except Exception:  # the candidate's: not every forward runs on tensors without data
        return {"covered": [], "reached": []}, None
    finally:
        session.launches.cover = None
        session.launches.clear()
