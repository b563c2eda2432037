"""Matrices of 8 bits an element and fewer between shared memory and registers: atoms that came with Blackwell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from cutecc.errors import Error
from cutecc.ir import llvm_types
from cutecc.ir.mlir import ir, nvvm
from cutecc.ir.structs import members
from cutecc.passes.lowering.atoms.registers import as_registers, store_registers
from cutecc.passes.lowering.atoms.registry import copies
from cutecc.passes.lowering.atoms.sm80 import matrix_layout
from cutecc.passes.lowering.atoms.uses import Copy
from cutecc.passes.lowering.values.vector_accesses import Tensor, bitcast, elements_of, vector_of
from cutecc.target import Target

_PACKED: Final = {"u4x16p64to8": "b4x16_p64", "u6x16p32to8": "b6x16_p32"}
"""By what an atom calls it: elements of 4 or 6 bits, of which 16 lie at the beginning of 16 bytes."""
_SQUARE: Final = (16, 16)
_HALF: Final = (16, 8)
"""Of a square matrix, either half of the columns: what `stmatrix` stores."""
_BYTE: Final = 8


@copies("ldsm", takes=lambda atom: atom.parameters["mode"] != (8, 8), chips=Target.has_blackwell_forms)
def load_narrow_matrices(copy: Copy) -> None:
    """`ldmatrix`: 8 x 16 matrices by rows, and 16 x 16 by columns, each element in a byte of a register."""
    _check_bytes(copy.destination)
    mode, count = (copy.atom.parameters[name] for name in ("mode", "num_matrices"))
    count *= 2 if mode == _SQUARE else 1
    word = ir.IntegerType.get_signless(32)
    is_by_columns = mode in (_SQUARE, _HALF)
    attributes: dict[str, Any] = {
        "num": ir.IntegerAttr.get(word, count),
        "layout": matrix_layout(is_by_columns),
        "shape": ir.Attribute.parse(f"#nvvm.load_shape<{'m16n16' if is_by_columns else 'm8n16'}>"),
    }
    if packed := _PACKED.get(copy.atom.parameters["sz_pattern"]):
        attributes["srcFormat"] = ir.Attribute.parse(f"#nvvm.load_src_format<{packed}>")
    result = word if count == 1 else llvm_types.struct([word] * count)
    loaded = ir.Operation.create("nvvm.ldmatrix", [result], [copy.source.address(0)], attributes=attributes).result
    registers = [loaded] if count == 1 else members(loaded, [word] * count)
    store_registers(_halves(registers) if mode == _HALF else registers, copy.destination, count * 4)


def _check_bytes(registers: Tensor) -> None:
    if registers.element.bits != _BYTE:
        raise Error(f"registers have these matrices byte by byte, and {registers.element} is none")


def _halves(registers: Sequence[ir.Value]) -> list[ir.Value]:
    """The registers of each 16 x 16 matrix, of 8 columns each, as those of its upper and its lower 8 rows."""
    pieces = ir.VectorType.get([4], ir.IntegerType.get_signless(16))
    words = ir.VectorType.get([2], ir.IntegerType.get_signless(32))
    found: list[ir.Value] = []
    for pair in zip(registers[::2], registers[1::2], strict=True):
        first, second, third, fourth = elements_of(bitcast(vector_of(pair), pieces))
        found += elements_of(bitcast(vector_of([first, third, second, fourth]), words))
    return found


@copies("stsm", takes=lambda atom: atom.parameters["mode"] == _HALF, chips=Target.has_blackwell_forms)
def store_narrow_matrices(copy: Copy) -> None:
    """`stmatrix`: 16 x 8 matrices by columns."""
    _check_bytes(copy.source)
    values = as_registers(copy.source, copy.atom.parameters["num_matrices"] * 4)
    shape = ir.Attribute.parse("#nvvm.store_shape<m16n8>")
    nvvm.stmatrix(copy.destination.address(0), values, matrix_layout(transposed=True), shape=shape)
