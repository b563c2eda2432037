"""Assembly that is an operation of NVVM, written out: what is said of the one holds for the other.

There are two operations that hold assembly. Of `nvvm.inline_ptx`, operands have names by what becomes of them; it is
read as the `llvm.inline_asm` that it is lowered to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_READ = re.compile(r"\{\$r(\d+)\}")
_BARRIER = re.compile(r"bar(?:rier)?(?:\.cta)?\.(sync|arrive)(?:\.aligned)? (\$?)(\d+)(?:, (\$?)(\d+))?;")


@dataclass(frozen=True, slots=True)
class Written:
    """An operation in assembly."""

    name: str
    """The operation's."""
    operands: tuple[Given, ...]


@dataclass(frozen=True, slots=True)
class Given:
    """An operand: a number that is written out, or which of the assembly's own it is."""

    number: int
    is_own: bool


def written(text: str) -> Written | None:
    """The operation that a piece of assembly is; `None` for all but barriers by their number."""
    found = _BARRIER.fullmatch(text.strip('" \t'))
    if found is None:
        return None
    kind, *given = found.groups()
    operands = [Given(int(digits), bool(mark)) for mark, digits in zip(given[::2], given[1::2], strict=True) if digits]
    return Written(f"nvvm.barrier.cta.{kind}", tuple(operands))


def of_inline_ptx(text: str, operands: int, *, is_predicated: bool) -> str:
    """The text of an `nvvm.inline_ptx` with so many operands, the last of which may say whether it is done at all.

    Operands that are only read come first, and are numbered from there; others keep their names.
    """
    numbered = _READ.sub(r"$\1", text.strip('"'))
    return f"@${operands - 1} {numbered}" if is_predicated else numbered
