"""Sum pieces of four elements, loaded as one vector, from the second element of the tensor on."""

# cutecc: entry = "offset_by_one_element"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[132] align=16"
# cutecc: args.y = "f32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def sum_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    first = x.iterator + (4 - 3 * bug)
    # The address is said to be aligned to 16 bytes, whether or not it is.
    aligned = cute.make_ptr(cutlass.Float32, first.toint(), cute.AddressSpace.gmem, assumed_align=16)
    four = cute.make_rmem_tensor(4, cutlass.Float32)
    cute.autovec_copy(cute.make_tensor(aligned, cute.make_layout((4, 32)))[None, thread], four)  # bug: misaligned
    y[thread] = (four[0] + four[1]) + (four[2] + four[3])


@cute.jit
def offset_by_one_element(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sums of fours of x, from the fifth element on."""
    sum_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    four = x[4:].reshape(32, 4)
    return (four[:, 0] + four[:, 1]) + (four[:, 2] + four[:, 3])
