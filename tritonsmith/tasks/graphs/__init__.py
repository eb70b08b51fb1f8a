"""Synthetic tasks: random graphs of operators over all families, in the many ways that people write PyTorch.

A held-out graph (`Graph.split`) is never trained on in any writing. Of KernelBench nothing is here but its format.
"""

from tritonsmith.tasks.graphs.generator import draw_graphs, families_of, from_spec, generate, level, task
from tritonsmith.tasks.graphs.graph import Graph
from tritonsmith.tasks.graphs.table import FAMILIES, TABLE

__all__ = ["FAMILIES", "TABLE", "Graph", "draw_graphs", "families_of", "from_spec", "generate", "level", "task"]
