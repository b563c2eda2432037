"""Grouped products: a layer of experts in one launch, the gradient of its weights, and lists of any sizes.

In cells, as editors and `tools/make_notebook.py` know them: `grouped_gemm.ipynb` is the same with outputs. Runs on the
CPU emulator. For arrays of torch or cupy on a GPU, leave out `device="cpu"`.
"""

# %% [markdown]
# # Grouped products
#
# `GroupedGemm` multiplies the matrices of many groups in one launch, each group of its own size. Types, layouts, tile
# and epilogue are those of one group's product, described as for `Gemm`; `packing` says how the matrices of all groups
# lie in memory.

# %%
from itertools import accumulate

import numpy as np

import cutecc
from cutecc.operations import GroupedGemm, Row
from cutecc.operations.epilogue.functions import silu

generator = np.random.default_rng(0)


def random(*shape):
    return generator.standard_normal(shape).astype("f2")


def close(result, expected):
    return np.allclose(result, expected, rtol=2e-3, atol=2e-2)


# %% [markdown]
# ## A layer of experts
#
# Tokens are sorted by their experts: those of the first come first. `rows` packs them below each other, (ΣM, K), and
# the weights of all experts into (groups, K, N). `offsets` say where the tokens of each expert end. On a GPU they are
# int32 where a kernel has just computed them, and nobody reads them back. An expert may have no tokens.


# %%
def expert(accum, bias):
    return silu(accum + bias)


layer = GroupedGemm(
    "f16",
    "f16",
    packing="rows",
    epilogue=expert,
    operands={"bias": Row("f16")},  # (groups, N): a row for each expert
    tile="64x32x32:stages=3",  # small, to compile fast; without it the best for `problem`, or large groups, is chosen
    target="sm_80",
)
print(layer.description.packing, "of", layer.description.gemm.instruction)

tokens = [40, 0, 7, 70]
ends = [*accumulate(tokens)]
x, weights, bias = random(ends[-1], 48), random(4, 48, 64), random(4, 64)
D = np.empty((ends[-1], 64), "f2")
layer.run(x, weights, D=D, bias=bias, offsets=ends, device="cpu")

# %% [markdown]
# The same by a loop over the experts:

# %%
spans = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
sums = np.concatenate([x[span].astype("f8") @ w + b for span, w, b in zip(spans, weights, bias, strict=True)])
print("layer:", close(D, sums / (1 + np.exp(-sums))))

# %% [markdown]
# ## The gradient of the weights
#
# Here K varies: `depth` packs A into (M, ΣK) and B into (ΣK, N), and each group has a D of its own, (groups, M, N).
# With the same offsets, A is the transposed tokens and B the gradient of the result. An expert without tokens gets
# zeros.

# %%
gradient = GroupedGemm("f16:column", "f16", d="f32", packing="depth", tile="32x32x32:stages=3", target="sm_80")
dy, dw = random(ends[-1], 64), np.empty((4, 48, 64), "f4")
gradient.run(x.T, dy, D=dw, offsets=ends, device="cpu")
expected = np.stack([x[span].T.astype("f8") @ dy[span] for span in spans])
print("weights:", close(dw, expected), "zeros:", not dw[1].any())

# %% [markdown]
# ## Lists of matrices
#
# Without `packing`, each group has matrices of its own anywhere in memory, and any M, N and K.

# %%
several = GroupedGemm("f16", "f16", d="f32", tile="32x32x32:stages=3", target="sm_80")
sizes = [(24, 8, 40), (8, 72, 16), (33, 16, 0)]
A, B = [random(m, k) for m, _, k in sizes], [random(k, n) for _, n, k in sizes]
results = [np.empty((m, n), "f4") for m, n, _ in sizes]
several.run(A, B, D=results, alpha=0.5, device="cpu")
print([close(d, 0.5 * (a.astype("f8") @ b)) for a, b, d in zip(A, B, results, strict=True)])

# %% [markdown]
# ## What is refused
#
# Before anything is compiled or launched, with the reason and what to do.

# %%
print(layer.supports(x, weights, D=D, bias=bias, offsets=[0, *ends]))
print(layer.supports(x, weights, D=D, bias=bias, offsets=tokens))
try:
    GroupedGemm("f16", "f16:row:2", packing="rows", unit="wgmma", target="sm_90a")
except cutecc.Error as error:
    print(error.message)
