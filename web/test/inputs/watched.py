"""A program that compiles one function three times, for the list of a watch."""

import cutlass
import cutlass.cute as cute


@cute.kernel
def double_kernel(a: cute.Tensor, times: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    for _ in cutlass.range_constexpr(times):
        a[thread] = a[thread] + a[thread]


@cute.jit
def double(a: cute.Tensor, times: cutlass.Constexpr):
    double_kernel(a, times).launch(grid=(1, 1, 1), block=(32, 1, 1))


def vector(dtype, size):
    return cute.runtime.make_fake_compact_tensor(dtype, (size,), stride_order=(0,))


cute.compile(double, vector(cutlass.Float32, 64), 1)
cute.compile(double, vector(cutlass.Float32, 64), 3)
cute.compile(double, vector(cutlass.Float64, 128), 3)
