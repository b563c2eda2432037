"""`wgmma`: when multiplications happen, who waits, and what checks are told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.emulator.machine.watch import Watch

sys.path[:0] = [str(Path(__file__).parent)]

from warpgroups import Tile, get_accumulators, text, types_for  # noqa: E402
from warps import Warps  # noqa: E402

START = text("sync.aligned.m64n8k16.f32.f16.f16", 8, "f32", rest=", %p, 1, 1, 0, 0")
OTHER = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%x0, %x1, %x2, %x3}, %da, %db, %p, 1, 1, 0, 0;"
COMMIT = "wgmma.commit_group.sync.aligned;"


def ones(**more: Any) -> Warps:
    """Every product is 16; results add up."""
    types = types_for(8, "f32") | dict.fromkeys([f"%x{number}" for number in range(4)], "b32")
    warps = Warps(types, **more)
    for block in warps.machine.blocks:
        warps.memory.window(block.slot).view(np.uint16)[:] = 0x3C00
    warps.set("%da", np.uint64(Tile().descriptor))
    warps.set("%db", np.uint64(Tile().descriptor))
    warps.set("%p", True)
    return warps


def total(warps: Warps) -> set[float]:
    return set(get_accumulators(warps, 8, "f32").reshape(-1).tolist())


def wait(latest: int) -> str:
    return f"wgmma.wait_group.sync.aligned {latest};"


def test_until_they_are_waited_for_accumulators_may_be_old() -> None:
    warps = ones(eager=False)
    assert warps.do("wgmma.fence.sync.aligned;") == [None]
    warps.do(START)
    warps.do(COMMIT)
    assert total(warps) == {0}
    assert warps.do(wait(0)) == [None]
    assert total(warps) == {16}
    assert not warps.machine.pending


def test_eager_ones_happen_at_once() -> None:
    warps = ones(eager=True)
    warps.do(START)
    assert total(warps) == {16}


def test_only_the_groups_before_the_latest_have_to_be_over() -> None:
    warps = ones(eager=False)
    for instruction in (START, OTHER):
        warps.do(instruction)
        warps.do(COMMIT)
    warps.do(wait(1))
    assert (warps.get("%d0").view(np.float32) == 16).all()
    assert (warps.get("%x0") == 0).all()
    slots = tuple(list(warps.types).index(f"%x{number}") for number in range(4))
    assert [each.accumulators for each in warps.gangs[0].in_flight] == [slots]
    warps.do(wait(0))
    assert (warps.get("%x0").view(np.float32) == 16).all()


def test_what_was_not_committed_is_not_waited_for() -> None:
    warps = ones(eager=False)
    warps.do(START)
    warps.do(wait(0))
    assert total(warps) == {0}
    assert len(warps.machine.pending) == 1


def test_additions_into_the_same_accumulators_happen_in_order() -> None:
    """The last one, which does not add, would lose the sum if it did not come last."""
    warps = ones(eager=False)
    for adds in (True, True, False):
        warps.set("%p", adds)
        warps.do(START)
    last = warps.machine.pending[-1]
    warps.machine.finish(last)
    assert not warps.machine.pending
    assert total(warps) == {16}


def test_additions_into_other_accumulators_happen_in_any_order() -> None:
    """Those of another multiplication, or of other warps."""
    warps = ones(eager=False)
    warps.do(START)
    warps.do(OTHER)
    first, last = warps.machine.pending
    warps.machine.finish(last)
    assert warps.machine.pending == [first]
    warps = ones(eager=False, threads=256)
    for half in (0, 1):
        warps.do(START, mask=np.arange(8)[:, None] // 4 == half)
    first, last = warps.machine.pending
    warps.machine.finish(last)
    assert warps.machine.pending == [first]
    assert get_accumulators(warps, 8, "f32").reshape(2, -1).max(axis=1).tolist() == [0, 16]


def test_sources_are_read_when_it_happens() -> None:
    warps = ones(eager=False)
    instruction = START.replace("%da", "{%a0, %a1, %a2, %a3}").replace("1, 1, 0, 0", "1, 1, 0")
    warps.do(instruction)
    warps.do(COMMIT)
    for number in range(4):
        warps.set(f"%a{number}", 0x40004000)
    assert warps.gangs[0].in_flight[0].sources == tuple(range(4, 8))
    warps.do(wait(0))
    assert total(warps) == {32}


def test_each_warp_waits_for_the_others_of_its_warpgroup_to_start() -> None:
    warps = ones(eager=False, together=False, threads=256)
    warps.do(START, gangs=[0, 1, 3, 4])
    warps.do(COMMIT, gangs=[0, 1, 3, 4])
    waiting = warps.do(wait(0), gangs=[0, 4])
    assert waiting[0] is not None
    assert waiting[1] is not None
    assert waiting[0].mask.all()
    assert waiting[0].what(0) == "warps 2, of its warpgroup, to start the same wgmma.mma_async"
    assert waiting[1].what(0) == "warps 5, 6, 7, of its warpgroup, to start the same wgmma.mma_async"
    state = warps.machine.state
    warps.do(START, gangs=[2])
    assert warps.machine.state > state
    assert warps.do(wait(0), gangs=[0]) == [None]
    found = warps.get("%d0").view(np.float32)[:, 0]
    np.testing.assert_array_equal(found, [16, 0, 0, 0, 0, 0, 0, 0])


def test_a_block_of_half_a_warpgroup_waits_for_warps_that_it_does_not_have() -> None:
    warps = ones(eager=False, threads=64)
    warps.do(START)
    warps.do(COMMIT)
    (waiting,) = warps.do(wait(0))
    assert waiting is not None
    assert waiting.what(1).endswith("mma_async; the block has 2 warps, which are no whole warpgroups")


def test_results_are_the_same_with_a_gang_a_warp() -> None:
    """Numbers that show rows and warps."""
    results = []
    for together in (True, False):
        warps = ones(together=together)
        numbers = np.random.default_rng(13).integers(-8, 8, 32 << 10).astype(np.float16)
        warps.memory.window(0)[:] = numbers.view(np.uint8)
        warps.do(START)
        results.append(get_accumulators(warps, 8, "f32"))
    np.testing.assert_array_equal(*results)
    assert len(set(results[0].reshape(-1).tolist())) > 100


class Telling(Watch):
    listens = True

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.reads: dict[int, list[int]] = {}

    def spawn(self, gang: Any, lanes: Any, operation: Any) -> int:
        self.told.append(("spawn", lanes.rows, gang.in_flight[-1].operation is operation))
        return 1000 + len(self.told)

    def asynchronous_access(self, agent: int, operation: Any, kind: Any, space: Any, addresses: Any, size: int) -> None:
        assert (kind, space, size) == ("read", "shared", 16)
        self.reads.setdefault(agent, []).extend(addresses.tolist())

    def finish(self, agent: int, key: Any) -> None:
        self.told.append(("finish", agent, key))

    def release(self, gang: Any, lanes: Any, operation: Any, key: Any) -> None:
        self.told.append(("release", lanes.rows, key))

    def acquire(self, gang: Any, lanes: Any, operation: Any, key: Any) -> None:
        self.told.append(("acquire", lanes.rows, key))

    def fence(self, gang: Any, lanes: Any, operation: Any) -> None:
        self.told.append(("fence", str(operation.form)))


@pytest.mark.parametrize("major", ["k", "mn"])
def test_what_checks_are_told(major: str) -> None:
    watch = Telling()
    warps = ones(watch=watch, eager=False)
    tile_a, tile_b = Tile(major, start=8192), Tile(start=24576)
    warps.set("%da", np.uint64(tile_a.descriptor))
    warps.set("%db", np.uint64(tile_b.descriptor))
    warps.do("wgmma.fence.sync.aligned;")
    warps.do(START.replace("0, 0", "1, 0" if major == "mn" else "0, 0"))
    starts = "starts", "wgmma", 0, 0, 0
    spawned = [("spawn", [row], True) for row in range(4)]
    assert watch.told == [
        ("fence", "wgmma.fence.sync.aligned"),
        *spawned,
        *[("release", [row], starts) for row in range(4)],
    ]
    assert not watch.reads
    warps.do(COMMIT)
    warps.do(wait(0))
    keys = [("group", "wgmma", 0, warp, 0) for warp in range(4)]
    assert watch.told[9:13] == [("finish", 1002 + warp, keys[warp]) for warp in range(4)]
    # Of its own product, and of what the four did before they started it.
    assert watch.told[13:] == [("acquire", [warp], key) for warp in range(4) for key in (keys[warp], starts)]
    window, blank = warps.memory.window(0), np.zeros((64, 16), np.float16)
    of_b = tile_b.put(window, blank[:8], "f16")
    for warp in range(4):
        if major == "k":
            of_a = {tile_a.chunk(row, chunk) for row in range(16 * warp, 16 * warp + 16) for chunk in range(2)}
        else:
            of_a = {tile_a.chunk(chunk, column) for chunk in range(2 * warp, 2 * warp + 2) for column in range(16)}
        assert len(watch.reads[1002 + warp]) == len(of_a | of_b)
        assert set(watch.reads[1002 + warp]) == of_a | of_b


def test_in_flight_is_what_nobody_has_waited_for() -> None:
    warps = ones(threads=256)
    warps.do(START)
    (flying,) = warps.gangs[0].in_flight
    assert (flying.accumulators, flying.sources) == ((0, 1, 2, 3), ())
    assert flying.warps.all()
    warps.do(COMMIT)
    warps.do(wait(0), mask=np.arange(8)[:, None] < 4)
    assert flying.warps.tolist() == [False] * 4 + [True] * 4
    warps.do(wait(0))
    assert not warps.gangs[0].in_flight
