"""Convolutions that compete in `autotune`: tiles, instructions, iterators, ways to split K and orders of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.errors import ArgumentError, Error, UsageError
from cutecc.operations import candidates
from cutecc.operations.any_description import Description
from cutecc.operations.arguments import operands_of
from cutecc.operations.contest import has_few_tiles, swizzled
from cutecc.operations.convolution.arguments import ROLES, Role
from cutecc.operations.convolution.candidates import iterators, ranked
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.convolution.estimate import cycles
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.interleaved import interleaved_shape
from cutecc.operations.convolution.operation import Convolution
from cutecc.operations.convolution.rules import check_form, check_sizes
from cutecc.operations.convolution.validity import refusal
from cutecc.operations.description import SPLIT_K_MODES, Mode
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileRequest
from cutecc.operations.views import DeviceMatrix

if TYPE_CHECKING:
    from cutecc.runtime.timing import Samples
    from cutecc.runtime.workspace import Workspace


class ConvolutionContest:
    """A convolution as an operation describes it, with other means."""

    def __init__(self, op: Convolution, problem: ConvolutionProblem | None) -> None:
        """Raises `UsageError` for sizes that are not known, `ArgumentError` for those of another convolution."""
        found = problem or op.problem
        if not isinstance(found, ConvolutionProblem):
            hints = ["problem=ConvolutionProblem(batch, image, channels, filters, filter)"]
            raise UsageError("autotune needs the sizes of the convolution", hints=hints)
        self._op, self._found, self._description = op, found, op.description
        check_form(op.description, found)
        self.problem = found.product(op.description)
        padding = tuple(each for both in found.padding for each in both)
        self.sizes = (
            *(found.batch, *found.image, found.channels, found.filters, *found.filter),
            *(*padding, *found.stride, *found.dilation, found.groups),
        )
        self.asked = self._asked()

    def candidates(self) -> Sequence[ConvolutionDescription]:
        gemm, sizes = self._description.gemm, self._found
        a, b = (self._multiplied(operand) for operand in (gemm.a, gemm.b))
        instruction = gemm.instruction
        is_depthwise = self._description.groups == "depthwise"
        given = (
            [instruction]
            if is_depthwise
            else candidates.fitting_instructions(
                a, b, accumulator=instruction.accumulator, arithmetic=instruction.arithmetic, target=gemm.target
            )
        )
        tried = iterators(self._description.kind, gemm.a.alignment, gemm.b.alignment, sizes)
        found: list[tuple[float, int, ConvolutionDescription]] = []
        for each in given:
            for iterator in [self._description.iterator] if is_depthwise else tried:
                for mode in self._modes():
                    product = candidates.described(
                        gemm.target, each, (gemm.a, gemm.b, gemm.d), gemm.c, gemm.epilogue, mode
                    )
                    described = replace(self._description, gemm=product, iterator=iterator)
                    listed = ranked(described, TileRequest(), sizes)
                    found += [(cycles(one, sizes), len(found) + index, one) for index, one in enumerate(listed)]
        return [each for _, _, each in sorted(found, key=lambda entry: entry[:2]) if self.is_valid(each)]

    def beside(self, best: ConvolutionDescription) -> list[ConvolutionDescription]:
        others = [replace(best, gemm=each) for each in swizzled(best.gemm)]
        return [each for each in others if self.is_valid(each)]

    def operation(self, description: ConvolutionDescription) -> Convolution:
        return type(self._op).made(description, (), None, self._found)

    def is_valid(self, description: Description) -> bool:
        if not isinstance(description, ConvolutionDescription) or refusal(description) is not None:
            return False
        try:
            check_sizes(description, self._found)
        except ArgumentError:
            return False
        return True

    def time(self, operations: Sequence[Convolution], gpu: Workspace) -> Sequence[Samples | Error]:
        from cutecc.operations.tuning_data import launched, time_in_turn

        sizes, groups = self._found, self.problem.batches
        steps = {name: getattr(sizes, name) for name in ("padding", "stride", "dilation", "groups")}
        make = partial(_arguments, operations[0], sizes, groups)
        bytes_of = partial(_workspace_bytes, sizes)
        return time_in_turn(operations, gpu, make, bytes_of, partial(launched, **steps))

    def _multiplied(self, operand: Operand) -> Operand:
        """The operand with the type that asks for what its elements are rounded to."""
        is_rounded = self._description.gemm.instruction.a == "tf32"
        return replace(operand, dtype="tf32") if is_rounded and operand.dtype == "f32" else operand

    def _modes(self) -> tuple[Mode, ...]:
        gemm = self._description.gemm
        if self._description.groups == "depthwise":
            return (gemm.mode,)
        splits = self._description.groups == "single" and gemm.instruction.accumulator != "f16"
        return ("gemm", *SPLIT_K_MODES) if splits and has_few_tiles(self.problem, gemm.target) else ("gemm",)

    def _asked(self) -> str:
        described, gemm = self._description, self._description.gemm
        instruction = gemm.instruction
        words = [gemm.target, f"conv{described.rank}d", described.kind, described.stride, described.groups]
        words += [described.mode, instruction.a, instruction.b, instruction.accumulator, instruction.arithmetic]
        words += [str(gemm.a), str(gemm.b), "no source" if gemm.c is None else str(gemm.c), str(gemm.d)]
        return " ".join([*words, gemm.epilogue.key])


def _workspace_bytes(sizes: ConvolutionProblem, op: Convolution) -> int:
    return op.workspace_bytes(problem=sizes)


def _arguments(
    op: Convolution, sizes: ConvolutionProblem, groups: int, gpu: Workspace, generator: np.random.Generator
) -> dict[str, tuple[Any, int]]:
    """A tensor or vector for every argument, with its bytes."""
    from cutecc.operations.tuning_data import filled

    shapes: dict[Role, tuple[int, ...]] = {
        "activations": (sizes.batch, *sizes.image, sizes.channels),
        "filters": (sizes.filters, *sizes.filter, sizes.channels_of_group),
        "outputs": (sizes.batch, *sizes.output, sizes.filters),
    }
    kind, gemm = op.description.kind, op.description.gemm
    problem, roles = sizes.product(op.description), ROLES[kind]
    found: dict[str, tuple[Any, int]] = {}
    for name, operand in operands_of(gemm).items():
        role = roles.get(name, roles["D"])
        shape = interleaved_shape(role, shapes[role]) if operand.is_interleaved else shapes[role]
        address, size = filled(operand.dtype, prod(shape), gpu, generator)
        found[name] = DeviceMatrix(address, shape, shape[-1], operand.dtype, ordinal=gpu.ordinal), size
    of_channels = "column" if kind == "wgrad" else "row"
    for each in gemm.epilogue.stored:
        if each.name in found:
            continue
        extent = {"row": problem.n, "column": problem.m}.get(each.kind, 1)
        address, size = filled(each.dtype, extent * groups, gpu, generator)
        several = () if groups == 1 or each.kind == of_channels else (groups,)
        shape = (*several, extent) if several else (extent * groups,)
        found[each.name] = DeviceMatrix(address, shape, extent, each.dtype, ordinal=gpu.ordinal), size
    return found
