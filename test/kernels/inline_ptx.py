"""Inline PTX: a fused multiply-add rounded towards zero, a 128-bit streaming load, and a byte permutation.

Exercises `llvm.inline_asm` with one result, a struct of four results, pointer operands and immediates.
"""

# cutecc: entry = "inline_ptx"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N{div=4}=1000] align=16"
# cutecc: args.y = "f32[?N{div=4}] align=16"
# cutecc: args.swapped = "u32[?N{div=4}] align=16"
# cutecc: args.scale = "f32=1.1"
# cutecc: reference = "reference"
# cutecc: outputs = ["y", "swapped"]
# cutecc: tolerance = 3e-7
# cutecc: bytes = "3 * N * 4"
# cutecc: flops = "2 * N"

import cutlass
from cutlass import cute
from cutlass._mlir import ir
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op

THREADS = 64
WIDTH = 4


@dsl_user_op
def fma_towards_zero(a, b, c, *, loc=None, ip=None) -> cutlass.Float32:
    """a * b + c, rounded towards zero."""
    operands = [cutlass.Float32(v).ir_value(loc=loc, ip=ip) for v in (a, b, c)]
    asm = "fma.rz.f32 $0, $1, $2, $3;"
    return cutlass.Float32(llvm.inline_asm(T.f32(), operands, asm, "=f,f,f,f", has_side_effects=False, loc=loc, ip=ip))


@dsl_user_op
def load_streaming(pointer: cute.Pointer, *, loc=None, ip=None) -> tuple[cutlass.Float32, ...]:
    """Four f32 from an address aligned to 16 bytes, marked as not to be read again."""
    four = llvm.StructType.get_literal([T.f32()] * 4)
    asm = "ld.global.cs.v4.f32 {$0, $1, $2, $3}, [$4];"
    address = pointer.toint(loc=loc, ip=ip).ir_value(loc=loc, ip=ip)
    loaded = llvm.inline_asm(four, [address], asm, "=f,=f,=f,=f,l", has_side_effects=True, loc=loc, ip=ip)
    return tuple(
        cutlass.Float32(llvm.extractvalue(T.f32(), loaded, ir.DenseI64ArrayAttr.get([i]), loc=loc, ip=ip))
        for i in range(4)
    )


@dsl_user_op
def swap_bytes(v, *, loc=None, ip=None) -> cutlass.Uint32:
    """The bits of an f32 with its bytes in reverse order."""
    operand = cutlass.Float32(v).ir_value(loc=loc, ip=ip)
    asm = "{ .reg .b32 bits; mov.b32 bits, $1; prmt.b32 $0, bits, 0, 0x0123; }"
    return cutlass.Uint32(llvm.inline_asm(T.i32(), [operand], asm, "=r,f", has_side_effects=False, loc=loc, ip=ip))


@cute.kernel
def ptx_kernel(x: cute.Tensor, y: cute.Tensor, swapped: cute.Tensor, scale: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = (block * THREADS + thread) * WIDTH
    if first < cute.size(x):
        values = load_streaming(x.iterator + first)
        for i in cutlass.range_constexpr(WIDTH):
            y[first + i] = fma_towards_zero(values[i], scale, 1.0)
            swapped[first + i] = swap_bytes(values[i])


@cute.jit
def inline_ptx(x: cute.Tensor, y: cute.Tensor, swapped: cute.Tensor, scale: cutlass.Float32):
    """y = scale * x + 1 and swapped = the bytes of x reversed, for vectors of N."""
    ptx_kernel(x, y, swapped, scale).launch(
        grid=[cute.ceil_div(cute.size(x), THREADS * WIDTH), 1, 1], block=[THREADS, 1, 1]
    )


def reference(x, y, swapped, scale):
    """The expected `y` and `swapped`."""
    import numpy as np

    return (x.astype("float64") * np.float32(scale) + 1).astype("float32"), x.view("uint32").byteswap()
