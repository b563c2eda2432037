"""A program that forks while another thread compiles: `forking_host.py COUNT WHAT…`; prints how its children ended.

Both sides compare what they get with what there was before the first fork of that kind; how often the other thread got
something else comes after how the children ended.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter

import numpy as np

import cutecc

SPECS = ["f32[?M,?N{div=4}] align=16"] * 3
COUNT, WHATS = int(sys.argv[1]), sys.argv[2:]


def traced():
    from examples.elementwise_add import elementwise_add

    return cutecc.trace(elementwise_add, *SPECS, target="sm_90a")


def ptx(**settings):
    return cutecc.compile_module(MODULE, "sm_90a", cache=False, **settings).ptx


def compiled():
    from examples.elementwise_add import elementwise_add

    return cutecc.compile(elementwise_add, *SPECS, target="sm_90a", cache=False).ptx


def assembled():
    options = cutecc.CompileOptions(observe=True, artifacts=("ptx", "cubin", "sass"))
    return cutecc.compile_module(MODULE, "sm_90a", cache=False, options=options).sass


def emulated(**options):
    a = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    c = np.zeros_like(a)
    KERNEL.emulate(a, a, c, **options)
    return c.tobytes()


MODULE = traced().bytecode
KERNEL = None
DOINGS = {
    "trace": lambda: traced().name,
    "module": ptx,
    "open": lambda: ptx(pipeline="open"),
    "worker": lambda: ptx(isolation="worker"),
    "compile": compiled,
    "assemble": assembled,
    "emulate": emulated,
    "processes": lambda: emulated(processes=2),
}


def in_child(run, expected) -> int:
    # Whoever waits for ever is ended.
    signal.alarm(30)
    try:
        return 0 if run() == expected else 3
    except cutecc.Error as error:
        print(error, file=sys.stderr)
        return 4


def forked(run, expected) -> int:
    """The exit status of a child that ends as programs do."""
    child = os.fork()
    if child == 0:
        sys.exit(in_child(run, expected))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def multiprocessed(run, expected) -> int:
    process = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(in_child(run, expected)))
    process.start()
    process.join()
    return process.exitcode


def ends_of(run) -> tuple[dict[int, int], int]:
    """How the children ended, by how many, while another thread did the same; and how often that one was wrong."""
    expected = run()
    over, wrong = threading.Event(), []

    def again_and_again() -> None:
        while not over.is_set():
            got = run()
            if got != expected:
                wrong.append(got)

    other = threading.Thread(target=again_and_again)
    other.start()
    ends: Counter[int] = Counter()
    for number in range(COUNT):
        time.sleep(0.007 * (1 + number % 7))
        ends[(multiprocessed if number % 3 == 2 else forked)(run, expected)] += 1
    over.set()
    other.join()
    return dict(ends), len(wrong)


def main() -> None:
    global KERNEL
    from cutecc.record import Parameter, Signature

    signature = Signature("add", [Parameter(name, spec) for name, spec in zip("abc", SPECS, strict=True)])
    KERNEL = cutecc.compile_module(MODULE, "sm_90a", signature=signature)
    for what in WHATS:
        # A child has what is buffered too.
        print(f"{what}: {' '.join(map(str, ends_of(DOINGS[what])))}", flush=True)


main()
