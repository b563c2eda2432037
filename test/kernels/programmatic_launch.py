"""Two dependent kernels, the second launched early: its prologue overlaps the first one's tail.

Exercises programmatic dependent launch: `griddepcontrol`, the `use_pdl` launch attribute, and a stream.
"""

# cutecc: entry = "programmatic_launch"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?N=5000]"
# cutecc: args.squares = "f32[?N]"
# cutecc: args.y = "f32[?N]"
# cutecc: args.stream = "stream"
# cutecc: reference = "reference"
# cutecc: outputs = ["squares", "y"]
# cutecc: tolerance = 1e-6
# cutecc: bytes = "5 * N * 4"

from cuda.bindings.driver import CUstream
from cutlass import cute

THREADS = 128


@cute.kernel
def square_kernel(x: cute.Tensor, squares: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    cute.arch.griddepcontrol_launch_dependents()
    i = block * THREADS + thread
    if i < cute.size(x):
        squares[i] = x[i] * x[i]


@cute.kernel
def neighbour_kernel(x: cute.Tensor, squares: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    count = cute.size(x)
    neighbour = (i + THREADS) % count  # another block's element
    if i < count:
        own = x[i]  # not written by the first kernel, so it may be read before the wait
        cute.arch.griddepcontrol_wait()
        y[i] = own + squares[neighbour]


@cute.jit
def programmatic_launch(x: cute.Tensor, squares: cute.Tensor, y: cute.Tensor, stream: CUstream):
    """squares = x * x and y[i] = x[i] + squares[(i + 128) % N] for vectors of N."""
    grid = [cute.ceil_div(cute.size(x), THREADS), 1, 1]
    square_kernel(x, squares).launch(grid=grid, block=[THREADS, 1, 1], stream=stream)
    neighbour_kernel(x, squares, y).launch(grid=grid, block=[THREADS, 1, 1], stream=stream, use_pdl=True)


def reference(x, squares, y):
    """The expected `squares` and `y`."""
    square = x * x
    ahead = [(i + THREADS) % x.shape[0] for i in range(x.shape[0])]
    return square, x + square[ahead]
