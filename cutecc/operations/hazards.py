"""Arguments that must not share memory: what a product writes, with what it reads or writes besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.views import MatrixArray
from cutecc.runtime.checks import array_text


def check_hazards(outputs: Mapping[str, Array], inputs: Mapping[str, Array], same: frozenset[str]) -> list[Hazard]:
    """The pairs of arrays that must not share memory, none of which does. Raises `ArgumentError` for one that does.

    An input in `same` may be an output as it is: each element is read before it is written. Arrays may lie between each
    other's rows, such as the left and the right columns of a matrix.
    """
    found: list[Hazard] = []
    written = list(outputs.items())
    for index, (name, output) in enumerate(written):
        for other, array in [*inputs.items(), *written[:index]]:
            may_equal = other in same and array.layout == output.layout
            allowed = array.address - output.address if are_woven(output, array) else 0 if may_equal else None
            hazard = Hazard(name, other, extent(output), extent(array), allowed)
            if hazard.happens(output.address, array.address):
                raise sharing(name, output, other, array, other in same)
            found.append(hazard)
    return found


def sharing(name: str, output: Array, other: str, array: Array, may_equal: bool) -> ArgumentError:
    """The error for an output that shares memory with another array, which it may be in the same layout."""
    hints = [f"write {name} to memory of its own"]
    if may_equal:
        hints.append(f"{name} may be {other} itself, with the same layout")
    return ArgumentError(
        f"{name} is written and shares memory with {other}: {array_text(output)} at {output.address:#x}, "
        f"{array_text(array)} at {array.address:#x}",
        hints=hints,
    )


def check_tables(outputs: Mapping[str, MatrixArray], inputs: Mapping[str, MatrixArray], same: frozenset[str]) -> None:
    """Raise `ArgumentError` where a matrix that is written begins where another one does.

    Others that share memory are not found: matrices may be parts of one, whose rows lie between each other's. An input
    in `same` may be the output at its place, in the same layout.
    """
    if _are_apart([*outputs.values()], [*inputs.values()]):
        return
    written: dict[int, tuple[str, int]] = {}
    for name, each in outputs.items():
        for index, address in enumerate(each.addresses if 0 not in each.shape else ()):
            if (first := written.setdefault(address, (name, index))) != (name, index):
                raise ArgumentError(
                    f"{name}[{index}] is {first[0]}[{first[1]}], and both are written, at {address:#x}",
                    hints=["each result needs memory of its own"],
                )
    for name, each in inputs.items():
        for address in written.keys() & {*each.addresses} if 0 not in each.shape else ():
            output, index = written[address]
            if (
                name not in same
                or each.like.layout != outputs[output].like.layout
                or any(one == address and place != index for place, one in enumerate(each.addresses))
            ):
                place = each.addresses.index(address)
                raise ArgumentError(
                    f"{output}[{index}] is written and shares memory with {name}[{place}]: both begin at {address:#x}",
                    hints=[f"write {output} to memory of its own"],
                )


def _are_apart(outputs: Sequence[MatrixArray], inputs: Sequence[MatrixArray]) -> bool:
    """Whether no two matrices of which one is written begin at the same address."""
    return all(
        len(output.distinct) == len(output.addresses)
        and all(output.distinct.isdisjoint(other.distinct) for other in (*inputs, *outputs[:index]))
        for index, output in enumerate(outputs)
    )


@dataclass(frozen=True)
class Hazard:
    """Two arguments that must not share memory."""

    output: str
    other: str
    reach: tuple[int, int]
    """Bytes from the address of `output` to where its memory begins and ends."""
    other_reach: tuple[int, int]
    allowed: int | None
    """How far `other` may be above `output`, in bytes, though their memory then begins and ends around the other's."""

    @property
    def distances(self) -> tuple[int, int]:
        """They share memory when `other` is above `output` by more than the first and less than the second; bytes."""
        (low, high), (other_low, other_high) = self.reach, self.other_reach
        return low - other_high, high - other_low

    def happens(self, output: int, other: int) -> bool:
        """Whether they share memory, at these addresses."""
        least, most = self.distances
        return least < other - output < most and other - output != self.allowed


def are_woven(first: Array, second: Array) -> bool:
    """Whether each of two arrays lies in the gaps between the other's rows; a single row in those of many."""
    spans = [[(size, step) for size, step in _spans(each) if size > 1] for each in (first, second)]
    pitches = {step for each in spans for _, step in each} - {0}
    if any(step < 0 for each in spans for _, step in each):
        return False
    for pitch in pitches:
        # Of a row, with all that does not lie at whole distances of rows.
        lengths = [
            array.itemsize + sum((size - 1) * step for size, step in each if step % pitch)
            for array, each in zip((first, second), spans, strict=True)
        ]
        distance = (second.address - first.address) % pitch
        if lengths[0] <= distance and distance + lengths[1] <= pitch:
            return True
    return False


def extent(array: Array) -> tuple[int, int]:
    """Bytes from the first element to where the memory begins and ends."""
    if 0 in array.shape:
        return 0, 0
    reaches = [(size - 1) * step for size, step in _spans(array)]
    return sum(min(0, each) for each in reaches), sum(max(0, each) for each in reaches) + array.itemsize


def _spans(array: Array) -> list[tuple[int, int]]:
    """Of each mode its size, and the bytes from one element to the next."""
    width = array.itemsize
    return [(size, step * width) for size, step in zip(array.shape, array.stride, strict=True)]
