"""Telling the `?` of several texts apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, TypeVar

from cutecc.layout.basis import Basis
from cutecc.layout.integers import Symbolic
from cutecc.layout.layout import Layout
from cutecc.layout.swizzle import ComposedLayout
from cutecc.layout.tuples import is_tuple

Value = TypeVar("Value")


def rename_symbols(value: Value, names: Iterator[str]) -> Value:
    """An int tuple, layout or tile whose variables are called by the next of `names`, from left to right.

    Texts do not name their `?`; parsing numbers those of one text. Before two parsed layouts meet in one expression
    whose value matters, their variables need names of their own.
    """

    def renamed(part: Any) -> Any:
        if is_tuple(part):
            return tuple(map(renamed, part))
        match part:
            case Symbolic(operation=None):
                return dataclasses.replace(part, name=next(names))
            case Symbolic():
                return dataclasses.replace(part, operands=tuple(map(renamed, part.operands)))
            case Basis(number, path):
                return Basis(renamed(number), path)
            case Layout(shape, stride):
                return Layout(renamed(shape), renamed(stride))
            case ComposedLayout(inner, offset, outer):
                return ComposedLayout(renamed(inner), renamed(offset), renamed(outer))
            case _:
                return part

    return renamed(value)
