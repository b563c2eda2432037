"""Bring your own kernel: a GEMM of one's own as an operator of nvidia-cutlass-operators, through cutecc.

In cells, as editors and `tools/make_notebook.py` know them: `bring_your_own_kernel.ipynb` is the same with outputs.
Doubles; a loop over K in each thread; all strides dynamic but one of each matrix.
"""

# cutecc: entry = "F64Gemm((16, 16))"
# cutecc: target = "sm_80"
# cutecc: args.a = "f64[?L=2, ?M=30, ?K=34]"
# cutecc: args.b = "f64[?L, ?K, ?N=44] order=(2,0,1)"
# cutecc: args.out = "f64[?L, ?M, ?N]"
# cutecc: args.stream = "stream"
# cutecc: reference = "reference"
# cutecc: outputs = ["out"]
# cutecc: tolerance = 1e-10
# cutecc: bytes = "8 * L * (M * K + K * N + M * N)"
# cutecc: flops = "2 * L * M * N * K"

# %% [markdown]
# # Bring your own kernel
#
# A kernel of your own becomes an operator of `nvidia-cutlass-operators`: found by what it can do, compiled and launched
# by cutecc, beside all other operators. The kernel is the shortest correct GEMM in double precision, one element of the
# output a thread. It runs on a GPU where there is one, and on cutecc's emulator elsewhere.
#
# `pip install 'cutecc[operators]'` has all it takes.

# %%
import itertools
from dataclasses import dataclass

import cutlass
import numpy as np
from cutlass import cute
from cutlass import operators as ops
from cutlass.operators.metadata import DenseTensorConstraints, DesignMetadata, GemmOperandsMetadata, OperatorMetadata
from cutlass.operators.providers.cutedsl.operator import CuteDslOperator

from cutecc.operations.operators import compile, gemm_arguments, through_cutecc

# %% [markdown]
# ## The kernel
#
# It takes matrices with a mode for batches in front: `a` is (L, M, K), `b` (L, K, N), `out` (L, M, N). A block of
# threads computes a tile of `cta_tile_shape_mn` elements; the grid has a layer for each batch.


