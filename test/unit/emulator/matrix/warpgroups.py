"""`wgmma` on matrices put into shared memory element by element, in CuTe's canonical layouts."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cutecc.layout import Layout, Swizzle

sys.path[:0] = [str(Path(__file__).parent)]

from formulas import BITS, c_place, decoded, packed  # noqa: E402
from warps import Warps  # noqa: E402

MODES = {0: 0, 128: 1, 64: 2, 32: 3}


@dataclass(frozen=True)
class Tile:
    """How a matrix lies in shared memory. Chunks are 16 bytes."""

    major: str = "k"
    width: int = 128
    """Of the swizzle in bytes."""
    start: int = 8192
    leading: int = 16
    stride: int = 1024

    @property
    def descriptor(self) -> int:
        return self.start >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | MODES[self.width] << 62

    def chunk(self, row: int, column: int) -> int:
        """Address of a chunk: `(row of M or N, chunk of K)`, or MN-major `(chunk of M or N, column of K)`."""
        wide, leading, stride = self.width // 16, self.leading // 16, self.stride // 16
        match self.major, self.width:
            case "k", 0:
                layout = f"((8,32),4):((1,{stride}),{leading})"
            case "k", _:
                layout = f"((8,32),8):(({wide},{stride}),1)"
            case _, 0:
                layout = f"(32,(8,2)):({stride},(1,{leading}))"
            case _:
                layout = f"(({wide},32),(8,2)):((1,{leading}),({wide},{stride}))"
        linear = self.start + 16 * int(Layout.parse(layout)((row, column)))
        return int(Swizzle({0: 0, 32: 1, 64: 2, 128: 3}[self.width], 4, 3)(linear))

    def put(self, window: Any, bits: Any, type_: str) -> set[int]:
        """Write a matrix `(rows, depth)` of bits; the addresses of its chunks."""
        rows, depth = bits.shape
        if type_ == "b1":
            bits, depth = np.packbits(bits, axis=1, bitorder="little"), depth // 8
        per = 16 // bits.itemsize
        used: set[int] = set()
        if self.major == "k":
            for row in range(rows):
                for number in range(depth // per):
                    address = self.chunk(row, number)
                    window[address : address + 16] = bits[row, number * per : (number + 1) * per].copy().view(np.uint8)
                    used.add(address)
            return used
        for column in range(depth):
            for number in range(rows // per):
                address = self.chunk(number, column)
                window[address : address + 16] = bits[number * per : (number + 1) * per, column].copy().view(np.uint8)
                used.add(address)
        return used


def accumulator_names(n: int, d: str) -> list[str]:
    return [f"%d{number}" for number in range(n // 2 // packed(d))]


def types_for(n: int, d: str) -> dict[str, str]:
    """Registers that the tests use."""
    names = dict.fromkeys([*accumulator_names(n, d), *(f"%a{number}" for number in range(4)), "%e"], "b32")
    return names | {"%da": "b64", "%db": "b64", "%p": "pred"}


def text(form: str, n: int, d: str, a: str = "%da", rest: str = ", %p") -> str:
    return f"wgmma.mma_async.{form} {{{', '.join(accumulator_names(n, d))}}}, {a}, %db{rest};"


def set_accumulators(warps: Warps, n: int, d: str, matrices: Any) -> None:
    """`matrices` are bits, `(warpgroups, 64, n)`."""
    per = packed(d)
    for number, name in enumerate(accumulator_names(n, d)):
        register = np.zeros((4 * len(matrices), 32), np.uint32)
        for warp in range(len(register)):
            for lane in range(32):
                for each in range(per):
                    row, column = c_place(16, lane, number * per + each)
                    bits = int(matrices[warp // 4, warp % 4 * 16 + row, column])
                    register[warp, lane] |= bits << (BITS[d] * each)
        warps.set(name, register)


def get_accumulators(warps: Warps, n: int, d: str) -> Any:
    """The numbers, `(warpgroups, 64, n)`."""
    return decoded(get_accumulator_bits(warps, n, d), d)


def get_accumulator_bits(warps: Warps, n: int, d: str) -> Any:
    """The bits of the numbers, `(warpgroups, 64, n)`."""
    registers = [warps.get(name) for name in accumulator_names(n, d)]
    per, groups = packed(d), len(registers[0]) // 4
    found = np.zeros((groups, 64, n), np.uint32)
    for number, register in enumerate(registers):
        for warp in range(4 * groups):
            for lane in range(32):
                for each in range(per):
                    row, column = c_place(16, lane, number * per + each)
                    bits = int(register[warp, lane]) >> (BITS[d] * each) & ((1 << BITS[d]) - 1)
                    found[warp // 4, warp % 4 * 16 + row, column] = bits
    return found
