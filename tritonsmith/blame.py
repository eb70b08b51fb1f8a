"""Which line of a failed answer the verifier blames, as a span of the answer's characters.

Most failures name a line: a bracket that does not close, a name that is not there, a launch that raises. Wrong values
name none. What is made of it is the matter of others: `redraw` draws anew from there, `credit` pushes down that line.
"""

from tritonsmith.extract import extract
from tritonsmith.source import written_lines
from tritonsmith.types import Verdict

Span = tuple[int, int]


def line_of(verdict: Verdict) -> int | None:
    """The line of the source, from 1, that the first finding with one names; None where nothing is wrong or named."""
    if verdict.correct:
        return None
    return next((one.line for one in verdict.findings if one.line is not None), None)


def blamed(completion: str, source: str | None, verdict: Verdict) -> Span | None:
    """That line in the completion that `source` was extracted from, its end included; None where there is none."""
    line, span = line_of(verdict), extract(completion).code_span
    if line is None or source is None or span is None:
        return None
    said, block = written_lines(source), written_lines(completion[slice(*span)].rstrip())
    # What was taken from other blocks stands in front.
    place = line - 1 - (len(said) - len(block))
    if not 0 <= place < len(block) or block[place].strip() != said[line - 1].strip():
        return None
    begin = span[0] + len("".join(block[:place]))
    return begin, begin + len(block[place])
