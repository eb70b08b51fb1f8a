"""Folders for what runners and tools write: all below one folder a process, which goes when the process does.

The folder is `tritonsmith-*` in the temporary folder, and its file `lock` stays locked (flock) while its process
lives: the kernel lets go of the lock whatever the process dies of, kill -9 included, and across containers that
share the folder, where a pid would not do. `sweep` removes the folders whose lock nobody holds.
"""

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
import threading
from pathlib import Path

PREFIX = "tritonsmith-"

_making = threading.Lock()
_roots: dict[int, tuple[Path, int]] = {}
"""By pid, since a fork must not use, or remove, its parent's: the folder and the descriptor that holds its lock."""


def root() -> Path:
    """This process's folder, made when it is first asked for; folders of dead processes are removed then."""
    with _making:
        if (known := _roots.get(os.getpid())) is not None and known[0].is_dir():
            return known[0]
        sweep(Path(tempfile.gettempdir()))
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # Locked before it has the name that others look for.
        descriptor = os.open(folder / "making", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        (folder / "making").rename(folder / "lock")
        _roots[os.getpid()] = folder, descriptor
        return folder


def new() -> Path:
    """A new folder below this process's own."""
    return Path(tempfile.mkdtemp(dir=root()))


def sweep(folder: Path) -> None:
    """Remove what dead processes left in a temporary folder; what cannot be removed is left alone."""
    for found in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), (found / "lock").open("r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(found, ignore_errors=True)


@atexit.register
def remove() -> None:
    """Remove this process's folder, at its end; a process of multiprocessing's has to call it, and runs no `atexit`."""
    if (own := _roots.pop(os.getpid(), None)) is not None:
        shutil.rmtree(own[0], ignore_errors=True)
        os.close(own[1])
