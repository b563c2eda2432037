"""Rows, columns and scalars in memory, as a kernel takes them, from the arguments of a product."""

from __future__ import annotations

from collections.abc import Iterable

from cutecc.arguments.arrays import Array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError
from cutecc.operations.epilogue.values import Input, Kind, Output
from cutecc.operations.tile_model import Problem
from cutecc.operations.views import View
from cutecc.runtime.checks import array_text


def vector_view(operand: Input | Output, array: Array, problem: Problem) -> View:
    """What a kernel takes for a row, a column or a scalar in memory. Raises `ArgumentError` for another shape.

    `operand` is the user's; a kernel of the transposed product takes the same.
    """
    name, dtype = operand.name, find_numeric_type(array.dtype)
    text = f"argument '{name}': {array_text(array)}"
    if dtype is None or dtype.name != operand.dtype:
        raise ArgumentError(f"{text}: its elements are {dtype or array.dtype}, not {operand.dtype}")
    kind = operand.kind
    writes = isinstance(operand, Output)
    if kind == "scalar":
        return _scalar_view(name, array, problem, writes)
    extent = problem.n if kind == "row" else problem.m
    places = _places(kind, extent, problem.batches, writes)
    if array.shape not in places:
        raise ArgumentError(f"{text}: {_shapes_text(kind, extent, problem.batches, writes)}")
    mode, batch_mode = places[array.shape]
    if extent > 1 and array.stride[mode] != 1:
        raise ArgumentError(f"{text}: its values do not follow one another", hints=[f"pass {name}.contiguous()"])
    batch_step = 0 if batch_mode is None else array.stride[batch_mode]
    _check_alignment(operand, array, dtype.width, batch_step if problem.batches > 1 else 0)
    return View(array, operand.dtype, (extent, problem.batches), (1, batch_step))


def shapes_of(kind: Kind, problem: Problem) -> Iterable[tuple[int, ...]]:
    """The shapes that a row, a column or a scalar in memory can have that is read."""
    if kind == "scalar":
        return {(), (1,), (1, 1), *_scalar_shapes(problem.batches)}
    return _places(kind, problem.n if kind == "row" else problem.m, problem.batches, writes=False)


def _places(kind: Kind, extent: int, batches: int, writes: bool) -> dict[tuple[int, ...], tuple[int, int | None]]:
    """By the shapes that a row or column can have, the modes of the values and of the batch."""
    last = kind == "row"
    places: dict[tuple[int, ...], tuple[int, int | None]] = {
        (batches, 1, extent) if last else (batches, extent, 1): (2 if last else 1, 0),
        (batches, extent): (1, 0),
    }
    if batches == 1 or not writes:
        places[(1, extent) if last else (extent, 1)] = (1 if last else 0, None)
        places[(extent,)] = (0, None)
    return places


def _shapes_text(kind: Kind, extent: int, batches: int, writes: bool) -> str:
    """What a row or column holds, and in which shapes, in words."""
    what, letter = ("one value a column", "N") if kind == "row" else ("one value a row", "M")
    batch = f", or ({batches}, {extent})" if batches > 1 and not writes else ""
    shape = f"({batches}, {extent})" if writes and batches > 1 else f"({extent},)"
    return f"it holds {what}, {letter} = {extent}: the shape {shape}{batch}"


def _check_alignment(operand: Input | Output, array: Array, bits: int, batch_step: int) -> None:
    """Raise `ArgumentError` where the values, of each of several batches, do not begin as the operand says."""
    bytes_ = operand.alignment * bits // 8
    apart = batch_step % operand.alignment
    if array.address % bytes_ or apart:
        what = f"its batches begin {batch_step} elements apart, so it" if apart else "it"
        word = "Row" if operand.kind == "row" else "Column"
        raise ArgumentError(
            f"argument '{operand.name}': {array_text(array)}: {what} is not aligned to {bytes_} bytes,"
            f" as the epilogue's operand {operand.name} says",
            hints=[f'describe it with a smaller alignment: {operand.name}={word}("{operand.dtype}", alignment=1)'],
        )


def _scalar_view(name: str, array: Array, problem: Problem, writes: bool) -> View:
    shared = array.shape in ((), (1,), (1, 1)) and (problem.batches == 1 or not writes)
    if not shared and array.shape not in _scalar_shapes(problem.batches):
        wanted = "(), or one value" if problem.batches == 1 else f"({problem.batches},), one value a matrix"
        raise ArgumentError(f"argument '{name}': {array_text(array)} holds a scalar: the shape {wanted}")
    step = 0 if shared or problem.batches == 1 else array.stride[0]
    return View(array, find_numeric_type(array.dtype).name, (problem.batches,), (step,))  # type: ignore[union-attr]


def _scalar_shapes(batches: int) -> tuple[tuple[int, ...], ...]:
    """Those of one value a matrix."""
    return (batches,), (batches, 1), (batches, 1, 1)
