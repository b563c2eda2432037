"""Operands of instructions."""

from __future__ import annotations

import re
from collections.abc import Callable

from cutecc.ptx.constants import parse_constant
from cutecc.ptx.scanner import IDENTIFIER, NAME
from cutecc.ptx.syntax import (
    Address,
    Arguments,
    Immediate,
    Not,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

Resolve = Callable[[str], Register | Symbol | Vector | None]
"""What a name means where it stands; `None` for one that nothing declares."""

_BRACKET = re.compile(r"[\[{(]")
_PIECE = re.compile(r"(?:\{[^{}]*\}|\[[^\[\]]*\]|\((?:[^()]|\([^()]*\))*\)|[^,{}\[\]()])+")
_SPECIAL = re.compile(rf"{NAME}(?:\.\w+)?")
_SUM = re.compile(rf"({NAME})\s*([-+])\s*(.+)", re.DOTALL)


class OperandError(ValueError):
    """An operand that is none."""


def split_operands(text: str) -> list[str]:
    """The operands in `text`, at the commas outside of brackets."""
    if not text:
        return []
    pieces = text.split(",") if not _BRACKET.search(text) else _PIECE.findall(text)
    if sum(map(len, pieces)) + len(pieces) - 1 != len(text):
        raise OperandError(f"operands with a missing part or bracket: '{text}'")
    return [piece.strip() for piece in pieces]


def parse_operand(text: str, resolve: Resolve) -> Operand:
    """The operand that `text`, without blanks around it, is."""
    match text[:1], text[-1:]:
        case "[", "]":
            return _address(text[1:-1].strip(), resolve)
        case "{", "}":
            return Vector(tuple(parse_operand(piece, resolve) for piece in split_operands(text[1:-1].strip())))
        case _:
            pass
    if IDENTIFIER.fullmatch(text):
        return _named(text, resolve)
    if text.startswith("!"):
        register = _named(text[1:].strip(), resolve)
        if isinstance(register, Register):
            return Not(register)
    elif "|" in text and (halves := text.split("|"))[1:] and all(IDENTIFIER.fullmatch(half.strip()) for half in halves):
        if len(halves) == 2:
            return Pair(*(parse_operand(half.strip(), resolve) for half in halves))
    elif _SPECIAL.fullmatch(text):
        return _named(text, resolve)
    elif found := _SUM.fullmatch(text):
        symbol = _named(found[1], resolve)
        if isinstance(symbol, Symbol):
            return Symbol(symbol.name, _offset(found))
    if (constant := parse_constant(text)) is not None:
        return constant
    raise OperandError(f"not an operand: '{text}'")


def parse_arguments(text: str, resolve: Resolve) -> Arguments:
    """A parenthesised list of a `call`."""
    return Arguments(tuple(parse_operand(piece, resolve) for piece in split_operands(text[1:-1].strip())))


def _named(name: str, resolve: Resolve) -> Operand:
    if name == "_":
        return Sink()
    if found := resolve(name):
        return found
    if name == "WARP_SZ":
        return Immediate("integer", 32)
    if name in SPECIAL_REGISTERS:
        return Special(name)
    if name.startswith("%") or "." in name:
        raise OperandError(f"'{name}' is not declared and is no special register")
    if not IDENTIFIER.fullmatch(name):
        raise OperandError(f"not an operand: '{name}'")
    return Symbol(name)


def _address(text: str, resolve: Resolve) -> Address:
    coordinates = None
    if text.endswith("}"):
        text, comma, vector = text.partition(",")
        found = parse_operand(vector.strip(), resolve) if comma else None
        if not isinstance(found, Vector):
            raise OperandError(f"not an address: '[{text}{comma}{vector}]'")
        coordinates, text = found, text.strip()
    offset = 0
    if found := _SUM.fullmatch(text):
        text, offset = found[1], _offset(found)
    base = parse_operand(text, resolve)
    if not isinstance(base, Register | Symbol | Immediate):
        raise OperandError(f"not an address: '[{text}]'")
    return Address(base, offset, coordinates)


def _offset(match: re.Match[str]) -> int:
    """The bytes in `name+bytes`, which compilers also write `name+-8`."""
    constant = parse_constant(match[3].strip())
    if constant is None or constant.kind != "integer":
        raise OperandError(f"not a number of bytes: '{match[3]}'")
    return -constant.bits if match[2] == "-" else constant.bits


_VECTORS = ("tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid")

SPECIAL_REGISTERS = frozenset(
    f"%{name}"
    for name in (
        *(f"{vector}.{component}" for vector in _VECTORS for component in "xyzw"),
        *("laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid"),
        *("is_explicit_cluster", "cluster_ctarank", "cluster_nctarank"),
        *(f"lanemask_{which}" for which in ("eq", "le", "lt", "ge", "gt")),
        *("clock", "clock_hi", "clock64"),
        *(f"pm{index}" for index in range(8)),
        *(f"pm{index}_64" for index in range(8)),
        *(f"envreg{index}" for index in range(32)),
        *("globaltimer", "globaltimer_lo", "globaltimer_hi"),
        *("reserved_smem_offset_begin", "reserved_smem_offset_end", "reserved_smem_offset_cap"),
        *("reserved_smem_offset_0", "reserved_smem_offset_1"),
        *("total_smem_size", "aggr_smem_size", "dynamic_smem_size", "current_graph_exec"),
    )
)
