"""Kernels whose operations come from many places."""

import cutlass
import line_library
from cutlass import cute


def plus_one(value):
    return value + 1.0


def twice_removed(value):
    return plus_one(value * 3.0)


@cute.jit
def raised(value):
    if value > 5.0:
        value = value + 2.0
    return value


def recursive(value, depth: int):
    if cutlass.const_expr(depth == 0):
        return value * 7.0
    return recursive(value, depth - 1)


@cute.kernel
def many_ways_kernel(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()

    def inner(value):
        return value * 2.0

    for i in range(thread):
        if i < cute.size(x):
            x[i] = (lambda value: twice_removed(value))(x[i]) * inner(x[i])
            x[i] = raised(x[i])
    while thread < 10:
        thread = thread + 1
    bound = 1 if thread > 4 else 2
    x[bound] = recursive(x[0], 2)
    x[bound + 1] = sum([value + 0.5 for value in (x[3], x[4])])
    x[bound + 2] = line_library.scaled(x[bound], x[5])


@cute.jit
def many_ways(x: cute.Tensor):
    many_ways_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])


class Scaler:
    @cute.jit
    def __call__(self, x: cute.Tensor):
        self.kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, x: cute.Tensor):
        x[0] = self.scaled(x[1])

    def scaled(self, value):
        return value * 4.0


class Doubler:
    @cute.jit
    def __call__(self, x: cute.Tensor):
        self.kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])

    @cute.kernel
    def kernel(self, x: cute.Tensor):
        for index in cutlass.range(x.shape[0]):
            x[index] = kernel(x[index])


def kernel(value):
    return value * 2.0


class Inherited(Doubler):
    pass


@cute.jit
def fails(x: cute.Tensor):
    raise ValueError("not today")
