"""Dropout with a counter-based generator (Philox, ten rounds): element i of the mask depends on the seed and i alone.

Exercises 32 x 32 to 64-bit products, unsigned arithmetic that wraps, and a loop unrolled at trace time over a tuple.
"""

# cutecc: entry = "random_dropout"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=5000]"
# cutecc: args.y = "f32[?N]"
# cutecc: args.seed = "u64=42"
# cutecc: args.keep = "f32=0.75"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-6
# cutecc: bytes = "2 * N * 4"

import cutlass
from cutlass import cute

THREADS = 128
LANES = 4  # random words a counter yields
ROUNDS = 10
FACTORS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)


@cute.jit
def philox(counter: cutlass.Uint32, seed: cutlass.Uint64):
    """Four random 32-bit words for one value of the counter."""
    zero = cutlass.Uint32(0)
    words = (counter, zero, zero, zero)
    key = (cutlass.Uint32(seed), cutlass.Uint32(seed >> 32))
    first, second = (cutlass.Uint32(factor) for factor in FACTORS)
    for _ in cutlass.range_constexpr(ROUNDS):
        words = (
            cute.arch.mul_hi(second, words[2]) ^ words[1] ^ key[0],
            second * words[2],
            cute.arch.mul_hi(first, words[0]) ^ words[3] ^ key[1],
            first * words[0],
        )
        key = (key[0] + cutlass.Uint32(KEY_STEPS[0]), key[1] + cutlass.Uint32(KEY_STEPS[1]))
    return words


@cute.kernel
def dropout_kernel(x: cute.Tensor, y: cute.Tensor, seed: cutlass.Uint64, keep: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    counter = block * THREADS + thread
    words = philox(cutlass.Uint32(counter), seed)
    for lane in cutlass.range_constexpr(LANES):
        i = counter * LANES + lane
        if i < cute.size(x):
            # The upper 24 bits as a number from 0 to 1, exact in f32.
            chance = cutlass.Float32(words[lane] >> 8) * 2.0**-24
            value = cutlass.Float32(0.0)
            if chance < keep:
                value = x[i] / keep
            y[i] = value


@cute.jit
def random_dropout(x: cute.Tensor, y: cute.Tensor, seed: cutlass.Uint64, keep: cutlass.Float32):
    """y = x / keep where a random number is below `keep`, else 0, for vectors of N."""
    dropout_kernel(x, y, seed, keep).launch(
        grid=[cute.ceil_div(cute.size(x), THREADS * LANES), 1, 1], block=[THREADS, 1, 1]
    )


def reference(x, y, seed, keep):
    """The expected `y`."""
    import numpy as np

    word = np.uint64(0xFFFFFFFF)
    n = x.shape[0]
    counter = np.arange(-(-n // LANES), dtype="uint64")
    zero = np.zeros_like(counter)
    words = [counter, zero, zero, zero]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(ROUNDS):
        first, second = words[0] * np.uint64(FACTORS[0]), words[2] * np.uint64(FACTORS[1])
        words = [
            (second >> np.uint64(32)) ^ words[1] ^ np.uint64(key[0]),
            second & word,
            (first >> np.uint64(32)) ^ words[3] ^ np.uint64(key[1]),
            first & word,
        ]
        key = [(k + step) & 0xFFFFFFFF for k, step in zip(key, KEY_STEPS, strict=True)]
    chance = (np.stack(words, 1).reshape(-1)[:n] >> np.uint64(8)) * 2.0**-24
    keep = np.float32(keep)
    return np.where(chance < keep, x / keep, np.float32(0))
