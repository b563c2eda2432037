"""Integer GEMM, i8 x i8 into i32, with the tensor-core instruction as inline PTX; one warp a 16 x 8 tile.

Exercises inline assembly with ten operands and four results, recast tensors, and the fragment layout by hand.
"""

# cutecc: entry = "mma_int8"
# cutecc: target = "sm_80"
# cutecc: args.a = "i8[?M{div=16}=48, ?K{div=32}=96] align=16"
# cutecc: args.b = "i8[?N{div=8}=40, ?K{div=32}] align=16"
# cutecc: args.c = "i32[?M, ?N{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "M * K + N * K + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op


@dsl_user_op
def mma_m16n8k32(a, b, c, *, loc=None, ip=None) -> tuple[cutlass.Int32, ...]:
    """a * b + c, where a holds four, b two words of four i8, and c four i32."""
    operands = [cutlass.Int32(v).ir_value(loc=loc, ip=ip) for v in (*a, *b, *c)]
    asm = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {$0,$1,$2,$3}, {$4,$5,$6,$7}, {$8,$9}, {$10,$11,$12,$13};"
    four = llvm.StructType.get_literal([T.i32()] * 4)
    constraints = ",".join(["=r"] * 4 + ["r"] * 10)
    result = llvm.inline_asm(four, operands, asm, constraints, has_side_effects=True, loc=loc, ip=ip)
    return tuple(
        cutlass.Int32(llvm.extractvalue(T.i32(), result, ir.DenseI64ArrayAttr.get([i]), loc=loc, ip=ip))
        for i in range(4)
    )


@cute.kernel
def int8_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """a and b come as words of four elements along K."""
    lane, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    # A lane holds rows `group` and `group + 8` of a, row `group` of b, and words `member` and `member + 4` of both.
    group, member = lane // 4, lane % 4
    tile_a = cute.local_tile(a, (16, 8), (block_m, None))
    tile_b = cute.local_tile(b, (8, 8), (block_n, None))
    tile_c = cute.local_tile(c, (16, 8), (block_m, block_n))

    zero = cutlass.Int32(0)
    sums = (zero, zero, zero, zero)
    for step in range(cute.size(tile_a, mode=[2])):
        words_a = (
            tile_a[group, member, step],
            tile_a[group + 8, member, step],
            tile_a[group, member + 4, step],
            tile_a[group + 8, member + 4, step],
        )
        words_b = (tile_b[group, member, step], tile_b[group, member + 4, step])
        sums = mma_m16n8k32(words_a, words_b, sums)

    for i in cutlass.range_constexpr(4):
        tile_c[group + i // 2 * 8, member * 2 + i % 2] = sums[i]


@cute.jit
def mma_int8(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors whose sizes the tile (16, 8, 32) divides."""
    int8_kernel(cute.recast_tensor(a, cutlass.Int32), cute.recast_tensor(b, cutlass.Int32), c).launch(
        grid=[c.shape[0] // 16, c.shape[1] // 8, 1], block=[32, 1, 1]
    )


def reference(a, b, c):
    """The expected `c`."""
    return a.astype("int32") @ b.astype("int32").T
