"""Kernel files: `FILE.py:function`, `FILE.py` alone, or an entry expression in the file's namespace.

A kernel file is a Python program, and looking a kernel up in it runs it.
"""

from __future__ import annotations

import difflib
import importlib.machinery
import importlib.util
import inspect
import os
import sys
from types import ModuleType
from typing import Any

from cutecc.errors import SourceLocation, UsageError
from cutecc.frontend.dsl import keep_excepthook
from cutecc.frontend.failures import trace_error


def split_path(text: str) -> tuple[str, str | None]:
    """The file and the function in `FILE.py:function`; the function is `None` when only a file is named."""
    path, colon, function = text.rpartition(":")
    if colon and path and os.sep not in function and not text.endswith(".py"):
        return path, function
    return text, None


def find_callee(
    path: str, function: str | None = None, entry: str | None = None, source: SourceLocation | None = None
) -> Any:
    """What the file at `path` is to be compiled for: a function by name, what `entry` evaluates to, or the only one.

    `source` is where `entry` was written. Runs the file. Raises `UsageError` for a file, function or entry that is not
    there or no kernel, and `TraceError` when the file itself fails.
    """
    module = _import(path)
    if entry is not None:
        return _checked(_evaluate(entry, module, path, source), entry, source)
    if function is not None:
        return _checked(_named(function, module, path), function, None)
    found = _host_functions(module)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise UsageError(
            f"{path} has no @cute.jit function", hints=["a method of a configured object: --entry 'Gemm(tile=128)'"]
        )
    places = ", ".join(f"{name} (line {_line(value)})" for name, value in found.items())
    raise UsageError(
        f"{path} has {len(found)} @cute.jit functions: {places}", hints=[f"choose one: {path}:{next(iter(found))}"]
    )


def _import(path: str) -> ModuleType:
    """Run the file as an importable module of its own, its folder on the path as Python has it for a script."""
    if not os.path.isfile(path):
        folder = os.path.dirname(path) or "."
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        close = difflib.get_close_matches(os.path.basename(path), names, n=1)
        hints = [f"did you mean {os.path.join(os.path.dirname(path), close[0])}?"] if close else []
        raise UsageError(f"there is no file {path}", hints=hints)
    full = os.path.abspath(path)
    folder, base = os.path.split(full)
    name = os.path.splitext(base)[0]
    # A module that is loaded already, such as the standard library's, keeps its name.
    name = name if name.isidentifier() and name not in sys.modules else f"_cutecc_kernel_{abs(hash(full)):x}"
    loader = importlib.machinery.SourceFileLoader(name, full)
    spec = importlib.util.spec_from_file_location(name, full, loader=loader)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        with keep_excepthook():
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise trace_error(error, f"{path} fails when it is run", full) from error
    return module


def _named(function: str, module: ModuleType, path: str) -> Any:
    value: Any = module
    for part in function.split("."):
        value = getattr(value, part, None)
    if value is None:
        names = list(_host_functions(module))
        public = [name for name in vars(module) if not name.startswith("_")]
        close = difflib.get_close_matches(function, names or public, n=1)
        hints = [f"did you mean {path}:{close[0]}?"] if close else []
        hints.append(f"@cute.jit functions in it: {', '.join(names) or 'none'}")
        raise UsageError(f"{path} has no function '{function}'", hints=hints)
    return value


def _evaluate(entry: str, module: ModuleType, path: str, source: SourceLocation | None) -> Any:
    try:
        with keep_excepthook():
            return eval(compile(entry, "<entry>", "eval"), vars(module))
    except (Exception, SystemExit) as error:
        hints: list[str] = []
        if isinstance(error, NameError) and error.name:
            public = [name for name in vars(module) if not name.startswith("_")]
            hints = [f"did you mean {match}?" for match in difflib.get_close_matches(error.name, public, n=1)]
        location = source or SourceLocation("entry", text=entry)
        if isinstance(error, SyntaxError) and error.offset:
            location = SourceLocation(
                location.file, location.line, (location.column or 1) + error.offset - 1, location.text
            )
        reason = error.msg if isinstance(error, SyntaxError) else f"{type(error).__name__}: {error}"
        raise UsageError(f"entry '{entry}' of {path}: {reason}", location, hints=hints) from error


def _checked(value: Any, name: str, source: SourceLocation | None) -> Any:
    """`value`, when it is something that `cute.compile` takes."""
    kind = _decorator_kind(value)
    if kind == "jit":
        return value
    hints: list[str] = []
    if kind == "kernel":
        what = "a @cute.kernel, which runs on the device"
        hints = ["name the @cute.jit function that launches it"]
    elif inspect.isclass(value):
        what = "a class"
        hints = [f"make an object of it: --entry '{name}(…)'"] if _class_call_kind(value) == "jit" else []
    elif inspect.isfunction(value) or inspect.ismethod(value):
        what = "a function without @cute.jit"
    else:
        what = f"of type {type(value).__name__}, without a @cute.jit __call__"
        methods = [method for method, member in inspect.getmembers(type(value)) if _decorator_kind(member) == "jit"]
        hints = [f"@cute.jit methods of it: {', '.join(methods)}; for example {name}.{methods[0]}"] if methods else []
    raise UsageError(f"'{name}' is {what}", source, hints=hints)


def _decorator_kind(value: Any) -> str | None:
    """`jit` for host functions, `kernel` for device functions, `None` for what the DSL does not know."""
    if inspect.ismethod(value):
        value = value.__func__
    if not inspect.isfunction(value):
        return None if inspect.isclass(value) else _class_call_kind(type(value))
    return getattr(inspect.unwrap(value), "_decorator_kind", None)


def _class_call_kind(kind: type) -> str | None:
    call = getattr(kind, "__call__", None)
    return _decorator_kind(call) if inspect.isfunction(call) else None


def _host_functions(module: ModuleType) -> dict[str, Any]:
    """The `@cute.jit` functions that the file itself defines, in its order."""
    found = {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and _decorator_kind(value) == "jit"
    }
    return dict(sorted(found.items(), key=lambda item: _line(item[1])))


def _line(value: Any) -> int:
    from cutecc.frontend.callee import Callee

    return Callee.of(value).source_line or 0