# %%
class F64Gemm:
    def __init__(self, cta_tile_shape_mn):
        self.cta_tile_shape_mn = cta_tile_shape_mn

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, out: cute.Tensor, stream):
        tile_m, tile_n = self.cta_tile_shape_mn
        batches, rows, columns = out.shape
        self.kernel(a, b, out).launch(
            grid=[cute.ceil_div(columns, tile_n), cute.ceil_div(rows, tile_m), batches],
            block=[tile_n, tile_m, 1],
            stream=stream,
        )

    @cute.kernel
    def kernel(self, a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
        tile_m, tile_n = self.cta_tile_shape_mn
        thread_n, thread_m, _ = cute.arch.thread_idx()
        block_n, block_m, batch = cute.arch.block_idx()
        m, n = block_m * tile_m + thread_m, block_n * tile_n + thread_n
        if cute.elem_less((batch, m, n), out.shape):
            total = cutlass.Float64(0.0)
            for k in cutlass.range(a.shape[2]):
                total += a[batch, m, k] * b[batch, k, n]
            out[batch, m, n] = total


def reference(a, b, out):
    return a @ b


# %% [markdown]
# ## The operator
#
# An operator says what its kernel takes, and hands it to the DSL. Everything that tells two operators apart is in their
# metadata: here the major modes of the three matrices, in all eight combinations, and the tile, of which there are two.
# `cute_compile` and `cute_run` are where cutecc steps in.

# %%
ROW_MAJOR, COLUMN_MAJOR = (0, 0, 1), (0, 1, 0)  # the strides of (batch, row, column): which of them is 1
LETTERS = {ROW_MAJOR: "t", COLUMN_MAJOR: "n"}
TILES = (16, 16), (8, 32)


@dataclass(kw_only=True)
class F64GemmDesign(DesignMetadata):
    tile_shape: tuple[int, int]  # `cutecc operators --where tile.m=16` finds it by this name

    def supports(self, args):
        return ops.Status.success()


@ops.CuTeDSLProvider.register
class F64GemmOperator(CuteDslOperator):
    supported_args_type = ops.GemmArguments
    designed_for_min_cc = 80

    def __init__(self, metadata):
        super().__init__(metadata)
        self.kernel = F64Gemm(metadata.design.tile_shape)

    def _supports(self, args, target_sm=None):
        if any(len(operand.shape) != 3 for operand in (args.A, args.B, args.out)):
            return ops.Status.fail("every operand needs a mode for batches: (L, M, K), (L, K, N), (L, M, N)")
        return ops.Status.success()

    def _compile(self, args, target_sm=None):
        stream = cute.runtime.make_fake_stream()
        return self.cute_compile(
            self.kernel, args.A.tensor, args.B.tensor, args.out.tensor, stream, target_sm=target_sm
        )

    def _run(self, args, compiled_artifact, stream, workspace=None):
        self.cute_run(compiled_artifact.compiled_obj, args.A.tensor, args.B.tensor, args.out.tensor, stream)

    @classmethod
    def _generate_operators(cls, metadata_filter, epilogue_args=None, target_sm=None, args=None):
        if epilogue_args is not None:
            return []
        choices = itertools.product(itertools.product((ROW_MAJOR, COLUMN_MAJOR), repeat=3), TILES)
        metadata = [cls.describe(layouts, tile) for layouts, tile in choices]
        return [cls(each) for each in metadata if metadata_filter(each)]

    @classmethod
    def describe(cls, layouts, tile):
        # 16 bytes: what the package promises the compiler of every tensor that it is given.
        a, b, out = (DenseTensorConstraints(cutlass.Float64, stride, divisibility=2) for stride in layouts)
        return OperatorMetadata(
            operator_name=f"example.F64GemmOperator_{''.join(map(LETTERS.get, layouts))}_tile{tile[0]}x{tile[1]}",
            operator_class=cls,
            supported_targets=[ops.TargetSm(cc=80)],
            operands=GemmOperandsMetadata(a, b, out, accumulator_type=cutlass.Float64),
            design=F64GemmDesign(tile_shape=tile),
        )


# %% [markdown]
# ## Finding it
#
# The arguments say what is to be done: two products of 30 × 34 and 34 × 44 matrices, B column-major. Of the sixteen
# operators two fit, one for each tile.

# %%
if __name__ == "__main__":
    generator = np.random.default_rng(0)
    a = generator.standard_normal((2, 30, 34))
    b = generator.standard_normal((2, 44, 34)).transpose(0, 2, 1)
    out = np.full((2, 30, 44), np.nan)

    try:
        import torch

        on_gpu = torch.cuda.is_available()
    except ImportError:
        on_gpu = False
    A, B, D = (torch.from_numpy(each).cuda() for each in (a, b, out)) if on_gpu else (a, b, out)

    args = gemm_arguments(A, B, D, accumulator="f64")
    operators = ops.get_operators(args, target_sm="80", providers=[ops.CuTeDSLProvider])
    for operator in operators:
        print(operator.metadata.operator_name)

# %% [markdown]
# Without a mode for batches there is no operator for them, and each says why.

# %%
if __name__ == "__main__":
    flat = gemm_arguments(A[0], B[0], D[0], accumulator="f64")
    print(len(ops.get_operators(flat, target_sm="80", providers=[ops.CuTeDSLProvider])), "operators")
    print(operators[0].supports(flat).error)

# %% [markdown]
# A filter over the metadata narrows the choice; one for a tile that nobody has finds nothing, rightly.

# %%
if __name__ == "__main__":
    for tile in (8, 32), (128, 128):
        found = ops.get_operators(
            args,
            metadata_filter=lambda metadata, tile=tile: getattr(metadata.design, "tile_shape", None) == tile,
            target_sm="80",
            providers=[ops.CuTeDSLProvider],
        )
        print(tile, [operator.metadata.operator_name for operator in found])

# %% [markdown]
# ## Running it
#
# Inside of `through_cutecc`, operators compile with cutecc's pipeline and cache, and run with its launcher or emulator.

# %%
if __name__ == "__main__":
    expected = reference(a, b, out)
    with through_cutecc(device="cuda" if on_gpu else "cpu"):
        for operator in operators:
            D[...] = float("nan")
            assert operator.get_workspace_size(args).size_bytes == 0
            operator.run(args)
            result = D.cpu().numpy() if on_gpu else D
            print(operator.metadata.operator_name, "is A @ B:", np.allclose(result, expected, rtol=1e-13, atol=1e-13))

# %% [markdown]
# ## Looking into it
#
# `compile` gives the kernel itself, with its record, PTX, SASS and report, for any GPU. Tensors without memory do.

# %%
if __name__ == "__main__":
    big = gemm_arguments("f64[8,4096,4096]", "f64[8,4096,4096] order=(2,0,1)", "f64[8,4096,4096]", accumulator="f64")
    kernel = compile(operators[0], big, target="sm_90a")
    print(kernel)
    print("multiplies with fma.rn.f64:", "fma.rn.f64" in kernel.ptx)
