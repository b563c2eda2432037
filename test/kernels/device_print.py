"""Print scalars, a layout and a vector of a tensor from the device, and copy the tensor meanwhile.

Exercises `cute.printf` on host and device, `cute.print_tensor`, and trace-time `print` of static values.
"""

# cutecc: entry = "device_print"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[4, ?N=8]"
# cutecc: args.y = "f32[4, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "2 * 4 * N * 4"

import cutlass
from cutlass import cute


@cute.kernel
def print_kernel(x: cute.Tensor, y: cute.Tensor):
    row, _, _ = cute.arch.thread_idx()
    total = cutlass.Float32(0.0)
    for column in range(x.shape[1]):
        total += x[row, column]
        y[row, column] = x[row, column]
    if row == 0:
        cute.printf("layout {}", x.layout)
        fragment = cute.make_rmem_tensor(4, cutlass.Float32)
        fragment.fill(total)
        cute.print_tensor(fragment)
    cute.printf("row %d of {}: sum %f", row, cute.size(x, mode=[0]), total)


@cute.jit
def device_print(x: cute.Tensor, y: cute.Tensor):
    """y = x for (4, N) tensors, with messages."""
    cute.printf("columns: {}", x.shape[1])
    print_kernel(x, y).launch(grid=[1, 1, 1], block=[4, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x + 0
