"""What becomes of one candidate's runner between its calls: let go of what it holds, ended, or left to serve others.

Asks what the candidate changed in its process; what that would be is `integrity`'s. Decides nothing about values.
"""

from collections.abc import Sequence

from tritonsmith.types import Finding
from tritonsmith.verify.conversation import Conversation, RunnerFailed
from tritonsmith.verify.funnel import Outcome, refused

UNCLEAN = {"timeout", "crash", "exit", "protocol", "memory", "cuda", "out-of-bounds", "integrity", "clock"}
"""Findings after which a runner serves nobody else."""


def is_clean(findings: Sequence[Finding]) -> bool:
    """Whether a candidate's runner may serve another one, as far as findings tell."""
    return not any(finding.rule in UNCLEAN for finding in findings)


class Upkeep:
    """Looks after the runner of mode `mode` in which a candidate's values are computed."""

    def __init__(self, talk: Conversation, mode: str) -> None:
        self._talk, self._mode = talk, mode
        self._looked = False
        """Whether the runner was asked what the candidate changed, before anything that may be stopped."""

    def release(self) -> None:
        """Have the runner let go of the model and the inputs that it holds."""
        self._talk.ask(self._mode, {"do": "release"})

    def integrity(self) -> list[Finding]:
        """What a candidate changed in its process, if it has one; to be asked at the end of a stage."""
        if not self._talk.has(self._mode):
            return []
        reply, _ = self._talk.ask(self._mode, {"do": "check"})
        changes = reply.get("changes")
        found = [str(change) for change in changes] if isinstance(changes, list) else ["the check gave no answer"]
        message = f"the candidate changed its process: {'; '.join(found)}"
        return [Finding(rule="integrity", message=message)] if found else []

    def before_it_may_be_stopped(self) -> list[Finding]:
        """The same, once for each runner: of one that was stopped it cannot be told any more."""
        findings = [] if self._looked else self.integrity()
        self._looked = self._looked or not findings
        return findings

    def renewed(self) -> list[Finding]:
        """Have the next call made in a runner that has seen none; gives what the candidate changed in this one."""
        findings = self.integrity()
        if not findings:
            self._talk.leave(self._mode)
            self._looked = False
        return findings

    def stopped(self) -> None:
        """Be done with a runner that was stopped in the midst of whatever it did: what the interpreter, or torch, had
        changed for the while of a call may stand (1 of 1,300 stops), and is not the candidate's."""
        if self._mode != "cuda":
            self._talk.end(self._mode)
            self._looked = False

    def failed(self, failure: RunnerFailed) -> Outcome:
        """The outcome where a runner gave no answer; one on a GPU that answered with an exception is still of use."""
        self._talk.end("interpret")
        self._looked = False
        if failure.finding.rule in UNCLEAN:
            self._talk.end("cuda")
        return refused([failure.finding])

    def turned_down(self, failure: RunnerFailed) -> None:
        """Go on after a candidate that turned a variant down."""
        self.failed(failure)
        if self._talk.has(self._mode):
            self.release()

    def wrong(self, findings: Sequence[Finding]) -> None:
        """Be done with the runner of a candidate that was found wrong; it may serve on where findings allow that."""
        self._talk.leave("interpret", is_clean(findings))
