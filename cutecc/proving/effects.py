"""What events do: by the names of operations, what becomes of barriers, memory and clocks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from cutecc.proving.arithmetic import block_of, bytes_of
from cutecc.proving.barriers import Mbarrier, NamedBarrier, join
from cutecc.proving.footprints import Product, in_block, of_lanes, operand_a, operand_b, product_of
from cutecc.proving.values import UNKNOWN, WARP, Lanes, Linear
from cutecc.proving.warps import NotKnown, tensor_map

if TYPE_CHECKING:
    from cutecc.proving.execution import Execution
    from cutecc.proving.kernel import Box, Kernel, Operation
    from cutecc.proving.memory import Range
    from cutecc.proving.values import Value

Effect = Callable[["Execution", int], bool]
"""Takes the run and a warp's index; whether the warp goes on behind the event."""

_BLOCK = 24
_CLUSTER = -1


def event_of(run: Execution, index: int) -> Operation:
    event = run.warps[index].event
    assert event is not None
    return event


def base_of(run: Execution, index: int) -> int:
    """Where the warp's block begins in the cluster's shared memory."""
    return run.warps[index].block << _BLOCK


def segments(event: Operation) -> list[int]:
    """How many operands there are of each kind."""
    return [int(text) for text in re.findall(r"\d+", event.attributes["operandSegmentSizes"].split(":", 1)[1])]


# mbarriers


def _initialise(run: Execution, index: int) -> bool:
    address, expected = run.number(index, 0, "the address of an mbarrier"), run.number(index, 1, "a count of arrivals")
    if address in run.mbarriers:
        raise NotKnown("an mbarrier is initialised again", event_of(run, index))
    value = run.tick(index)
    run.mbarriers[address] = Mbarrier(expected, run.component(), (index, value), event_of(run, index), missing=expected)
    return True


def targets(run: Execution, index: int) -> Iterator[tuple[Mbarrier, int]]:
    """mbarriers with how many lanes address each."""
    warp = run.warps[index]
    address = warp.given(0)
    if type(address) is int:
        lanes = {address: warp.active}
    elif isinstance(address, Lanes):
        lanes: dict[int, int] = {}
        for lane, each in enumerate(address):
            if warp.mask >> lane & 1:
                lanes[each] = lanes.get(each, 0) + 1
    else:
        raise NotKnown("the address of an mbarrier is not known", event_of(run, index))
    for each, count in lanes.items():
        if (found := run.mbarrier(index, each)) is not None:
            yield found, count


def _arrive(run: Execution, index: int) -> bool:
    counts = segments(event_of(run, index)) if "operandSegmentSizes" in event_of(run, index).attributes else [1]
    each = run.number(index, 1, "a count of arrivals") if len(counts) > 1 and counts[1] else 1
    run.tick(index)
    for barrier, lanes in targets(run, index):
        run.arrive(index, barrier, each * lanes, run.clocks[index])
    unknown_results(run, index)
    return True


def _expect(run: Execution, index: int) -> bool:
    announced = run.number(index, 1, "the number of announced bytes")
    run.tick(index)
    for barrier, lanes in targets(run, index):
        run.arrive(index, barrier, lanes, run.clocks[index], announced * lanes)
    unknown_results(run, index)
    return True


def _wait(run: Execution, index: int) -> bool:
    address, parity = run.number(index, 0, "the address of an mbarrier"), run.number(index, 1, "the parity of a wait")
    barrier = run.mbarrier(index, address)
    if barrier is None:
        return True
    event, polls = event_of(run, index), run.program.polls
    if not event.results or event in polls.spinning:
        return _await(run, index, barrier, parity)
    if event not in polls.ahead:
        raise NotKnown("more depends on a look at an mbarrier than whether to wait for it", event)
    # Who looks, and finds the phase over, does not wait for it: what is true of who waits is true of it, if the wait
    # is for the phase that the look is for. That is the first one, from those that are known to be complete on, with
    # which a look of this parity is content.
    known = run.knows(index, barrier.component)
    warp = run.warps[index]
    warp.looks |= {(address, parity, known + (known % 2 == parity % 2))}
    for result in event.results:
        warp.values[result] = 0
    return True


