"""Host functions that the tests of the front end trace."""

from typing import NamedTuple

import cutlass
import cutlass.cute as cute
from cuda.bindings.driver import CUstream
from cutlass.base_dsl import BaseDSL


class Pair(NamedTuple):
    tensor: cute.Tensor
    count: cutlass.Int32


@cute.kernel
def scale_kernel(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = x[thread] * 2


@cute.jit
def scale(x: cute.Tensor):
    scale_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])


@cute.jit
def crowded(x: cute.Tensor):
    scale_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1], min_blocks_per_mp=2)


@cute.jit
def everything(
    x: cute.Tensor,
    n: cutlass.Int32,
    factor: float,
    mode: cutlass.Constexpr,
    pair: Pair,
    several: tuple[cute.Tensor, cutlass.Float32],
    pointer: cute.Pointer,
    stream: CUstream,
    missing: cute.Tensor | None,
    untyped,
    default: cutlass.Constexpr = 7,
):
    assert isinstance(pair, Pair)
    assert missing is None
    print_arguments(mode, default)


seen: list[object] = []
"""The constants of the last trace of `everything`."""


def print_arguments(*values):
    seen[:] = values


@cute.jit
def constant(value: cutlass.Constexpr):
    print_arguments(value)


@cute.jit
def numbers(n: cutlass.Int64, wide: cutlass.Float64, flag: cutlass.Boolean, plain: int):
    pass


@cute.jit
def any_number(*tensors: cute.Tensor, **named: cute.Tensor):
    pass


@cute.jit
def array_view(x: cutlass.Array):
    pass


@cute.kernel
def arch_kernel(x: cute.Tensor):
    if cutlass.const_expr(BaseDSL._get_dsl().get_arch_enum().name == "sm_90a"):
        x[0] = 90.0
    else:
        x[0] = 80.0


@cute.jit
def arch_dependent(x: cute.Tensor):
    arch_kernel(x).launch(grid=[1, 1, 1], block=[1, 1, 1])


@cute.jit
def fails(x: cute.Tensor):
    raise ValueError("as it should")


class Gemm:
    """A configured object, as most public kernels are."""

    def __init__(self, tile: int = 64):
        self.tile = tile

    @cute.jit
    def __call__(self, x: cute.Tensor):
        print_arguments(self.tile)

    @cute.jit
    def run(self, x: cute.Tensor, n: cutlass.Int32 = 3):
        pass


def not_a_kernel(x):
    pass
