"""What a SASS instruction reads and writes: registers, one by one, of the text that nvdisasm prints.

NVIDIA documents the names of the opcodes ("CUDA Binary Utilities", the tables of instruction sets), not what their
operands do. What is known here is what `nvdisasm --print-life-ranges` marks in compiled code. Of an opcode that is not
known, the first operand is the destination, where it is a register, and so are predicates right behind it; registers
have 32 bits. Not in the text, so not here: the descriptor, in uniform registers, of sm_80's accesses to global memory,
and the registers that a call takes and destroys. Barriers (`B0`, `SB0`) are no registers.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from cutecc.sass.widths import operand_widths

_GUARD = re.compile(r"@(!?U?P\w+)\s+")
_PREDICATE = re.compile(r"!?U?P(?:[0-9]+|T)$")
_ALL_PREDICATES = re.compile(r"(U?P)R$")
_REGISTER = re.compile(r"[-~|]*U?R(?:[0-9]+|Z)\b")
_NAMED = re.compile(r"(?<![\w.$])(U?[RP])([0-9]{1,3})\b((?:\.\w+)*)")
_MASK = re.compile(r"0x[0-9a-f]{1,8}")
_BRACKETS = re.compile(r"(\w*)\[([^\]]*)\]")

_READERS = (
    "BAR BPT BRA BREAK BRX BRXU BSSY BSYNC CALL DEPBAR EXIT JMP JMX JMXU KILL NANOSLEEP PREEXIT RET SETLMEMBASE "
    "UVIRTCOUNT WARPSYNC YIELD"
)
_NO_DESTINATION = frozenset(_READERS.split())
"""Opcodes that read their first operand, where it is a register or a predicate. Stores have an address there."""
_PREDICATE_ALONE = frozenset({"FCHK", "USETMAXREG"})
"""Opcodes that read what stands behind the predicate that they write. `SHFL PT, R5, R4, 0x1, 0x1f` writes both."""
_MOST_PREDICATES = 2
"""Behind a register that is written, such as the carries of `IADD3`."""
_SUFFIXES = {"64": 2, "F32x2": 2, "F32": 1, "U32": 1}
"""Of a register in an operand: how many there are from it on."""
_DESCRIPTORS = {"desc": 2, "c": 1}
_PREDICATES = 7
"""Besides `PT`."""


@dataclass(frozen=True)
class Effects:
    """An instruction in its parts, and the registers that it touches."""

    reads: tuple[str, ...]
    """One by one, in the order of the operands: `R4`, `R5`, `UR6`, `P0`, `UP1`; never `RZ`, `URZ`, `PT`, `UPT`. With
    that of the guard."""
    writes: tuple[str, ...]
    guard: str | None
    """Without its @: `P0`, `!UP1`."""
    opcode: str
    """With its modifiers: `LDG.E.128`."""
    operands: tuple[str, ...]
    written: int
    """How many of the operands, from the first, are written."""

    @property
    def is_conditional(self) -> bool:
        """Whether the guard may keep it from writing, so that what it would write keeps its value."""
        return self.guard is not None and self.guard not in ("PT", "UPT")


@functools.lru_cache(1 << 14)
def effects(text: str) -> Effects:
    """The effects of an instruction, as nvdisasm prints it, with its guard and without the semicolon."""
    match = _GUARD.match(text)
    guard = match[1] if match else None
    opcode, _, rest = text[match.end() if match else 0 :].partition(" ")
    operands = tuple(_split(rest))
    stem, *modifiers = opcode.split(".")
    count = _destinations(stem, modifiers, operands)
    widths = iter(operand_widths(stem, modifiers, [each for each in operands if not _is_predicate(each)]))
    reads, writes = [*_registers(guard or "", 1)], list[str]()
    for number, operand in enumerate(operands):
        if all_of_them := _ALL_PREDICATES.match(operand):
            found = _masked(all_of_them[1], operands[-1])
            next(widths)
        else:
            found = _registers(operand, 1 if _is_predicate(operand) else next(widths))
        (writes if number < count else reads).extend(found)
    return Effects(tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)), guard, opcode, operands, count)


def _split(text: str) -> Iterator[str]:
    """The operands: what commas separate, but for those in brackets."""
    depth, start = 0, 0
    for position, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()


def _destinations(stem: str, modifiers: list[str], operands: tuple[str, ...]) -> int:
    """How many operands, from the first, are written."""
    if stem in _NO_DESTINATION or not operands:
        return 0
    if stem in ("VOTE", "VOTEU"):
        return len(operands) - 1
    if stem.endswith(("SETP", "PLOP3")):
        return 2
    if _is_register(operands[0]) and not {"ENL2", "STAT"}.isdisjoint(modifiers):
        return 2
    if _is_predicate(operands[0]):
        return 1 + (stem not in _PREDICATE_ALONE and len(operands) > 1 and _is_register(operands[1]))
    if not _is_register(operands[0]):
        return int(_ALL_PREDICATES.match(operands[0]) is not None)
    others = itertools.takewhile(_is_predicate, operands[1 : 1 + _MOST_PREDICATES])
    return 1 + sum(1 for _ in others)


def _is_predicate(operand: str) -> bool:
    return _PREDICATE.match(operand) is not None


def _is_register(operand: str) -> bool:
    return _REGISTER.match(operand) is not None


def _registers(operand: str, width: int) -> Iterator[str]:
    """Those that an operand names, each the first of `width`, if the operand does not say how many."""
    if "[" in operand:
        for prefix, inner in _BRACKETS.findall(operand):
            yield from _registers(inner, _DESCRIPTORS.get(prefix, width))
        return
    for kind, number, suffixes in _NAMED.findall(operand):
        said = next((_SUFFIXES[each] for each in suffixes.split(".") if each in _SUFFIXES), width)
        yield from (f"{kind}{int(number) + index}" for index in range(said if kind in ("R", "UR") else 1))


def _masked(kind: str, mask: str) -> Iterator[str]:
    """The predicates of `PR` or `UPR` that a mask, the last operand, has bits for."""
    bits = int(mask, 16) if _MASK.fullmatch(mask) else -1
    return (f"{kind}{index}" for index in range(_PREDICATES) if bits >> index & 1)
