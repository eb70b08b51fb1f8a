"""Which line of a failed answer the verifier blames, as a span of the answer's characters.

Most failures name a line: a bracket that does not close, a name that is not there, a launch that raises. Wrong values
name none. What is made of it is the matter of others: `redraw` draws anew from there, `credit` pushes down that line.
"""

from tritonsmith.extract import extract
from tritonsmith.types import Verdict

Span = tuple[int, int]


def blamed(completion: str, verdict: Verdict) -> Span | None:
    """The line that the first finding with one names, its end included; None where nothing is wrong or none named."""
    line = next((one.line for one in verdict.findings if one.line is not None), None)
    source = extract(completion).source
    if line is None or source is None or verdict.correct:
        return None
    start = completion.find(source.rstrip("\n"))
    if start < 0:
        return None
    lines = source.splitlines(keepends=True)
    begin = start + len("".join(lines[: line - 1]))
    return begin, begin + len("".join(lines[line - 1 : line]))
