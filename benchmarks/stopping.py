"""The rule by which calibrated timing stops, on times that are drawn: how exact it is, and whether its interval holds.

    python benchmarks/stopping.py [--sessions 1000]

No GPU is used. A session is `timing.interleave` over two sides that are equally fast; trials spread within a turn, and
turns among each other, as given in each row. Two presets with as many trials before the first look: the verifier's own,
whose turns have ten, and one of three longer turns. Printed for both, while nobody waits for the GPU and while somebody
does: trials a side, sessions that are off by more than 1 %, and sessions whose 95 % interval (Student's, before it is
widened) does not hold the truth.
"""

from dataclasses import replace

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from tritonsmith.verify import timing

PRESETS = {"five turns of 10": timing.CALIBRATED, "three of 17": replace(timing.CALIBRATED, trials=51, blocks=3)}
SPREADS = ((0.05, 1.0), (0.2, 1.0), (0.3, 2.0), (0.5, 2.0), (0.8, 3.0), (1.0, 5.0))
"""Percent between turns, and between the trials of a turn."""


def side(between: float, within: float, draw: np.random.Generator) -> timing.Block:
    """Times of one side around 1 ms; half of what turns differ by is this side's."""

    def block(trials: int) -> list[float]:
        turn = draw.normal(0.0, between / 2**0.5)
        return [float(time) for time in np.exp(turn + draw.normal(0.0, within, trials))]

    return block


def session(preset: timing.Preset, between: float, within: float, waits: bool, seed: int) -> tuple[int, float, float]:
    """Trials a side, the logarithm of the speedup, and half its interval."""
    draw = np.random.default_rng(seed)
    theirs, ours = timing.interleave(
        side(between, within, draw), side(between, within, draw), preset, patience=lambda: not waits
    )
    found = timing.compare(theirs, ours, preset).speedup.median
    return sum(map(len, ours)), float(np.log(found)), timing.half_width(theirs, ours, preset)


def main(sessions: int = 1000) -> None:
    """Draw the sessions and print."""
    columns = ("somebody waits", "between turns, %", "within, %", "preset", "trials", "off by 1 %", "interval misses")
    table = Table(*columns, title=f"{sessions} sessions each")
    for waits in (True, False):
        for between, within in SPREADS:
            for name, preset in PRESETS.items():
                drawn = [session(preset, between / 100, within / 100, waits, seed) for seed in range(sessions)]
                trials, off, width = np.array(drawn).T
                table.add_row(
                    "yes" if waits else "no", f"{between}", f"{within}", name, f"{trials.mean():.0f}",
                    f"{np.mean(np.abs(off) > 0.01):.1%}", f"{np.mean(np.abs(off) > width):.1%}",
                )  # fmt: skip
    Console(width=110).print(table)


if __name__ == "__main__":
    typer.run(main)