def _announce(run: Execution, index: int) -> bool:
    """Bytes that a phase waits for, without an arrival."""
    announced = run.number(index, 1, "the number of announced bytes")
    run.tick(index)
    for barrier, lanes in targets(run, index):
        run.arrive(index, barrier, 0, run.clocks[index], announced * lanes)
    return True


def _await(run: Execution, index: int, barrier: Mbarrier, parity: int) -> bool:
    """A wait, which may have been looked ahead for."""
    if not run.wait(index, barrier, parity):
        return False
    event, warp = event_of(run, index), run.warps[index]
    address = run.number(index, 0, "the address of an mbarrier")
    if event in run.program.polls.guarded:
        look = (address, parity, barrier.complete)
        if look not in warp.looks:
            raise NotKnown("a wait is for another phase than the look that may have made it superfluous", event)
        warp.looks -= {look}
    for result in event.results:
        warp.values[result] = 1
    return True


def unknown_results(run: Execution, index: int) -> None:
    for result in event_of(run, index).results:
        run.warps[index].values[result] = UNKNOWN


# Barriers by their number


def _named(run: Execution, index: int, number: int, expected: int, weight: int) -> NamedBarrier | None:
    """The barrier, at which the warp has arrived now."""
    key = (_CLUSTER if number == _CLUSTER else run.warps[index].block, number)
    barrier = run.named.get(key)
    if barrier is None:
        barrier = run.named[key] = NamedBarrier(run.component(), expected)
    if barrier.arrived and barrier.expected != expected:
        text = f"{run.who(index)} comes to barrier {number} with {expected} threads, others with {barrier.expected}"
        run.report("barrier", index, text)
    if run.knows(index, barrier.component) < barrier.complete:
        text = f"{run.who(index)} may arrive at barrier {number} while its last phase goes on: nothing orders the two"
        run.report("barrier", index, text)
    barrier.expected = expected
    run.tick(index)
    join(barrier.clock, run.clocks[index])
    barrier.waiting.add(index)
    barrier.arrived += weight
    if barrier.arrived > expected:
        run.report("barrier", index, f"{barrier.arrived} threads come to barrier {number}, which is for {expected}")
    if barrier.arrived >= expected:
        barrier.complete += 1
        passed = barrier.clock
        passed.extend([0] * (barrier.component + 1 - len(passed)))
        passed[barrier.component] = barrier.complete
        barrier.clock, barrier.arrived = [*passed], 0
        barrier.released |= dict.fromkeys(barrier.waiting, passed)
        barrier.waiting.clear()
    return barrier


def _numbered(run: Execution, index: int) -> tuple[int, int]:
    event = event_of(run, index)
    given = len(event.operands)
    threads = prod(run.program.kernel.block)
    number = run.number(index, 0, "the number of a barrier") if given else 0
    return number, run.number(index, 1, "the threads of a barrier") if given > 1 else threads


def _barrier(run: Execution, index: int) -> bool:
    number, expected = _numbered(run, index)
    return _synchronise(run, index, number, expected, WARP)


def _synchronise(run: Execution, index: int, number: int, expected: int, weight: int) -> bool:
    barrier = run.named.get((_CLUSTER if number == _CLUSTER else run.warps[index].block, number))
    if barrier is None or not barrier.has(index):
        barrier = _named(run, index, number, expected, weight)
        assert barrier is not None
    passed = barrier.released.pop(index, None)
    if passed is None:
        return False
    join(run.clocks[index], passed)
    return True


