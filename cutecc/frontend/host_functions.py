"""Telling host functions, which the DSL compiles, from everything else in a kernel file."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from cutecc.errors import SourceLocation, UsageError
from cutecc.frontend.callee import WRAPPED, Callee


def check_host_function(value: Any, name: str, source: SourceLocation | None = None) -> Any:
    """`value`, if it is a `@cute.jit` function, a bound method that is one, or an object with such a `__call__`.

    Raises `UsageError`, which calls it `name`, for anything else. `source` is where the user wrote the name.
    """
    kind = decorator_kind(value)
    if kind == "jit":
        return value
    hints: list[str] = []
    if kind == "kernel":
        what = "a @cute.kernel, which runs on the device"
        hints = ["name the @cute.jit function that launches it"]
    elif inspect.isclass(value):
        what = "a class"
        hints = [f"make an object of it: '{name}(…)'"] if _call_kind(value) == "jit" else []
    elif inspect.isfunction(value) or inspect.ismethod(value):
        what = "a function without @cute.jit"
    else:
        owner: type[Any] = value.__class__
        what = f"of type {owner.__name__}, without a @cute.jit __call__"
        methods = [method for method, member in inspect.getmembers(owner) if decorator_kind(member) == "jit"]
        hints = [f"@cute.jit methods of it: {', '.join(methods)}; for example {name}.{methods[0]}"] if methods else []
    raise UsageError(f"'{name}' is {what}", source, hints=hints)


def decorator_kind(value: Any) -> str | None:
    """`jit` for host functions and objects to call as one, `kernel` for device functions, `None` for anything else."""
    value = getattr(value, WRAPPED, value)
    if inspect.ismethod(value):
        value = value.__func__
    if inspect.isfunction(value):
        function = inspect.unwrap(value)
        decorated = hasattr(function, "_dsl_cls") or hasattr(function, "_dsl_object")
        return getattr(function, "_decorator_kind", _called_kind(value) if decorated else None)
    return None if inspect.isclass(value) else _call_kind(value.__class__)


def host_functions(module: ModuleType) -> dict[str, int]:
    """The `@cute.jit` functions that the file itself defines, and the lines of their `def`s, in that order."""
    found = {
        name: Callee.of(value).source_line or 0
        for name, value in vars(module).items()
        if inspect.isfunction(getattr(value, WRAPPED, value))
        and value.__module__ == module.__name__
        and decorator_kind(value) == "jit"
    }
    return dict(sorted(found.items(), key=lambda item: item[1]))


def imported_host_functions(module: ModuleType) -> dict[str, str]:
    """The `@cute.jit` functions that the file has from elsewhere, and the files that define them."""
    return {
        name: file
        for name, value in vars(module).items()
        if inspect.isfunction(getattr(value, WRAPPED, value))
        and value.__module__ != module.__name__
        and decorator_kind(value) == "jit"
        and (file := Callee.of(value).source_file) is not None
    }


def _called_kind(function: Any) -> str:
    """The kind of a decorated function by what its wrapper calls: releases before 4.8 do not write it down."""
    while hasattr(function, "__wrapped__"):
        variables = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if any(name == "executor_name" and cell.cell_contents == "_kernel_helper" for name, cell in variables):
            return "kernel"
        function = function.__wrapped__
    return "jit"


def _call_kind(kind: type) -> str | None:
    call: Any = inspect.getattr_static(kind, "__call__", None)
    return decorator_kind(call) if inspect.isfunction(call) else None
