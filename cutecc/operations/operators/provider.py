"""cutecc's own kernels as operators of nvidia-cutlass-operators: the provider `cutecc`, which `get_operators` asks too.

It is registered when this module is imported, by `import cutecc.operations.operators`: the package has no entry points
of its own by which it would find providers.
"""

# pyright: basic

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from cutecc.arguments.arrays import Array
from cutecc.errors import Error
from cutecc.operations import candidates
from cutecc.operations.arguments import described
from cutecc.operations.description import GemmDescription
from cutecc.operations.fitting_instructions import fitting_instructions
from cutecc.operations.gemm import Gemm
from cutecc.operations.kernels import build, signature
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.operand import Operand
from cutecc.operations.operators.facts import type_name
from cutecc.operations.operators.package import (
    BLASDesignMetadata,
    CuteDslOperator,
    DenseTensorConstraints,
    GemmOperandsMetadata,
    mma,
    ops,
)
from cutecc.operations.operators.session import CompiledOperator, current
from cutecc.operations.operators.through import through_cutecc
from cutecc.operations.tile_model import Problem
from cutecc.operations.validity import refusal
from cutecc.operations.views import View
from cutecc.target import Target

PROVIDER = "cutecc"
TARGETS = ("sm_80", "sm_90a")
"""What is offered where nothing says a target."""
MOST_TILES = 4
"""Tiles on offer for one instruction and one set of operands, the best guesses first."""
_STRIDES = {"row": (0, 0, 1), "column": (0, 1, 0)}


class Multiply(mma.MmaInstruction):
    """The multiplication of one thread: no tensor core takes part."""

    @classmethod
    def supported_targets(cls, design: Any = None, operands: Any = None) -> list[Any]:
        """Every GPU from `sm_80` on."""
        return [ops.TargetSm(cc=80)]


_INSTRUCTIONS = {"simt": Multiply, "tensor_op": mma.AmpereMma, "wgmma": mma.HopperWgmma}


@dataclass(kw_only=True)
class CuteccGemmDesign(BLASDesignMetadata):
    """How a kernel of cutecc's computes a product: the parts of a `GemmDescription` that change no result's meaning."""

    unit: str
    """`simt`, `tensor_op` or `wgmma`."""
    instruction_shape: tuple[int, int, int]
    multiplied: str
    """The type that is multiplied: `tf32`, `f16` or `bf16` where f32 operands are rounded to it."""
    arithmetic: str
    warps: tuple[int, int, int]
    schedule: str
    swizzle: str


@ops.register_provider(PROVIDER)
class CuteccProvider(ops.Provider):
    """The kernels in `cutecc/operations/kernels`."""


@CuteccProvider.register
class CuteccGemmOperator(CuteDslOperator):
    """One product of two matrices, or a batch of them, by a kernel of cutecc's."""

    supported_args_type = ops.GemmArguments
    designed_for_min_cc = 80

    def __init__(self, metadata: Any, description: GemmDescription) -> None:
        super().__init__(metadata)
        self.description = description
        """All parts of the kernel, for matrices without batches."""
        self._entries: dict[GemmDescription, Any] = {}

    def _supports(self, args: Any, target_sm: Any = None) -> Any:
        target = f"sm_{target_sm}" if target_sm is not None else self.description.target
        description = self._for(args, target)
        if (refused := refusal(description)) is not None:
            return ops.Status.fail(f"{self.metadata.operator_name}: {refused.reason}")
        for role, operand, given in (
            ("A", description.a, args.A),
            ("B", description.b, args.B),
            ("out", description.d, args.out),
        ):
            # TMA reads A and B of any extents.
            has = _as_operand(role, given, extents=description.family != "sm90" or role == "out")
            if has.alignment % operand.alignment:
                return ops.Status.fail(
                    f"{role} is aligned to {has.alignment} elements, its contiguous extent included; "
                    f"{self.metadata.operator_name} needs {operand.alignment}"
                )
        return ops.Status.success()

    def _for(self, args: Any, target: str) -> GemmDescription:
        """The description for these arguments: for a batch when they are one."""
        mode = "batched" if len(args.A.shape) == 3 else "gemm"
        return replace(self.description, target=target, mode=mode)

    def _compile(self, args: Any, target_sm: Any = None) -> Any:
        with ExitStack() as stack:
            if current() is None:
                stack.enter_context(through_cutecc(target=f"sm_{target_sm}" if target_sm is not None else None))
                return self.compile(args, target_sm)
            description = self._for(args, f"sm_{target_sm}")
            compiled = description.compiled()
            if compiled not in self._entries:
                self._entries[compiled] = build.build(compiled.to_json())
            specs = signature.specs(compiled).values()
            artifact = self.cute_compile(self._entries[compiled], *specs, target_sm=target_sm)
            if isinstance(artifact.compiled_obj, CompiledOperator):
                artifact.compiled_obj = CompiledGemm(artifact.compiled_obj, description)
            return artifact

    def _run(self, args: Any, compiled_artifact: Any, stream: Any, workspace: Any = None) -> None:
        self.cute_run(compiled_artifact.compiled_obj, args.A.tensor, args.B.tensor, args.out.tensor, stream)

    @classmethod
    def _generate_operators(
        cls, metadata_filter: Any, epilogue_args: Any = None, target_sm: Any = None, args: Any = None
    ) -> list[Any]:
        if epilogue_args is not None:
            return []
        targets = TARGETS if target_sm is None else (f"sm_{target_sm}",)
        found: dict[str, Any] = {}
        for target in targets:
            for each in map(operator, _on_offer(target) if args is None else _fitting(args, target)):
                if metadata_filter(each.metadata):
                    found.setdefault(each.metadata.operator_name, each)
        return list(found.values())