def _barrier_arrive(run: Execution, index: int) -> bool:
    barrier = _named(run, index, *_numbered(run, index), WARP)
    if barrier is not None:
        barrier.waiting.discard(index)
        barrier.released.pop(index, None)
    return True


def _of_whole_warps(effect: Effect) -> Effect:
    """Of a barrier to which lanes may come by themselves: what it is where they come together."""

    def checked(run: Execution, index: int) -> bool:
        if run.warps[index].active != WARP:
            raise NotKnown("lanes of a warp come to a barrier by themselves", event_of(run, index))
        return effect(run, index)

    return checked


def _cluster_arrive(run: Execution, index: int) -> bool:
    before = run.named.get((_CLUSTER, _CLUSTER))
    if before is not None and before.has(index):
        run.report("barrier", index, f"{run.who(index)} arrives at the cluster's barrier twice without a wait between")
    _named(run, index, _CLUSTER, len(run.warps), 1)
    return True


def _cluster_wait(run: Execution, index: int) -> bool:
    barrier = run.named.get((_CLUSTER, _CLUSTER))
    if barrier is None or not barrier.has(index):
        run.report("barrier", index, f"{run.who(index)} waits at the cluster's barrier without an arrival before")
        return True
    return _synchronise(run, index, _CLUSTER, len(run.warps), 1)


# Copies


def _tensor_load(run: Execution, index: int) -> bool:
    event, warp = event_of(run, index), run.warps[index]
    sizes = segments(event)
    target = run.number(index, 0, "where a copy writes")
    bar = run.number(index, sum(sizes[:3]), "the mbarrier of a copy")
    mask = 0
    if len(sizes) > 5 and sizes[5]:
        mask = run.number(index, sum(sizes[:5]), "the blocks of a multicast")
    box = _box(run, index, warp.given(1))
    parts = mask.bit_count() if box.is_shared and mask else 1
    size, reach = box.size // parts, box.reach // parts
    run.tick(index)
    for _ in range(warp.active):
        for there, at in _destinations(run, event, target, bar, mask):
            barrier = run.mbarrier(index, at)
            if barrier is None:
                continue
            run.access(index, [(there, there + reach)], barrier.component, barrier.complete + 1, writes=True)
            run.arrive(index, barrier, 0, run.clocks[index], -size)
    return True


def _destinations(run: Execution, event: Operation, target: int, bar: int, mask: int) -> Iterator[tuple[int, int]]:
    """Where a copy goes to, and at which mbarrier it then arrives."""
    if not mask:
        yield target, bar
        return
    is_of_pair = "cta_2" in str(event.attributes.get("group"))
    for block in range(prod(run.program.kernel.cluster)):
        if mask >> block & 1:
            # Of pairs, the mbarrier is of the block whose number is even, or odd, as that of the mbarrier's own is.
            yield moved(target, block), moved(bar, block & ~1 | block_of(bar) & 1 if is_of_pair else block)


def moved(address: int, block: int) -> int:
    return address & (1 << _BLOCK) - 1 | block << _BLOCK


def _box(run: Execution, index: int, address: Value) -> Box:
    """What a copy moves by the tensor map at an address."""
    for argument, box in run.program.kernel.boxes.items():
        if address == Linear(((tensor_map(argument), 1),)) and box.size:
            return box
    raise NotKnown(
        "how many bytes the copy moves is not known: its tensor map is none of the arguments", event_of(run, index)
    )


def _tensor_store(run: Execution, index: int) -> bool:
    source = run.number(index, 1, "where a copy reads")
    bulk_read(run, index, source, _box(run, index, run.warps[index].given(0)).reach)
    return True


def bulk_read(run: Execution, index: int, source: int, size: int) -> None:
    groups = run.group(index, "bulk")
    run.tick(index)
    run.access(index, [(source, source + size)], groups.component, groups.committed + 1, writes=False)
    groups.is_open, groups.last = True, event_of(run, index)


