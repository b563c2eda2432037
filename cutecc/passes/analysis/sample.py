"""Which blocks of a launch are looked at, and what stands for the numbers that only a launch has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from cutecc.ir.mlir import ir
from cutecc.memory_rules.warps import WARP, Array, Mask

Dim3 = tuple[int, int, int]

SIZE = 8192
"""What stands for sizes, strides and other integers of a launch: large, and a multiple of what they may be."""
_GRID = 64
"""Blocks along a dimension of a grid whose size depends on the launch."""
_ALIGNMENT = 1 << 40
"""Of pointers to global memory, which also keeps them apart."""
_DIVISOR = "!llvm.struct<(i32, i32, i8, i8)>"
"""For fast division: divisor, multiplier, two shifts."""


@dataclass
class Sample:
    """Some blocks of a launch, with what their threads read from it.

    Bit `n` of the number that goes with a value says that the value depends on what `assumed[n]` says.
    """

    block: Dim3
    """Threads."""
    grid: Dim3
    blocks: Sequence[Dim3]
    """Those that are looked at, by their place in the grid."""
    parameters: dict[tuple[int, ...], int] | None = None
    """A launch's own: by the argument and the path into it. Nothing is assumed then."""
    size: int = SIZE
    dynamic_grid: tuple[bool, bool, bool] = (False, False, False)
    """Which sizes of the grid depend on the launch."""
    trips: int = 4
    """Turns of a loop that are looked at, when their number depends on the launch."""
    constant_trips: int = 32
    """The same, when it is known."""
    assumed: list[str] = field(default_factory=list[str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """Those of `assumed` that are numbers of the kernel's arguments, or of the grid."""

    def __post_init__(self) -> None:
        threads = self.block[0] * self.block[1] * self.block[2]
        warps = -(-threads // WARP)
        numbers = np.arange(warps * WARP).reshape(warps, WARP)
        self._warps_of_block = warps
        self.mask: Mask = np.tile(numbers < threads, (len(self.blocks), 1))
        self._threads = np.tile(numbers, (len(self.blocks), 1)).astype(np.int32)

    @property
    def is_assumed(self) -> bool:
        """Whether representatives stand for what a launch has."""
        return self.parameters is None

    def thread(self, dimension: int) -> Array | int:
        """The index of the thread in its block."""
        x, y, _ = self.block
        if self.block[dimension] == 1:
            return 0
        number = self._threads
        return (number % x, number // x % y, number // (x * y))[dimension]

    def lane(self) -> Array:
        return self._threads % WARP

    def warp(self) -> Array:
        return self._threads // WARP

    def block_index(self, dimension: int) -> tuple[Array | int, int]:
        """The place of the block in the grid, and what is assumed of it."""
        indices = [each[dimension] for each in self.blocks]
        if len(set(indices)) == 1:
            value: Array | int = indices[0]
        else:
            column = np.repeat(np.array(indices, np.int32), self._warps_of_block)
            value = np.broadcast_to(column[:, None], self._threads.shape)
        is_known = not self.is_assumed or self.grid[dimension] == 1
        return value, 0 if is_known else self.assume(f"block index {'xyz'[dimension]}")

    def grid_size(self, dimension: int) -> tuple[int, int]:
        value = self.grid[dimension]
        is_assumed = self.dynamic_grid[dimension] and self.is_assumed
        return value, self.assume(f"the grid's blocks along {'xyz'[dimension]}", value) if is_assumed else 0

    def parameter(self, argument: int, path: tuple[int, ...], whole: ir.Type, type_: ir.Type) -> tuple[int, int] | None:
        """A number or pointer of a kernel's argument, and what is assumed of it."""
        key = (argument, *path)
        if self.parameters is not None:
            return (self.parameters[key], 0) if key in self.parameters else None
        if str(type_).startswith("!llvm.ptr"):
            return _ALIGNMENT * (1 + argument * 16 + len(path) + sum(path)), 0
        if not isinstance(type_, ir.IntegerType):
            return None
        if str(whole) == _DIVISOR:
            value = _divisor_parts(self.size)[path[-1]]
        else:
            value = min(self.size, (1 << (type_.width - 1)) - 1) if type_.width > 1 else 1
        return value, self.assume(_described(argument, path, whole), self.size)

    def assume(self, what: str, number: int | None = None) -> int:
        """The bit that says so."""
        if number is not None:
            self.numbers[what] = number
        if what not in self.assumed:
            self.assumed.append(what)
        return 1 << self.assumed.index(what)


def sample_of(kernel: ir.Operation, module: ir.Operation, size: int = SIZE) -> Sample | None:
    """Blocks from inside of the grid of a kernel, of which nothing but the module is known.

    `None` when the module does not say how many threads its blocks have.
    """
    if "nvvm.reqntid" not in kernel.attributes:
        return None
    x, y, z, *_ = [*(int(each) for each in kernel.attributes["nvvm.reqntid"]), 1, 1]
    known = _grid_of(kernel, module)
    grid = tuple(_GRID if each is None else each for each in known)
    dynamic = tuple(each is None for each in known)
    # Away from the edges, where predicates turn threads off; two, for what differs from block to block.
    first, second = (tuple(min(at, each - 1) for each in grid) for at in (1, 2))
    blocks = [first, (second[0], *first[1:])] if second[0] != first[0] else [first]
    return Sample((x, y, z), grid, blocks, size=size, dynamic_grid=dynamic)  # pyright: ignore[reportArgumentType]


def _grid_of(kernel: ir.Operation, module: ir.Operation) -> tuple[int | None, int | None, int | None]:
    """The sizes of the grid that all launches of the kernel in the module have."""
    found: set[tuple[int | None, int | None, int | None]] = set()
    for launch in launches_of(module, kernel.attributes["sym_name"].value):
        sizes = launch.operands[0].owner.operands[4:7]
        found.add(tuple(_constant(each) for each in sizes))  # pyright: ignore[reportArgumentType]
    if not found:
        return None, None, None
    x, y, z = (next(iter(column)) if len(column) == 1 else None for column in map(set, zip(*found, strict=True)))
    return x, y, z


def launches_of(module: ir.Operation, kernel: str) -> list[ir.Operation]:
    """The launches of the kernel called so by the host functions of the module."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "cuda.launch_ex":
            callee = str(operation.attributes["callee"])
            if callee.endswith(f"@{kernel}") or callee.endswith(f'@"{kernel}"'):
                found.append(operation)
        return ir.WalkResult.ADVANCE

    for region in module.regions:
        for block in region.blocks:
            for host in block.operations:
                if host.operation.name == "func.func":
                    host.operation.walk(visit)
    return found


def _constant(value: ir.Value) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "arith.constant":
        return None
    return int(owner.attributes["value"].value)


def _described(argument: int, path: tuple[int, ...], whole: ir.Type) -> str:
    if not path:
        return f"argument {argument}"
    if re.match(r"!llvm\.struct<\(ptr", str(whole)) and len(path) > 1 and path[0] == 1:
        # Of a tensor: the pointer, then shape and stride.
        return f"a dynamic {'size' if path[1] == 0 else 'stride'} of argument {argument}"
    return f"a number of argument {argument}"


def _divisor_parts(divisor: int) -> tuple[int, int, int, int]:
    """What the host function makes of `d`: `n / d` is `(((n - h) >> s) + h) >> t`, `h` the high half of `n * m`."""
    bits = max(0, divisor - 1).bit_length()
    multiplier = (((1 << bits) - divisor) << 32) // divisor + 1
    return divisor, multiplier, min(bits, 1), max(bits - 1, 0)