class CompiledGemm(CompiledOperator):
    """What an artifact of `CuteccGemmOperator` holds; called with A, B, the output and a stream."""

    def __init__(self, compiled: CompiledOperator, description: GemmDescription) -> None:
        super().__init__(compiled.kernel, compiled.device, compiled.emulator)
        self.operation = Gemm.of(description)
        self.operation.variants[0].take(compiled.kernel)

    def __call__(self, *args: Any) -> None:
        a, b, out, stream = args
        session = current() or self
        if session.device == "cpu":
            self.operation.run(a, b, D=out, device="cpu", emulator=session.emulator)
        else:
            # Nobody else could ask for what comes back to an array of numpy's.
            self.operation.run(a, b, D=out, stream=stream, sync=isinstance(out, np.ndarray))


def operator(description: GemmDescription) -> CuteccGemmOperator:
    """The operator of a description, for matrices without batches."""
    return CuteccGemmOperator(_metadata(description), description)


def offered(target: str, dtype: str | None) -> Iterator[CuteccGemmOperator]:
    """What is on offer on a target for an A of this type, for operands that are aligned to 16 bytes."""
    for each in _on_offer(target) if dtype is None else candidates.gemm_descriptions(target, dtype=dtype):
        if not each.a.is_interleaved:
            yield operator(each)


def _metadata(description: GemmDescription) -> Any:
    instruction, tile = description.instruction, description.tile
    unit = _INSTRUCTIONS[instruction.unit]
    return ops.OperatorMetadata(
        operator_name=f"{PROVIDER}.{description.name}",
        operator_class=CuteccGemmOperator,
        supported_targets=[ops.TargetSm(description.target.removeprefix("sm_"))],
        operands=GemmOperandsMetadata(
            A=_constraints(description.a),
            B=_constraints(description.b),
            out=_constraints(description.d),
            accumulator_type=numeric(instruction.accumulator),
        ),
        design=CuteccGemmDesign(
            mma_instruction_type=unit,
            tile_shape=tile.threadblock,
            cluster_shape=(*tile.cluster, 1),
            num_smem_stages=tile.stages,
            unit=instruction.unit,
            instruction_shape=instruction.shape,
            multiplied=instruction.multiplies,
            arithmetic=instruction.arithmetic,
            warps=tile.warps,
            schedule=tile.schedule,
            swizzle=description.swizzle,
        ),
    )


@cache
def _on_offer(target: str) -> tuple[GemmDescription, ...]:
    if Target.parse(target) < Target(8, 0):
        return ()
    offered = candidates.gemm_descriptions(target, tiles=MOST_TILES)
    return tuple(each for each in offered if not each.a.is_interleaved)


def _fitting(args: Any, target: str) -> Iterator[GemmDescription]:
    """The descriptions for arguments of a call, alignments and sizes as they are."""
    if not all(isinstance(each, ops.DenseTensor) for each in (args.A, args.B, args.out)):
        return
    accumulator = type_name(args.accumulator_type)
    size = args.problem_size
    problem = Problem(size.M, size.N, size.K, size.L)
    try:
        a, b, d = _as_operand("A", args.A), _as_operand("B", args.B), _as_operand("out", args.out)
        instructions = fitting_instructions(a, b, target=target, accumulator=accumulator)
        if (a.dtype, b.dtype) == ("f32", "f32"):
            # tf32 has a third of the digits of f32: who takes the first operator gets those of the operands.
            rounded = replace(a, dtype="tf32"), replace(b, dtype="tf32")
            instructions += fitting_instructions(*rounded, target=target, accumulator=accumulator)
    except Error:
        return  # none of these types
    for instruction in instructions:
        try:
            tiles = candidates.tile_descriptions(a, b, d, instruction=instruction, target=target, problem=problem)
        except Error:
            continue  # it does not read operands like these
        for tile in tiles[:MOST_TILES]:
            yield candidates.choose(
                a, b, d, target=target, problem=problem, instruction=instruction, tile=tile, mode="gemm"
            )


def _as_operand(role: str, given: Any, *, extents: bool = True) -> Operand:
    """A dense tensor of arguments as an operand, as aligned as it is. Raises `ArgumentError` for what is no matrix."""
    tensor, dtype = given.tensor, type_name(given.tensor.dtype)
    array = Array(dtype, tuple(tensor.shape), tuple(tensor.stride), tensor.data_ptr)
    return described(role, View(array, dtype, array.shape, array.stride), extents=extents)


def _constraints(operand: Operand) -> Any:
    stride, align = _STRIDES[operand.layout], operand.alignment_bytes
    return DenseTensorConstraints(numeric(operand.dtype), stride, operand.alignment, ptr_alignment_bytes=align)
