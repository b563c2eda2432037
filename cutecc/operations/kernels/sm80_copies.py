# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""How an operand of a multistage GEMM travels: global memory, a ring of swizzled stages in shared memory, registers."""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import CopyUniversalOp, LoadCacheMode, cpasync, warp

from cutecc.operations.kernels.byte_permutation import transposed_bytes
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.sm80 import LANE_ROWS, ROWS_OF_BYTES, RUN, RUN_ROWS, OperandPlan


def stages_layout(plan: OperandPlan, stages: int):
    """(rows, K, stage) in shared memory, before the swizzle."""
    length, lines = plan.line
    shape, order = ((lines, length), (1, 0)) if plan.is_k_major else ((length, lines), (0, 1))
    plain = cute.tile_to_shape(cute.make_ordered_layout(shape, order), (*plan.tile, stages), order=(0, 1, 2))
    if not plan.has_runs:
        return plain
    # The eight rows of an instruction, pairs that are `RUN` apart, lie together, as `ldmatrix` likes them.
    pairs, between = RUN // 2, RUN_ROWS // RUN
    places = cute.make_layout(((2, pairs, between), plan.tile[0] // RUN_ROWS), stride=((1, LANE_ROWS, 2), RUN_ROWS))
    return cute.composition(plain, (places, None, None))


def async_copy(bits: int) -> cpasync.CopyG2SOp:
    """`cp.async`; what is 16 bytes wide goes past L1, which nobody would read it from again."""
    return cpasync.CopyG2SOp(LoadCacheMode.GLOBAL if bits == 128 else LoadCacheMode.ALWAYS)


def tiled_copy(plan: OperandPlan) -> cute.TiledCopy:
    """Vectors along the contiguous mode; neighbouring threads are neighbours along it too."""
    bits = plan.vector * plan.operand.bits
    operation = async_copy(bits) if plan.is_asynchronous else CopyUniversalOp()
    atom = cute.make_copy_atom(operation, numeric(plan.operand.dtype), num_bits_per_copy=bits)
    along, across = plan.copying
    if plan.is_k_major:
        threads = cute.make_ordered_layout((across, along), order=(1, 0))
        return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, plan.vector)))
    return cute.make_tiled_copy_tv(atom, cute.make_layout((along, across)), cute.make_layout((plan.vector, 1)))


class Fetch:
    """This thread's part in copying tiles of an operand from global memory into stages."""

    def __init__(self, plan: OperandPlan, tiles: cute.Tensor, stages: cute.Tensor, first_row, rows, thread):
        """`tiles` is (rows, K, step), `stages` (rows, K, stage); tiles begin at `first_row` of a matrix of `rows`."""
        self.plan, self.thread = plan, thread
        self.copy = tiled_copy(plan)
        own = self.copy.get_slice(thread)
        self.source, self.target = own.partition_S(tiles), own.partition_D(stages)
        self.places = own.partition_S(cute.make_identity_tensor(plan.tile))
        self.vectors = (1, *map(cute.size, self.places.shape[1:]))
        # Whether a vector is in the matrix depends on its row only: all along K share one predicate.
        self.inside = cute.make_rmem_tensor(cute.make_layout(self.vectors, stride=(0, 1, 0)), cutlass.Boolean)
        for row in range(self.vectors[1]):
            self.inside[0, row, 0] = first_row + self.places[0, row, 0][0] < rows
        if not plan.is_asynchronous:
            self.held = cute.make_fragment_like(self.target[None, None, None, 0])

    def behind(self, begin) -> cute.Tensor:
        """As `inside`, but of a tile whose K begins at `begin`, for the first one."""
        found = cute.make_rmem_tensor(self.vectors, cutlass.Boolean)
        for row in range(self.vectors[1]):
            for column in range(self.vectors[2]):
                found[0, row, column] = self.inside[0, row, 0] & (self.places[0, row, column][1] >= begin)
        return found

    @cute.jit
    def start(self, step, stage, inside: cute.Tensor):
        """Begin to copy the tile `step` into `stage`, zeros where `inside` is false."""
        if self.is_copying():
            source = self.source[None, None, None, step]
            if cutlass.const_expr(self.plan.is_asynchronous):
                cute.copy(self.copy, source, self.target[None, None, None, stage], pred=inside)
            else:
                self.held.fill(0)
                cute.copy(self.copy, source, self.held, pred=inside)

    def finish(self, stage) -> None:
        """Store what `start` has loaded into registers; nothing when the copy is asynchronous."""
        if not self.plan.is_asynchronous:
            self._store(stage)

    @cute.jit
    def _store(self, stage):
        if self.is_copying():
            cute.copy(self.copy, self.held, self.target[None, None, None, stage])

    def is_copying(self):
        """Whether this thread has a part: small tiles do not have enough for all."""
        along, across = self.plan.copying
        return True if along * across == self.plan.threads else self.thread < along * across


