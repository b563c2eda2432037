# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""`mma.sync` as tiled MMAs: an instruction's atom, how warps share a tile, and the multiplication itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import cutlass
import cutlass._mlir.dialects.cute_nvgpu as cute_nvgpu_ir
from cutlass import cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm
from cutlass.cute.atom import Trait, make_atom
from cutlass.cute.core import _pack_shape
from cutlass.cute.nvgpu import warp
from cutlass.cute.nvgpu.warp.mma import WarpMmaOp
from cutlass.cutlass_dsl import T, dsl_user_op

from cutecc.operations.description import GemmDescription
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.sm80 import LANE_ROWS, RUN, RUN_ROWS, OperandPlan, has_wide_f64, loaded_as, plans


class SyncMmaTrait(Trait):
    """The value of a `SyncMmaOp` in a kernel."""


@dataclass(frozen=True)
class SyncMmaOp(WarpMmaOp):
    """An `mma.sync` for which the DSL has an atom but no operation: f64 (8, 8, 4), and i8 (16, 8, 32) into i32."""

    ab_dtype: type[cutlass.Numeric]
    acc_dtype: type[cutlass.Numeric]
    shape_mnk: tuple[int, int, int]

    def _make_trait(self, *, loc=None, ip=None, **_):
        shape = _pack_shape(self.shape_mnk, loc=loc, ip=ip).type.attribute
        # The atom wants to hear of the sign, which the DSL's Int8 leaves out of its MLIR type.
        multiplied = ir.IntegerType.get_signed(8) if self.ab_dtype is cutlass.Int8 else self.ab_dtype.mlir_type
        atom = cute_nvgpu_ir.MmaAtomSM80Type.get(shape, multiplied, multiplied, self.acc_dtype.mlir_type)
        return SyncMmaTrait(make_atom(atom, loc=loc, ip=ip))

    def _verify_fragment_A(self, input, *, loc=None, ip=None):
        return True

    def _verify_fragment_B(self, input, *, loc=None, ip=None):
        return True


def make_atom_operation(instruction: MathInstruction) -> WarpMmaOp:
    """The DSL's operation for one instruction."""
    multiplied, sums = numeric(instruction.a), numeric(instruction.accumulator)
    if instruction.a in ("f16", "bf16"):
        return warp.MmaF16BF16Op(multiplied, sums, instruction.shape)
    if instruction.a == "tf32":
        return warp.MmaTF32Op(instruction.shape)
    if instruction.a in ("f8E4M3FN", "f8E5M2"):
        return warp.MmaFP8Op(multiplied, sums, instruction.shape)
    return SyncMmaOp(multiplied, sums, instruction.shape)


def make_tiled_mma(description: GemmDescription) -> cute.TiledMma:
    """The MMA of a whole threadblock tile, in which every warp has neighbouring rows and columns.

    As A and B are loaded: what multiplies `multiply_add_fast_f16` has other fragments of them, and the same of D.
    """
    operation = make_atom_operation(loaded_as(description.instruction))
    m, n, k = operation.shape_mnk
    plan_a, plan_b = plans(description)
    order = (_order(plan_a, m), _order(plan_b, n), k * description.tile.warps[2])
    return cute.make_tiled_mma(operation, description.tile.warps, permutation_mnk=order)


