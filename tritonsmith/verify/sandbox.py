"""What the kernel keeps a runner from doing: layers, each entered in the runner just after the fork.

Layers: resource limits, dropped capabilities, Landlock (files), seccomp (network, processes, signals).
No layer is pretended: `layers()` tries each one in a child process and says what this machine gives.
It does not keep a candidate from harming its own process; that process is thrown away.
"""

import ctypes
import os
import platform
import resource
import signal
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38


@dataclass(frozen=True)
class Limits:
    """What one runner may use."""

    cpu_seconds: int
    memory_bytes: int | None
    """On top of what it inherits; None on CUDA, whose contexts reserve address space by the terabyte."""
    file_bytes: int
    readable: tuple[str, ...]
    """Folders and files it may read."""
    writable: tuple[str, ...]
    """Folders and files it may write."""
    processes: bool
    """Whether it may start processes: Triton's CUDA driver calls ptxas and the C compiler."""


class SandboxError(OSError):
    """A layer that this kernel refuses."""


def enter(limits: Limits, parent: int) -> list[str]:
    """Close this process in, the first of a group that can be killed at once; returns the layers it could not have."""
    lead_group(parent)
    return close_in(limits)


def lead_group(parent: int) -> None:
    """Make this process the first of a group of its own, and let it die with `parent`, the process that forked it."""
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # A parent that ended before that call sends no signal any more (prctl(2)).
    if os.getppid() != parent:
        os._exit(0)


def close_in(limits: Limits) -> list[str]:
    """Enter every layer, in the group that this process is in; returns those that could not be had.

    Threads that run already stay outside the last two layers.
    """
    missing = []
    steps: list[tuple[str, Callable[[], None]]] = [
        ("limits", lambda: set_limits(limits)),
        ("no_new_privs", lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1)),
        ("capabilities", drop_capabilities),
        ("landlock", lambda: restrict_files(limits.readable, limits.writable)),
        ("seccomp", lambda: restrict_syscalls(limits.processes)),
    ]
    for name, step in steps:
        try:
            step()
        except OSError:
            missing.append(name)
    return missing


