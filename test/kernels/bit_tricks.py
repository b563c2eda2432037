"""Integer bit operations: counts, reversal, funnel shift, three-input logic, field extraction, high product, a hash.

Exercises unsigned arithmetic and the `cute.arch` wrappers of single integer instructions.
"""

# cutecc: entry = "bit_tricks"
# cutecc: target = "sm_80"
# cutecc: args.x = "u32[?N=1000]"
# cutecc: args.counts = "u32[?N]"
# cutecc: args.mixed = "u32[?N]"
# cutecc: args.wide = "i64[?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["counts", "mixed", "wide"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "N * (3 * 4 + 8)"

import cutlass
from cutlass import cute

THREADS = 128
SELECT = 0xCA  # truth table of `a ? b : c`, bit by bit


@cute.kernel
def bits_kernel(x: cute.Tensor, counts: cute.Tensor, mixed: cute.Tensor, wide: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        v = x[i]
        counts[i] = cute.arch.popc(v) + (cute.arch.clz(v) << 8) + (cute.arch.bfe(v, 4, 7) << 16)

        reversed_ = cute.arch.brev(v)
        rotated = cute.arch.shf(v, v, 13, "l")
        chosen = cute.arch.lop3(v, reversed_, rotated, SELECT)
        hashed = (chosen ^ (chosen >> 16)) * cutlass.Uint32(0x85EBCA6B)
        mixed[i] = hashed ^ cute.arch.mul_hi(hashed, v | cutlass.Uint32(1))

        signed = cutlass.Int64(cutlass.Int32(v)) * cutlass.Int64(-3)
        wide[i] = (signed << 20) ^ (signed >> 7)


@cute.jit
def bit_tricks(x: cute.Tensor, counts: cute.Tensor, mixed: cute.Tensor, wide: cute.Tensor):
    """Bit statistics, a mix and a 64-bit value of each element of a vector of N."""
    bits_kernel(x, counts, mixed, wide).launch(grid=[cute.ceil_div(cute.size(x), THREADS), 1, 1], block=[THREADS, 1, 1])


def reference(x, counts, mixed, wide):
    """The expected `counts`, `mixed` and `wide`."""
    import numpy as np

    word = 0xFFFFFFFF
    rows = []
    for v in (int(e) & word for e in x.tolist()):
        count = v.bit_count() + ((32 - v.bit_length()) << 8) + (((v >> 4) & 127) << 16)
        mirror = int(f"{v:032b}"[::-1], 2)
        rotated = ((v << 13) | (v >> 19)) & word
        chosen = (v & mirror) | (~v & word & rotated)
        hashed = ((chosen ^ (chosen >> 16)) * 0x85EBCA6B) & word
        mix = hashed ^ ((hashed * (v | 1)) >> 32)
        signed = (v - (v >> 31 << 32)) * -3
        rows.append((count, mix, (signed << 20) ^ (signed >> 7)))
    first, second, third = zip(*rows, strict=True)
    return np.array(first, dtype="uint32"), np.array(second, dtype="uint32"), np.array(third, dtype="int64")