class Fragments:
    """This thread's elements of an operand, as the MMA wants them in registers."""

    def __init__(self, plan: OperandPlan, stages: cute.Tensor, tiled_mma: cute.TiledMma, thread, is_a: bool):
        self.plan = plan
        mine = tiled_mma.get_slice(thread)
        make = tiled_mma.make_fragment_A if is_a else tiled_mma.make_fragment_B
        self.source = (mine.partition_A if is_a else mine.partition_B)(stages)
        own = self.source[None, None, None, 0]
        # Single elements lie in registers in the order of memory, so that neighbours are loaded at once.
        self.registers = cute.make_fragment_like(own) if plan.fragments == "elements" else make(own)
        """(values of an instruction, instructions along the rows, instructions along K)."""
        if plan.fragments.startswith("ldmatrix"):
            self._prepare_matrices(stages, tiled_mma, thread, is_a)

    def _prepare_matrices(self, stages, tiled_mma, thread, is_a: bool):
        words = cute.size(self.registers, mode=[0]) * cute.size(self.registers, mode=[1]) * self.plan.bytes // 4
        matrices = 4 if words % 4 == 0 else 2 if words % 2 == 0 else 1
        operation = warp.LdMatrix8x8x16bOp(self.plan.fragments == "ldmatrix_trans", matrices)
        atom = cute.make_copy_atom(operation, self.registers.element_type)
        self.copy = (cute.make_tiled_copy_A if is_a else cute.make_tiled_copy_B)(atom, tiled_mma)
        self.matrices = self.copy.get_slice(thread).partition_S(stages)
        self.target = self.copy.retile(self.registers)

    @property
    def steps(self) -> int:
        """Instructions along K of a tile."""
        return cute.size(self.registers, mode=[2])

    def load(self, k: int, stage):
        """Load what the `k`-th instruction along K multiplies."""
        if self.plan.fragments == "bytes":
            self._load_bytes(k, stage)
        elif self.plan.fragments == "elements":
            cute.autovec_copy(self.source[None, None, k, stage], self.registers[None, None, k])
        else:
            cute.copy(self.copy, self.matrices[None, None, k, stage], self.target[None, None, k])

    def _load_bytes(self, k: int, stage):
        """Load words of four rows; those of four consecutive K, transposed, are what the MMA takes of each row."""
        halves = cute.size(self.source, mode=[0]) // 8
        across = ROWS_OF_BYTES // halves
        source = cute.logical_divide(self.source[None, None, k, stage], (None, across))
        target = cute.logical_divide(self.registers[None, None, k], (None, across))
        # Values of an instruction are (four K, halves of its rows if it has 16, halves of its K).
        rows = (None,) * (halves - 1)
        for block in range(cute.size(source, mode=[1, 1])):
            for half in range(2):
                words = [self._word(source[(i, *rows, half), (None, block)]) for i in range(ROWS_OF_BYTES)]
                lane = cute.recast_tensor(target[(None, *rows, half), (None, block)], cutlass.Uint32)
                for row, word in enumerate(transposed_bytes(words)):
                    lane[row] = word

    def _word(self, rows: cute.Tensor):
        """Four neighbouring bytes of shared memory."""
        word = cute.make_fragment_like(rows)
        cute.autovec_copy(rows, word)
        return cute.recast_tensor(cute.make_tensor(word.iterator, cute.make_layout(ROWS_OF_BYTES)), cutlass.Uint32)[0]
