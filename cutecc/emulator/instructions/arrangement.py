"""Modifiers in the order of the manual: ptxas takes most in any, and PTX written by hand has some.

Types, state spaces and layouts mean something by their order among themselves; they stay in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from cutecc.emulator.instructions.form import Form, parts_of
from cutecc.emulator.instructions.table import TABLE, find

_TYPE = r"pred|(?:[busf]|bf|tf|e\dm|ue\dm|s\df)\d+(?:x\d+)?"
_TYPES = re.compile(_TYPE)
_IN_ORDER = re.compile(rf"{_TYPE}|row|col|const.*|global|local|param.*|shared.*")
_TYPE_LAST = ("ld", "ldu", "st", "atom", "red")
"""Their rows leave the order of most modifiers open, but for the type."""


@cache
def arranged(form: Form) -> Form:
    """The form in the order that its row of the table has; itself where it is in order, or no row has it."""
    if form.opcode in _TYPE_LAST:
        return Form(form.opcode, tuple(sorted(form.modifiers, key=lambda each: bool(_TYPES.fullmatch(each)))))
    if find(form) is not None:
        return form
    for row in TABLE.get(form.opcode, ()):
        parts = parts_of(row.pattern)[1]
        # Each has a part of its own. Else a line of many would be tried in more orders than anybody has time for.
        for order in _orders(parts, form.modifiers) if len(form.modifiers) <= len(parts) else ():
            if _kept(order) == _kept(form.modifiers):
                return Form(form.opcode, order)
    return form


def _kept(modifiers: tuple[str, ...]) -> list[str]:
    return [each for each in modifiers if _IN_ORDER.fullmatch(each)]


def _orders(parts: list[str], modifiers: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Those of the modifiers that fit the parts of a pattern."""
    if not parts:
        if not modifiers:
            yield ()
        return
    part, *others = parts
    if part != "**":
        for index, each in enumerate(modifiers):
            if _fits(each, part):
                for order in _orders(others, modifiers[:index] + modifiers[index + 1 :]):
                    yield (each, *order)
        if part.endswith("?"):
            yield from _orders(others, modifiers)


def _fits(modifier: str, part: str) -> bool:
    names = part.removesuffix("?").strip("{}").split(",")
    return modifier in names or (names == ["*"] and bool(_TYPES.fullmatch(modifier)))
