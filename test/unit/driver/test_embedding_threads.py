"""Several threads that compile at once: in turn in this process, at the same time in workers."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import cutecc
from cutecc.compilation.events import PassStarted

pytestmark = pytest.mark.slow

THREADS = 4
ADDITION = "func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32  return %0 : i32 }"


def compiled_by_threads(arguments: list[tuple[bytes, str]], isolation) -> list[str]:
    """The PTX of each module, all compiled at once."""
    together = threading.Barrier(THREADS)

    def compiled(module: bytes, pipeline: str) -> str:
        together.wait(60)
        return cutecc.compile_module(module, "sm_80", pipeline, isolation=isolation).ptx

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(compiled, *zip(*arguments, strict=True)))


@pytest.mark.parametrize("isolation", ["none", "worker"])
def test_threads_get_what_one_gets(small_kernel, other_kernel, isolation) -> None:
    kernels = [small_kernel.bytecode, other_kernel.bytecode]
    arguments = [(kernel, pipeline) for pipeline in ("nvidia", "open") for kernel in kernels]
    alone = [cutecc.compile_module(kernel, "sm_80", pipeline).ptx for kernel, pipeline in arguments]
    assert compiled_by_threads(arguments, isolation) == alone


class Meets(cutecc.Observer):
    """Waits, when the first pass is about to run, for all others to come as far."""

    def __init__(self, together: threading.Barrier) -> None:
        self._together = together

    def event(self, event):
        if isinstance(event, PassStarted) and event.index == 1:
            self._together.wait(60)


def test_workers_run_at_the_same_time() -> None:
    """None of four compilations goes on before all have begun."""
    together = threading.Barrier(THREADS)

    def compiled(_: int) -> str:
        kernel = cutecc.compile_module(ADDITION, "sm_80", "cse", [Meets(together)], isolation="worker")
        return kernel.compilation.status

    with ThreadPoolExecutor(THREADS) as threads:
        assert list(threads.map(compiled, range(THREADS))) == ["ok"] * THREADS


def test_in_this_process_they_take_turns() -> None:
    inside: list[int] = []
    most: list[int] = []

    class Counts(cutecc.Observer):
        def before(self, position, module):
            inside.append(1)
            most.append(len(inside))

        def after(self, position, module, seconds):
            inside.pop()

    def compiled(_: int) -> None:
        cutecc.compile_module(ADDITION, "sm_80", "cse,canonicalize,cse", [Counts()])

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(compiled, range(2 * THREADS)))
    assert set(most) == {1}


@pytest.mark.parametrize("isolation", ["none", "worker"])
def test_an_interrupt_leaves_other_threads_alone(isolation) -> None:
    """The main thread is interrupted while it compiles; one that waits, or has a worker of its own, goes on."""
    began = threading.Event()
    statuses: list[str] = []

    class Interrupts(cutecc.Observer):
        def event(self, event):
            if isinstance(event, PassStarted):
                began.set()
                signal.raise_signal(signal.SIGINT)

    def other() -> None:
        assert began.wait(60)
        statuses.append(cutecc.compile_module(ADDITION, "sm_80", "cse", isolation=isolation).compilation.status)

    thread = threading.Thread(target=other)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        cutecc.compile_module(ADDITION, "sm_80", "cse", [Interrupts()], isolation=isolation)
    thread.join(60)
    assert statuses == ["ok"]
    # The lock is free, and this thread as good as before.
    assert cutecc.compile_module(ADDITION, "sm_80", "cse", isolation=isolation).compilation.status == "ok"


def test_a_thread_may_trace_with_the_dsl_meanwhile(small_kernel, tmp_path: Path) -> None:
    """The values of its trace are the DSL's, while those of passes in the other thread are plain."""
    program = f"""
        import hashlib, os, sys, threading
        os.environ |= {{"CUTE_DSL_ARCH": "sm_80", "CUTECC_CACHE": "0"}}
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import stock_kernel
        import cutecc

        def traced():
            return hashlib.sha256(stock_kernel.traced()).hexdigest()

        expected = traced()
        module = open({str(small_kernel.module)!r}, "rb").read()
        ptx = cutecc.compile_module(module, "sm_80", "open").ptx
        tracing, done, results = threading.Event(), threading.Event(), []

        def trace():
            while not done.is_set():
                results.append(traced())
                tracing.set()

        thread = threading.Thread(target=trace)
        thread.start()
        assert tracing.wait(60)
        several = [cutecc.compile_module(module, "sm_80", "open").ptx for _ in range(3)]
        done.set()
        thread.join()
        assert several == [ptx] * 3
        assert set(results) == {{expected}}
        print(len(results) > 3)
        sys.stdout.flush()
        os._exit(0)
    """
    (tmp_path / "host.py").write_text(textwrap.dedent(program))
    done = subprocess.run([sys.executable, "host.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
