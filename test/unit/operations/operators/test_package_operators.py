"""Operators of the package for sm_80 and sm_90a: compiled without a GPU, and run on the emulator."""

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="torch is not installed: make test-torch")

import cutecc
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import UsageError
from cutecc.harness.elements import elements_of
from cutecc.operations import compile
from cutecc.operations.gemm_problem import GemmProblem
from cutecc.operations.operators import gemm_arguments, tensor, through_cutecc
from cutecc.operations.operators.discovery import find_operator
from cutecc.operations.operators.package import CuteDslOperator, ops
from cutecc.target import Target

M, N, K = 80, 144, 96
SM80, SM90 = Target.parse("sm_80"), Target.parse("sm_90a")


def matrix(dtype: str, shape: tuple[int, ...], layout: str, generator: Any | None) -> tuple[Any, Any]:
    """The codes of a matrix of small numbers, or of poison, and a tensor of them."""
    numeric = find_numeric_type(dtype)
    assert numeric is not None
    elements = elements_of(numeric)
    if generator is None:
        flat = np.full(int(np.prod(shape)) * elements.code.itemsize, elements.poison, "u1").view(elements.code)
        codes = flat.reshape(shape)
    else:
        codes = elements.encode(generator.integers(-2, 3, shape).astype(elements.value))
    if layout == "column":
        codes = np.ascontiguousarray(np.swapaxes(codes, -1, -2)).swapaxes(-1, -2)
    return elements, (codes, tensor(codes, dtype))


# Types, layouts of A, B and the output, an operator by its tile: each unit, each width, each way to store.
RUN = [
    ("sm_80", "bf16,bf16,bf16,f32", "ntn", "tile64x64x32"),
    ("sm_90a", "f16,f16,f32,f32", "nnt", "cluster2x1x1_tile64x64x64"),
    ("sm_90a", "i8,i8,i32,i32", "tnt", "cluster1x2x1_tile128x64x64"),
    ("sm_90a", "f8E4M3FN,f8E4M3FN,f16,f32", "tnt", "cluster1x1x1_tile64x64x64"),
]


@pytest.mark.parametrize(("target", "types", "layouts", "name"), RUN)
def test_run(target: str, types: str, layouts: str, name: str) -> None:
    problem = GemmProblem.parse(f"{M}x{N}x{K}:{types}:{layouts}")
    operator, _ = find_operator(name, Target.parse(target), problem)
    generator = np.random.default_rng(0)
    shapes = ((2, M, K), (2, K, N), (2, M, N))  # with a mode for batches
    (a, (a_codes, A)), (b, (b_codes, B)), (out, (codes, D)) = (
        matrix(str(dtype), shape, str(layout), generator if index < 2 else None)
        for index, (dtype, shape, layout) in enumerate(zip(problem.types, shapes, problem.layouts, strict=True))
    )
    with through_cutecc(target=target, device="cpu"):
        operator.run(gemm_arguments(A, B, D, problem.accumulator or ""))
    expected = a.decode(a_codes).astype("f8") @ b.decode(b_codes).astype("f8")
    # Small whole numbers: every type holds the sums, f16 and wider without rounding, bf16 to 8 digits.
    np.testing.assert_allclose(out.decode(codes).astype("f8"), expected, rtol=2**-8 if "bf16" in types else 0)


def test_compile_for_several_targets() -> None:
    problem = GemmProblem.parse("4096x4096x4096:f16")
    operator, arguments = find_operator(
        "Sm80TensorOpGemmOperator_ttt_AFloat16_BFloat16_outBFloat16_accFloat32_tile64x64x32", SM80, problem
    )
    kernels = compile(operator, arguments, target="sm_80,sm_90a")
    assert list(kernels) == ["sm_80", "sm_90a"]
    assert isinstance(kernels, cutecc.KernelSet)
    for kernel in kernels.values():
        assert "mma.sync.aligned.m16n8k16" in kernel.ptx and kernel.cubin and kernel.host_program
    # Launched with A, B, the output and a stream: what the operator's constants are is part of the kernel.
    assert [each.name for each in kernels["sm_80"].launcher.binder.parameters if each.leaves] == [
        "a",
        "b",
        "c",
        "stream",
    ]


def test_what_is_not_supported() -> None:
    problem = GemmProblem.parse("64x64x64:f16")
    operator, _ = find_operator("cluster1x1x1_tile64x64x64", SM90, problem)
    narrow = gemm_arguments("f16[64,60]", "f16[60,64]", "f16[64,64]")
    with pytest.raises(UsageError, match=r"does not support the arguments: Operand `A` .* divisible by 8"):
        compile(operator, narrow, target="sm_90a")
    whole = gemm_arguments("f16[64,64]", "f16[64,64]", "f16[64,64]")
    with pytest.raises(UsageError, match="does not support the arguments: Operator cannot be compiled for target 80"):
        compile(operator, whole, target="sm_80")


def test_operators_that_compile_by_themselves() -> None:
    class Own(CuteDslOperator):
        supported_args_type = ops.GemmArguments
        designed_for_min_cc = 80

        def _compile(self, args: Any, target_sm: Any = None) -> Any:
            if len(args.A.shape) == 3:
                raise KeyError("of its own")
            return ops.CompiledArtifact(None, self, target_sm)

        def _run(self, *args: Any) -> None: ...

        @classmethod
        def _generate_operators(cls, *args: Any) -> list[Any]:
            return []

    operator, arguments = find_operator("tile128x64x32", SM80, GemmProblem.parse("64x64x64:f16"))
    own = Own(operator.metadata)
    with pytest.raises(UsageError, match=r"compiles nothing through CuteDslOperator\.cute_compile"):
        compile(own, arguments, target="sm_80")
    batched = gemm_arguments("f16[1,64,64]", "f16[1,64,64]", "f16[1,64,64]")
    with pytest.raises(UsageError, match="does not compile: KeyError: 'of its own'"):
        compile(own, batched, target="sm_80")
