"""A verdict as a person reads it on a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tritonsmith import reward
from tritonsmith.types import Verdict


def render(verdict: Verdict) -> RenderableType:
    """Headline, stages, kernels, and the reason for a rejection."""
    headline = Text("CORRECT" if verdict.correct else "REJECTED", style="bold green" if verdict.correct else "bold red")
    headline.append(
        f"  {verdict.task}  on {verdict.device}, {verdict.target}, {verdict.policy}", style="not bold default"
    )
    parts: list[RenderableType] = [headline, _stages(verdict)]
    if verdict.kernels:
        parts.append(_kernels(verdict))
    for finding in verdict.findings:
        where = f" (line {finding.line})" if finding.line else ""
        parts.append(Text(f"{finding.rule}{where}: {finding.message}"))
    if (mismatch := verdict.mismatch) is not None:
        parts.append(Text(f"{mismatch.variant}: {mismatch.output}: {mismatch.message}"))
        if mismatch.index is not None:
            share = f"; {100 * (mismatch.wrong_share or 0):.3g} % of elements"
            place = f"  at {mismatch.index}: expected {_number(mismatch.expected)}, got {_number(mismatch.got)}{share}"
            parts.append(Text(place))
    if (timing := verdict.timing) is not None:
        by = "by roofline" if timing.kind == "predicted" else "by CUDA events"
        interval = "" if timing.kind == "predicted" else f" [{timing.speedup.low:.2f}, {timing.speedup.high:.2f}]"
        share = f"; {100 * timing.roofline_share:.0f} % of the hardware's limit" if timing.roofline_share else ""
        one = "; not significant, counts as 1" if reward.speedup(verdict) == 1.0 != timing.speedup.median else ""
        parts.append(Text(f"speedup {timing.speedup.median:.2f}x{interval} {timing.kind} {by}{one}{share}"))
    parts.append(Text(f"reward {verdict.reward:.2f} (staged), {verdict.seconds:.2f} s", style="dim"))
    return Group(*parts)


def _number(value: float | None) -> str:
    """JSON knows no number that is not finite."""
    return "no finite number" if value is None else f"{value:.7g}"


def _stages(verdict: Verdict) -> Table:
    table = Table.grid(padding=(0, 2))
    for stage in verdict.stages:
        mark = Text("ok", "green") if stage.ok else Text("no", "red")
        table.add_row(
            mark,
            stage.name,
            f"{1e3 * stage.seconds:.0f} ms",
            Text(stage.detail.splitlines()[0] if stage.detail else ""),
        )
    return table


def _kernels(verdict: Verdict) -> Table:
    table = Table("kernel", "registers", "spills", "shared", "launches", box=None, header_style="dim", padding=(0, 2))
    for kernel in verdict.kernels:
        values = (kernel.registers, kernel.spills, kernel.shared, kernel.launches)
        table.add_row(kernel.name, *("?" if value is None else str(value) for value in values))
    return table
