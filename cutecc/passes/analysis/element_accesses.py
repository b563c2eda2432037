"""Loads and stores of single elements that belong together: adjacent ones of one tensor, in one block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cutecc.ir.mlir import ir
from cutecc.ir.types import AddressSpace, CoordValue, MemRef, view
from cutecc.layout import Layout, idx2crd, leaves
from cutecc.passes.analysis.vector_width import (
    LARGEST_BITS,
    Narrowing,
    alignment_of,
    contiguous,
    str_of,
    why_misaligned,
)

_LOAD, _STORE = "cute.memref.load", "cute.memref.store"
ELEMENT_ACCESSES = (_LOAD, _STORE)


@dataclass(frozen=True)
class Group:
    """Accesses of adjacent elements that stay apart."""

    first: ir.Operation
    what: str
    """`load` or `store`."""
    narrowing: Narrowing


@dataclass(frozen=True)
class _Access:
    """One element's access."""

    operation: ir.Operation
    number: int
    """Its place among all accesses, in the order of the program."""
    coordinate: tuple[int, ...]
    """Flat."""
    tensor: MemRef


def element_groups(accesses: Sequence[ir.Operation]) -> Iterator[Group]:
    """What is to say of `accesses`, all those of a kernel's single elements in order, each group once.

    The code generator joins adjacent accesses of one block when the first is aligned for it and nothing between could
    see or change what they access. Of shared memory it chooses the alignment itself, so that nothing is said of it.
    """
    runs: dict[tuple[int, str, int], list[_Access]] = {}
    for number, operation in enumerate(accesses):
        tensor = view(operation.operands[0].type)
        if not isinstance(tensor, MemRef) or tensor.space != AddressSpace.GMEM or contiguous(tensor) < 2:
            continue
        coordinate = _static_coordinate(tensor, view(operation.operands[1].type))
        if coordinate is not None:
            key = (hash(_through_branches(operation.operands[0])), operation.name, hash(operation.block))
            runs.setdefault(key, []).append(_Access(operation, number, coordinate, tensor))
    guarded: dict[tuple[int, str, str], list[_Access]] = {}
    for (value, name, _), run in runs.items():
        branch = run[0].operation.parent
        if len(run) == 1 and branch is not None and branch.operation.name == "scf.if":
            # Of one statement, which an unrolled loop repeats.
            guarded.setdefault((value, name, str(run[0].operation.location)), []).extend(run)
        elif found := _judged(run, accesses):
            yield found
    for run in guarded.values():
        if found := _judged_guarded(run):
            yield found


def _wanted_bits(run: list[_Access], tensor: MemRef) -> int:
    """What one instruction for adjacent elements of `run` would move."""
    bits = tensor.element.bits
    return min(LARGEST_BITS, _adjacent(run, tensor) * bits, contiguous(tensor) * bits)


def _judged_guarded(run: list[_Access]) -> Group | None:
    """What is to say of accesses that are each in a branch of their own."""
    first, tensor = run[0].operation, run[0].tensor
    bits = tensor.element.bits
    wanted = _wanted_bits(run, tensor)
    if wanted <= bits:
        return None
    what = "load" if first.name == _LOAD else "store"
    why = f"each element is in a branch of its own; decide for {wanted // bits} elements at once"
    return Group(first, what, Narrowing(bits, wanted, str_of(tensor), bits, "global", "predicate", why))


def _judged(run: list[_Access], all_accesses: Sequence[ir.Operation]) -> Group | None:
    """What is to say of accesses in one block."""
    first, tensor = run[0].operation, run[0].tensor
    bits = tensor.element.bits
    wanted = _wanted_bits(run, tensor)
    if wanted <= bits:
        return None
    is_load = first.name == _LOAD
    what = "load" if is_load else "store"
    aligned = max(bits, min(wanted, alignment_of(tensor) * 8))
    if aligned < wanted:
        reason, why = why_misaligned(first.operands[0], tensor, wanted)
        return Group(first, what, Narrowing(aligned, wanted, str_of(tensor), bits, "global", reason, why))
    if _is_interrupted(run, all_accesses, is_load):
        why = (
            f"{'stores' if is_load else 'loads'} of other tensors, which could be the same memory, lie between; "
            f"{'load' if is_load else 'compute'} all {wanted // bits} elements first, as tensor.{what}() does"
        )
        return Group(first, what, Narrowing(bits, wanted, str_of(tensor), bits, "global", "order", why))
    return None


def _through_branches(value: ir.Value) -> ir.Value:
    """The tensor that a branch gives back as it came."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "scf.if":
        ends = [region.blocks[0].operations for region in value.owner.operation.regions if len(region.blocks)]
        number = ir.OpResult(value).result_number
        given = {end[len(end) - 1].operation.operands[number] for end in ends}
        if len(given) != 1:
            break
        value = given.pop()
    return value


def _static_coordinate(tensor: MemRef, coordinate: object) -> tuple[int, ...] | None:
    if not isinstance(coordinate, CoordValue) or not isinstance(tensor.layout, Layout):
        return None
    shape = tensor.layout.shape
    flat: list[Any] = list(leaves(coordinate.coordinate))
    if not all(isinstance(each, int) for each in flat):
        return None
    if len(flat) == 1 and all(isinstance(each, int) for each in leaves(shape)):
        flat = list(leaves(idx2crd(flat[0], shape)))
    return tuple(flat) if len(flat) == len(list(leaves(shape))) else None


def _adjacent(run: list[_Access], tensor: MemRef) -> int:
    """How many elements next to each other, from a multiple of their number on, are accessed: a power of two."""
    assert isinstance(tensor.layout, Layout)
    strides = list(leaves(tensor.layout.stride))
    sizes = list(leaves(tensor.layout.shape))
    along = next(index for index, stride in enumerate(strides) if stride == 1 and sizes[index] != 1)
    by_others: dict[tuple[int, ...], set[int]] = {}
    for each in run:
        others = each.coordinate[:along] + each.coordinate[along + 1 :]
        by_others.setdefault(others, set()).add(each.coordinate[along])
    best = 1
    for present in by_others.values():
        while all(index in present for index in range(min(present), min(present) + 2 * best)):
            best *= 2
    return best


def _is_interrupted(run: list[_Access], accesses: Sequence[ir.Operation], is_load: bool) -> bool:
    """Whether something between the first and the last keeps them from being one: a store, or for stores a load."""
    numbers = {each.number for each in run}
    for number in range(run[0].number + 1, run[-1].number):
        if number in numbers:
            continue
        other = view(accesses[number].operands[0].type)
        in_memory = isinstance(other, MemRef) and other.space != AddressSpace.RMEM
        if in_memory and (not is_load or accesses[number].name == _STORE):
            return True
    return False