def _commit(kind: str) -> Effect:
    def effect(run: Execution, index: int) -> bool:
        groups = run.group(index, kind)
        groups.committed += 1
        groups.is_open = False
        return True

    return effect


def _wait_group(kind: str, attribute: str | None) -> Effect:
    def effect(run: Execution, index: int) -> bool:
        groups = run.group(index, kind)
        left = int(event_of(run, index).attributes[attribute]) if attribute else 0
        groups.done = max(groups.done, groups.committed - left)
        run.learns(index, groups.component, groups.done)
        return True

    return effect


def _async_copy(run: Execution, index: int) -> bool:
    event, warp = event_of(run, index), run.warps[index]
    groups = run.group(index, "cp.async")
    ranges = _lanes(run, index, warp.given(0), int(event.attributes["size"]))
    run.tick(index)
    run.access(index, ranges, groups.component, groups.committed + 1, writes=True)
    groups.is_open, groups.last = True, event
    return True


def _async_arrive(run: Execution, index: int) -> bool:
    """An arrival when all copies that the thread has started so far are over."""
    event = event_of(run, index)
    groups = run.group(index, "cp.async")
    run.tick(index)
    clock = [*run.clocks[index]]
    clock.extend([0] * (groups.component + 1 - len(clock)))
    # A group of its own, for which nobody waits in this way.
    groups.committed += 1
    clock[groups.component] = groups.committed
    arrivals = 1 if event.attributes.get("noinc") else 0
    for barrier, lanes in targets(run, index):
        run.arrive(index, barrier, arrivals * lanes, clock)
    return True


# Threads' own accesses


def _lanes(run: Execution, index: int, address: Value, size: int, rows: int = WARP) -> list[Range]:
    ranges = of_lanes(address, size, run.warps[index].mask, rows)
    if ranges is None or not size:
        raise NotKnown("which shared memory is accessed is not known", event_of(run, index))
    return ranges


def _plain(run: Execution, index: int, ranges: list[Range], *, writes: bool) -> bool:
    run.access(index, ranges, index, run.tick(index), writes=writes)
    return True


def _load(run: Execution, index: int) -> bool:
    event = event_of(run, index)
    size = bytes_of(run.program.kernel.types[event.results[0]])
    address = run.warps[index].given(0)
    held, word = run.words.get(address, (0, UNKNOWN)) if type(address) is int else (0, UNKNOWN)
    run.warps[index].values[event.results[0]] = word if held == size else UNKNOWN
    return _plain(run, index, _lanes(run, index, address, size), writes=False)


def _store(run: Execution, index: int) -> bool:
    event = event_of(run, index)
    size = bytes_of(run.program.kernel.types[event.operands[0]])
    return _plain(run, index, _lanes(run, index, run.warps[index].given(1), size), writes=True)


def _matrix_store(run: Execution, index: int) -> bool:
    event = event_of(run, index)
    ranges = _lanes(run, index, run.warps[index].given(0), 16, 8 * (len(event.operands) - 1))
    return _plain(run, index, ranges, writes=True)


def _matrix_load(run: Execution, index: int) -> bool:
    event = event_of(run, index)
    ranges = _lanes(run, index, run.warps[index].given(0), 16, 8 * int(event.attributes["num"]))
    unknown_results(run, index)
    return _plain(run, index, ranges, writes=False)


# Products


@dataclass(frozen=True, slots=True)
class _Wgmma:
    """The operands of a `wgmma`."""

    product: Product
    descriptors: list[int]
    """The positions of one or two matrix descriptors."""
    flags: list[int]
    """Those of the numbers behind them; the last ones say which matrices are transposed."""


@functools.lru_cache(maxsize=4096)
def _wgmma(event: Operation, kernel: Kernel) -> _Wgmma | None:
    product = product_of(event.attributes["asm_string"])
    if product is None:
        return None
    descriptors = [each for each, value in enumerate(event.operands) if kernel.types[value] == "i64"]
    return _Wgmma(product, descriptors, [*range(descriptors[-1] + 1, len(event.operands))])


