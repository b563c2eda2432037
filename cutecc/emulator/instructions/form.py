"""The written form of an instruction, and the patterns that forms are recognised by."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """Opcode and modifiers of one instruction."""

    opcode: str
    modifiers: tuple[str, ...]

    @property
    def type(self) -> str:
        """The last modifier, in most instructions the type of the operands: `f32`."""
        return self.modifiers[-1]

    @property
    def operation(self) -> str:
        """The opcode; of `wmma`, which is several instructions, `wmma.load`, `wmma.mma` or `wmma.store`."""
        return f"{self.opcode}.{self.modifiers[0]}" if self.opcode == "wmma" and self.modifiers else self.opcode

    def has(self, modifier: str) -> bool:
        return modifier in self.modifiers

    def one_of(self, *modifiers: str, default: str = "") -> str:
        """Which of these modifiers is there; `default` when none is."""
        return next((each for each in self.modifiers if each in modifiers), default)

    def __str__(self) -> str:
        return ".".join((self.opcode, *self.modifiers))


_ELEMENT = re.compile(r"(b?f|tf|[sub])\d+|e\dm\d")


def matrix_types(form: Form) -> tuple[str, ...]:
    """The types of D, A, B and C that an instruction says; `wmma` does not say that A and B are `f16`."""
    found = tuple(each for each in form.modifiers if _ELEMENT.fullmatch(each))
    return (found[0], "f16", "f16", found[1]) if form.opcode == "wmma" and len(found) == 2 else found


def compile_pattern(pattern: str) -> tuple[str, re.Pattern[str]]:
    """Opcode and regular expression of `add.{rn,rz}?.ftz?.f32`.

    Parts are separated by dots; `{a,b}` is one of several, a `?` behind a part makes it optional. A part `*` stands
    for any one modifier, `**` for any number of them.
    """
    opcode, parts = parts_of(pattern)
    expression = ""
    for part in parts:
        optional = part.endswith("?")
        text = part.removesuffix("?")
        if text == "**":
            expression += r"(?:\.[^.]+)*"
            continue
        names = text[1:-1].split(",") if text.startswith("{") else [text]
        choice = "|".join(r"[^.]+" if name == "*" else re.escape(name.strip()) for name in names)
        expression += rf"(?:\.(?:{choice})){'?' if optional else ''}"
    return opcode, re.compile(expression)


def parts_of(pattern: str) -> tuple[str, list[str]]:
    """The opcode, and the parts behind it: what is between dots outside of braces."""
    opcode, *parts = re.findall(r"(?:\{[^}]*\}|[^.{])+", pattern)
    return opcode, parts
