"""Sites: the places of a kernel whose times are recorded."""

from __future__ import annotations

from typing import Literal

import msgspec

SiteKind = Literal["wait", "barrier", "arrive", "copy", "product", "mark"]
"""What happens there.

wait      for an mbarrier, or for asynchronous operations that this thread has begun
barrier   for other threads of the block or cluster
arrive    at an mbarrier or a named barrier, without waiting
copy      an asynchronous copy is begun
product   a matrix product is begun
mark      a range or an instant that the user's own code names
"""


class Site(msgspec.Struct, frozen=True, omit_defaults=True):
    """A place in a kernel."""

    kind: SiteKind
    name: str
    """In words: `mbarrier wait`, `TMA load`; of a mark, its own name."""
    barrier: str | None = None
    """What it waits for or arrives at, and of a copy or product what is told that it is done: `mbarrier 1`, `named
    barrier 2`, `products`, `bulk stores`. A pipeline has one for all full stages, one for all empty ones."""
    file: str = ""
    line: int = 0
    """Of the user's Python, 1 for the first; 0 where it is not known."""


PRODUCTS = "products"
"""What `Site.barrier` calls products of the own warpgroup, which `wgmma.wait_group` waits for."""
STORES = "bulk stores"
"""Copies from shared memory that this thread has begun, in its bulk groups."""
COPIES = "copies"
"""Copies that this thread has begun, in its groups of `cp.async`."""
TENSOR_MEMORY = "tensor memory"
"""Loads and stores of tensor memory that this warp has begun."""
CLUSTER = "cluster"
"""The barrier of all threads of a cluster."""


def mbarrier(number: int) -> str:
    """What `Site.barrier` calls the mbarriers of a kernel, by their number."""
    return f"mbarrier {number}"


def is_mbarrier(barrier: str | None) -> bool:
    return barrier is not None and barrier.startswith("mbarrier ")


def named_barrier(number: int) -> str:
    """One of the 16 barriers of a block; 0 is that of `sync_threads`."""
    return f"named barrier {number}"
