"""Functions of a kernel file beside its kernels: the reference that says what outputs have to be, and peers."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from cutecc.errors import UsageError, foreign_failures
from cutecc.frontend.failures import trace_error
from cutecc.frontend.imports import own_imports
from cutecc.frontend.kernel_file import run_file
from cutecc.harness.reference import bind_by_name, expected_outputs
from cutecc.support.spelling import did_you_mean


def find_function(path: str, name: str) -> Callable[..., Any]:
    """The function called `name` in the file at `path`, which runs once. Raises `UsageError` when there is none.

    A file that imports the DSL needs it; another one runs where it is not installed.
    """
    function = getattr(_module(os.path.abspath(path), path), name, None)
    if not callable(function):
        names = [each for each, value in vars(_module(os.path.abspath(path), path)).items() if callable(value)]
        hints = did_you_mean(name, names)
        raise UsageError(f"{path} has no function '{name}'", hints=hints)
    return function


@functools.cache
def _module(full: str, path: str) -> ModuleType:
    with own_imports(path):
        module = run_file(path)
        search_path = [*sys.path]
    # A function may import when it is called.
    sys.path[:] = search_path
    return module


def call_reference(path: str, name: str, arguments: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
    """What the reference `name` in the file at `path` expects for these numpy arrays and numbers, by output.

    Raises `UsageError` when it does not fit the kernel, and `TraceError` at its own line when it fails.
    """
    function = find_function(path, name)
    call = bind_by_name(function, arguments, name)
    try:
        result = call()
    except foreign_failures() as failure:
        raise trace_error(failure, f"the reference '{name}' fails", os.path.abspath(path)) from failure
    return expected_outputs(result, outputs)
