"""Calling a reference: a plain function over numpy arrays that says what a kernel's outputs have to be."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from cutecc.errors import UsageError


def bind_by_name(function: Callable[..., Any], arguments: Mapping[str, Any], name: str) -> Callable[[], Any]:
    """A call of `function` with those of `arguments` that its parameters name.

    A function whose parameters have other names takes all arguments in order. Raises `UsageError`, which calls it
    `name`, when it takes a different number of them.
    """
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    if all(each.name in arguments for each in named if each.default is each.empty):
        if not any(each.kind is each.VAR_KEYWORD for each in parameters):
            taken = {each.name for each in named}
            arguments = {key: value for key, value in arguments.items() if key in taken}
        return functools.partial(function, **arguments)
    try:
        signature.bind(*arguments.values())
    except TypeError as problem:
        raise UsageError(
            f"'{name}' does not take the kernel's arguments: {problem}",
            hints=[f"its parameters are those of the kernel, or some of them: {', '.join(arguments)}"],
        ) from None
    return functools.partial(function, *arguments.values())


def expected_outputs(result: Any, outputs: Sequence[str]) -> list[Any]:
    """One array for each output out of what a reference returned: an array, or a tuple of them.

    Raises `UsageError` when it returned another number of them, or no array.
    """
    arrays: list[Any] = list(cast("Sequence[Any]", result)) if isinstance(result, tuple | list) else [result]
    if len(arrays) != len(outputs):
        raise UsageError(
            f"the reference returns {len(arrays)} arrays, and the outputs are {', '.join(outputs) or 'none'}",
            hints=["it returns one array for each of `outputs`, in that order"],
        )
    for name, array in zip(outputs, arrays, strict=True):
        if array is None or np.asarray(array).dtype.kind not in "fiub":
            raise UsageError(f"the reference returns no array of numbers for '{name}'")
    return arrays