def _order(plan: OperandPlan, atom: int) -> cute.Layout:
    """Which row of a tile is which row of the MMA: those of an atom, then those of the warps, then the next atoms."""
    warps, each, together = plan.warps, plan.tile[0] // plan.warps, plan.together
    # An atom has rows `lane // 4` and, when it has 16, these plus 8: of all that one lane holds, neighbours are made.
    halves = atom // LANE_ROWS
    if plan.has_runs:
        pairs, between = RUN // 2, RUN_ROWS // RUN
        return cute.make_layout(
            ((2, between), warps, (pairs, each // RUN_ROWS)), stride=((1, RUN), each, (2, RUN_ROWS))
        )
    if together == 1:
        return cute.make_layout((atom, warps, each // atom), stride=(1, each, atom))
    span = LANE_ROWS * together
    return cute.make_layout(
        ((LANE_ROWS, halves), warps, (together // halves, each // span)),
        stride=((together, 1), each, (halves, span)),
    )


class Multiplication:
    """What becomes of the fragments of A and B for some instructions along K: the description's arithmetic."""

    def __init__(self, description: GemmDescription):
        self.instruction = description.instruction
        self.has_wide_f64 = has_wide_f64(description)

    def add(
        self, tiled_mma: cute.TiledMma, sums: cute.Tensor, steps: Sequence[tuple[cute.Tensor, cute.Tensor]]
    ) -> None:
        """Add products to `sums`: of each step along K those of A and B.

        Each is (values of an instruction, instructions along its rows).
        """
        if self.has_wide_f64:
            self._add_f64(sums, steps)
            return
        if self.instruction.multiplies != self.instruction.a:
            self._add_narrowed(sums, steps)
            return
        for a, b in steps:
            if self.instruction.a == "tf32":
                self._add_tf32(tiled_mma, sums, a, b)
            else:
                cute.gemm(tiled_mma, sums, a, b, sums)

    def _add_tf32(self, tiled_mma, sums, a, b) -> None:
        a_big, b_big = rounded_to_tf32(a), rounded_to_tf32(b)
        if self.instruction.arithmetic == "multiply_add_fast_f32":
            # a b = a_big b_big + a_big b_small + a_small b_big + less than f32 resolves; small terms are added first.
            cute.gemm(tiled_mma, sums, rounding_errors(a, a_big), b_big, sums)
            cute.gemm(tiled_mma, sums, a_big, rounding_errors(b, b_big), sums)
        cute.gemm(tiled_mma, sums, a_big, b_big, sums)

    def _add_narrowed(self, sums, steps) -> None:
        """f32 rounded to what the arithmetic says: one instruction along K for all that is multiplied at once."""
        dtype = numeric(self.instruction.multiplies)
        atom = cute.make_mma_atom(warp.MmaF16BF16Op(dtype, numeric("f32"), self.instruction.shape))
        a, b = (narrowed(each, dtype) for each in zip(*steps, strict=True))
        cute.gemm(atom, sums, a, b, sums)

    def _add_f64(self, sums, steps) -> None:
        """Atoms of (8, 8, 4), two one above the other and all along K, in one instruction."""
        for column in range(cute.size(sums, mode=[2])):
            for row in range(0, cute.size(sums, mode=[1]), 2):
                places = [(i, row + half, column) for half in range(2) for i in range(2)]
                halves = [a[0, row + half] for a, _ in steps for half in range(2)]
                columns = [b[0, column] for _, b in steps]
                results = multiply_f64(halves, columns, [sums[place] for place in places])
                for place, result in zip(places, results, strict=True):
                    sums[place] = result


def rounded_to_tf32(source: cute.Tensor) -> cute.Tensor:
    """Each f32 rounded to the nearest tf32, ties away from zero."""
    rounded = cute.make_rmem_tensor(source.shape, cutlass.TFloat32)
    values, bits = cute.recast_tensor(source, cutlass.Float32), cute.recast_tensor(rounded, cutlass.Int32)
    for i in range(cute.size(source)):
        bits[i] = cutlass.Int32(cute.arch.cvt_f32_tf32(values[i]))
    return rounded


def rounding_errors(source: cute.Tensor, rounded: cute.Tensor) -> cute.Tensor:
    """`source` - `rounded`, which f32 represents exactly, rounded to tf32 as well."""
    errors = cute.make_rmem_tensor(source.shape, cutlass.Float32)
    exact, nearest = (cute.recast_tensor(each, cutlass.Float32) for each in (source, rounded))
    for i in range(cute.size(source)):
        errors[i] = exact[i] - nearest[i]
    return rounded_to_tf32(errors)


def narrowed(steps: Sequence[cute.Tensor], dtype: type[cutlass.Numeric]) -> cute.Tensor:
    """The fragments of f32 of one or two steps, eight along K each, rounded to one of `dtype`: nearest, ties to even.

    Of a row, a lane has the elements t and t + 4 of each eight of K, and those at 2 t and 2 t + 1 of each eight in the
    wider fragment. It may take the former for the latter, since it does so for A and B alike.
    """
    halves = cute.size(steps[0], mode=[0]) // 2
    """Of the rows of an instruction that a lane has elements of: 2 of A, 1 of B."""
    rows = cute.size(steps[0], mode=[1])
    shape = (2, *((2,) if halves == 2 else ()), *((2,) if len(steps) == 2 else ()))
    exact = cute.make_rmem_tensor((shape if len(shape) > 1 else 2, rows), cutlass.Float32)
    for number, step in enumerate(steps):
        values = cute.recast_tensor(step, cutlass.Float32)
        for row, half, pair in product(range(rows), range(halves), range(2)):
            exact[pair + 2 * (half + halves * number), row] = values[half + halves * pair, row]
    rounded = cute.make_rmem_tensor(exact.shape, dtype)
    rounded.store(exact.load().to(dtype))
    return rounded


@dsl_user_op
def multiply_f64(a, b, c, *, loc=None, ip=None):
    """The four sums of an f64 (16, 8, K), for which the DSL has no atom.

    For each four along K, `b` has a value, and `a` one of its upper and one of its lower half.
    """
    operands = [cutlass.Float64(each).ir_value(loc=loc, ip=ip) for each in (*a, *b, *c)]
    names = [f"${4 + index}" for index in range(len(a) + len(b))]
    sums = "{$0, $1, $2, $3}"
    result = llvm.inline_asm(
        llvm.StructType.get_literal([T.f64()] * 4),
        operands,
        f"mma.sync.aligned.m16n8k{4 * len(b)}.row.col.f64.f64.f64.f64 "
        f"{sums}, {{{', '.join(names[: len(a)])}}}, {{{', '.join(names[len(a) :])}}}, {sums};",
        ",".join(["=d"] * 4 + ["d"] * len(names) + ["0", "1", "2", "3"]),
        loc=loc,
        ip=ip,
    )
    places = (ir.DenseI64ArrayAttr.get([i]) for i in range(4))
    return [cutlass.Float64(llvm.extractvalue(T.f64(), result, place, loc=loc, ip=ip)) for place in places]
