"""What operations of the tensor cores of sm_100 do. docs/emulator.md has the order that they promise.

What a thread issues to the tensor pipe are groups that it commits to mbarriers, of three kinds: reads, which nothing
that it issues later can disturb; copies into tensor memory, which products behind them see; and products, which are in
order among those that are alike.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING

from cutecc.proving import tensor_memory
from cutecc.proving.effects import Effect, event_of, moved, targets, unknown_results
from cutecc.proving.tensor_loads import USE
from cutecc.proving.tensor_memory import COLUMNS, Footprint, Multiplication, Unmodelled, named
from cutecc.proving.warps import NotKnown

if TYPE_CHECKING:
    from cutecc.proving.barriers import Clock
    from cutecc.proving.execution import Execution
    from cutecc.proving.kernel import Operation

_PIPE = "tcgen05 pipe"
_READS, _COPIES = "reads", "copies"
_LOADS, _STORES = "tcgen05.ld", "tcgen05.st"


def _is_of_pair(event: Operation) -> bool:
    return any(named(event.attributes.get(name)) == "cta_2" for name in ("ctaGroup", "group"))


def _blocks(run: Execution, index: int) -> tuple[int, ...]:
    """Those that the warp's event is of."""
    block, event = run.warps[index].block, event_of(run, index)
    if not _is_of_pair(event):
        return (block,)
    if prod(run.program.kernel.cluster) < (block | 1) + 1:
        raise NotKnown("an operation of a pair of blocks, where there is none", event)
    return (block & ~1, block | 1)


# Allocation


def _allocate(run: Execution, index: int) -> bool:
    target, count = run.number(index, 0, "where an address goes"), run.number(index, 1, "a number of columns")
    event, blocks = event_of(run, index), _blocks(run, index)
    if len(blocks) == 2 and not _both_ask(run, index, blocks):
        return False
    first = _free(run, run.warps[index].block, count)
    if first is None:
        raise NotKnown("more columns of tensor memory are allocated than there are", event)
    run.columns[run.warps[index].block] = (*run.columns.get(run.warps[index].block, ()), (first, count))
    run.access(index, [(target, target + 4)], index, run.tick(index), writes=True)
    run.words[target] = 4, first
    return True


def _both_ask(run: Execution, index: int, blocks: tuple[int, ...]) -> bool:
    """Whether the other block of a pair has come to allocate as well."""
    block = run.warps[index].block
    (other,) = (each for each in blocks if each != block)
    times = len(run.columns.get(block, ())) + 1
    run.asked[block] = times
    return run.asked.get(other, 0) >= times


def _free(run: Execution, block: int, count: int) -> int | None:
    """The first of so many columns that nobody has. Which ones a block gets is for the GPU to say: any will do."""
    taken = run.columns.get(block, ())
    for first in range(0, COLUMNS - count + 1, max(count, 32)):
        if all(first + count <= start or start + size <= first for start, size in taken):
            return first
    return None


def _deallocate(run: Execution, index: int) -> bool:
    address, count = run.number(index, 0, "an address of tensor memory"), run.number(index, 1, "a number of columns")
    block = run.warps[index].block
    column = tensor_memory.lane_and_column(address)[1]
    if (column, count) not in run.columns.get(block, ()):
        raise NotKnown("columns of tensor memory are given back that nobody has allocated so", event_of(run, index))
    run.access(index, tensor_memory.all_lanes(block, column, count), index, run.tick(index), writes=True)
    run.columns[block] = tuple(each for each in run.columns[block] if each != (column, count))
    return True


def _nothing(run: Execution, index: int) -> bool:
    return True


# The pipe


def _alone(run: Execution, index: int) -> str:
    """The thread that issues something to the pipe, for the names of its groups."""
    warp = run.warps[index]
    if warp.active != 1:
        raise NotKnown("several threads of a warp issue this to the tensor pipe", event_of(run, index))
    return f"{_PIPE} {warp.mask.bit_length() - 1}"


