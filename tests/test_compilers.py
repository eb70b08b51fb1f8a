"""Back ends of kernels in processes of the judge's: the same code comes of it, once a text, and whatever is sent."""

import fcntl
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.compiler import ASTSource

from tritonsmith.config import VerifyConfig
from tritonsmith.verify.conversation import Conversation
from tritonsmith.verify.process import backend, wire
from tritonsmith.verify.process import compilers as compilers_module
from tritonsmith.verify.process.compilers import Compilers
from tritonsmith.verify.process.limits import compiler_limits
from tritonsmith.verify.process.stable import Stable
from tritonsmith.verify.process.turnstile import held
from tritonsmith.verify.process.within import within
from tritonsmith.verify.process.zygote import Runner, Zygote


@triton.jit
def _sigmoid(x, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, 1 / (1 + tl.exp(-value)) + tl.extra.cuda.libdevice.tanh(value), mask=at < n)


@triton.jit
def _product(x, y, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.dot(tl.load(x + rows * n + start + columns), tl.load(y + (start + rows) * BLOCK + columns))
    tl.store(out + rows * BLOCK + columns, total)


def _twice(name: str) -> object:
    """A kernel of few lines, in which a value has a name."""
    from tritonsmith.verify.process.loading import import_source

    text = f"""
import triton
import triton.language as tl

@triton.jit
def twice(x, BLOCK: tl.constexpr):
    {name} = tl.arange(0, BLOCK)
    tl.store(x + {name}, 2 * tl.load(x + {name}))
"""
    return import_source(text).twice


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    one = Zygote(interpret=False)
    yield one
    one.close()


@pytest.fixture
def compilers(zygote: Zygote, tmp_path: Path) -> Iterator[Compilers]:
    kept = tmp_path / "kernels"
    one = Compilers(zygote, lambda own: compiler_limits(VerifyConfig(), 60.0, own, 10), kept, 90, most=1 << 20)
    yield one
    one.close()


@pytest.fixture
def diverted(compilers: Compilers, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Kernels of this process are compiled by `compilers`; gives the texts that were."""
    ours, theirs = socket.socketpair()
    texts: list[str] = []

    def serve() -> None:
        while True:
            try:
                wanted = wire.receive(ours)[0]["lower"]
            except wire.Closed:
                return
            answer, _ = compilers.answer(wanted, time.monotonic() + 60)
            if answer:
                texts.append(cast(dict[str, str], wanted)["ttir"])
            wire.send(ours, answer)

    monkeypatch.setattr(CUDABackend, "add_stages", CUDABackend.add_stages)
    monkeypatch.setattr(knobs.compilation, "disable_line_info", True)
    serving = threading.Thread(target=serve)
    serving.start()
    backend.divert(theirs)
    yield texts
    theirs.close()
    serving.join()
    ours.close()


def _compiled(
    kernel: object, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: object
) -> triton.compiler.CompiledKernel:
    names = kernel.arg_names  # type: ignore[attr-defined]
    signature = {name: "i32" if name == "n" else "constexpr" if name == "BLOCK" else "*fp32" for name in names}
    monkeypatch.setattr(knobs.cache, "dir", str(folder))
    monkeypatch.setattr(knobs.compilation, "disable_line_info", True)
    source = ASTSource(fn=kernel, signature=signature, constexprs={"BLOCK": 64})  # type: ignore[arg-type]
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


@pytest.mark.parametrize("kernel", [_sigmoid, _product])
def test_code_is_what_a_runner_would_have_compiled(
    kernel: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    own = _compiled(kernel, tmp_path / "own", monkeypatch, num_warps=8)
    texts = request.getfixturevalue("diverted")
    other = _compiled(kernel, tmp_path / "other", monkeypatch, num_warps=8)
    assert len(texts) == 1
    assert other.asm["cubin"] == own.asm["cubin"] and len(own.asm["cubin"]) > 1000
    one, another = ({**said.metadata._asdict()} for said in (own, other))
    assert {name for name in one if one[name] != another[name]} == set()
    assert "#blocked" in other.asm["ttgir"] and ".visible .entry" in other.asm["ptx"]


def test_the_names_of_values_make_no_other_kernel(
    diverted: list[str], compilers: Compilers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("at", "offsets"):
        _compiled(_twice(name), tmp_path / name, monkeypatch)
    assert len(diverted) == 2 and len(set(diverted)) == 1
    assert (compilers.kernels, compilers.known) == (2, 1)
    assert len([one for one in (tmp_path / "kernels").iterdir() if one.suffix != ".lock"]) == 1


def test_an_option_that_only_a_runner_may_be_told_is_not_passed_on(
    diverted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _compiled(_sigmoid, tmp_path / "own", monkeypatch, ptx_options="-O2")
    assert not diverted and len(found.asm["cubin"]) > 1000


def test_who_is_asked_for_more_than_a_compilation_gives_nothing(compilers: Compilers) -> None:
    later = time.monotonic() + 60
    for options in ({"ir_override": "/tmp/kernel.cubin"}, {"num_warps": "4"}, {"extern_libs": [["libdevice", "/x"]]}):
        assert compilers.answer({"ttir": "module {}", "options": options}, later) == ({}, 0.0)
    assert compilers.answer({"options": {}}, later) == ({}, 0.0)
    assert compilers.answer("module {}", later) == ({}, 0.0)


def test_what_does_not_compile_gives_nothing_and_ends_nobody(
    diverted: list[str], compilers: Compilers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = time.monotonic() + 60
    assert compilers.answer({"ttir": "no module", "options": {}}, later)[0] == {}
    ended = 'module { tt.func public @k() { "tt.unknown"() : () -> () tt.return } }'
    assert compilers.answer({"ttir": ended, "options": {}}, later)[0] == {}
    assert len(compilers._idle) == 1
    _compiled(_sigmoid, tmp_path / "other", monkeypatch)
    assert len(diverted) == 1


def test_one_that_died_is_replaced(
    diverted: list[str], compilers: Compilers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _compiled(_sigmoid, tmp_path / "first", monkeypatch)
    died = compilers._idle[0].pid
    os.kill(died, signal.SIGKILL)
    assert len(_compiled(_product, tmp_path / "second", monkeypatch).asm["cubin"]) > 1000  # by itself
    _compiled(_twice("at"), tmp_path / "third", monkeypatch)
    assert len(diverted) == 2 and [one.pid != died for one in compilers._idle] == [True]


def test_one_that_takes_longer_than_there_is_time_is_ended(compilers: Compilers) -> None:
    assert compilers.answer({"ttir": "module {}", "options": {}}, time.monotonic() - 1)[0] == {}
    assert compilers._idle == []


EMPTY = "module {{ tt.func public @k{}(%x: !tt.ptr<f32>) {{ tt.return }} }}"


def test_of_what_was_compiled_the_oldest_goes_before_it_is_too_much(compilers: Compilers, tmp_path: Path) -> None:
    later, kept = time.monotonic() + 60, tmp_path / "kernels"
    for number in range(3):
        assert compilers.answer({"ttir": EMPTY.format(number), "options": {}}, later)[0]
    sizes = {path: path.stat().st_size for path in kept.iterdir() if path.suffix != ".lock"}
    assert len(sizes) == 3
    oldest = min(sizes, key=lambda path: path.stat().st_mtime_ns)
    compilers._most = 4 * max(sizes.values()) - 1  # the fourth is too much, and half of that is one
    for number in (3, 4):
        compilers.answer({"ttir": EMPTY.format(number), "options": {}}, later)
    assert not oldest.exists() and len([one for one in kept.iterdir() if one.suffix != ".lock"]) == 2
    assert compilers.answer({"ttir": EMPTY.format(4), "options": {}}, later)[0] and compilers.known == 1


def test_one_text_that_two_want_at_once_is_compiled_once(compilers: Compilers) -> None:
    later = time.monotonic() + 60
    with ThreadPoolExecutor(4) as threads:
        wanted = [{"ttir": EMPTY.format(7), "options": {}}] * 4
        found = [*threads.map(lambda one: compilers.answer(one, later)[0], wanted)]
    assert all(one == found[0] for one in found) and "code" in found[0]
    assert (compilers.kernels, compilers.known, len(compilers._idle)) == (4, 3, 1)


def test_who_waits_for_another_s_compiler_goes_on_by_itself_at_last(
    compilers: Compilers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilers_module, "_PATIENCE", 0.1)
    wanted, kept = {"ttir": EMPTY.format(8), "options": {}}, tmp_path / "kernels"
    assert compilers.answer(wanted, time.monotonic() + 60)[0]
    (path,) = (one for one in kept.iterdir() if one.suffix != ".lock")
    path.unlink()
    with held(path.with_suffix(".lock"), fcntl.LOCK_EX):
        assert compilers.answer(wanted, time.monotonic() + 60)[0]


def test_what_was_compiled_is_written_by_the_judge_alone(compilers: Compilers, tmp_path: Path) -> None:
    """A text is hostile: whoever parses it may not touch what stands for others."""
    later = time.monotonic() + 60
    assert compilers.answer({"ttir": EMPTY.format(0), "options": {}}, later)[0]
    assert str(tmp_path / "kernels") not in compiler_limits(VerifyConfig(), 60.0, tmp_path / "own", 10).writable


def test_a_limit_in_time_does_not_end_a_question_half_way(compilers: Compilers) -> None:
    """What the judge then said of the kernel was taken for its next question."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        wire.receive(ours)
        time.sleep(0.5)
        wire.send(ours, {"code": ""})
        wire.send(ours, {"next": True})

    serving = threading.Thread(target=serve)
    serving.start()
    with pytest.raises(TimeoutError), within(0.01):
        backend._asked(theirs, {}, "module {}")
    assert wire.receive(theirs)[0] == {"next": True}
    serving.join()


def test_a_text_that_is_too_long_is_not_handed_on() -> None:
    asked: list[str] = []
    own = {name: lambda module, metadata: "own" for name in ("ttgir", "llir", "ptx", "cubin")}
    for length in (10, backend.LONGEST + 1):
        stages = backend.asking(own, lambda text: asked.append(text))  # type: ignore[func-returns-value]
        module = SimpleNamespace(str_nodebug=lambda length=length: "x" * length)
        assert stages["ttgir"](module, {}) == "own"
    assert list(map(len, asked)) == [10]


def test_the_time_for_which_a_compiler_waited_is_not_the_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()

    class Slow:
        """Compilers that wait for others as long as they are asked."""

        def answer(self, wanted: object, deadline: float) -> tuple[dict[str, object], float]:
            time.sleep(0.3)
            return {}, 0.3

    def run() -> None:
        wire.receive(theirs)
        for _ in range(3):
            wire.send(theirs, {"lower": {}})
            wire.receive(theirs)
        wire.send(theirs, {"loaded": True})

    warm = SimpleNamespace(take=lambda: Runner(0, ours, None))
    talk = Conversation(VerifyConfig(), 0.6, {}, cast(Stable, warm), None, compilers=cast(Compilers, Slow()))
    running = threading.Thread(target=run)
    running.start()
    talk.load("cuda", "x = 1", "sm_90")
    running.join()
    assert talk.seconds < 0.3


def test_a_conversation_has_kernels_compiled_before_it_has_an_answer(compilers: Compilers) -> None:
    ours, theirs = socket.socketpair()

    class One:
        """A warm runner that wants two things compiled first."""

        def take(self) -> Runner:
            return Runner(os.getpid(), ours, None)

    told: list[dict[str, object]] = []

    def run() -> None:
        wire.receive(theirs)
        for text in ("module {}", "module { tt.func public @k(%x: !tt.ptr<f32>) { tt.return } }"):
            wire.send(theirs, {"lower": {"ttir": text, "options": {}}})
            told.append(wire.receive(theirs)[0])
        wire.send(theirs, {"loaded": True})

    talk = Conversation(VerifyConfig(), 60.0, {}, cast(Stable, One()), None, compilers=compilers)
    running = threading.Thread(target=run)
    running.start()
    talk.load("cuda", "x = 1", "sm_90")
    running.join()
    assert talk.has("cuda") and ["code" in one for one in told] == [False, True]
