"""What `torch.compile` makes of a task: the other baseline, measured once for a task, a GPU and versions.

Compiling takes seconds to minutes and is the judge's own, trusted work; the times are kept in a file, if one is given.
The eager baseline is not kept: it takes turns with the candidate, which cancels drift.
"""

import hashlib
import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import triton
from torch import nn

from tritonsmith import jsonl
from tritonsmith.types import Task
from tritonsmith.verify import cuda_graph, timing
from tritonsmith.verify.process.gpu import Gpu

_log = logging.getLogger(__name__)
# Inductor keeps one state a process.
_compiling = threading.Lock()
_known: dict[str, float | None] = {}


def compiled_ms(
    task: Task,
    model: nn.Module,
    sets: list[list[object]],
    recorded: bool,
    gpu: Gpu,
    how: timing.Preset,
    kept: Path | None,
) -> float | None:
    """Milliseconds of the compiled reference on the device, `recorded` if the others were and it can be; None where it
    does not compile."""
    key = _key(task, how, recorded)
    with _compiling:
        if key not in _known and kept is not None:
            _known.update({str(row["key"]): row["ms"] for row in jsonl.read(kept)})  # type: ignore[misc]
        if key not in _known:
            try:
                _known[key] = _measure(task, model, sets, recorded, gpu, how)
            except torch.OutOfMemoryError:  # the GPU's, at this moment
                return None
            if kept is not None:
                jsonl.append(kept, json.dumps({"key": key, "task": task.id, "ms": _known[key]}))
        return _known[key]


def _measure(
    task: Task, model: nn.Module, sets: list[list[object]], recorded: bool, gpu: Gpu, how: timing.Preset
) -> float | None:
    fast = torch.compile(model)
    watch = timing.Stopwatch(torch.cuda.current_stream().synchronize)
    calls = [_call(fast, inputs) for inputs in sets]
    try:
        with cuda_graph.recording:  # Inductor's own measurements wait for the device
            estimate = watch.warm(calls, how.warmups)
    except Exception as error:  # Inductor fails on some modules in ways of its own
        _log.warning("torch.compile fails on %s: %s", task.id, error)
        if isinstance(error.__cause__, torch.OutOfMemoryError):
            raise error.__cause__ from error
        if isinstance(error, torch.OutOfMemoryError):
            raise
        return None
    with gpu.shared():
        recording = watch.record(calls) if recorded else None
        ms = recording.estimate() if recording is not None else None
        if recording is not None and (ms is None or not _made(recording, ms, len(sets), how)):
            recording = None
    repeats = timing.calls_a_trial(estimate) if how.hide else 1
    with gpu.alone():
        if recording is not None:
            times = recording.block(how.trials)
        else:
            times = watch.block(calls, how.trials, repeats, how.hide)
    return float(np.mean(timing.trimmed(times, how.trim)))


def _made(recording: cuda_graph.Recording, milliseconds: float, sets: int, how: timing.Preset) -> bool:
    repeats = timing.calls_a_trial(milliseconds, recorded=True)
    in_all = timing.calls_in_all(repeats, sets)
    return recording.make(repeats, timing.trials_a_turn(how, 2 * milliseconds, in_all, recorded=True))


def _call(model: Callable[..., object], inputs: list[object]) -> Callable[[], object]:
    def call() -> object:
        with torch.no_grad():
            return model(*inputs)

    return call


def _key(task: Task, how: timing.Preset, recorded: bool) -> str:
    where = [torch.cuda.get_device_name(), torch.__version__, triton.__version__, repr(how), recorded]
    return hashlib.sha256(json.dumps([task.source, *where]).encode()).hexdigest()[:32]
