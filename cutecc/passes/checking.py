"""Whether a class has the shape of a pass: what `register` asks of it."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from typing import Any, NoReturn, cast

from cutecc.errors import SourceLocation, UsageError
from cutecc.ir.names import check_names
from cutecc.passes.base import ModulePass, Pass
from cutecc.passes.nesting import OperationPass

_KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_SCALARS = (str, int, float, bool)


def check_pass(pass_class: Any) -> None:
    """Raise `UsageError`, at the line of the class, for what is no pass or has options without a text form."""
    if not (isinstance(pass_class, type) and issubclass(pass_class, ModulePass | OperationPass)):
        shown = getattr(cast(object, pass_class), "__qualname__", repr(cast(object, pass_class)))
        raise UsageError(f"{shown} is no pass", hints=["derive it from cutecc.passes.ModulePass or OperationPass"])
    _check_name(pass_class)
    _check_runs_on(pass_class)
    if missing := getattr(pass_class, "__abstractmethods__", frozenset[str]()):
        what = "operation: ir.Operation" if issubclass(pass_class, OperationPass) else "module: ir.Module"
        _refuse(pass_class, f"has no method '{min(missing)}'", f"def run(self, {what}) -> None: ...")
    if "__dataclass_fields__" not in vars(pass_class):
        _refuse(pass_class, "is not a dataclass", "put @dataclass(frozen=True) between @register and the class")
    try:
        hints = typing.get_type_hints(pass_class)
    except Exception as failure:
        _refuse(pass_class, f"has a field whose type cannot be found: {failure}", "import the type in its module")
    for field in dataclasses.fields(pass_class):
        option = f"the field '{field.name}'"
        if not field.init:
            _refuse(pass_class, f"has {option}, which is no option", "make it a ClassVar, or compute it in run")
        if field.default_factory is not dataclasses.MISSING:
            _refuse(pass_class, f"has {option} with a default_factory", "give it a plain default, such as a tuple")
        if not _has_text(hints[field.name]):
            kind = field.type if isinstance(field.type, str) else getattr(field.type, "__qualname__", field.type)
            _refuse(
                pass_class,
                f"has {option} of type {kind}, which has no text form",
                "str, int, float, bool, Literal of strings, tuple[…, ...] of these, or one of these and None",
            )


def _check_name(pass_class: type[Pass]) -> None:
    example = 'name: ClassVar[str] = "my-pass"'
    name = getattr(pass_class, "name", None)
    if any(field.name == "name" for field in dataclasses.fields(pass_class)):
        _refuse(pass_class, "has its name as an option", example)
    if not isinstance(name, str):
        _refuse(pass_class, "has no name", example)
    # Composites are called after the passes that they stand for.
    if pass_class.provider == "plugin" and not _KEBAB.fullmatch(name):
        _refuse(pass_class, f"has the name '{name}'; names are small letters and digits with hyphens", example)


def _check_runs_on(pass_class: type[Pass]) -> None:
    example = 'runs_on: ClassVar[tuple[str, ...]] = ("gpu.func",)'
    runs_on: object = getattr(pass_class, "runs_on", ())
    if any(field.name == "runs_on" for field in dataclasses.fields(pass_class)):
        _refuse(pass_class, "has what it runs on as an option", example)
    if not issubclass(pass_class, OperationPass):
        if hasattr(pass_class, "runs_on"):
            _refuse(pass_class, "says what it runs on, and runs on the module", "derive it from OperationPass")
        return
    if not isinstance(runs_on, tuple) or not all(isinstance(each, str) for each in cast("tuple[object, ...]", runs_on)):
        _refuse(pass_class, f"says that it runs on {runs_on!r}, which is no tuple of names", example)
    try:
        check_names(pass_class.runs_on, dialects=False)
    except UsageError as error:
        _refuse(pass_class, f"runs on what does not exist: {error.message}", example)


def _has_text(kind: Any) -> bool:
    """Whether an option of this type can be written and read as text."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        return all(isinstance(choice, str) for choice in arguments)
    if origin in (types.UnionType, typing.Union):
        inner = [choice for choice in arguments if choice is not types.NoneType]
        return len(inner) == 1 and _has_text(inner[0])
    if origin is tuple:
        return len(arguments) == 2 and arguments[1] is ... and arguments[0] in _SCALARS
    return kind in _SCALARS


def _refuse(pass_class: type, what: str, hint: str) -> NoReturn:
    raise UsageError(f"pass class {pass_class.__qualname__} {what}", _place(pass_class), hints=[hint])


def _place(pass_class: type) -> SourceLocation | None:
    try:
        file = inspect.getsourcefile(pass_class)
        return SourceLocation(file, inspect.getsourcelines(pass_class)[1]) if file else None
    except (OSError, TypeError):
        return None
