"""Running a function with other values than its own: symbolic ones, in a scope that knows the language."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue import functions
from cutecc.operations.epilogue.source import WrittenFunction, failing_location
from cutecc.operations.epilogue.symbolic import Trace, Value
from cutecc.operations.epilogue.values import ACCUM, Input
from cutecc.support.spelling import did_you_mean


def called(written: WrittenFunction, builder: Trace, inputs: Sequence[Input]) -> Any:
    """What the function returns for symbolic values."""
    function = with_language(written.function)
    values = {ACCUM: Value(builder, ACCUM, "full")}
    values |= {each.name: Value(builder, each.name, each.kind) for each in inputs}
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    for parameter in inspect.signature(function, follow_wrapped=False).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[parameter.name] = values[parameter.name]
        else:
            positional.append(values[parameter.name])
    try:
        return function(*positional, **keywords)
    except EpilogueError as error:
        if error.location is None:
            error.location = failing_location(error.__traceback__, written.file) or written.location
        raise error.with_traceback(None) from None
    except Exception as error:
        location = failing_location(error.__traceback__, written.file) or written.location
        hints = _name_hints(error.name, inputs) if isinstance(error, NameError) else []
        raise EpilogueError(f"{type(error).__name__}: {error}", location, hints=hints) from None


def with_language(function: FunctionType) -> FunctionType:
    """The function, seeing the language's names where its module and Python have none of their own, or Python's.

    So do the functions of its module that it calls. The module itself does not change.
    """
    scope: dict[str, Any] = dict(function.__globals__)
    language = {name: getattr(functions, name) for name in functions.__all__}
    scope["__builtins__"] = vars(builtins) | language
    for name, value in function.__globals__.items():
        if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
            scope[name] = _in_scope(value, scope)
    return _in_scope(function, scope)


def _in_scope(function: FunctionType, scope: dict[str, Any]) -> FunctionType:
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _name_hints(name: str | None, inputs: Sequence[Input]) -> list[str]:
    known = [*functions.__all__, ACCUM, *(each.name for each in inputs)]
    return did_you_mean(name or "", known) or [f"functions: {', '.join(functions.__all__)}"]
