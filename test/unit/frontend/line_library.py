"""What stands for an installed package in tests of lines."""

from cutlass import cute


def scaled(x, factor):
    product = x * factor
    return shifted(product, factor)


def shifted(x, factor):
    return x + factor


@cute.kernel
def library_kernel(x: cute.Tensor):
    x[0] = scaled(x[1], x[2])


@cute.jit
def library_function(x: cute.Tensor):
    library_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
