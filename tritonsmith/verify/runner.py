"""The untrusted side: loads a candidate, builds it, calls `forward`, and answers the judge.

Everything here shares a process with the candidate, so nothing here is believed: the judge decides
from the values that come back. It holds no reference, no expected output and no seed of the inputs.
"""

import importlib.util
import linecache
import random
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType

import torch
from torch import nn

from tritonsmith.verify import observe, wire
from tritonsmith.verify.device import on_device

CANDIDATE = "candidate.py"
"""File name under which the candidate's lines appear in tracebacks."""


def main(channel: socket.socket) -> None:
    """Answer the judge's messages until it hangs up."""
    torch.set_num_threads(1)
    session = Session()
    actions: dict[str, Callable[[dict[str, object], wire.Tree], tuple[dict[str, object], wire.Tree]]] = {
        "load": session.load,
        "build": session.build,
        "forward": session.forward,
        "compile": session.compile,
        "hold": session.hold,
        "time": session.time,
    }
    while True:
        header, tree = wire.receive(channel)
        try:
            reply, result = actions[str(header["do"])](header, tree)
            wire.send(channel, reply, result)
        except wire.WireError:
            return
        except BaseException as error:  # a candidate may raise anything, SystemExit included
            wire.send(channel, {"error": _describe(error)})


class Session:
    """One candidate in one runner, in one mode: `interpret`, `capture` or `cuda`."""

    def __init__(self) -> None:
        self.mode = "interpret"
        self.module: ModuleType | None = None
        self.model: nn.Module | None = None
        self.launches = observe.Launches()
        self.held: Sequence[object] = ()

    def load(self, header: dict[str, object], _: wire.Tree) -> tuple[dict[str, object], wire.Tree]:
        """Import the candidate's source in the given mode."""
        self.mode = str(header["mode"])
        from tritonsmith.verify import compile as compiler

        if self.mode == "interpret":
            observe.watch_interpreter(self.launches)
            compiler.pretend_gpu(str(header["target"]))
        elif self.mode == "capture":
            self.launches = compiler.capture_launches(str(header["target"]))
        else:
            observe.watch_cuda(self.launches)
        self.module = _import(str(header["source"]))
        return {"ok": True}, None

    def build(self, header: dict[str, object], tree: wire.Tree) -> tuple[dict[str, object], wire.Tree]:
        """Construct ModelNew under a seed, in the dtype asked for, and load the reference's weights.

        `tree` holds `init` (constructor arguments) and `state` (the reference's state_dict).
        """
        if self.module is None or not isinstance(tree, dict):
            raise RuntimeError("nothing is loaded")
        _seed(int(str(header["seed"])))
        init = tree["init"]
        with on_device(self.device):
            model = self.module.ModelNew(*(init if isinstance(init, (list, tuple)) else ()))
        if not isinstance(model, nn.Module):
            raise TypeError("ModelNew is no nn.Module")
        dtype = header.get("dtype")
        if dtype:
            model = model.to(getattr(torch, str(dtype)))
        model = model.to(self.device)
        self.model = model
        loaded = _load_state(model, tree["state"])
        return {"ok": True, "loaded": loaded}, None

    def forward(self, header: dict[str, object], tree: wire.Tree) -> tuple[dict[str, object], wire.Tree]:
        """Call `forward` once on the inputs; answers with the outputs and what was seen to run."""
        if self.model is None:
            raise RuntimeError("nothing is built")
        inputs = observe.to_device(tree, self.device)
        self.launches.clear()
        with torch.no_grad(), on_device(self.device), observe.Operators(self.launches) as operators:
            output = self.model(*inputs)
        if self.mode == "cuda":
            torch.cuda.synchronize()
        seen = {
            "operators": operators.counts,
            "launches": self.launches.report(),
            "memory": self.launches.violations,
            "touched": operators.outputs_touched(output),
        }
        if header.get("values", True):
            return seen, observe.plain(output)
        return seen, None

    def compile(self, _: dict[str, object], __: wire.Tree) -> tuple[dict[str, object], wire.Tree]:
        """Lower every captured launch to the target's assembly."""
        from tritonsmith.verify import compile as compiler

        return {"kernels": compiler.lower_all(self.launches)}, None

    def hold(self, _: dict[str, object], tree: wire.Tree) -> tuple[dict[str, object], wire.Tree]:
        """Take the inputs that are to be timed, while other candidates may still have the GPU."""
        self.held = observe.to_device(tree, self.device)
        return {"ok": True}, None

    def time(self, header: dict[str, object], _: wire.Tree) -> tuple[dict[str, object], wire.Tree]:
        """Time `forward` on the held inputs; answers with each trial's milliseconds."""
        from tritonsmith.verify import timing

        if self.model is None:
            raise RuntimeError("nothing is built")
        model, inputs = self.model, self.held
        preset = timing.Preset(int(str(header["warmups"])), int(str(header["trials"])), 0.0)
        with torch.no_grad():
            return {"milliseconds": timing.measure(lambda: model(*inputs), preset)}, None

    @property
    def device(self) -> str:
        """Where tensors live in this mode."""
        return "cuda" if self.mode == "cuda" else "cpu"


def _import(source: str) -> ModuleType:
    lines = source.splitlines(keepends=True)
    # No mtime: linecache then never looks for the file, and inspect.getsource, which @triton.jit
    # needs, is answered without anything written to the disk.
    linecache.cache[CANDIDATE] = (len(source), None, lines, CANDIDATE)
    spec = importlib.util.spec_from_loader("candidate", loader=None)
    if spec is None:
        raise RuntimeError("no module spec")
    module = importlib.util.module_from_spec(spec)
    module.__file__ = CANDIDATE
    sys.modules["candidate"] = module
    exec(compile(source, CANDIDATE, "exec"), module.__dict__)
    return module


def _seed(seed: int) -> None:
    random.seed(seed)
    torch.manual_seed(seed)


def _load_state(model: nn.Module, state: wire.Tree) -> int:
    own = model.state_dict()
    same = {
        name: value
        for name, value in (state.items() if isinstance(state, dict) else ())
        if name in own and isinstance(value, torch.Tensor) and own[name].shape == value.shape
    }
    model.load_state_dict(same, strict=False)
    return len(same)


def _describe(error: BaseException) -> dict[str, object]:
    chain: list[BaseException] = []
    root: BaseException | None = error
    while root is not None and root not in chain:  # a candidate may chain an exception to itself
        chain.append(root)
        root = root.__cause__ or root.__context__
    line = getattr(error, "candidate_line", None)
    for link in chain:
        for frame, number in traceback.walk_tb(link.__traceback__):
            if frame.f_code.co_filename == CANDIDATE:
                line = number
    return {"kind": type(error).__name__, "message": _message(error, chain)[:2000], "line": line}


def _message(error: BaseException, chain: list[BaseException]) -> str:
    """The error's text; a compiler's error begins with its reason, which Triton puts last, or into the cause."""
    text = str(error)
    if not hasattr(error, "candidate_line"):
        return text or type(error).__name__
    causes = [link for link in chain if link is error or link is error.__cause__ or hasattr(link, "error_message")]
    reason = getattr(causes[-1], "error_message", None) or str(causes[-1]) or type(causes[-1]).__name__
    return f"{reason}\n{text.removesuffix(reason).rstrip()}"
