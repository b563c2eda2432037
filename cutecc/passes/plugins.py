"""Passes and named pipelines from outside: files that the user names, and installed packages.

Code is loaded by two ways only: the files of `--load` and `CUTECC_LOAD`, and entry points of installed packages. Both
make passes known by `cutecc.register` and `cutecc.register_pipeline`. No IR, record or header leads here.
"""

from __future__ import annotations

import copyreg
import dataclasses
import functools
import importlib.util
import sys
import traceback
import zlib
from pathlib import Path
from typing import Any

from cutecc.config import Settings
from cutecc.errors import Error, SourceLocation, UsageError
from cutecc.passes import registry
from cutecc.passes.base import ModulePass

GROUP = "cutecc.passes"
"""The entry point group: each names a module that registers passes when it is imported, or one pass class."""

_FILES = "cutecc_loaded"
_failures: list[Error] = []


def failures() -> list[Error]:
    """Why installed plugins could not be loaded; the others work. Empty until one was looked for."""
    return list(_failures)


@functools.cache
def load_files() -> None:
    """Load the files that the user named; `UsageError` at the file's line for one that fails, or registers nothing."""
    for file in Settings.from_environment().load:
        load_file(file)


@functools.cache
def load_installed() -> None:
    """Load the plugins of installed packages. One that fails goes to `failures`."""
    from importlib import metadata

    for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
        package = entry.dist.name if entry.dist else entry.module
        try:
            loaded = entry.load()
            if isinstance(loaded, type) and issubclass(loaded, ModulePass):
                registry.register(loaded)
        except Exception as failure:
            _failures.append(_failed(f"plugin {entry.name} of {package}", failure, None))


def load_file(file: Path) -> None:
    """Run a Python file that registers passes or pipelines; errors as `load_files`."""
    path = file.resolve()
    if not path.is_file():
        raise UsageError(f"--load: there is no file {file}")
    name = f"{_FILES}.{path.stem}_{zlib.crc32(bytes(path)):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"--load: {file} is not a Python file")
    before = registry.registered_names()
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as failure:
        del sys.modules[name]
        raise _failed(str(file), failure, path) from failure
    if registry.registered_names() == before:
        raise UsageError(
            f"--load: {file} registers no pass and no pipeline", hints=["put @cutecc.register above a pass's class"]
        )
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == name:
            # Another process knows the pass by its name, once it has loaded the file.
            copyreg.pickle(value, _reduce)


def is_from_file(module: str) -> bool:
    """Whether a module, by its name, was loaded by `load_file`."""
    return module.startswith(f"{_FILES}.")


def _reduce(pass_: ModulePass) -> tuple[Any, ...]:
    values = {field.name: getattr(pass_, field.name) for field in dataclasses.fields(pass_)}
    return _rebuild, (pass_.name, values)


def _rebuild(name: str, values: dict[str, Any]) -> ModulePass:
    pass_class = registry.find_pass(name)
    if pass_class is None:
        raise UsageError(f"no pass is called '{name}'")
    return pass_class(**values)


def _failed(what: str, failure: Exception, path: Path | None) -> Error:
    """An error at the line where loading failed: in the user's file, else in the last file that was reached."""
    if isinstance(failure, SyntaxError) and failure.filename:
        column = failure.offset or None
        location = SourceLocation(failure.filename, failure.lineno, column, failure.text)
        return UsageError(f"{what} cannot be loaded: {failure.msg}", location)
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(failure.__traceback__)]
    theirs = [frame for frame in frames if frame[0] == str(path)] if path else frames
    location = SourceLocation(*theirs[-1]) if theirs else None
    if isinstance(failure, Error):
        return UsageError(
            f"{what} cannot be loaded: {failure.message}", failure.location or location, failure.notes, failure.hints
        )
    return UsageError(f"{what} cannot be loaded: {type(failure).__name__}: {failure}", location)
