"""A host program that embeds cutecc, run as a process of its own: `embedding_host.py WHEN INPUTS REPORT`.

WHEN says where it uses the DSL, `before` and after cutecc, or only `after`. In each of some situations it notes what is
different afterwards, as JSON in the file REPORT. INPUTS is a folder with modules: `kernel.mlirbc`, `aborts.mlir`.
"""

import gc
import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy  # noqa: F401 - the bindings import it, which adds filters for warnings and a thread

os.environ |= {"CUTE_DSL_ARCH": "sm_80", "CUTECC_CACHE": "0"}
WHEN, INPUTS, REPORT = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])


def stock_compiler() -> list[str]:
    """What the DSL traces and compiles, without cutecc."""
    import stock_kernel

    return [hashlib.sha256(data).hexdigest() for data in stock_kernel.compiled()]


def main() -> None:
    stock = [stock_compiler()] if WHEN == "before" else []
    import host_state

    at_start = host_state.take()
    import cutecc
    from cutecc.compilation.request import CompileOptions
    from cutecc.ir.mlir import ir

    class Interferes(cutecc.Observer):
        def after(self, position, module, seconds):
            raise ZeroDivisionError

    class Overhears(cutecc.Observer):
        def event(self, event):
            if type(event).__name__ == "PassFinished":
                raise ZeroDivisionError

    kernel = (INPUTS / "kernel.mlirbc").read_bytes()
    aborts = (INPUTS / "aborts.mlir").read_bytes()
    quiet = CompileOptions(reproduce=False)
    observed = CompileOptions(observe=True, reproduce=False)
    situations: dict[str, Callable[[str], object]] = {
        "success": lambda where: cutecc.compile_module(kernel, "sm_80", isolation=where),
        "observed": lambda where: cutecc.compile_module(kernel, "sm_80", options=observed, isolation=where),
        "open": lambda where: cutecc.compile_module(kernel, "sm_80", "open", isolation=where),
        "parse": lambda where: cutecc.compile_module("nonsense", "sm_80", isolation=where),
        "pass": lambda where: cutecc.compile_module(
            kernel, "sm_80", "convert-cute-to-core", options=quiet, isolation=where
        ),
        "request": lambda where: cutecc.compile_module(kernel, "sm_80", "nonsense", isolation=where),
        "event": lambda where: cutecc.compile_module(kernel, "sm_80", observers=[Overhears()], isolation=where),
    }
    alone: dict[str, Callable[[], object]] = {
        f"{name}, {where}": lambda situation=situation, where=where: situation(where)
        for name, situation in situations.items()
        for where in ("none", "worker")
    }
    alone["observer"] = lambda: cutecc.compile_module(kernel, "sm_80", observers=[Interferes()])
    alone["abort"] = lambda: cutecc.compile_module(aborts, "sm_80", options=quiet, isolation="worker")

    outcomes: dict[str, str] = {}
    messages: dict[str, str] = {}
    changes: dict[str, list[str]] = {}

    def attempt(name: str) -> None:
        try:
            alone[name]()
            outcomes[name] = "fine"
        except Exception as error:
            outcomes[name] = type(error).__name__
            messages[name] = str(error)

    attempt("success, none")
    after_first = host_state.take()
    # The process that generates code through LLVM stays.
    attempt("open, none")
    # A host that has the DSL has more that could be changed.
    for name in alone if WHEN == "before" else ("success, none", "success, worker", "pass, none", "observer", "abort"):
        before = host_state.take()
        contexts = ir.Context._get_live_count()
        attempt(name)
        gc.collect()
        if ir.Context._get_live_count() != contexts:
            changes.setdefault(name, []).append("a context is kept")
        changes.setdefault(name, []).extend(host_state.differences(before, host_state.take()))

    report = {
        "outcomes": outcomes,
        "messages": messages,
        "changes": changes,
        "first": host_state.differences(at_start, after_first),
        "additions": host_state.additions(at_start, after_first),
        "cutlass": type(sys.modules["cutlass"]).__name__,
    }
    package = sys.modules["cutlass"]
    stock.append(stock_compiler())
    report |= {
        "same cutlass": sys.modules["cutlass"] is package,
        "cutlass afterwards": type(package).__name__,
        "stock": stock,
        "success": cutecc.compile_module(kernel, "sm_80").ptx,
    }
    REPORT.write_text(json.dumps(report))


if __name__ == "__main__":
    main()
    # Without taking the DSL and its contexts down, which has been seen to crash once in a few hundred runs.
    sys.stdout.flush()
    os._exit(0)
