"""Convolutions: a layer with its bias, residual and ReLU in one kernel, its gradients, and the transposed one.

In cells, as editors and `tools/make_notebook.py` know them: `convolution.ipynb` is the same with outputs. Runs on the
CPU emulator. For arrays of torch or cupy on a GPU, leave out `device="cpu"`.
"""

# %% [markdown]
# # Convolutions
#
# `Conv2d` describes a convolution as `Gemm` does a product: types and alignments of the tensors, what becomes of the
# result, and a target. Tensors of numpy are (N, H, W, C), filters (K, R, S, C); those of torch have torch's shapes, in
# memory that is `channels_last`. Which iterator, tile and kernel compute it is chosen.

# %%
import numpy as np

import cutecc
from cutecc.operations import Conv2d, Row
from cutecc.operations.epilogue.functions import relu

generator = np.random.default_rng(0)
x, y = (generator.standard_normal((1, 6, 6, channels)).astype("f2") for channels in (16, 32))
weight, bias = (generator.standard_normal(shape).astype("f2") for shape in ((32, 3, 3, 16), (32,)))


def close(result, expected):
    return np.allclose(result, expected, rtol=2e-3, atol=2e-2)


# %% [markdown]
# ## A layer in one kernel
#
# The epilogue is a plain Python function of the sums: here the bias of each channel, the activations that a residual
# network adds, and ReLU. It is traced into the kernel.


# %%
def layer(accum, bias, C):
    return relu(accum + bias + C)


op = Conv2d(
    "fprop",
    "f16",
    c="f16",
    epilogue=layer,
    operands={"bias": Row("f16")},  # one value a channel
    tile="64x32x32:stages=3",  # small, to compile fast; without it the best for large layers is chosen
    target="sm_80",
)
print(op.description.kind, op.description.iterator, op.description.gemm.instruction)

D = np.empty_like(y)
op.run(x, weight, y, D, bias=bias, padding=1, device="cpu")


# %% [markdown]
# The same by the definition: each tap of the filter sees the activations from another place.


# %%
def convolve(x, weight, padding):
    rows, columns = (size + 2 * padding - 2 for size in x.shape[1:3])
    around = np.pad(x.astype("f8"), ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    taps = [(r, s, around[:, r : r + rows, s : s + columns]) for r in range(3) for s in range(3)]
    return sum(seen @ weight[:, r, s].T.astype("f8") for r, s, seen in taps)


print("layer:", close(D, np.maximum(convolve(x, weight, 1) + bias + y, 0)))

# %% [markdown]
# ## Gradients
#
# Of the activations (`dgrad`) and of the filters (`wgrad`), from that of the outputs. Of a `wgrad` K is long and D is
# small, so K is split; its sums are f32 here.

# %%
dgrad = Conv2d("dgrad", "f16", d="f32", tile="64x32x32:stages=3", target="sm_80")
wgrad = Conv2d("wgrad", "f16", d="f32", tile="64x32x32:stages=3", target="sm_80")
dx, dw = np.empty(x.shape, "f4"), np.empty(weight.shape, "f4")
dgrad.run(y, weight, D=dx, padding=1, device="cpu")
wgrad.run(y, x, D=dw, padding=1, device="cpu")

# A convolution is linear in both: the gradient of <y, conv(x, w)> in a direction is what the direction gives.
inner = np.vdot(y.astype("f8"), convolve(x, weight, 1))
print("dgrad:", np.allclose(np.vdot(dx, x.astype("f8")), inner, rtol=1e-3))
print("wgrad:", np.allclose(np.vdot(dw, weight.astype("f8")), inner, rtol=1e-3))
print("K is split:", wgrad.description.gemm.mode)

# %% [markdown]
# ## The transposed convolution
#
# It is a `dgrad`: its input takes the place of the outputs. D says how large its result is, which torch says by
# `output_padding`.

# %%
larger = np.empty((1, 12, 12, 16), "f4")
dgrad.run(y, weight, D=larger, padding=1, stride=2, device="cpu")
print(larger.shape, dgrad.supports(y, weight, D=np.empty((1, 14, 12, 16), "f4"), padding=1, stride=2))

# %% [markdown]
# ## What is refused
#
# Before anything is compiled or launched, with the reason and what to do.

# %%
print(op.supports(x.transpose(0, 3, 1, 2), weight, y, D, bias=bias, padding=1))
try:
    Conv2d("dgrad", "f16", iterator="few_channels", target="sm_80")
except cutecc.Error as error:
    print(error)
