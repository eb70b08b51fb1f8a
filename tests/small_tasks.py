"""Tasks of one expression, for the tests of our own lowering, and a quick look at whether their answers are right.

`sweep` runs answers in Triton's interpreter beside their tasks: as given, at other sizes and in half precision. The
verifier does more, and costs seconds for each.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tritonsmith.data.lower import convert
from tritonsmith.data.pair import Pair
from tritonsmith.tasks.variants import variants
from tritonsmith.types import Task

_SWEEP = """
import importlib.util, json, sys
import torch
from tritonsmith.verify.dynamic import observe; from tritonsmith.verify.interpreter import interpret
interpret.install(observe.Launches())  # mends triton 3.6's interpreter under numpy >= 2.4
def load(name, source):
    path = f"{sys.argv[2]}/{name}.py"
    open(path, "w").write(source)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
def built(kind, task):
    torch.manual_seed(0)
    return kind(*task.get_init_inputs()).eval()
def rounded(inputs):
    return [x.half().float() if x.is_floating_point() else x for x in inputs]
wrong = []
for i, (title, sources, answer) in enumerate(json.load(open(sys.argv[1]))):
    kind = load(f"answer{i}", answer).ModelNew
    for j, source in enumerate(sources):
        task = load(f"task{i}_{j}", source)
        inputs = rounded(task.get_inputs())
        with torch.no_grad():
            wanted = built(task.Model, task).half().float()(*inputs)
            for dtype, bound in [(torch.float32, 1e-5), (torch.float16, 4e-3)][: 2 if j == 0 else 1]:
                given = [x.to(dtype) if x.is_floating_point() else x for x in inputs]
                try:
                    out = built(kind, task).half().to(dtype)(*given)
                    expected = dtype if wanted.is_floating_point() else wanted.dtype
                    assert out.dtype == expected, f"{out.dtype} instead of {expected}"
                    torch.testing.assert_close(out.to(wanted.dtype), wanted, rtol=bound, atol=10 * bound)
                except Exception as error:
                    wrong.append(f"{title} (version {j}, {dtype}): {type(error).__name__}: {error}")
sys.exit("\\n".join(wrong) or 0)
"""


def small_task(layers: str, result: str, *shapes: str) -> Task:
    """A task that returns an expression over x, y, ... of these shapes and the `layers` that a constructor makes."""
    names = ["x", "y", "z"][: len(shapes)]
    body = "".join(f"        {line}\n" for line in layers.split("; ") if line)
    given = ", ".join(f"torch.randn({shape})" for shape in shapes)
    source = (
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
        f"class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{body}\n"
        f"    def forward(self, {', '.join(names)}):\n        return {result}\n\n\n"
        f"def get_inputs():\n    return [{given}]\n\n\ndef get_init_inputs():\n    return []\n"
    )
    return Task(id=f"{layers} {result}".strip(), level=1, source=source)


def lowered(task: Task) -> Pair:
    """The answer to a task that has one."""
    pair = convert(task)
    assert isinstance(pair, Pair), f"{task.id}: {pair}"
    return pair


def sweep(tasks: Sequence[Task], folder: Path) -> str:
    """What is wrong about the tasks' answers, a line each; empty where all are right."""
    jobs = []
    for task in tasks:
        versions = dict.fromkeys(variant.task.source for variant in variants(task, multi_input=True))
        jobs.append((task.id, list(versions), lowered(task).source))
    listing = folder / "jobs.json"
    listing.write_text(json.dumps(jobs))
    environment = os.environ | {"TRITON_INTERPRET": "1"}  # read when triton is imported, so a process of its own
    command = [sys.executable, "-c", _SWEEP, str(listing), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""
