"""What writes of shared memory do that arrive at mbarriers as bytes, other than copies of tensors."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING

from cutecc.proving.aggregates import Answer
from cutecc.proving.arithmetic import block_of, bytes_of
from cutecc.proving.effects import Effect, bulk_read, event_of, moved, segments
from cutecc.proving.values import WARP, Lanes, Value
from cutecc.proving.warps import NotKnown

if TYPE_CHECKING:
    from cutecc.proving.execution import Execution

_ANSWER = 16
"""Bytes."""


def _of_lane(value: Value, lane: int) -> int | None:
    found = value[lane] if isinstance(value, Lanes) else value
    return found if type(found) is int else None


def _arriving_write(run: Execution, index: int, places: tuple[Value, Value], size: int, mask: int = 0) -> bool:
    """A write of each lane, which is over when its bytes have arrived at an mbarrier."""
    warp = run.warps[index]
    run.tick(index)
    for lane in range(WARP):
        if not warp.mask >> lane & 1:
            continue
        target, bar = (_of_lane(each, lane) for each in places)
        if target is None or bar is None:
            raise NotKnown("where bytes go, or at which mbarrier they arrive, is not known", event_of(run, index))
        blocks = [each for each in range(mask.bit_length()) if mask >> each & 1]
        for there, at in [(moved(target, each), moved(bar, each)) for each in blocks] or [(target, bar)]:
            barrier = run.mbarrier(index, at)
            if barrier is None:
                continue
            run.access(index, [(there, there + size)], barrier.component, barrier.complete + 1, writes=True)
            run.arrive(index, barrier, 0, run.clocks[index], -size)
    return True


def _store(run: Execution, index: int) -> bool:
    event, warp = event_of(run, index), run.warps[index]
    size = bytes_of(run.program.kernel.types[event.operands[1]])
    if not size:
        raise NotKnown("how many bytes are stored is not known", event)
    return _arriving_write(run, index, (warp.given(0), warp.given(2)), size)


def _bulk_load(run: Execution, index: int) -> bool:
    """From global memory."""
    event, warp = event_of(run, index), run.warps[index]
    counts = segments(event)
    size = run.number(index, 3, "the bytes of a copy")
    mask = run.number(index, 4, "the blocks of a multicast") if counts[4] else 0
    return _arriving_write(run, index, (warp.given(0), warp.given(2)), size, mask)


def _between_blocks(run: Execution, index: int) -> bool:
    """From the block's own shared memory into another one's: also what is read is read when the bytes have arrived."""
    warp = run.warps[index]
    source, bar = run.number(index, 1, "where a copy reads"), run.number(index, 2, "the mbarrier of a copy")
    size = run.number(index, 3, "the bytes of a copy")
    if (barrier := run.mbarrier(index, bar)) is not None:
        run.access(index, [(source, source + size)], barrier.component, barrier.complete + 1, writes=False)
    return _arriving_write(run, index, (warp.given(0), warp.given(2)), size)


def _bulk_store(run: Execution, index: int) -> bool:
    source, size = run.number(index, 1, "where a copy reads"), run.number(index, 2, "the bytes of a copy")
    bulk_read(run, index, source, size)
    return True


def _request(run: Execution, index: int) -> bool:
    """A request to cancel a cluster that has not begun: its answer is bytes that arrive, in one block or in all."""
    event, warp = event_of(run, index), run.warps[index]
    if warp.active != 1 or run.requester not in (None, index):
        raise NotKnown("several threads ask for clusters: who gets which one is not known", event)
    run.requester = index
    answer = Answer(run.requests)
    run.requests += 1
    target = run.number(index, 0, "where an answer goes")
    blocks = range(prod(run.program.kernel.cluster)) if "multicast" in event.attributes else [block_of(target)]
    mask = sum(1 << each for each in blocks)
    _arriving_write(run, index, (warp.given(0), warp.given(1)), _ANSWER, mask)
    run.words.update({moved(target, each): (_ANSWER, answer) for each in blocks})
    return True


CLUSTER_EFFECTS: Mapping[str, Effect] = {
    "nvvm.clusterlaunchcontrol.try.cancel": _request,
    "nvvm.store.async": _store,
    "nvvm.cp.async.bulk.shared.cluster.global": _bulk_load,
    "nvvm.cp.async.bulk.shared.cluster.shared.cta": _between_blocks,
    "nvvm.cp.async.bulk.global.shared.cta": _bulk_store,
}
