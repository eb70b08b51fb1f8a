"""Synthetic operator graphs: how fast they are drawn, how many are distinct, what is in them, and how good they are.

    python benchmarks/graphs.py [--graphs 2000] [--depth 1-12] [--sample 200] [--processes 1] [--seed 0]

Draws that many graphs on each process and prints graphs a second and process, the number of distinct canonical forms
over all processes, and how they spread over levels, depths, families and splits. Of a sample the tasks are written and
it is counted how many load and run, can be scaled to what the interpreter bears, and survive `tasks vet`; those that do
not are named. No peer is known that prints the same figures. Nothing is written.
"""

import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context

import torch
import typer
from rich.console import Console
from rich.table import Table

from tritonsmith.tasks import graphs, scaling
from tritonsmith.tasks.format import TaskError
from tritonsmith.tasks.graphs.graph import Graph
from tritonsmith.types import Task
from tritonsmith.verify import vet


def main(
    count: int = typer.Option(2000, "--graphs"),
    depth: str = "1-12",
    sample: int = 200,
    processes: int = 1,
    seed: int = 0,
) -> None:
    low, _, high = depth.partition("-")
    depths = int(low), int(high or low)
    console = Console()
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(draw, *zip(*((count, seed + place, depths) for place in range(processes)), strict=True)))
    texts = [text for part, _, _ in found for text in part]
    seconds, busy = max(one for _, one, _ in found), sum(one for _, _, one in found)
    minutes = 100_000 / 16 * busy / len(texts) / 60
    console.print(
        f"{len(texts)} graphs in {seconds:.1f} s on {processes} process(es), {len(texts) / busy:.0f} a second of "
        f"processor time; {len(set(texts))} distinct; 100,000 on 16 cores would take {minutes:.1f} minutes"
    )
    drawn = [Graph.parse(text) for text in dict.fromkeys(texts)]
    spread(console, "level", Counter(graphs.level(graph) for graph in drawn))
    spread(console, "depth", Counter(graph.depth for graph in drawn))
    spread(console, "family", Counter(family for graph in drawn for family in graphs.families_of(graph)))
    spread(console, "split", Counter(graph.split for graph in drawn))
    names = Counter(node.name for graph in drawn for node in graph.nodes)
    missing = sorted(set(graphs.TABLE) - set(names))
    console.print(f"{len(names)} of {len(graphs.TABLE)} operators drawn; not drawn: {', '.join(missing) or 'none'}")
    step = max(1, len(drawn) // sample)
    judge(console, [graphs.task(graph, style) for style, graph in enumerate(islice(drawn, 0, None, step))][:sample])


def draw(count: int, seed: int, depth: tuple[int, int]) -> tuple[list[str], float, float]:
    """Texts of graphs, the seconds it took, and the seconds of processor time."""
    torch.set_num_threads(1)
    wall, busy = time.perf_counter(), time.process_time()
    texts = [str(graph) for graph in graphs.draw_graphs(count, seed, depth, "all")]
    return texts, time.perf_counter() - wall, time.process_time() - busy


def spread(console: Console, what: str, counts: Counter[object]) -> None:
    """Shares of graphs, the families' more than 100 % together."""
    total = sum(counts.values()) if what != "family" else None
    table = Table(what, "graphs", "share")
    for key, number in sorted(counts.items(), key=lambda pair: (isinstance(pair[0], str), -pair[1], str(pair[0]))):
        table.add_row(str(key), str(number), f"{number / total:.1%}" if total else "")
    console.print(table)


def judge(console: Console, tasks: list[Task]) -> None:
    """How many of the tasks run, scale, and survive `tasks vet`."""
    scaled = vetted = 0
    start = time.perf_counter()
    for task in tasks:
        try:
            scaling.tiny(task)
            scaling.full(task)
        except TaskError as error:
            console.print(f"does not scale: {task.graph}: {error}")
            continue
        scaled += 1
        flags = vet.vet(task)
        vetted += not flags
        for flag in flags:
            console.print(
                f"{task.graph}: {flag.control}: {flag.message} (found out by {', '.join(flag.caught_by) or '-'})"
            )
    console.print(
        f"of {len(tasks)} tasks {scaled} run at the sizes of the interpreter and {vetted} survive vet: "
        f"{(time.perf_counter() - start) / max(1, len(tasks)):.2f} s a task; "
        f"{len({task.source for task in tasks})} distinct sources"
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    typer.run(main)
