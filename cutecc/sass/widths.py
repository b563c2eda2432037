"""How many registers the operands of a SASS instruction take, by its opcode and its modifiers.

From what `nvdisasm --print-life-ranges` marks in compiled code. The sizes of fragments follow from the shape of a
product, as the PTX manual's figures have them: 32 threads share each matrix, 128 the accumulators of a warpgroup's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_BITS = {"64": 64, "U64": 64, "S64": 64, "F64": 64, "F32x2": 64, "128": 128, "F32x4": 128, "256": 128}
"""Of the data of an access or an operation of more than 32. One of 256 bits names two operands of 128."""
_SIZED = (
    "LDG STG LD ST LDS STS LDL STL LDC ULDC LDCU ULDS USTS STAS ATOM ATOMG ATOMS RED REDG REDAS LDGMC FRND QSPC CCTL "
    "IADD UIADD IADD3 UIADD3 MOV UMOV ISETP UISETP SEL USEL LOP3 ULOP3 IABS UIABS VIADD UVIADD"
)
"""Opcodes whose data all have the bits that a modifier names; `.E` has addresses of 64."""
_PAIRS = "DADD DFMA DMUL DMNMX DSET DSETP FADD2 FFMA2 FMUL2"
"""Opcodes whose operands all have 64 bits."""
_JUMPS = "BRX BRXU JMX JMXU RET CALL LEPC ULEPC"
"""Opcodes that take or give an address of code, of 64 bits."""
_SHAPE = re.compile(r"(16|8)x?(8|16)x?(4|8|16|32|64|128|256)")
_WARPGROUP_SHAPE = re.compile(r"64x([0-9]{1,3})x[0-9]+")
_DIMENSIONS = re.compile(r"([1-5])D")
_FACTOR_BITS = {"HMMA": 16, "IMMA": 8, "QMMA": 8, "OMMA": 4, "BMMA": 1, "DMMA": 64}
_MASK = 5
"""The operand of a tensor core's product that has a mask of lanes, or where scales are."""
_LANES = 32
_REGISTER_BITS = 32

_Rule = Callable[[str, Sequence[str], Sequence[str]], list[int]]
"""From an opcode, its modifiers and its operands the registers of its first operands; others have one."""


