"""What is said of a convolution's tensors and of its epilogue's operands, before there is a description."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from cutecc.arguments.arrays import Array, read_array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError, SpecError, UsageError
from cutecc.operations.convolution.arguments import ROLES, Tensor, aligned
from cutecc.operations.convolution.description import INTERLEAVED_LAYOUTS, Kind
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.interleaved import tensor_of
from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.operand import Operand, Role, common_alignment
from cutecc.operations.words import shown, text_of
from cutecc.runtime.checks import array_text


def as_tensor_operand(given: Operand | str, role: Role) -> Operand:
    """The operand that `f16:8` spells, whose channels are contiguous, or `i8:interleaved32`, of the matrix `role`.

    Raises `UsageError` for anything else.
    """
    if isinstance(given, Operand):
        return given
    if not isinstance(given, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        hints = ["of arrays: for_arguments(kind, A, B, C, D)"]
        raise UsageError(f"a tensor is text such as f16:8, or an Operand, not {shown(given)}", hints=hints)
    dtype, *rest = text_of(given, "a tensor").split(":")
    if rest and "interleaved" in rest[0]:
        return Operand.parse(given, role)
    if len(rest) > 1 or not all(word.strip().isdigit() for word in rest):
        raise UsageError(
            f"tensor '{given}' is not type:alignment, such as f16:8",
            hints=["its layout is that of every convolution: channels are contiguous; 32 at a time: i8:interleaved32"],
        )
    return Operand.parse(":".join([dtype, "row", *rest]))


def usual_filters(a: Operand) -> Operand:
    """The B of a convolution that does not say what it is: as A."""
    layout = INTERLEAVED_LAYOUTS[1] if a.layout == INTERLEAVED_LAYOUTS[0] else "row"
    return Operand(a.dtype, layout, a.alignment)


def element_type(each: Tensor) -> str:
    """The type of a tensor's elements. Raises `ArgumentError` for one that there is none of."""
    dtype = find_numeric_type(each.array.dtype)
    if dtype is None:
        raise ArgumentError(f"argument '{each.name}': cutecc has no element type {each.array.dtype}")
    return dtype.name


def declared_operands(
    kind: Kind, operands: Mapping[str, Any], sizes: ConvolutionProblem, groups: int
) -> dict[str, Any]:
    """An epilogue's operands, with what arrays stand for, by their shapes in a convolution of these sizes.

    Others are left as they are. Raises `ArgumentError` for arrays of a shape that no operand has.
    """
    found: dict[str, Any] = {}
    for name, value in operands.items():
        try:
            array = None if isinstance(value, Full | Row | Column | Scalar | Operand | str) else read_array(value)
        except SpecError as error:
            raise ArgumentError(f"the operand '{name}': {error.message}", hints=error.hints) from None
        found[name] = value if array is None else _declared(kind, name, value, array, sizes, groups)
    return found


def _declared(
    kind: Kind, name: str, value: Any, array: Array, sizes: ConvolutionProblem, groups: int
) -> Full | Row | Column | Scalar:
    dtype = find_numeric_type(array.dtype)
    if dtype is None:
        raise ArgumentError(f"the operand '{name}': cutecc has no element type {array.dtype}")
    channels = sizes.channels if kind == "dgrad" else sizes.filters
    addresses = () if array.library == "numpy" else (array.address,)
    if array.shape == (channels,):
        numbers = [channels // groups] if groups > 1 else []
        alignment = common_alignment(dtype.name, numbers, addresses)
        return (Column if kind == "wgrad" else Row)(dtype.name, alignment)
    if array.shape in ((), (1,)):
        return Scalar(dtype.name, in_memory=True)
    if len(array.shape) in (sizes.rank + 2, sizes.rank + 3):
        each = tensor_of(name, ROLES[kind]["D"], value, array, sizes.rank)
        operand = aligned(each, "rows", dtype.name, groups)
        return Full(operand.dtype, operand.layout, operand.alignment)
    raise ArgumentError(
        f"the operand '{name}': {array_text(array)} is neither of D's shape nor one value a channel of it, {channels}",
        hints=[f'declare it: {name}=Row("{dtype.name}")'] if prod(array.shape) == channels else [],
    )
