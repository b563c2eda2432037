"""Kernel files: `FILE.py:function`, `FILE.py` alone, or an entry expression in the file's namespace.

A kernel file is a Python program, and looking a kernel up in it runs it.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import importlib.util
import os
import sys
import zlib
from types import ModuleType
from typing import Any

from cutecc.errors import SourceLocation, UsageError, describe, foreign_failures
from cutecc.frontend.dsl import keep_excepthook
from cutecc.frontend.failures import trace_error
from cutecc.frontend.files import check_file
from cutecc.frontend.host_functions import check_host_function, host_functions, imported_host_functions
from cutecc.support.spelling import did_you_mean


def split_path(text: str) -> tuple[str, str | None]:
    """The file and the function in `FILE.py:function`; the function is `None` when only a file is named."""
    path, colon, function = text.rpartition(":")
    if colon and path and all(part.isidentifier() for part in function.split(".")):
        return path, function
    return text, None


def find_callee(
    path: str, function: str | None = None, entry: str | None = None, source: SourceLocation | None = None
) -> Any:
    """What is to be compiled of the file at `path`: a function by name, what `entry` evaluates to, or the only one.

    `source` is where `entry` was written. Runs the file. Raises `UsageError` for a file, function or entry that is not
    there or no host function, and `TraceError` when the file itself fails.
    """
    module = run_file(path)
    if entry is not None:
        return check_host_function(_evaluate(entry, module, path, source), entry, source)
    if function is not None:
        return check_host_function(_named(function, module, path), function)
    found = host_functions(module)
    if not found:
        folder = os.path.dirname(path)
        imported = [
            f"it imports {name}: name its file, {os.path.join(folder, os.path.basename(file))}"
            for name, file in imported_host_functions(module).items()
            if os.path.dirname(file) == os.path.abspath(folder)
        ]
        raise UsageError(
            f"{path} has no @cute.jit function",
            hints=[*imported, "a method of a configured object: --entry 'Gemm(tile=128)'"],
        )
    if len(found) > 1:
        places = ", ".join(f"{name} (line {line})" for name, line in found.items())
        raise UsageError(
            f"{path} has {len(found)} @cute.jit functions: {places}", hints=[f"choose one: {path}:{next(iter(found))}"]
        )
    return getattr(module, next(iter(found)))


def run_file(path: str) -> ModuleType:
    """Run the file as a module of its own, its folder on the path as Python has it for a script."""
    check_file(path)
    full = os.path.abspath(path)
    if os.path.dirname(full) not in sys.path:
        sys.path.insert(0, os.path.dirname(full))
    try:
        with keep_excepthook():
            return _module(full)
    except foreign_failures() as error:
        raise trace_error(error, f"{os.path.basename(path)} fails when it is run", full) from error


def _module(path: str) -> ModuleType:
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _module_name(path: str) -> str:
    """The file's own name, or one that nobody has; that inside its package, which it imports, if it imports from it."""
    folder, base = os.path.split(path)
    stem = os.path.splitext(base)[0]
    if _imports_relatively(path):
        package: list[str] = []
        while os.path.isfile(os.path.join(folder, "__init__.py")):
            folder, part = os.path.split(folder)
            package.insert(0, part)
        if package:
            if folder not in sys.path:
                sys.path.insert(0, folder)
            importlib.import_module(".".join(package))
            return ".".join([*package, stem])
    return stem if stem.isidentifier() and stem not in sys.modules else f"kernel_{zlib.crc32(path.encode()):08x}_{stem}"


def _imports_relatively(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (SyntaxError, ValueError):
        return False  # running the file says so better
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))


def _named(function: str, module: ModuleType, path: str) -> Any:
    value: Any = module
    for part in function.split("."):
        value = getattr(value, part, None)
    if value is None:
        names = list(host_functions(module))
        hints = did_you_mean(function, names, lambda each: f"{path}:{each}")
        hints.append(f"@cute.jit functions in it: {', '.join(names) or 'none'}")
        raise UsageError(f"{path} has no function '{function}'", hints=hints)
    return value


def _evaluate(entry: str, module: ModuleType, path: str, source: SourceLocation | None) -> Any:
    try:
        with keep_excepthook():
            return eval(compile(entry, "<entry>", "eval"), vars(module))
    except foreign_failures() as error:
        hints: list[str] = []
        if isinstance(error, NameError) and error.name:
            public = [name for name in vars(module) if not name.startswith("_")]
            hints = did_you_mean(error.name, public)
        location = source or SourceLocation("entry", text=entry)
        if isinstance(error, SyntaxError) and error.offset:
            location = dataclasses.replace(location, column=(location.column or 1) + error.offset - 1, length=1)
        reason = error.msg if isinstance(error, SyntaxError) else describe(error)
        raise UsageError(f"entry '{entry}' of {path}: {reason}", location, hints=hints) from error
