"""The untrusted side: what a candidate's process does, message by message, and answers the judge.

Everything here shares a process with the candidate, so nothing here is believed: the judge decides
from the values that come back. It holds no reference, no expected output and no seed of the inputs. A process that
compiles for others (`lower`) is one of these too, to which no candidate ever comes.
"""

import socket
from collections.abc import Callable
from functools import partial

import torch

from tritonsmith.verify import sizing
from tritonsmith.verify.dynamic import sampled
from tritonsmith.verify.process import backend, carrying, clocked, lowering, raised, retrained, second, sizeless, wire
from tritonsmith.verify.process.session import Answer, Session


def main(channel: socket.socket) -> None:
    """Answer the judge's messages until it hangs up."""
    torch.set_num_threads(1)
    session = Session()
    actions: dict[str, Callable[[dict[str, object], wire.Tree], Answer]] = {
        "lower": lowering.answer,
        "warm": partial(_warm, session, channel),
        "load": session.load,
        "place": session.place,
        "build": session.build,
        "drawn": session.drawn,
        "forward": session.forward,
        "often": session.often,
        "retrain": partial(retrained.answer, session),
        "second": partial(second.answer, session),
        "compile": session.compile,
        "whole": partial(sizeless.whole, session),
        "cover": partial(sizeless.cover, session),
        "often at own sizes": partial(sizeless.often, session),
        "some programs": partial(sampled.forward, session),
        "hold": partial(clocked.hold, session),
        "tune": partial(clocked.tune, session),
        "check": session.check,
        "record": partial(clocked.record, session),
        "make": partial(clocked.make, session),
        "time": partial(clocked.time, session),
        "renew": partial(clocked.renew, session),
        "wall": partial(clocked.wall, session),
        "timed": partial(clocked.timed, session),
        "release": session.release,
        "reset": session.reset,
        "sizes": sizing.answer,
    }
    while True:
        header, tree = wire.receive(channel, find=session.placed)
        try:
            reply, result = actions[str(header["do"])](header, session.carried(tree))
            if header.get("told") == "here":
                carrying.check_answer(result)
                wire.send(channel, reply, result)
            else:
                wire.send(channel, reply, result, locate=session.export)
        except wire.WireError:
            return
        except BaseException as error:  # a candidate may raise anything, SystemExit included
            wire.send(channel, {"error": raised.describe(error)})


def _warm(session: Session, channel: socket.socket, header: dict[str, object], tree: wire.Tree) -> Answer:
    backend.divert(channel)
    return session.warm(header, tree)