def _issue(run: Execution, index: int, found: Footprint, kind: str) -> None:
    """Reads, and then writes that are of a kind."""
    thread = _alone(run, index)
    names = [f"{thread} {each}" for each in dict.fromkeys((_READS, _COPIES, kind))]
    reads, *_, writes = groups = [run.group(index, each) for each in names]
    run.tick(index)
    for each in (reads, writes):
        each.is_open, each.last = True, event_of(run, index)
    # Reads of shared memory come after what the thread knows; those of tensor memory also after its copies; writes
    # after what it has read, and after what is alike.
    run.access(index, found.reads, reads.component, reads.committed + 1, writes=False)
    after_copies = _behind(run, index, names[1:2])
    run.access(index, found.loads, reads.component, reads.committed + 1, writes=False, clock=after_copies)
    after_all = _behind(run, index, names)
    run.access(index, found.writes, writes.component, groups[-1].committed + 1, writes=True, clock=after_all)


def _behind(run: Execution, index: int, names: list[str]) -> Clock:
    """What the warp knows, and that groups of these names are over, that which is open included."""
    clock = [*run.clocks[index]]
    for each in (run.group(index, name) for name in names):
        clock.extend([0] * (each.component + 1 - len(clock)))
        clock[each.component] = each.committed + 1
    return clock


def _multiply(run: Execution, index: int) -> bool:
    event = event_of(run, index)
    kernel = run.program.kernel
    _has_all_lanes(run, index)
    scales = None
    if event.name.endswith("block_scale"):
        scales = run.number(index, 5, "an address of scales"), run.number(index, 6, "an address of scales")
    given = Multiplication(
        named(event.attributes["kind"]),
        run.number(index, 3, "an instruction descriptor"),
        run.number(index, 0, "an address of tensor memory"),
        run.number(index, 1, "a matrix descriptor"),
        run.number(index, 2, "a matrix descriptor"),
        kernel.types[event.operands[1]] == "!llvm.ptr<6>",
        _blocks(run, index),
        scales,
        named(event.attributes.get("blockScale")),
    )
    with _modelled(run, index):
        found = tensor_memory.product(given)
    _issue(run, index, found, found.alike)
    return True


def _has_all_lanes(run: Execution, index: int) -> None:
    """That a product writes all lanes, and is none that is not modelled."""
    event = event_of(run, index)
    count = 7 if event.name.endswith("block_scale") else 5
    masks = [run.warps[index].given(each) for each in range(count, len(event.operands))]
    if len(masks) > 1 or any(each != 0 for each in masks) or "aShift" in event.attributes:
        raise NotKnown("which lanes of tensor memory a product writes is not known", event)


def _copy(run: Execution, index: int) -> bool:
    event = event_of(run, index)
    shape = named(event.attributes["shape"]).removeprefix("shape_")
    address, descriptor = run.number(index, 0, "an address of tensor memory"), run.number(index, 1, "a descriptor")
    with _modelled(run, index):
        found = tensor_memory.copy(shape, address, descriptor, _blocks(run, index))
    _issue(run, index, found, _COPIES)
    return True


@contextmanager
def _modelled(run: Execution, index: int) -> Generator[None]:
    """What is not modelled is not known."""
    try:
        yield
    except Unmodelled as failure:
        raise NotKnown(str(failure), event_of(run, index)) from failure


def _commit(run: Execution, index: int) -> bool:
    """An arrival when all is over that the thread has issued so far."""
    event, thread = event_of(run, index), _alone(run, index)
    run.tick(index)
    clock = [*run.clocks[index]]
    for (warp, name), each in run.groups.items():
        if warp != index or not name.startswith(f"{thread} "):
            continue
        each.committed += each.is_open
        each.done, each.is_open = each.committed, False
        clock.extend([0] * (each.component + 1 - len(clock)))
        clock[each.component] = each.committed
    for barrier, _ in targets(run, index):
        blocks = _multicast(run, index, event)
        if blocks is None:
            run.arrive(index, barrier, 1, clock)
            continue
        address = run.number(index, 0, "the address of an mbarrier")
        for block in blocks:
            if (there := run.mbarrier(index, moved(address, block))) is not None:
                run.arrive(index, there, 1, clock)
    return True


