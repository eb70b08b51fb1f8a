"""What is asked of a candidate's runners: nothing is built or compiled twice at the same sizes."""

from collections.abc import Callable

import pytest
import torch
from judging import DOUBLE, FORWARD, double, judge, small

from tritonsmith.config import VerifyConfig
from tritonsmith.tasks import scaling
from tritonsmith.tasks.format import load_spec
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding
from tritonsmith.verify.conversation import Conversation, RunnerFailed
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.judge import Judge
from tritonsmith.verify.pool import Verifier
from tritonsmith.verify.process import wire
from tritonsmith.verify.reference.given import Material
from tritonsmith.verify.reference.material import Supply
from tritonsmith.verify.room import Room

GIVEN = Variant("as given", DOUBLE)
SEEN: dict[str, object] = {"operators": {}, "launches": [{"name": "double_kernel"}]}


class Talk(Conversation):
    """A talk with nobody, who agrees to everything; what a GPU's runner would be asked, in order."""

    def __init__(self, answer: Callable[[str], None] = lambda do: None) -> None:
        super().__init__(VerifyConfig(), 60.0, {}, None, None)
        self.asked: list[str] = []
        self.here: list[bool] = []
        """Of each forward whether its outputs are told as they are on the host."""
        self._answer, self._there = answer, False

    def load(self, mode: str, source: str, target: str, elsewhere: bool = False) -> None:
        self.asked.append("load")
        self._there = True

    def has(self, mode: str) -> bool:
        return self._there

    def end(self, mode: str) -> None:
        self._there = False

    def ask(
        self,
        mode: str,
        header: dict[str, object],
        tree: object = None,
        room: int = 0,
        free: bool = False,
        here: bool = False,
    ) -> tuple[dict[str, object], wire.Tree]:
        do = str(header["do"])
        marks = "".join(f" {name}" for name in ("kept", "keep", "refill") if header.get(name))
        self.asked.append(do + marks)
        self.here += [here] if do == "forward" else []
        self._answer(do)
        return dict(SEEN), None


def _forwards(talk: Talk, supply: Supply | None = None) -> Forwards:
    """Forwards on a GPU that nobody has."""
    supply = supply or Supply(cuda=False, budget=1 << 20)
    return Forwards(DOUBLE, double(), "strict", talk, supply, Room(None), "sm_90", cuda=True)


def test_what_was_compiled_is_called_and_called_again_on_new_contents() -> None:
    talk = Talk()
    forwards = _forwards(talk)
    forwards.compile(GIVEN)
    material = forwards.existing(GIVEN)
    forwards.run(GIVEN, material, again=True)
    for inputs, truth in forwards.draws.replays(GIVEN).again:
        forwards.refilled(inputs, truth)
    assert talk.asked == [
        "load", "build", "compile", "forward kept keep", "forward kept keep refill", "forward kept keep refill",
    ]  # fmt: skip


def test_another_variant_is_built_and_compiled_first() -> None:
    talk = Talk()
    forwards = _forwards(talk)
    forwards.compile(GIVEN)
    half = Variant("float16", DOUBLE, dtype=torch.float16)
    forwards.run(half, forwards.existing(half))
    assert talk.asked[3:] == ["build", "compile", "forward kept"]


def test_what_was_run_once_is_built_anew() -> None:
    talk = Talk()
    forwards = _forwards(talk)
    forwards.compile(GIVEN)
    forwards.run(GIVEN, forwards.existing(GIVEN))
    forwards.run(GIVEN, forwards.existing(GIVEN))
    assert talk.asked[4:] == ["build", "compile", "forward kept"]


def test_torch_that_computes_while_it_is_compiled_is_not_called() -> None:
    talk = Talk()
    forwards = _forwards(talk)
    forwards.ready()
    material = forwards.existing(GIVEN)
    SEEN["operators"] = {"aten.mm.default": 1}
    try:
        seen, output = forwards.run(GIVEN, material)
    finally:
        SEEN["operators"] = {}
    assert output is None
    assert seen["operators"] == {"aten.mm.default": 1}
    assert talk.asked[-1] == "compile"


