"""A product with a bias, GELU and the sum of each row fused into it, from a plain Python function.

Runs on the CPU emulator. For arrays of torch or cupy on a GPU, leave out `device="cpu"`.
"""

import math

import numpy as np

from cutecc.operations import Column, Gemm, Row
from cutecc.operations.epilogue.functions import gelu, sum


def bias_gelu(accum, bias):
    D = gelu(accum + bias)
    sums = sum(D, axis=1)
    return D, sums


op = Gemm(
    a="f16:row",
    b="f16:column",  # a weight of N×K, read as its transposed
    epilogue=bias_gelu,
    operands={"bias": Row("f16"), "sums": Column("f32")},
    tile="64x32x64",  # small, to compile fast; without it the best for large products is chosen
    target="sm_90a",
)
print(op.epilogue)

generator = np.random.default_rng(0)
x, weight, bias = (generator.standard_normal(shape).astype("f2") for shape in ((200, 72), (136, 72), (136,)))
D, sums = np.empty((200, 136), "f2"), np.empty(200, "f4")
op.run(x, weight.T, D=D, bias=bias, sums=sums, device="cpu")

before = x.astype("f8") @ weight.T.astype("f8") + bias
expected = before * (1 + np.vectorize(math.erf)(before / math.sqrt(2))) / 2
print("D:", np.allclose(D, expected, rtol=1e-3, atol=1e-3))
print("sums:", np.allclose(sums, expected.sum(axis=1), rtol=1e-5, atol=1e-3))

op.bundle("bias_gelu.operation")
print(op.report("bias_gelu.html"))
