"""A program that a test interrupts: `interrupted_host.py WHAT FOLDER`, which prints `ready` before all that it does.

FOLDER has the modules `elementwise_add`, and `endless` where it is traced.
"""

import importlib
import signal
import sys
import threading
from pathlib import Path

import numpy  # noqa: F401 - the bindings import it, which adds filters for warnings and a thread

import cutecc

WHAT, FOLDER = sys.argv[1], Path(sys.argv[2])
sys.path.insert(0, str(FOLDER))
SPECS = ["f32[?M,?N{div=4}] align=16"] * 3


def kernel(module: str, name: str):
    return getattr(importlib.import_module(module), name)


def again_and_again(run) -> None:
    """Until standard input ends: what comes of interrupts is one of two things, each time."""
    expected = run()
    asked = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), asked.set()), daemon=True).start()
    while not asked.is_set():
        print("ready", flush=True)
        try:
            while not asked.is_set():
                assert run() == expected
        except KeyboardInterrupt:
            pass
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert sys.gettrace() is None
    assert run() == expected


class Watches(cutecc.Observer):
    def after(self, position, module, seconds):
        str(module)


def trace():
    from elementwise_add import elementwise_add

    traced = cutecc.trace(elementwise_add, *SPECS, target="sm_90a")
    return str(traced.signature), traced.name


def compiling(**settings):
    from elementwise_add import elementwise_add

    module = cutecc.trace(elementwise_add, *SPECS, target="sm_90a").bytecode
    return lambda: cutecc.compile_module(module, "sm_90a", cache=False, **settings).ptx


def tracing_endlessly(name: str) -> None:
    trace()
    from endless import progress

    endless = kernel("endless", name)
    progress.append(lambda: print("ready", flush=True))
    try:
        cutecc.trace(endless, *SPECS[:1], target="sm_90a")
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    trace()


match WHAT:
    case "trace":
        trace()
        again_and_again(trace)
    case "import":
        from cutecc.frontend import dsl
        from cutecc.ir import bindings

        print("ready", flush=True)
        try:
            while True:
                bindings.load()
                dsl.cutlass()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        trace()
    case "compile":
        again_and_again(compiling())
    case "observed":
        again_and_again(compiling(observers=[Watches()]))
    case "open":
        again_and_again(compiling(pipeline="open"))
    case _:
        tracing_endlessly(WHAT)
