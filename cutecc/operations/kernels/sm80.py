"""The multistage tensor-core GEMM of sm_80 and newer: what it takes, how operands lie in shared memory. Needs no DSL.

A block of `warps` warps computes one tile of D. Tiles of A and B, each `threadblock` K deep, go through a ring of
`stages` in shared memory. While the warps multiply one, the others are on their way:

| step | how |
|---|---|
| global to shared | `cp.async` of 4, 8, 16 bytes; what is narrower is loaded into registers, stored a multiply later |
| shared memory | contiguous as in global memory, in lines of up to 128 bytes, swizzled: no access has bank conflicts |
| shared to registers | `ldmatrix`; `ldmatrix.trans` where 16-bit elements lie along M or N; else as `Fragments` says |
| registers | the fragments of the next step of K are loaded while those of the current one are multiplied |
| edges | zeros beyond M, N and K; what K leaves over is the first tile, so that only that one is guarded along K |

f64 on sm_90 and newer is multiplied sixteen rows and eight of K at a time, see `has_wide_f64`. `multiply_add` rounds
f32 to the nearest tf32; `multiply_add_fast_f32` makes two tf32 of each, and NaN of an infinite one.
`multiply_add_fast_f16` and `multiply_add_fast_bf16` load f32 as for tf32, and round the fragments of one or two such
steps along K to those of one instruction.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal

from cutecc.operations.description import GemmDescription
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.kernels.family import Part, Refusal
from cutecc.operations.kernels.signature import INTERLEAVED
from cutecc.operations.kernels.workspace import log2, round_up
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand, type_bits
from cutecc.target import Target

Fragments = Literal["ldmatrix", "ldmatrix_trans", "elements", "bytes"]
"""How fragments come out of shared memory. `elements`: as they are; f64, and f32 along M or N, there several rows at
once. `bytes`: 8-bit elements along M or N, in words of four rows, that are transposed in registers."""

WARP = 32
"""Threads."""
LINE = 128
"""Bytes: all banks of shared memory, once."""
SECTOR = 32
"""Bytes of consecutive addresses that eight lanes, of rows next to each other, read for one K."""
STAGES_ALIGNMENT = 1024
"""Bytes that the stages of an operand begin at a multiple of, so that swizzles of addresses are known when compiled."""
LANE_ROWS = 8
"""Groups of lanes that a warp has along the rows of a fragment."""
ROWS_OF_BYTES = 4
"""Neighbouring rows of which a lane holds elements where bytes are transposed."""
RUN = 8
"""Columns of D that four instructions along N give to a lane, two each."""
RUN_ROWS = 32
"""Rows of B of these four instructions."""
WIDE_F64_STEPS = 2
"""Along K, of (8, 8, 4): with as many in one instruction, f64 on an H200 takes 6 to 8 % less time than with one."""
MOST_HELD = 144
"""Registers of a thread for sums and for elements on their way to shared memory, beside which fragments have room."""


@dataclass(frozen=True)
class OperandPlan:
    """How A or B is loaded: its tile is (rows, K), where rows are M or N."""

    operand: Operand
    is_k_major: bool
    """Whether elements are contiguous along K, else along the rows."""
    tile: tuple[int, int]
    """Rows and K."""
    threads: int
    """Of the block."""
    warps: int
    """Along the rows."""
    has_runs: bool = False
    """Of B: whether its rows are ordered so that the sums of a lane are `RUN` neighbours in a row of D."""

    @property
    def bytes(self) -> int:
        """Of one element."""
        return self.operand.bits // 8

    @property
    def extents(self) -> tuple[int, int]:
        """The tile along its contiguous mode, in elements, and along the other one."""
        rows, depth = self.tile
        return (depth, rows) if self.is_k_major else (rows, depth)

    @property
    def tile_bytes(self) -> int:
        """Of one stage."""
        return self.tile[0] * self.tile[1] * self.bytes

    @property
    def vector(self) -> int:
        """Elements of one access to global memory."""
        return gcd(self.operand.alignment, WIDEST_ALIGNMENT // self.bytes, self._run)

    @property
    def is_asynchronous(self) -> bool:
        """Whether `cp.async` can take a vector: it copies at least 4 bytes."""
        return self.vector * self.bytes >= 4

    @property
    def copying(self) -> tuple[int, int]:
        """Threads that copy, along the contiguous mode and along the other: as many as the tile gives work to."""
        contiguous, other = self._run // self.vector, self.extents[1]
        along = gcd(contiguous, self.threads)
        return along, gcd(other, self.threads // along)

    @property
    def _run(self) -> int:
        """Contiguous elements of a tile in global memory."""
        return INTERLEAVED if self.operand.is_interleaved else self.extents[0]

    @property
    def fragments(self) -> Fragments:
        if self.operand.bits == 64 or (self.operand.bits == 32 and not self.is_k_major):
            return "elements"
        if self.is_k_major:
            return "ldmatrix"
        return "ldmatrix_trans" if self.operand.bits == 16 else "bytes"

    @property
    def together(self) -> int:
        """Neighbouring rows of which a lane holds elements, for accesses to shared memory of up to 16 bytes.

        1 where `ldmatrix` or the contiguous mode says otherwise: a lane then has every eighth row.
        """
        if self.fragments == "bytes":
            return ROWS_OF_BYTES
        if self.is_k_major or self.fragments != "elements":
            return 1
        rows = self.tile[0] // self.warps
        return gcd(rows // LANE_ROWS, WIDEST_ALIGNMENT // self.bytes)

    @property
    def held(self) -> int:
        """Elements of a thread on their way through registers to shared memory."""
        along, across = self.copying
        return 0 if self.is_asynchronous else self.tile[0] * self.tile[1] // (along * across)

    @property
    def line(self) -> tuple[int, int]:
        """Elements of a line of shared memory, and lines in the pattern that repeats over the tile."""
        elements = gcd(self.extents[0], LINE // self.bytes)
        return elements, gcd(self.extents[1], 16 if self.fragments == "bytes" else 8)

    @property
    def swizzle(self) -> tuple[int, int, int]:
        """Bits, base and shift of the swizzle of byte addresses.

        `ldmatrix` reads 16 bytes of eight lines at once: their places in a line are exchanged by the line's number.
        Otherwise a warp reads `SECTOR` bytes of four lines at once, those of one K of the four lanes that share a row;
        `bytes` reads lines that are four apart.
        """
        line_bit = log2(self.line[0] * self.bytes)
        if self.fragments in ("ldmatrix", "ldmatrix_trans"):
            return line_bit - 4, 4, 3
        first = line_bit + (2 if self.fragments == "bytes" else 0)
        # Of the two address bits that number the lines, those below the line's size choose a bank as they are.
        bits = min(max(first + 2 - log2(LINE), 0), 2)
        return bits, log2(SECTOR), first + 2 - bits - log2(SECTOR)


def plans(description: GemmDescription) -> tuple[OperandPlan, OperandPlan]:
    m, n, k = description.tile.threadblock
    along_m, along_n, _ = description.tile.warps
    threads = block_threads(description)
    a, b = description.a, description.b
    # Of 8 and 16 bits, two neighbours are too few for a wide store. Rows of B that K follows can be put in any order.
    has_runs = description.d.bits <= 16 and not b.is_along_rows and b.bits <= 32 and n // along_n % RUN_ROWS == 0
    return (
        OperandPlan(a, a.is_along_rows, (m, k), threads, along_m),
        OperandPlan(b, not b.is_along_rows, (n, k), threads, along_n, has_runs),
    )


def block_threads(description: GemmDescription) -> int:
    along_m, along_n, along_k = description.tile.warps
    return WARP * along_m * along_n * along_k


def holding_threads(description: GemmDescription) -> int:
    """Threads of a block that hold the sums in the end: those of the first warp along K."""
    return block_threads(description) // description.tile.warps[2]


def has_wide_f64(description: GemmDescription) -> bool:
    """Whether f64 is multiplied by (16, 8, K) of sm_90 and newer: of (8, 8, 4) two above each other, some along K.

    Those of (8, 8, 4) have half the rate there.
    """
    rows = description.tile.threadblock[0] // description.tile.warps[0]
    target = Target.parse(description.target)
    return description.instruction.a == "f64" and target.major >= 9 and rows % 16 == 0


def loaded_as(instruction: MathInstruction) -> MathInstruction:
    """The instruction for which fragments of A and B are loaded: that of tf32 where f32 is rounded to other types."""
    if instruction.multiplies == instruction.a:
        return instruction
    return MathInstruction("tensor_op", (16, 8, 8), "tf32", "tf32", instruction.accumulator)


def steps_at_once(description: GemmDescription) -> int:
    """How many steps along K, as they are loaded, are multiplied at once: fragments of two such are held."""
    instruction = description.instruction
    if has_wide_f64(description):
        steps = description.tile.threadblock[2] // description.tile.warps[2] // instruction.shape[2]
        return WIDE_F64_STEPS if steps % (2 * WIDE_F64_STEPS) == 0 else 1
    return instruction.shape[2] // loaded_as(instruction).shape[2]


def shared_memory_bytes(description: GemmDescription) -> int:
    """Dynamic shared memory of a block: the stages."""
    a, b = (plan.tile_bytes * description.tile.stages for plan in plans(description))
    return round_up(a, STAGES_ALIGNMENT) + b


def accepts(description: GemmDescription) -> Refusal | None:
    """What no kernel of this family does, once the general rules hold; `None` for all others."""
    return next(filter(None, (rule(description) for rule in (_depth, _gathered, _bytes, _registers))), None)


def _depth(description: GemmDescription) -> Refusal | None:
    k, along_k = description.tile.threadblock[2], description.tile.warps[2]
    step = description.instruction.shape[2] * along_k
    if k % step or k < 2 * step:
        reason = f"a threadblock's K of {k} is not two or more steps of {step}, one to load while another multiplies"
        return Refusal(reason, ("tile.k", "tile.warps"))
    return None


def _gathered(description: GemmDescription) -> Refusal | None:
    """Later warps along K leave their sums in the memory of the stages."""
    m, n, _ = description.tile.threadblock
    along_k, stages = description.tile.warps[2], description.tile.stages
    if (along_k - 1) * m * n * type_bits(description.instruction.accumulator) // 8 <= shared_memory_bytes(description):
        return None
    reason = f"{along_k} warps along K leave more sums than {stages} stages have room for"
    return Refusal(reason, ("tile.stages", "tile.k", "tile.warps", "tile.m", "tile.n"))


def _bytes(description: GemmDescription) -> Refusal | None:
    a, b = plans(description)
    names: tuple[tuple[OperandPlan, str, Part, Part], ...] = (
        (a, "A", "a.layout", "tile.m"),
        (b, "B", "b.layout", "tile.n"),
    )
    for plan, name, layout, part in names:
        rows, together = plan.tile[0] // plan.warps, LANE_ROWS * ROWS_OF_BYTES
        if plan.fragments == "bytes" and rows % together:
            reason = f"a warp takes {together} rows of an 8-bit {name} where they are contiguous, and this is {rows}"
            return Refusal(reason, (layout, part, "tile.warps"))
    return None


def _registers(description: GemmDescription) -> Refusal | None:
    m, n, _ = description.tile.threadblock
    held = sum(plan.held for plan in plans(description))
    sums = m * n * type_bits(description.instruction.accumulator) // 32 // holding_threads(description)
    if not held or held + sums <= MOST_HELD:
        return None
    reason = f"a thread has {sums} registers of sums beside {held} elements at a time that cp.async is too wide for"
    return Refusal(reason, ("a.alignment", "b.alignment", "tile.m", "tile.n", "tile.k", "tile.warps"))
