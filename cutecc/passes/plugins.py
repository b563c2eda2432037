"""Passes, named pipelines and rows of atoms from outside: files that the user names, and installed packages.

Code is loaded by two ways only: the files of `--load` and `CUTECC_LOAD`, and entry points of installed packages. Both
make passes known by `cutecc.register` and `cutecc.register_pipeline`, and rows of atoms by the decorators of
`cutecc.lowering`. No IR, record or header leads here.
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
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cutecc.config import Settings
from cutecc.errors import Error, SourceLocation, UsageError, describe, foreign_failures
from cutecc.passes import registrations, registry
from cutecc.passes.base import Pass
from cutecc.passes.registrations import ATOMS, PASSES

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_NOTHING = {
    PASSES: ("no pass and no pipeline", "put @cutecc.register above a pass's class"),
    ATOMS: ("no row of an atom", "put a decorator of cutecc.lowering above its function"),
}
"""By group of entry points: what a module does not register that should, and how it would."""
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
    """Load the passes of installed packages. A plugin that fails, or registers nothing, goes to `failures`.

    An entry point names a module that registers passes when it is imported, or one pass class.
    """
    _load_group(PASSES)


@functools.cache
def load_installed_atoms() -> None:
    """The same for rows of atoms. An entry point names a module that has some."""
    _load_group(ATOMS)


def _load_group(group: str) -> None:
    from importlib import metadata

    if registrations.is_registering_installed(group):
        # A plugin that looks for a pass while it is loaded.
        return
    for entry in sorted(metadata.entry_points(group=group), key=lambda entry: entry.name):
        what = f"plugin {entry.name} of {entry.dist.name if entry.dist else entry.module}"
        try:
            with registrations.registering_installed(group), registrations.undone_on_failure():
                _load_entry(entry, group)
        except foreign_failures() as failure:
            _failures.append(_failed(what, failure, None))


def _load_entry(entry: EntryPoint, group: str) -> None:
    nothing, how = _NOTHING[group]
    before = registrations.definitions(group)
    loaded = entry.load()
    if group == PASSES and isinstance(loaded, type) and issubclass(loaded, Pass):
        registry.register(loaded)
    elif isinstance(loaded, ModuleType):
        # Another entry point, or the program, may have imported the module before.
        name = loaded.__name__
        found = {module for module in registrations.modules(group) if f"{module}.".startswith(f"{name}.")}
        if not found and registrations.definitions(group) == before:
            raise UsageError(f"it registers {nothing}", hints=[how])
    else:
        allowed = "neither a module nor a pass class" if group == PASSES else "no module"
        raise UsageError(f"{entry.value} is {allowed}", hints=[how])


def load_file(file: Path) -> None:
    """Run a Python file that registers something, once in a process; errors as `load_files`."""
    path = file.resolve()
    if not path.is_file():
        raise UsageError(f"--load: there is no file {file}")
    name = registrations.module_of_file(f"{path.stem}_{zlib.crc32(bytes(path)):08x}")
    if name in sys.modules:
        # Named twice, or looking for a pass while it is loaded.
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"--load: {file} is not a Python file")
    before = registrations.definitions()
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        with registrations.undone_on_failure():
            spec.loader.exec_module(module)
    except foreign_failures() as failure:
        sys.modules.pop(name, None)
        raise _failed(str(file), failure, path) from failure
    if registrations.definitions() == before:
        del sys.modules[name]
        nothing = ", and ".join(nothing for nothing, _ in _NOTHING.values())
        raise UsageError(f"--load: {file} registers {nothing}", hints=[how for _, how in _NOTHING.values()])
    for value in vars(module).values():
        if isinstance(value, type) and issubclass(value, Pass) and value.__module__ == name:
            # Another process knows the pass by its name, once it has loaded the file.
            copyreg.pickle(value, _reduce)


def _reduce(pass_: Pass) -> tuple[Any, ...]:
    values = {field.name: getattr(pass_, field.name) for field in dataclasses.fields(pass_)}
    return _rebuild, (pass_.name, values)


def _rebuild(name: str, values: dict[str, Any]) -> Pass:
    load_files()
    pass_class = registry.passes_so_far().get(name)
    if pass_class is None:
        raise UsageError(f"no pass is called '{name}'")
    return pass_class(**values)


def _failed(what: str, failure: BaseException, path: Path | None) -> Error:
    """An error at the line where loading failed: in the user's file, else in the last one that is theirs, if any."""
    if isinstance(failure, SyntaxError) and failure.filename:
        column = failure.offset or None
        location = SourceLocation(failure.filename, failure.lineno, column, failure.text)
        return UsageError(f"{what} cannot be loaded: {failure.msg}", location)
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(failure.__traceback__)]
    theirs = [frame for frame in frames if (frame[0] == str(path) if path else _is_theirs(frame[0]))]
    location = SourceLocation(*theirs[-1]) if theirs else None
    if isinstance(failure, Error):
        return UsageError(
            f"{what} cannot be loaded: {failure.message}", failure.location or location, failure.notes, failure.hints
        )
    return UsageError(
        f"{what} cannot be loaded: {describe(failure)}", location, hints=_hints_on_import(failure, path) if path else []
    )


def _is_theirs(file: str) -> bool:
    ours = (Path(__file__).parents[1], Path(importlib.__file__).parent)
    return not file.startswith("<") and not any(Path(file).is_relative_to(folder) for folder in ours)


def _hints_on_import(failure: BaseException, path: Path) -> list[str]:
    """What to do when the file `path` imports another one beside it."""
    if not isinstance(failure, ImportError) or not failure.name:
        return []
    if registrations.is_from_file(f"{failure.name}."):
        return ["a file of --load is in no package: import by absolute names"]
    first = failure.name.partition(".")[0]
    beside = (path.parent / first, path.parent / f"{first}.py")
    return [f"to import files beside it, set PYTHONPATH={path.parent}"] if any(each.exists() for each in beside) else []
