"""What kernels store of a loop's variable, by the interpreter and by the compiler, which knows it all beforehand.

    TRITON_INTERPRET=1 python tests/loop_kernels.py FILE

A process of its own, for the interpreter is changed for good. `test_loops` compares.
"""

import importlib.util
import json
import re
import struct
import sys
from pathlib import Path
from types import ModuleType

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.interpreter import interpret

NOTHING = -99.0
"""Stays where a loop does not go round."""
CASES = [
    ("range(5, 6)", "i / 2"),
    ("range(5, 6)", "7 / (i + 1)"),
    ("range(5, 6)", "i * 0.1 * 3 - 1.5"),
    ("range(5, 6)", "(i + 16777212) / 1"),
    ("range(5, 6)", "(i < 7) + (i < 9)"),
    ("range(5, 6)", "(i < 7) + (i < 9) + (i > 2)"),
    ("range(5, 6)", "(i < 3) - (i < 9)"),
    ("range(5, 6)", "-(i < 7)"),
    ("range(5, 6)", "~(i < 7)"),
    ("range(5, 6)", "(i < 7) * 5"),
    ("range(5, 6)", "(i < 7) * (i < 3)"),
    ("range(5, 6)", "(i == 5) ^ (i > 2)"),
    ("range(5, 6)", "(not (i < 3)) + (not (i < 4))"),
    ("range(5, 6)", "(i - 6) < 3000000000"),
    ("range(5, 6)", "i < 5.00000001"),
    ("range(5, 6)", "-i // 2"),
    ("range(5, 6)", "i // -2"),
    ("range(5, 6)", "-7 // i"),
    ("range(5, 6)", "-i % 3"),
    ("range(5, 6)", "-7 % i"),
    ("range(5, 6)", "~i << 3"),
    ("range(5, 6)", "1 << i"),
    ("range(5, 6)", "i * 1000000000"),
    ("range(5, 6)", "min(i, 3) // -2"),
    ("range(5, 6)", "max(-i, 2.5, -9)"),
    ("range(5, 6)", "(-7 if i < 9 else 3) // 2"),
    ("range(5, 6)", "tl.full((), 100, tl.int8) + i * 20"),
    ("range(5, 6)", "isinstance(i, int)"),
    ("range(5, 0, -5)", "-i // 2"),
    ("range(1 << 33, (1 << 33) + 1)", "i * 3"),
    ("range(wide, wide + 1)", "(i + 70000) * 40000"),
    ("range(3000000000, 3000000001)", "i + 1"),
    ("range(2000000000, 3000000000, 1000000)", "i"),
    ("range(5, 4, down)", "i"),
    ("range(5, 6, up)", "i"),
    ("tl.range(5, 6, num_stages=2)", "-i // 2"),
    ("tl.range(5, 6, step=1)", "-i // 2"),
    ("core.range(5, 6)", "-i // 2"),
    ("builtins.range(5, 6)", "-i // 2"),
    ("count(5, 6)", "-i // 2"),
    ("tl.static_range(6)", "-i // 2"),
    ("constants(6)", "(i < 7) + (i < 9)"),
    ("constant(6)", "i ** 2"),
]
_HEAD = """import builtins

import triton
import triton.language as tl
from triton.language import core
from triton.language import range as count
from triton.language import static_range as constants

constant = tl.constexpr(constants)


@triton.jit
def k(out, SIZE: tl.constexpr):
    up, down, wide = 1, -1, tl.full((), 5, tl.int64)
    SIZE -= 16
    tl.store(out, SIZE // 2)
"""


def written(folder: Path) -> Path:
    """One kernel of all cases, which leaves by its place what each of them stores last; first, a constant's half."""
    path = folder / "kernels.py"
    lines = [
        f"    tl.store(out + {place}, {NOTHING})\n    for i in {bounds}:\n        tl.store(out + {place}, {value})\n"
        for place, (bounds, value) in enumerate(CASES, 1)
    ]
    path.write_text(_HEAD + "".join(lines))
    return path


def module(path: Path) -> ModuleType:
    """The file's module."""
    spec = importlib.util.spec_from_file_location("loops_of_kernels", path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def compiled(path: Path) -> list[float]:
    """What the compiler found that is stored at each place: constants, with nothing left to compute."""
    source = ASTSource(module(path).k, {"out": "*fp64", "SIZE": "constexpr"}, constexprs={(1,): 11})
    text = str(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ttir"])
    numbers = {name: value for name, value in re.findall(r"(%\S+) = arith\.constant (\S+)", text)}
    places = {name: int(numbers[by]) for name, by in re.findall(r"(%\S+) = tt\.addptr %out, (%\w+)", text)}
    stored = re.findall(r"tt\.store (%\w+), (%\w+)", text)
    found = {places.get(pointer, 0): _number(numbers[value]) for pointer, value in stored}
    return [found[place] for place in range(len(CASES) + 1)]


def _number(text: str) -> float:
    """A float64 of MLIR's, in its bits where it has many digits."""
    return struct.unpack(">d", bytes.fromhex(text[2:]))[0] if text.startswith("0x") else float(text)


def main() -> None:
    """Interpret the file's kernel, and print what it leaves."""
    interpret.install(Launches())
    out = torch.full((len(CASES) + 1,), NOTHING, dtype=torch.float64)
    module(Path(sys.argv[1])).k[(1,)](out, 11)
    print(json.dumps(out.tolist()))


if __name__ == "__main__":
    main()
