"""Collatz steps and digit sums: a `while` inside a `for` inside an `if`, with `elif` and conditional stores.

Exercises structured control flow that carries several values, short-circuit conditions, and tensors written under `if`.
"""

# cutecc: entry = "control_flow"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[?N=1000]"
# cutecc: args.steps = "i32[?N]"
# cutecc: args.kinds = "i32[?N]"
# cutecc: args.limit = "i32=64"
# cutecc: reference = "reference"
# cutecc: outputs = ["steps", "kinds"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "3 * N * 4"

import cutlass
from cutlass import cute

THREADS = 64
ROUNDS = 3


@cute.kernel
def collatz_kernel(x: cute.Tensor, steps: cute.Tensor, kinds: cute.Tensor, limit: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread

    if i < cute.size(x):
        start = x[i] & 1023
        count = cutlass.Int32(0)
        # Each round starts one higher; a round ends at 1 or when the budget is spent.
        for round_ in range(ROUNDS):
            value = start + round_
            while value > 1 and count < limit:
                if value % 2 == 0:
                    value //= 2
                else:
                    value = 3 * value + 1
                count += 1
        steps[i] = count

        kind = cutlass.Int32(0)
        if count == limit:
            kind = cutlass.Int32(3)
        elif count > limit // 2:
            kind = cutlass.Int32(2)
            if start % 3 == 0 or start % 5 == 0:
                kind = -kind
        elif start != 0:
            kind = cutlass.Int32(1)
        kinds[i] = kind


@cute.jit
def control_flow(x: cute.Tensor, steps: cute.Tensor, kinds: cute.Tensor, limit: cutlass.Int32):
    """Collatz step counts and a class for each element of a vector of N."""
    collatz_kernel(x, steps, kinds, limit).launch(
        grid=[cute.ceil_div(cute.size(x), THREADS), 1, 1], block=[THREADS, 1, 1]
    )


def reference(x, steps, kinds, limit):
    """The expected `steps` and `kinds`."""
    import numpy as np

    counts, classes = [], []
    for start in (x & 1023).tolist():
        count = 0
        for round_ in range(ROUNDS):
            value = start + round_
            while value > 1 and count < limit:
                value = value // 2 if value % 2 == 0 else 3 * value + 1
                count += 1
        kind = 0
        if count == limit:
            kind = 3
        elif count > limit // 2:
            kind = -2 if start % 3 == 0 or start % 5 == 0 else 2
        elif start != 0:
            kind = 1
        counts.append(count)
        classes.append(kind)
    return np.array(counts, dtype="int32"), np.array(classes, dtype="int32")
