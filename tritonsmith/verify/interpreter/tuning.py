"""Autotuners in the interpreter: where they would measure, a kernel is run once before the launch that counts.

Triton measures configurations by running them, on the arguments of the first launch with a key. A kernel that adds to
what it finds, or changes it in place, is wrong at that launch then, unless the tuner resets (`reset_to_zero`) or
restores (`restore_value`) its arguments. To run it once is enough to see that, and only kernels that read what they
write can be wrong by it; of one that never ran that is not known. Which configuration is taken `observe` decides.
"""

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from triton.runtime.autotuner import Autotuner, Config

from tritonsmith.verify.dynamic.observe import Launches
from tritonsmith.verify.interpreter.shuffling import Habits


def install(launches: Launches, habits: Habits) -> None:
    """Let autotuners do so, for this process."""
    measure = Autotuner._bench
    measured: WeakKeyDictionary[Autotuner, int] = WeakKeyDictionary()

    def bench(self: Autotuner, *args: object, config: Config, **meta: object) -> object:
        keys = len(self.cache)
        runs = launches.instead is None and launches.cover is None and launches.sample is None
        if runs and measured.get(self) != keys:
            measured[self] = keys
            if habits.of(self.base_fn).rereads is not False:
                _rehearse(self, args, meta, config, launches)
        return measure(self, *args, config=config, **meta)

    Autotuner._bench = bench  # type: ignore[method-assign]


def _rehearse(
    tuner: Autotuner, args: Sequence[object], meta: Mapping[str, object], config: Config, launches: Launches
) -> None:
    """Run a configuration as Triton does to measure it; no launch of the forward's."""
    given = {**meta, **config.all_kwargs()}
    named = {**(tuner.nargs or {}), **given}
    seen, count = len(launches.seen), launches.count
    try:
        if config.pre_hook:
            config.pre_hook(named)
        tuner.pre_hook(named)
        tuner.fn.run(*args, **given)
        tuner.post_hook(named, exception=None)
    finally:
        del launches.seen[seen:]
        launches.count = count
