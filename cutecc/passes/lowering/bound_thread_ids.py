"""What is known of the numbers of threads and blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.values.host import device_functions
from cutecc.passes.registry import register

_BLOCK = (1024, 1024, 64)
"""The most threads of a block along each direction, and the most of a grid's blocks below (CUDA Programming Guide,
technical specifications per compute capability; the same from compute capability 3.0 on)."""
_GRID = (2**31 - 1, 65535, 65535)
_LANES = 32


@register
@dataclass(frozen=True)
class BoundThreadIds(ModulePass):
    """State the range of thread, block and lane numbers, and of how many there are.

    A kernel that is launched with one block size only says so (`nvvm.reqntid`). A number that is known not to be
    negative is divided by a power of two with a shift.
    """

    name: ClassVar[str] = "bound-thread-ids"

    def run(self, module: ir.Module) -> None:
        for _, kernel in device_functions(module):
            exact = _block_size(kernel)
            for read in limited(walk(kernel, *_registers())):
                low, high = _range(read.name.removeprefix("nvvm.read.ptx.sreg."), exact)
                read.attributes["range"] = ir.Attribute.parse(f"#llvm.constant_range<i32, {low}, {high}>")


def _block_size(kernel: ir.Operation) -> tuple[int, ...] | None:
    return tuple(kernel.attributes["nvvm.reqntid"]) if "nvvm.reqntid" in kernel.attributes else None


def _registers() -> list[str]:
    names = [f"{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    return [f"nvvm.read.ptx.sreg.{name}" for name in (*names, "laneid")]


def _range(name: str, exact: tuple[int, ...] | None) -> tuple[int, int]:
    """The lowest value of a special register, and one more than the highest."""
    if name == "laneid":
        return 0, _LANES
    register_name, axis = name.split(".")
    direction = "xyz".index(axis)
    threads = exact[direction] if exact and direction < len(exact) else None
    match register_name:
        case "tid":
            return 0, threads or _BLOCK[direction]
        case "ntid":
            return (threads, threads + 1) if threads else (1, _BLOCK[direction] + 1)
        case "ctaid":
            return 0, _GRID[direction]
        case _:
            # Of numbers of 32 bits with a sign, the one after the greatest is the least.
            return 1, -(2**31) if direction == 0 else _GRID[direction] + 1
