"""What a host program has in its process that a library must leave alone: taken before and after, and compared."""

from __future__ import annotations

import atexit
import decimal
import faulthandler
import gc
import importlib.util
import locale
import logging
import os
import random
import signal
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

from cutecc.ir import bindings


def take() -> dict[str, Any]:
    """The state of this process, by what it is. What is compared by identity is held, so that no other can take its
    place."""
    state: dict[str, Any] = {
        "signal handlers": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "signal masks": _signal_masks(),
        "fault handler": faulthandler.is_enabled(),
        "streams": [sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__],
        "standard descriptors": [os.fstat(number)[:3] for number in range(3)],
        "descriptors": _descriptors(),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "temporary files": sorted(os.listdir(tempfile.gettempdir())),
        "warnings": (list(warnings.filters), warnings.showwarning),
        "locale": locale.setlocale(locale.LC_ALL),
        "threads": threading.enumerate(),
        "native threads": len(os.listdir("/proc/self/task")),
        "children": _children(),
        "exit handlers": atexit._ncallbacks(),
        "logging": (logging.root.level, list(logging.root.handlers), logging.root.manager.disable),
        "module path": (list(sys.path), list(sys.meta_path), list(sys.path_hooks)),
        "hooks": (sys.excepthook, sys.unraisablehook, sys.displayhook, threading.excepthook),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "garbage collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), list(gc.callbacks)),
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "random numbers": random.getstate(),
        "decimal context": repr(decimal.getcontext()),
        "denormal numbers": sys.float_info.min / 2,
        "import of the DSL": importlib.util.find_spec("cutlass").origin,
        "modules": dict(sys.modules),
    }
    if "cutlass._mlir.ir" in sys.modules:
        ir = bindings.load_submodule("ir")
        state["current context"] = tuple(_current(kind) for kind in (ir.Context, ir.Location, ir.InsertionPoint))
    if bindings.dsl_is_imported():
        state["value casters"] = _casters()
    return state


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is not as it was, a line each; modules may have come, and none gone or been replaced."""
    found = [
        f"{name}: {before[name]!r} became {after[name]!r}"
        for name in before
        if name != "modules" and before[name] != after[name]
    ]
    for name, module in before["modules"].items():
        if after["modules"].get(name) is not module:
            found.append(f"modules: {name} is {'gone' if name not in after['modules'] else 'another'}")
    return found


def additions(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The top-level modules that have come."""
    return sorted({name.partition(".")[0] for name in after["modules"].keys() - before["modules"].keys()})


def _signal_masks() -> list[str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    return [line for line in lines if line.startswith(("SigCgt", "SigIgn", "SigBlk"))]


def _descriptors() -> list[str]:
    found: list[str] = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:
            continue  # that of the listing
    return sorted(found)


def _children() -> list[str]:
    tasks = Path("/proc/self/task").glob("*/children")
    return sorted(child for task in tasks for child in task.read_text().split())


def _current(kind: Any) -> Any:
    try:
        return kind.current
    except ValueError:
        return None


def _casters() -> list[str]:
    """The class in which an argument of each of some types comes."""
    from cutecc.ir.modules import body_of, fresh_context, parse

    memref = '!cute.memref<f32, gmem, "(4,8):(8,1)">'
    types = ("i32", "f16", "vector<4xf32>", '!cute.layout<"(4,?):(?,1)">', "!cute.ptr<f32, gmem>", memref)
    arguments = ", ".join(f"%{index}: {text}" for index, text in enumerate(types))
    with fresh_context():
        module = parse(f"func.func @f({arguments}) {{ return }}".encode())
        (function,) = body_of(module.operation)
        return [type(value).__qualname__ for value in function.regions[0].blocks[0].arguments]
