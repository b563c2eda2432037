"""Uses `cute.symbolic`, a number that some pass is to put in: what has none when lowering ends means nothing."""

# cutecc: entry = "open_symbol"
# cutecc: target = "sm_80"
# cutecc: args.y = "i32[8]"
# cutecc: outputs = ["y"]

from cutlass import Int32, cute
from cutlass._mlir.dialects import cute as operations


@cute.kernel
def open_symbol_kernel(y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = Int32(operations.symbolic(Int32.mlir_type, "step"))


@cute.jit
def open_symbol(y: cute.Tensor):
    """No lowering gives y a value."""
    open_symbol_kernel(y).launch(grid=[1, 1, 1], block=[8, 1, 1])