@functools.lru_cache(maxsize=65536)
def _operands(
    product: Product, descriptors: tuple[int, ...], across: tuple[bool, ...], warp: int, base: int
) -> tuple[Range, ...]:
    ranges: list[Range] = []
    if len(descriptors) == 2:
        ranges += operand_a(product, descriptors[0], warp, is_transposed=across[0])
    ranges += operand_b(product, descriptors[-1], is_transposed=across[-1])
    return tuple(in_block(ranges, base))


def _assembly(run: Execution, index: int) -> bool:
    event, warp = event_of(run, index), run.warps[index]
    found = _wgmma(event, run.program.kernel)
    if found is None:
        raise NotKnown("what the assembly does is not modelled", event)
    numbers = tuple(run.number(index, each, "a matrix descriptor") for each in found.descriptors)
    flags = [warp.given(each) == 1 for each in found.flags]
    # Behind one or two factors, which are 1 or -1; of elements of 8 bits and of integers there are none.
    across = tuple(flags[3:5] if len(numbers) == 2 else flags[3:4]) or (False, False)
    groups = run.group(index, "wgmma")
    ranges = _operands(found.product, numbers, across, warp.number, base_of(run, index))
    run.tick(index)
    run.access(index, ranges, groups.component, groups.committed + 1, writes=False)
    groups.is_open, groups.last = True, event
    unknown_results(run, index)
    return True


EFFECTS: Mapping[str, Effect] = {
    "nvvm.mbarrier.init": _initialise,
    "nvvm.mbarrier.arrive": _arrive,
    "nvvm.mbarrier.arrive.expect_tx": _expect,
    "nvvm.mbarrier.expect_tx": _announce,
    "nvvm.mbarrier.try_wait.parity": _wait,
    "nvvm.mbarrier.try_wait.parity.timelimit": _wait,
    "nvvm.mbarrier.test.wait.parity": _wait,
    "nvvm.mbarrier.wait.parity": _wait,
    "nvvm.barrier": _barrier,
    "nvvm.barrier0": _barrier,
    "nvvm.barrier.arrive": _barrier_arrive,
    "nvvm.barrier.cta.sync": _of_whole_warps(_barrier),
    "nvvm.barrier.cta.arrive": _of_whole_warps(_barrier_arrive),
    "nvvm.cluster.arrive": _cluster_arrive,
    "nvvm.cluster.arrive.relaxed": _cluster_arrive,
    "nvvm.cluster.wait": _cluster_wait,
    "nvvm.cp.async.bulk.tensor.shared.cluster.global": _tensor_load,
    "nvvm.cp.async.bulk.tensor.global.shared.cta": _tensor_store,
    "nvvm.cp.async.bulk.tensor.reduce": _tensor_store,
    "nvvm.cp.async.bulk.commit.group": _commit("bulk"),
    "nvvm.cp.async.bulk.wait_group": _wait_group("bulk", "group"),
    "nvvm.cp.async.shared.global": _async_copy,
    "nvvm.cp.async.commit.group": _commit("cp.async"),
    "nvvm.cp.async.wait.group": _wait_group("cp.async", "n"),
    "nvvm.cp.async.wait.all": _wait_group("cp.async", None),
    "nvvm.cp.async.mbarrier.arrive": _async_arrive,
    "nvvm.wgmma.commit.group.sync.aligned": _commit("wgmma"),
    "nvvm.wgmma.wait.group.sync.aligned": _wait_group("wgmma", "group"),
    "llvm.inline_asm": _assembly,
    "llvm.load": _load,
    "llvm.store": _store,
    "nvvm.load.ext": _load,
    "nvvm.store.ext": _store,
    "nvvm.stmatrix": _matrix_store,
    "nvvm.ldmatrix": _matrix_load,
}

__all__ = ["EFFECTS", "block_of"]
