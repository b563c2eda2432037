"""The basics of `Gemm`: a product described, run, with other tiles, on other units, and refused.

In cells, as editors and `tools/make_notebook.py` know them: `basic_gemm.ipynb` is the same with outputs. Runs on the
CPU emulator. For arrays of torch or cupy on a GPU, leave out `device="cpu"`.
"""

# %% [markdown]
# # Basics: a matrix product
#
# An operation is described by the types and layouts of its matrices. What else there is to it, instruction, tile,
# stages, warps, is chosen. Nothing is compiled until it is needed.

# %%
import numpy as np

import cutecc
from cutecc.operations import Gemm, find

generator = np.random.default_rng(0)
A, B, C = (generator.integers(-4, 5, shape).astype("f2") for shape in ((48, 40), (40, 56), (48, 56)))
D = np.empty((48, 56), "f2")
product = A.astype("f4") @ B.astype("f4")

op = Gemm("f16", "f16", "f16", "f16", target="sm_80", tile="64x64x32:stages=3:warps=2x2x1", swizzle="identity1")
print(op.description.name)

# %% [markdown]
# ## Running
#
# D = alpha A B + beta C. The kernel is compiled at the first call, once for all sizes; C is read only when beta is
# not 0.

# %%
op.run(A, B, C, D, alpha=2.0, beta=-1.0, device="cpu")
print("alpha A B + beta C:", np.array_equal(D, 2 * product - C))
op.run(A, B, D=D, device="cpu")
print("A B:", np.array_equal(D, product))

# %% [markdown]
# ## Tiles
#
# Every operation lists the tiles that it may have, the best guess first. Any can be asked for, or a part of one.

# %%
print(len(op.tile_descriptions()), "tiles")
small = op.with_tile("32x32x32:warps=1x1x1")
print("another:", small.description.tile)
small.run(A, B, D=D, device="cpu")
print("A B:", np.array_equal(D, product))

# %% [markdown]
# ## Other units
#
# f32 keeps all its digits, outside of tensor cores. Asked to, these round it to tf32. On sm_90a there is `wgmma`.

# %%
for parts in ({"a": "f32", "b": "f32"}, {"a": "tf32", "b": "tf32"}, {"a": "bf16", "b": "bf16", "target": "sm_90a"}):
    instruction = Gemm(**{"target": "sm_80", **parts}).description.instruction
    print(instruction.unit, "multiplies", instruction.a)

# %% [markdown]
# ## What there is
#
# `find` lists kernels, the fastest first by estimate, here those with one tile.

# %%
found = find("f16", "sm_90a", where="tile=128x256x64,schedule=cooperative", problem=(8192, 8192, 8192))
for name in sorted(each.name for each in found):
    print(name)

# %% [markdown]
# ## What is refused
#
# With the reason, and the nearest that there is; arguments too, before anything is launched.

# %%
for request in ("128x128x32:stages=12:warps=2x2x1", "128x128x32:warps=3x1x1"):
    try:
        Gemm("f16", "f16", target="sm_80", tile=request)
    except cutecc.Error as error:
        print(error)
print(op.supports(A, B.T.copy().T, D=D))