def _multicast(run: Execution, index: int, event: Operation) -> list[int] | None:
    if len(event.operands) < 2:
        return None
    mask = run.number(index, 1, "the blocks of a multicast")
    return [each for each in range(prod(run.program.kernel.cluster)) if mask >> each & 1]


# Loads and stores


def _transfer(run: Execution, index: int, data: int, *, writes: bool) -> bool:
    """A load or store of a warp, whose registers are of the type of a value."""
    event, kernel, warp = event_of(run, index), run.program.kernel, run.warps[index]
    address = run.number(index, 0, "an address of tensor memory")
    kind = _STORES if writes else _of_load(event.attributes.get("number", 0))
    position = 2 if writes else 1
    split = run.number(index, position, "a distance in tensor memory") if len(event.operands) > position else 0
    shape = named(event.attributes["shape"]).removeprefix("shape_")
    is_packed = "pack" in event.attributes or "unpack" in event.attributes
    registers = _registers(kernel.types[data])
    with _modelled(run, index):
        ranges = tensor_memory.transfer(
            shape, registers, is_packed=is_packed, split=split, address=address, block=warp.block
        )
    groups = run.group(index, kind)
    run.tick(index)
    run.access(index, ranges, groups.component, groups.committed + 1, writes=writes)
    groups.is_open, groups.last = True, event
    unknown_results(run, index)
    return True


def _registers(type_: str) -> int:
    found = re.fullmatch(r"vector<(\d+)x\w+>", type_)
    return int(found[1]) if found else 1


def _load(run: Execution, index: int) -> bool:
    return _transfer(run, index, event_of(run, index).results[0], writes=False)


def _store(run: Execution, index: int) -> bool:
    return _transfer(run, index, event_of(run, index).operands[1], writes=True)


def _of_load(number: int) -> str:
    """The name of the groups of loads with a number."""
    return f"{_LOADS} {number}"


def _wait(run: Execution, index: int) -> bool:
    """Until all loads, or stores, of the warp are over; or the loads with these numbers."""
    attributes = event_of(run, index).attributes
    kind = _LOADS if "load" in str(attributes["kind"]) else _STORES
    names = {_of_load(each) for each in attributes.get("loads", ())}
    for (warp, name), groups in run.groups.items():
        if warp == index and (name in names if names else name.startswith(kind)):
            groups.committed += groups.is_open
            groups.done, groups.is_open = groups.committed, False
            run.learns(index, groups.component, groups.done)
    return True


def _use(run: Execution, index: int) -> bool:
    """Loads with these numbers may be over."""
    for each in event_of(run, index).attributes["loads"]:
        groups = run.groups.get((index, _of_load(each)))
        if groups is not None:
            groups.perhaps = run.component() if groups.perhaps is None else groups.perhaps
            run.learns(index, groups.perhaps, groups.committed + groups.is_open)
    return True


TENSOR_EFFECTS: Mapping[str, Effect] = {
    "nvvm.tcgen05.alloc": _allocate,
    "nvvm.tcgen05.relinquish_alloc_permit": _nothing,
    "nvvm.tcgen05.dealloc": _deallocate,
    "nvvm.tcgen05.mma": _multiply,
    "nvvm.tcgen05.mma.block_scale": _multiply,
    "nvvm.tcgen05.cp": _copy,
    "nvvm.tcgen05.commit": _commit,
    "nvvm.tcgen05.ld": _load,
    "nvvm.tcgen05.ld.red": _load,
    "nvvm.tcgen05.st": _store,
    "nvvm.tcgen05.wait": _wait,
    USE: _use,
}
