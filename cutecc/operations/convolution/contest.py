"""Convolutions that compete in `autotune`: tiles, instructions, iterators, ways to split K and orders of tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.errors import Error, UsageError
from cutecc.operations.any_description import Description
from cutecc.operations.arguments import operands_of
from cutecc.operations.contest import swizzled
from cutecc.operations.convolution.arguments import ROLES, Role
from cutecc.operations.convolution.candidates import by_other_means
from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.interleaved import interleaved_shape
from cutecc.operations.convolution.operation import Convolution
from cutecc.operations.convolution.rules import check_form, serves
from cutecc.operations.convolution.validity import refusal
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
        return by_other_means(self._description, self._found)

    def beside(self, best: ConvolutionDescription) -> list[ConvolutionDescription]:
        others = [replace(best, gemm=each) for each in swizzled(best.gemm)]
        return [each for each in others if self.is_valid(each)]

    def operation(self, description: ConvolutionDescription) -> Convolution:
        return type(self._op).made(description, (), None, self._found)

    def is_valid(self, description: Description) -> bool:
        return (
            isinstance(description, ConvolutionDescription)
            and refusal(description) is None
            and serves(description, self._found)
        )

    def time(self, operations: Sequence[Convolution], gpu: Workspace) -> Sequence[Samples | Error]:
        from cutecc.operations.tuning_data import launched, time_in_turn

        sizes, groups = self._found, self.problem.batches
        steps = {name: getattr(sizes, name) for name in ("padding", "stride", "dilation", "groups")}
        make = partial(_arguments, operations[0], sizes, groups)
        bytes_of = partial(_workspace_bytes, sizes)
        return time_in_turn(operations, gpu, make, bytes_of, partial(launched, **steps))

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
