"""The explorer executes as many orders as an independent model of the same programs has, and each once."""

from __future__ import annotations

import numpy as np
import pytest
from explored import Kernel, by_warp, initialised_mbarriers, orders
from skeletons import Op, Skeleton, count_orders, generated, ptx


def explored(skeleton: Skeleton) -> int:
    body = initialised_mbarriers(*skeleton.counts) + by_warp(*ptx(skeleton))
    kernel = Kernel(body, len(skeleton.programs), [np.zeros(64, np.uint32)], check="bounds")
    found = orders(kernel)
    assert found.complete
    return found.executed


def pair(*counts: int, one: list[Op], two: list[Op]) -> Skeleton:
    return Skeleton(counts, (tuple(one), tuple(two)))


ARRIVE, WAIT, AGAIN = Op("arrive"), Op("wait", 0, 0), Op("wait", 0, 1)
BY_HAND = {
    "arrivals of one phase": (pair(2, one=[ARRIVE], two=[ARRIVE]), 1),
    "arrivals of two phases": (pair(1, one=[ARRIVE], two=[ARRIVE]), 2),
    "a phase that passes its waiter": (pair(1, one=[ARRIVE, ARRIVE], two=[WAIT]), 2),
    "a wait that would pass earlier": (pair(1, one=[ARRIVE, ARRIVE], two=[AGAIN]), 2),
    "all meet twice": (pair(2, one=[ARRIVE, WAIT, ARRIVE, AGAIN], two=[ARRIVE, WAIT, ARRIVE, AGAIN]), 1),
    "one of three is late": (Skeleton((2,), ((ARRIVE,),) * 3), 3),
    "a copy and its announcement": (pair(1, one=[Op("expect", 0, 16), Op("copy", 0, 16)], two=[WAIT]), 1),
    "additions": (Skeleton((1,), ((Op("add"),),) * 3), 1),
    "exchanges": (Skeleton((1,), ((Op("exchange"),),) * 3), 6),
    "readers": (pair(1, one=[Op("exchange")], two=[Op("load"), Op("load")]), 3),
    "a named barrier for two of three": (Skeleton((1,), ((Op("sync", 1),),) * 3), 3),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    skeleton, number = BY_HAND[name]
    assert (explored(skeleton), count_orders(skeleton)) == (number, (number, False))


TOO_LONG = (37, 59)
"""Seeds of skeletons with so many interleavings that a test has no time to list them all."""


@pytest.mark.parametrize("seed", [seed for seed in (*range(62), 509, 1051, 1410, 1688) if seed not in TOO_LONG])
def test_generated(seed: int) -> None:
    skeleton = generated(seed)
    number, has_surplus = count_orders(skeleton)
    executed = explored(skeleton)
    # Where more arrive than a phase waits for, what commutes depends on who came before: some are executed twice.
    assert executed >= number if has_surplus else executed == number