def test_a_new_runner_is_shown_other_contents() -> None:
    talk = Talk()
    forwards = _forwards(talk)
    forwards.compile(GIVEN)
    before = forwards.existing(GIVEN)
    talk.end("cuda")
    forwards.ready()
    assert forwards.existing(GIVEN) is not before
    assert not torch.equal(forwards.existing(GIVEN).inputs[0], before.inputs[0])  # type: ignore[arg-type]


def test_candidates_side_by_side_share_until_one_has_left() -> None:
    supply = Supply(cuda=False, budget=1 << 20)
    one, other, late = (_forwards(Talk(), supply) for _ in range(3))
    first = one.existing(GIVEN)
    assert isinstance(first, Material)
    assert other.existing(GIVEN) is first
    one.leave()
    assert late.existing(GIVEN) is not first


def test_a_forward_that_needs_values_is_compiled_at_tiny_sizes() -> None:
    def no_data(do: str) -> None:
        if do == "whole":
            raise RunnerFailed(Finding(rule="exception", message="NotImplementedError: no data"))

    talk = Talk(no_data)
    forwards = _forwards(talk)
    forwards.capture(GIVEN)
    assert forwards.capture_whole() is None
    forwards.lower()
    assert talk.asked == ["load", "build", "forward", "whole", "whole", "compile"]  # the second one on zeros


def test_on_the_cpu_a_right_candidate_is_built_once_for_each_size(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once to be captured, then with the values at tiny sizes, and at full sizes, besides the capture at its own.

    At tiny sizes it is called twice more with other contents, and once more with those of the last call. Its text shows
    that it keeps nothing: it is not called often without its kernels.
    """
    asked: list[str] = []
    real = Conversation.ask

    def ask(self: Conversation, mode: str, header: dict[str, object], *rest: object, **named: object) -> object:
        asked.append(str(header["do"]))
        return real(self, mode, header, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Conversation, "ask", ask)
    judged = Judge(VerifyConfig(device="cpu"), verifier._crew._extensions, "cpu", verifier._zygotes)
    assert judge(judged, DOUBLE, double()).correct
    assert asked == [
        "load", "build", "forward", "whole", "compile",
        "load", "build", "forward", "forward", "forward", "forward", "check",
        "release", "check", "build", "forward", "check",
    ]  # fmt: skip


def test_a_runner_that_was_stopped_is_looked_at_before_and_serves_no_longer(
    verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the interpreter had changed for the while of a call may stand then: seen were its `range`, and a mode."""
    asked: list[str] = []
    ask, end = Conversation.ask, Conversation.end

    def note(self: Conversation, mode: str, header: dict[str, object], *rest: object, **named: object) -> object:
        reply = ask(self, mode, header, *rest, **named)  # type: ignore[arg-type]
        asked.append("stopped" if reply[0].get("stopped") else str(header["do"]))
        return reply

    def ended(self: Conversation, mode: str) -> None:
        asked.append(f"end {mode}")
        end(self, mode)

    monkeypatch.setattr(Conversation, "ask", note)
    monkeypatch.setattr(Conversation, "end", ended)
    judged = Judge(VerifyConfig(device="cpu", until="full"), verifier._crew._extensions, "cpu", verifier._zygotes)
    task = small("return 2.0 * x", "torch.randn(6, 30000)")
    assert judge(judged, task, double(FORWARD.replace("256", "16"))).correct
    stop = asked.index("stopped")
    assert asked[stop + 1] == "end interpret" and "check" in asked[:stop][-3:]


def test_outputs_of_small_sizes_are_told_on_the_host() -> None:
    relu = next(task for task in load_spec("suite") if task.id == "level1/relu")
    supply = Supply(cuda=True, budget=1 << 20)
    supply.hosting.device = "cpu"  # where candidates are constructed
    talk, small = Talk(), Variant("as given", scaling.tiny(relu).task)
    forwards = Forwards(relu, "", "strict", talk, supply, Room(None), "sm_90", cuda=True)
    material = forwards.existing(small)
    forwards.run(small, material, again=True)
    forwards.refilled(material.inputs, material.truth)
    forwards.repeated(material.truth)
    forwards.anew(material.inputs, material.truth)
    assert talk.here == [True] * 4
