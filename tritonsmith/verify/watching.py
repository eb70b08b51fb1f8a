"""What a candidate's forwards show besides their values: acts against the policy, effects, what it keeps and counts.

Compares no values but those of calls that are made for it alone. Which forwards there are, and when, is `trial`'s.
"""

import itertools
from collections.abc import Callable

from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding, Task
from tritonsmith.verify import numerics
from tritonsmith.verify.conversation import RunnerFailed, memory_findings
from tritonsmith.verify.dynamic import conduct, counters, kept, observe, replay
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.policy import Policy
from tritonsmith.verify.reference.given import Habits


class Watching:
    """Looks at one candidate's calls."""

    def __init__(self, policy: Policy, forwards: Forwards, tiny: Callable[[], Task]) -> None:
        """`tiny` is the task at the sizes that the reference's habits are known of."""
        self._policy: Policy = policy
        self._forwards, self._tiny = forwards, tiny
        self.counted = False
        """Whether the candidate counts its calls."""
        self.tickets = False
        """Whether its kernels do."""
        self.keeps = False
        """Whether they are given memory that it keeps."""
        self._stored = False
        """Whether its kernels stored to every output in one of its forwards."""

    def watched(
        self, seen: dict[str, object], anew: bool = False, truth: numerics.Truth | None = None
    ) -> list[Finding]:
        """What was seen of a forward against the policy; each call is asked, for the second one may be another.

        `anew`: it is the first one on contents that nobody had before. A kernel may store nothing there, where nothing
        is to be done: whether what torch had put there is the answer, which it did not compute, the values tell. So it
        is where an output of the `truth` is one value throughout; see `idle`.
        """
        passed = self.habits().passed
        findings = memory_findings(seen) or conduct.check_run(seen, self._policy, passed.free)
        self._stored = self._stored or conduct.DECOY not in findings
        if findings and all(one == conduct.DECOY for one in findings) and (anew or _flat(truth)):
            findings = []
        if not findings and conduct.reads_nothing(seen, passed.reads):
            return [conduct.CONSTANT]
        return findings or ([conduct.COPIED] if conduct.moved_by_torch(seen, passed.moving) else [])

    def idle(self) -> list[Finding]:
        """What is held against a candidate whose kernels left an output alone in each of its forwards."""
        return [] if self._stored else [conduct.DECOY]

    def made_by_torch(self, seen: dict[str, object]) -> bool:
        """Whether torch made the output. Where it computes the rest, a kernel must do more to it than to multiply it by
        a number, to add one, or to bring the values to other places, unless the task ends so."""
        if self._policy != "lenient":
            return conduct.made_by_torch(seen)
        passed = self.habits().passed
        return conduct.made_by_torch(seen, not passed.resembles, not passed.rearranges)

    def effects(self, seen: dict[str, object]) -> list[Finding]:
        """What a forward changed or shared that the reference leaves alone; nothing where that was not looked at."""
        if "effects" not in seen:
            return []
        habits = self.habits()
        return replay.findings(seen, habits.effects, habits.passed.old)

    def repeated(self, seen: dict[str, object], truth: numerics.Truth) -> list[Finding]:
        """Call a candidate again on what it was called on last, when it showed what is `seen`."""
        again, _ = self._forwards.repeated(truth)
        self.counted, self.tickets = conduct.counts(again), conduct.tickets(again)
        self.keeps = conduct.keeps(again)
        return self.watched(again, truth=truth) or conduct.remembered(seen, again) or self._hanging(again, truth)

    def at_own_sizes(self) -> list[Finding]:
        """Call a candidate once more where it was called once alone, at the task's own sizes.

        What it gives may not lie in memory that was there before, unless the reference shares any.
        """
        habits, seen = self.habits(), self._forwards.once_more()
        findings = self.watched(seen)
        if findings or habits.effects["alias"]:
            return findings
        return replay.findings({"work": seen.get("work"), "effects": {}}, habits.effects, habits.passed.old)

    def much_later(self, contents: list[tuple[list[object], numerics.Truth]]) -> list[Finding]:
        """Call a candidate that counts its calls as if there had been many; one that then fails tells nothing."""
        try:
            for far in counters.FAR:
                # Who looks at the number before it rises sees it in the second call.
                for again, (inputs, truth) in zip((far, None), contents, strict=False):
                    seen, output = self._forwards.later(again, inputs, truth)
                    if findings := self.watched(seen, truth=truth) or self.effects(seen):
                        return findings
                    if numerics.compare(truth, output, "after many calls") is not None:
                        return [conduct.COUNTED]
        except RunnerFailed as failure:
            if failure.finding.rule != "exception":
                raise
        return []

    def leapt(self, contents: list[tuple[list[object], numerics.Truth]]) -> list[Finding]:
        """Call a candidate whose kernels count as if they had counted many calls; one that then fails tells nothing."""
        try:
            for calls, (inputs, truth) in zip(kept.LEAPS, itertools.cycle(contents)):
                seen, output = self._forwards.leapt(calls, inputs, truth)
                if findings := self.watched(seen, truth=truth) or self.effects(seen):
                    return findings
                if numerics.compare(truth, output, "after many calls") is not None:
                    return [conduct.COUNTED]
        except RunnerFailed as failure:
            if failure.finding.rule != "exception":
                raise
        return []

    def often(self, most: int, inputs: list[object], truth: numerics.Truth) -> list[Finding]:
        """Call a candidate very often, then on new contents; one that fails where no kernel runs tells nothing."""
        try:
            seen = self._forwards.often(most)
            if findings := conduct.did_otherwise(seen):
                return findings
            seen, output = self._forwards.refilled(inputs, truth)
        except RunnerFailed as failure:
            if failure.finding.rule != "exception":
                raise
            return []
        if findings := self.watched(seen, truth=truth) or self.effects(seen):
            return findings
        return [conduct.COUNTED] if numerics.compare(truth, output, "after many calls") is not None else []

    def habits(self) -> Habits:
        """What the reference does besides giving an answer."""
        return self._forwards.draws.habits(Variant("as given", self._tiny()))

    def _hanging(self, seen: dict[str, object], truth: numerics.Truth) -> list[Finding]:
        """Whether a right answer is an answer kept; `seen` is what a second call on the same contents showed."""
        for piece in range(min(conduct.pieces(seen), kept.MOST)):
            _, output = self._forwards.put_back(piece, truth)
            if numerics.compare(truth, output, "memory of the call before") is not None:
                return [conduct.HANGS]
        return []


def _flat(truth: numerics.Truth | None) -> bool:
    """Whether an output is one value throughout, which torch may have filled it with; a single one only if it is 0."""
    outputs = observe.tensors(truth.native) if truth is not None else ()
    return any(one.numel() > 0 and bool((one == (one.flatten()[0] if one.numel() > 1 else 0)).all()) for one in outputs)
