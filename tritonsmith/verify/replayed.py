"""One candidate called again and again on the same storage with other contents, as a user's loop would.

Whether its answer is anew each time is compared here. What its calls show besides is `watching`'s, and what a forward
leaves behind `replay`'s.
"""

from collections.abc import Callable

import torch

from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding
from tritonsmith.verify import numerics
from tritonsmith.verify.conversation import RunnerFailed
from tritonsmith.verify.dynamic import replay
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.funnel import Outcome, refused, wrong
from tritonsmith.verify.reused import Reused
from tritonsmith.verify.sizing import Sizes
from tritonsmith.verify.upkeep import Upkeep
from tritonsmith.verify.watching import Watching

Contents = list[tuple[list[object], numerics.Truth]]
"""Other contents of the inputs, with what the reference answers to them."""


class Replayed:
    """Calls one candidate at its tiny sizes once more, and more often."""

    def __init__(
        self,
        prepared: Callable[[], Sizes],
        forwards: Forwards,
        eyes: Watching,
        upkeep: Upkeep,
        calls: int,
    ) -> None:
        """`calls` is how often a candidate is called that might count them, 0 where it cannot."""
        self._prepared, self._forwards, self._eyes = prepared, forwards, eyes
        self._upkeep, self._calls = upkeep, calls
        self._reused = Reused(forwards, eyes)

    def outcome(self, seen: dict[str, object], held: list[tuple[torch.Size, torch.dtype]], rebuild: bool) -> Outcome:
        """What is held against it there; `seen` is what the last forward showed, `held` what its inputs are like.

        `rebuild`: the runner no longer holds the model and the inputs that it was tried on at these sizes.
        """
        variant = Variant("as given", self._prepared().tiny.task)
        try:
            with self._forwards.drawing(variant):
                replays = self._forwards.draws.replays(variant)
            again, remembers = replays.again, replays.habits.remembers
            if rebuild or remembers:
                material = self._forwards.existing(variant)
                seen, _ = self._forwards.run(variant, material, again=True)
                held = replay.form(material.inputs)
                again = self._forwards.draws.following(variant, material.inputs) if remembers else again
            findings = self._eyes.effects(seen)
            again = [(inputs, truth) for inputs, truth in again if replay.form(inputs) == held]
            for inputs, truth in [] if findings else again:
                seen, output = self._forwards.refilled(inputs, truth)
                if findings := self._eyes.watched(seen, truth=truth):
                    break
                if mismatch := numerics.compare(truth, output, "new contents in the same storage"):
                    return wrong(mismatch)
                if findings := self._eyes.effects(seen):
                    break
            same = [] if remembers else again  # what remembers answers otherwise to the same contents
            if not findings and same:
                findings = self._eyes.repeated(seen, same[-1][1])
            findings = findings or self._upkeep.integrity()
            findings = findings or self._many_calls_later(same)
            if same and not findings and (self._calls or self._eyes.keeps):  # what keeps nothing is new in each call
                findings = self._reused.findings(variant, same, self._prepared().large().light().task)
            self._upkeep.release()
        except RunnerFailed as failure:
            return self._upkeep.failed(failure)
        return refused(findings) if findings else Outcome(True)

    def _many_calls_later(self, contents: Contents) -> list[Finding]:
        """What shows after more calls than are made one by one."""
        findings: list[Finding] = []
        if contents and self._eyes.counted:
            findings = self._eyes.much_later(contents)
        elif contents and self._eyes.tickets:  # where both count, either goes by the other
            findings = self._eyes.leapt(contents)
        if contents and not findings and self._calls:
            findings = self._eyes.often(self._calls, *contents[0])
        return findings
