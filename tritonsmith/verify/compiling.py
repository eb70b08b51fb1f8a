"""The compile stage of one candidate: its launches captured and lowered, or compiled for the GPU that is there.

Assembling is `compile`'s, what launches show besides `conduct`'s, and what follows from it `trial`'s.
"""

from dataclasses import replace

from tritonsmith.config import VerifyConfig
from tritonsmith.tasks.variants import Variant
from tritonsmith.types import Finding, KernelStats
from tritonsmith.verify import compile as compiler
from tritonsmith.verify.conversation import Conversation, memory_findings, rows
from tritonsmith.verify.dynamic import conduct
from tritonsmith.verify.forwards import Forwards
from tritonsmith.verify.funnel import Outcome, refused
from tritonsmith.verify.process import wire


class Compiling:
    """What is compiled of a candidate, and when."""

    def __init__(self, settings: VerifyConfig, forwards: Forwards, talk: Conversation, target: str, cuda: bool) -> None:
        self._settings, self._forwards, self._talk, self._target, self._cuda = settings, forwards, talk, target, cuda
        self.launched: list[dict[str, object]] | None = None
        """The launches at the task's own sizes, where they could be captured."""
        self.own: dict[str, object] | None = None
        """What was seen of the forward at the task's own sizes, where there was one."""
        self.compiled: list[dict[str, object]] | None = None
        """The launches that were captured at tiny sizes and compiled."""
        self.later = self._front = False
        """Whether the stage was the front end alone, and the rest comes once values are right."""

    def stage(self, variant: Variant) -> Outcome:
        """Compile what a forward on a variant launches; raises RunnerFailed."""
        try:
            kernels, findings = self._here(variant) if self._cuda else self._ahead(variant)
        except wire.WireError as error:
            return refused([Finding(rule="protocol", message=str(error))])
        sizes = ", launched at the task's own sizes" if self.launched is not None else ""
        made = "through the front end alone" if self._front else plural(len(kernels))
        detail = findings[0].message if findings else made + sizes
        return Outcome(not findings, detail, findings, kernels=kernels)

    def assembled(self, outcome: Outcome) -> Outcome:
        """An outcome with the back end's figures, or the failure of what was put off until now; raises RunnerFailed."""
        try:
            kernels, findings = compiler.assemble(self._forwards.lower(), self._target, self._talk.deadline)
        except wire.WireError as error:
            return refused([Finding(rule="protocol", message=str(error))], stands="ast")
        if findings:
            return refused(findings, stands="ast")
        return replace(outcome, kernels=kernels)

    def _ahead(self, variant: Variant) -> tuple[list[KernelStats], list[Finding]]:
        seen = self._forwards.capture(variant)
        if findings := conduct.check_run({**seen, "touched": True, "untouched": []}, self._settings.policy):
            return [], findings
        if findings := [finding for finding in memory_findings(seen) if finding.rule in conduct.IMPOSSIBLE]:
            return [], findings
        own = self._forwards.capture_whole()
        if own is not None and (findings := memory_findings(own) or conduct.at_own_sizes(own, self._settings.policy)):
            return [], findings
        self.own, self.launched = own, (rows(own, "launches") or None) if own is not None else None
        when, last = self._settings.assemble, self._settings.until == "compile"
        self._front = when == "never" or (when == "right" and not last)
        lowered = self._forwards.lower(whole=not self._front)
        self.compiled, self.later = rows(seen, "launches"), self._front and when == "right"
        if self._front:
            return [], []
        return compiler.assemble(lowered, self._target, self._talk.deadline)

    def _here(self, variant: Variant) -> tuple[list[KernelStats], list[Finding]]:
        seen = self._forwards.compile(variant)
        findings = conduct.check_run(seen, self._settings.policy)
        return ([], findings) if findings else (compiler.loaded(rows(seen, "kernels"), self._target), [])


def plural(count: int, word: str = "kernel") -> str:
    """So many of a thing, in words."""
    return f"{count} {word}{'' if count == 1 else 's'}"
