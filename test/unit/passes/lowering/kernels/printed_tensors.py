"""Print tensors of every rank and many types, from the device and from the host."""

# cutecc: entry = "print_tensors"
# cutecc: target = "sm_90a"
# cutecc: args.matrix = "f32[8, ?N=9]"
# cutecc: args.cube = "f16[3, 2, ?N]"
# cutecc: args.small = "i8[5]"
# cutecc: args.four = "u8[2, 2, 2, 2]"
# cutecc: args.wide = "i64[3, 7]"
# cutecc: args.eighths = "f8e4m3fn[8]"
# cutecc: args.out = "f32[8]"
# cutecc: outputs = ["out"]

import cutlass
from cutlass import cute


@cute.kernel
def print_kernel(
    matrix: cute.Tensor,
    cube: cute.Tensor,
    small: cute.Tensor,
    four: cute.Tensor,
    wide: cute.Tensor,
    eighths: cute.Tensor,
    out: cute.Tensor,
):
    thread, _, _ = cute.arch.thread_idx()
    out[thread] = matrix[thread, 0]
    if thread == 0:
        cute.print_tensor(matrix)
        cute.print_tensor(matrix, verbose=True)
        cute.print_tensor(cube)
        cute.print_tensor(cube, verbose=True)
        cute.print_tensor(small)
        cute.print_tensor(four)
        cute.print_tensor(four, verbose=True)
        cute.print_tensor(wide)
        cute.print_tensor(eighths)
        coordinates = cute.make_identity_tensor((4, cute.size(matrix, mode=[1])))
        cute.print_tensor(coordinates)
        cute.print_tensor(cute.local_tile(coordinates, (2, 3), (1, 1)), verbose=True)
        truths = cute.make_rmem_tensor((3, 2), cutlass.Boolean)
        for index in cutlass.range_constexpr(6):
            truths[index] = matrix[index, 0] > 0.0
        cute.print_tensor(truths)
        shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.BFloat16, cute.make_layout((4, 4)), 16)
        for index in range(16):
            shared[index] = cutlass.BFloat16(index - 8)
        cute.print_tensor(shared)
        cute.print_tensor(shared.load())
        # -0 has no sign to make room for, nan neither.
        odd = cute.make_rmem_tensor((2,), cutlass.Float32)
        odd[0] = cutlass.Float32(-0.0)
        odd[1] = matrix[0, 0] * cutlass.Float32(float("inf")) * cutlass.Float32(0.0)
        cute.print_tensor(odd)
        # A message has as many elements of a tensor as it can take.
        cute.printf("{} at {}: {} and {}", thread, shared.iterator, shared, matrix)
        cute.printf("{} {}", 5, cute.make_rmem_tensor((40,), cutlass.Float32).layout)


@cute.jit
def print_tensors(
    matrix: cute.Tensor,
    cube: cute.Tensor,
    small: cute.Tensor,
    four: cute.Tensor,
    wide: cute.Tensor,
    eighths: cute.Tensor,
    out: cute.Tensor,
):
    """Messages of all kinds."""
    cute.print_tensor(cute.make_identity_tensor((4, cute.size(matrix, mode=[1]))))
    cute.printf("unsigned {}, signed {}", cutlass.Uint8(200), cutlass.Int8(-56))
    print_kernel(matrix, cube, small, four, wide, eighths, out).launch(grid=[1, 1, 1], block=[8, 1, 1])
