"""Epilogues by name: functions of the sums that every operation can end with.

In cells, as editors and `tools/make_notebook.py` know them: `epilogue_functors.ipynb` is the same with outputs. Runs on
the CPU emulator. For arrays of torch or cupy on a GPU, leave out `device="cpu"`.
"""

# %% [markdown]
# # Epilogues by name
#
# What becomes of the sums of a product or a convolution is its epilogue. `linear_combination`, the usual one, is
# D = alpha * sums + beta * C; others are a function of that.

# %%
import math

import numpy as np

from cutecc.operations import Conv2d, Gemm, compile_all

functions = {
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
}

# %% [markdown]
# ## Of a product
#
# Each is a kernel of its own; `compile_all` compiles several in parallel.

# %%
parts = {"a": "f16", "b": "f16", "d": "f32", "target": "sm_80", "tile": "32x32x32:stages=2:warps=1x1x1"}
operations = {name: Gemm(**parts, epilogue=name) for name in functions}
compile_all(list(operations.values()))

generator = np.random.default_rng(0)
A, B = (generator.standard_normal(shape).astype("f2") for shape in ((40, 48), (48, 32)))
for name, op in operations.items():
    D = np.empty((40, 32), "f4")
    op.run(A, B, D=D, alpha=0.5, device="cpu")
    expected = functions[name](0.5 * (A.astype("f8") @ B.astype("f8")))
    print(f"{name}: {np.allclose(D, expected, rtol=1e-4, atol=1e-4)}")

# %% [markdown]
# ## Of a convolution
#
# The same names.

# %%
op = Conv2d("fprop", "f16", d="f32", epilogue="relu", target="sm_80", tile="32x32x32:stages=2:warps=1x1x1")
x, weight = (generator.standard_normal(shape).astype("f2") for shape in ((1, 4, 5, 16), (8, 1, 1, 16)))
D = np.empty((1, 4, 5, 8), "f4")
op.run(x, weight, D=D, device="cpu")
print("relu:", np.allclose(D, np.maximum(x.astype("f8") @ weight[:, 0, 0].T, 0), rtol=1e-4, atol=1e-4))

# %% [markdown]
# What they compute, step by step:

# %%
for each in (operations["gelu"], op):
    print(each.epilogue.name, [(step.name, step.operation, step.arguments) for step in each.epilogue.steps])
