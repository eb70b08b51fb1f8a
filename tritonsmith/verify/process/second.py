"""Another model of a candidate beside the one that is built, as a network has several layers of one class.

Untrusted, as all of `runner` is.
"""

from tritonsmith.verify.launches.device import on_device
from tritonsmith.verify.process import building, loading, wire
from tritonsmith.verify.process.session import Answer, Session


def answer(session: Session, header: dict[str, object], tree: wire.Tree) -> Answer:
    """Build another one, which is called from here on; the first one is kept. With `source` the candidate is imported
    once more, so that nothing is there of what it kept in its module. `back`: the first one is called again, and the
    other one is kept."""
    if header.get("back"):
        session.model, session.aside = session.aside, session.model
        return {"ok": True}, None
    if session.module is None or session.model is None or not isinstance(tree, dict):
        raise RuntimeError("nothing is built")
    if (source := header.get("source")) is not None:
        with on_device(session.device):
            session.module = loading.import_source(str(source))
    other, _ = building.built(session.module, header, tree, session.device)
    session.model, session.aside = other, session.model
    return {"ok": True}, None
