"""Epilogues from plain Python functions, the same one over a product and over a convolution.

In cells, as editors and `tools/make_notebook.py` know them: `traced_epilogue.ipynb` is the same with outputs. Runs on
the CPU emulator. For arrays of torch or cupy on a GPU, leave out `device="cpu"`.
"""

# %% [markdown]
# # Traced epilogues
#
# A function of the sums, `accum`, says what becomes of any one element. Its other parameters are operands: a `Full` one
# has an element for each of D's, a `Row` one for each column of D, which of a convolution is a channel. It may have
# several results, and results that are reductions.

# %%
import numpy as np

from cutecc.operations import Conv2d, Full, Gemm, Row, Scalar
from cutecc.operations.epilogue.functions import max, minimum, relu


def normalized(accum, scale, shift, residual, bound=6.0):
    before = accum * scale + shift
    D = relu(before) + residual
    peaks = max(D, axis=0)
    return {"D": minimum(D, bound), "before": before, "peaks": peaks}


operands = {
    "scale": Row("f32"),
    "shift": Row("f32"),
    "residual": Full("f16"),
    "bound": Scalar("f32", default=6.0),
    "before": Full("f16"),
    "peaks": Row("f32"),
}


def expected(sums, scale, shift, residual, bound):
    before = sums * scale + shift
    D = np.maximum(before, 0) + residual
    return np.minimum(D, bound), before, D.reshape(-1, D.shape[-1]).max(axis=0)


def close(found, wanted):
    return [np.allclose(one, other, rtol=2e-3, atol=2e-2) for one, other in zip(found, wanted, strict=True)]


generator = np.random.default_rng(0)

# %% [markdown]
# ## Over a product

# %%
parts = {"epilogue": normalized, "operands": operands, "target": "sm_80", "tile": "32x32x32:stages=2:warps=1x1x1"}
gemm = Gemm("f16", "f16", **parts)
for step in gemm.epilogue.steps:
    print(step.name, "=", step.operation, *step.arguments)

A, B, residual = (generator.standard_normal(shape).astype("f2") for shape in ((40, 32), (32, 24), (40, 24)))
scale, shift = (generator.standard_normal(24).astype("f4") for _ in range(2))
D, before, peaks = np.empty((40, 24), "f2"), np.empty((40, 24), "f2"), np.empty(24, "f4")
vectors = {"scale": scale, "shift": shift, "peaks": peaks}
gemm.run(A, B, D=D, residual=residual, before=before, bound=3.0, **vectors, device="cpu")
wanted = expected(A.astype("f8") @ B.astype("f8"), scale, shift, residual, 3.0)
print(close((D, before, peaks), wanted))

# %% [markdown]
# ## Over a convolution
#
# Full operands have D's shape, and rows a value for each channel.

# %%
conv = Conv2d("fprop", "f16", **parts)
x, weight, residual = (
    generator.standard_normal(size).astype("f2") for size in ((1, 5, 6, 8), (24, 2, 2, 8), (1, 4, 5, 24))
)
D, before = np.empty((1, 4, 5, 24), "f2"), np.empty((1, 4, 5, 24), "f2")
conv.run(x, weight, D=D, residual=residual, before=before, **vectors, device="cpu")
taps = [(r, s, x[:, r : r + 4, s : s + 5].astype("f8")) for r in range(2) for s in range(2)]
sums = sum(seen @ weight[:, r, s].T for r, s, seen in taps)
print(close((D, before, peaks), expected(sums, scale, shift, residual, 6.0)))