def operand_widths(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    """The registers of each operand, of those that are no predicates, where the operand itself does not say it.

    That of an operand in brackets is how many its register stands for.
    """
    rule = _RULES.get(stem) or next((rule for start, rule in _FAMILIES.items() if stem.startswith(start)), None)
    widths = rule(stem, modifiers, operands)[: len(operands)] if rule else []
    return [*widths, *[1] * (len(operands) - len(widths))]


def _sized(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    count = next((_BITS[each] for each in modifiers if each in _BITS), 32) // _REGISTER_BITS
    address = 2 if "E" in modifiers else 1
    return [address if "[" in each else count for each in operands]


def _pairs(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    return [1 if "[" in each else 2 for each in operands]


def _product(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    if {"WIDE", "HI"}.isdisjoint(modifiers):
        return []
    return [2 if "WIDE" in modifiers else 1, 1, 1, 2]


def _matrices(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    # A matrix of 16 by 16 bytes is two of 8 by 16.
    count = next((int(each) for each in modifiers if each in ("2", "4")), 1) * (2 if "MT1616" in modifiers else 1)
    return [count] if stem == "LDSM" else [1, count]


def _barrier(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    # The state of a barrier, which an arrival may give, has 64 bits.
    return [2 if {"64", "ARRIVE"} & {*modifiers} else 1, 1, 2 if "64" in modifiers else 1]


def _conversion(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    """`F2F.F32.F64` has its result's type first; `F2I.U64.F64` and `I2F.F64.S64` likewise, when they name both."""
    if stem == "F2F":
        types = [each for each in modifiers if re.fullmatch(r"B?F[0-9]+", each)]
        return [2 if each == "F64" else 1 for each in types]
    floats, integers = ("F64" in modifiers) + 1, (not {"U64", "S64"}.isdisjoint(modifiers)) + 1
    return [floats, integers] if stem == "I2F" else [integers, floats]


def _tensor_memory(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    """`.x16` counts columns of 32 bits, of each thread's own row; of 16dp256bit, the four registers of a thread."""
    repeats = next((int(each[1:]) for each in modifiers if re.fullmatch(r"x[0-9]{1,3}", each)), 1)
    per_repeat = 4 if "16dp256bit" in modifiers else 2 if "16dp128bit" in modifiers else 1
    count = repeats * per_repeat
    if stem == "STTM":
        return [1, count]
    return [1, count] if "STAT" in modifiers else [count]


def _warp_product(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    shape = next((match for each in modifiers if (match := _SHAPE.fullmatch(each))), None)
    if shape is None:
        return []
    rows, columns, depth = map(int, shape.groups())
    bits = 32 if "TF32" in modifiers else 4 if {"S4", "U4"} & {*modifiers} else _FACTOR_BITS[stem]
    result_bits = 64 if stem == "DMMA" else 16 if "F16" in modifiers else 32
    kept = depth // 2 if "SP" in modifiers else depth

    def registers(elements: int, bits: int) -> int:
        return max(1, elements * bits // (_LANES * _REGISTER_BITS))

    result = registers(rows * columns, result_bits)
    return [result, registers(rows * kept, bits), registers(columns * depth, bits), result]


def _warpgroup_product(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    shape = next((match for each in modifiers if (match := _WARPGROUP_SHAPE.fullmatch(each))), None)
    if shape is None or len(operands) < 2:
        return []
    result = int(shape[1]) // (4 if "F16" in modifiers else 2)
    # The first factor is in registers or, as the second, in shared memory; both have descriptors, one behind the other.
    return [result, 4, result] if "[" in operands[1] else [result, 4, 4, result]


def _tensor_core(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    """Descriptors of shared memory have 64 bits. A product has behind them its lanes' mask, or where its scales are."""
    widths = [2 if each.startswith("gdesc") else 1 for each in operands]
    if "MMA" in stem and len(operands) > _MASK:
        mask = 2 if "WS" in modifiers else 8 if "2CTA" in modifiers else 4
        widths[_MASK] = 2 if operands[_MASK].startswith("tmem") else mask
    return widths


def _tensor_copy(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    """The address in shared memory, the barrier of a load, then a coordinate for each dimension; the tensor map's."""
    dimensions = next((int(match[1]) for each in modifiers if (match := _DIMENSIONS.fullmatch(each))), 0)
    if not dimensions:
        return [2]
    if not {"GATHER4", "SCATTER4"}.isdisjoint(modifiers):
        dimensions = 5
    return [dimensions + {"UTMALDG": 2, "UTMAPF": 0}.get(stem, 1), 2]


def _bulk_copy(stem: str, modifiers: Sequence[str], operands: Sequence[str]) -> list[int]:
    """Addresses of destination and source: 64 bits of global memory; of shared memory that of a barrier with it."""
    spaces = [each for each in modifiers if each in ("S", "G")]
    return [2, 2 if spaces[-1:] == ["G"] else 1]


_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_SIZED.split(), _sized),
    **dict.fromkeys(_PAIRS.split(), _pairs),
    **dict.fromkeys(_JUMPS.split(), lambda stem, modifiers, operands: [2]),
    **dict.fromkeys(("IMAD", "UIMAD"), _product),
    **dict.fromkeys(("CS2R", "CS2UR"), lambda stem, modifiers, operands: [1 if "32" in modifiers else 2]),
    **dict.fromkeys(("F2F", "F2I", "I2F", "I2I"), _conversion),
    **dict.fromkeys(("LDSM", "STSM"), _matrices),
    **dict.fromkeys(("LDTM", "STTM"), _tensor_memory),
    **dict.fromkeys(_FACTOR_BITS, _warp_product),
    **dict.fromkeys(("HGMMA", "IGMMA", "QGMMA", "BGMMA"), _warpgroup_product),
    "LDGSTS": lambda stem, modifiers, operands: [1, 2],
    "MATCH": lambda stem, modifiers, operands: [1, 2 if "U64" in modifiers else 1],
    "SYNCS": _barrier,
}
_FAMILIES: dict[str, _Rule] = {"UTC": _tensor_core, "UTMA": _tensor_copy, "UBLK": _bulk_copy}
"""By how their opcodes begin."""