def layers() -> dict[str, bool]:
    """Which layers this machine gives, each found out by entering it in a child process."""
    limits = Limits(10, 1 << 32, 1 << 20, ("/usr",), (), processes=False)
    reader, writer = os.pipe()
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        os.write(writer, ",".join(enter(limits, parent)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        missing = pipe.read().split(",")
    os.waitpid(pid, 0)
    return {name: name not in missing for name in ("limits", "no_new_privs", "capabilities", "landlock", "seccomp")}


def set_limits(limits: Limits) -> None:
    """CPU time, memory, file size, open files, no core dumps."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.file_bytes, limits.file_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if limits.memory_bytes is not None:
        inherited = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        total = inherited + limits.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (total, total))


def drop_capabilities() -> None:
    """Give up every capability, so that a runner of root's is an ordinary process (capset(2))."""
    header = struct.pack("Ii", 0x20080522, 0)
    if _libc.syscall(ctypes.c_long(_capset()), header, bytes(24)) != 0:
        raise SandboxError(ctypes.get_errno(), "capset")


def _capset() -> int:
    return {"x86_64": 126, "aarch64": 91}.get(platform.machine(), 126)


def _prctl(option: int, argument: int, pointer: object = 0) -> None:
    if _libc.prctl(option, ctypes.c_ulong(argument), pointer, 0, 0) != 0:
        raise SandboxError(ctypes.get_errno(), f"prctl({option})")


# Landlock, from linux/landlock.h. Rights by the ABI that brought them.
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_SELF = 444, 445, 446
_EXECUTE, _WRITE, _READ, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_RIGHTS_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}
_FILE_RIGHTS = _EXECUTE | _WRITE | _READ | (1 << 14)


def restrict_files(readable: tuple[str, ...], writable: tuple[str, ...]) -> None:
    """Allow reading and writing below the given paths and nowhere else (Landlock, linux >= 5.13)."""
    abi = _libc.syscall(_LANDLOCK_CREATE, None, 0, 1)
    if abi < 1:
        raise SandboxError(ctypes.get_errno(), "landlock")
    rights = _RIGHTS_BY_ABI[min(abi, 3)]
    ruleset = _libc.syscall(_LANDLOCK_CREATE, struct.pack("Q", rights), 8, 0)
    if ruleset < 0:
        raise SandboxError(ctypes.get_errno(), "landlock_create_ruleset")
    for paths, allowed in ((readable, _EXECUTE | _READ | _READ_DIR), (writable, rights)):
        for path in paths:
            _allow_path(ruleset, path, allowed)
    done = _libc.syscall(_LANDLOCK_SELF, ruleset, 0)
    os.close(ruleset)
    if done != 0:
        raise SandboxError(ctypes.get_errno(), "landlock_restrict_self")


def _allow_path(ruleset: int, path: str, allowed: int) -> None:
    if not os.path.exists(path):
        return
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    if not os.path.isdir(path):
        allowed &= _FILE_RIGHTS
    done = _libc.syscall(_LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", allowed, handle), 0)
    os.close(handle)
    if done != 0:
        raise SandboxError(ctypes.get_errno(), f"landlock_add_rule {path}")


# Seccomp: classic BPF over struct seccomp_data, numbers of x86_64 (asm/unistd_64.h).
_ARCH_X86_64 = 0xC000003E
_ALLOW, _ERRNO_EPERM, _ERRNO_ENOSYS, _KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000
_LOAD, _JUMP_EQ, _JUMP_SET, _JUMP_GE, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_CLONE, _CLONE3, _CLONE_THREAD = 56, 435, 0x00010000
_SIGNALS = {"kill": 62, "tgkill": 234}
_DENIED = {
    "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50, "accept4": 288,
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_open": 434, "pidfd_getfd": 438,
    "pidfd_send_signal": 424, "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
    "setrlimit": 160, "chmod": 90, "fchmod": 91, "fchmodat": 268, "fchmodat2": 452, "chown": 92, "fchown": 93,
    "lchown": 94, "fchownat": 260, "utimensat": 280, "utime": 132, "utimes": 235, "futimesat": 261,
    "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
    "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "keyctl": 250, "add_key": 248,
    "request_key": 249, "open_by_handle_at": 304, "memfd_secret": 447, "sched_setaffinity": 203,
    "setpriority": 141, "setpgid": 109, "setsid": 112, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
    "inotify_init1": 294,
}  # fmt: skip
_LOCAL_SOCKETS = {"connect", "bind", "listen", "accept", "accept4"}
_SOCKET, _AF_UNIX = 41, 1
_PROCESSES = {"fork": 57, "vfork": 58, "execve": 59, "execveat": 322}
_PRLIMIT, _PRCTL = 302, 157


def restrict_syscalls(processes: bool) -> None:
    """No network, no tracing, no signals to others; without `processes`, no fork and no exec.

    The filter is inherited and cannot be taken off (seccomp(2)).
    """
    if platform.machine() != "x86_64":
        raise SandboxError(38, "the syscall table is of x86_64")
    program = _program(processes)
    code = ctypes.create_string_buffer(b"".join(program))

    class _Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    _prctl(_PR_SET_SECCOMP, 2, ctypes.byref(_Program(len(program), ctypes.addressof(code))))


def _program(processes: bool) -> list[bytes]:
    number, arch = 0, 4
    rules = [_op(_LOAD, arch), _op(_JUMP_EQ, _ARCH_X86_64, 1, 0), _op(_RETURN, _KILL), _op(_LOAD, number)]
    rules += [_op(_JUMP_GE, 0x40000000, 0, 1), _op(_RETURN, _KILL)]  # the x32 table is a way around the numbers
    denied = _DENIED | _PROCESSES
    if processes:
        # The CUDA driver opens a socket of the local kind when it starts; the network stays shut.
        denied = {name: n for name, n in _DENIED.items() if name not in _LOCAL_SOCKETS and name != "socket"}
        rules += _only_if(_SOCKET, argument=0, equals=_AF_UNIX)
    for syscall in denied.values():
        rules += [_op(_JUMP_EQ, syscall, 0, 1), _op(_RETURN, _ERRNO_EPERM)]
    for syscall in _SIGNALS.values():
        rules += _only_if(syscall, argument=0, equals=os.getpid())
    rules += _only_if(_PRLIMIT, argument=2, equals=0)
    # Without the death signal a runner could outlive its zygote.
    rules += [_op(_JUMP_EQ, _PRCTL, 0, 4), _op(_LOAD, _low(0)), _op(_JUMP_EQ, _PR_SET_PDEATHSIG, 0, 1)]
    rules += [_op(_RETURN, _ERRNO_EPERM), _op(_RETURN, _ALLOW)]
    if not processes:
        # clone3 hides its flags behind a pointer; ENOSYS sends libc back to clone, whose flags can be seen.
        rules += [_op(_JUMP_EQ, _CLONE3, 0, 1), _op(_RETURN, _ERRNO_ENOSYS)]
        rules += [_op(_JUMP_EQ, _CLONE, 0, 4), _op(_LOAD, _low(0)), _op(_JUMP_SET, _CLONE_THREAD, 0, 1)]
        rules += [_op(_RETURN, _ALLOW), _op(_RETURN, _ERRNO_EPERM)]
    return [*rules, _op(_RETURN, _ALLOW)]


def _only_if(syscall: int, argument: int, equals: int) -> list[bytes]:
    return [
        _op(_JUMP_EQ, syscall, 0, 6),
        _op(_LOAD, _low(argument)),
        _op(_JUMP_EQ, equals, 0, 3),
        _op(_LOAD, _low(argument) + 4),
        _op(_JUMP_EQ, 0, 0, 1),
        _op(_RETURN, _ALLOW),
        _op(_RETURN, _ERRNO_EPERM),
    ]


def _low(argument: int) -> int:
    return 16 + 8 * argument


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)
