"""One request of a warp, thread by thread: what a picture of bank conflicts or of touched sectors is drawn of."""

from typing import Literal

import msgspec


class WarpRequest(msgspec.Struct, frozen=True):
    """Where 32 threads access memory, and in which turn each is served; a list has a number for each thread."""

    offsets: list[int]
    """Bytes from the beginning of the tensor in shared memory, or of the first line of global memory; -1: none."""
    turns: list[int]
    """From 0, the wavefront that serves the thread, or which of the sectors that are touched it is; -1: none."""
    before: list[int] = []
    """Words of the thread's bank that are served before it although they could be at once; a conflict where above 0."""

    @property
    def taken(self) -> int:
        """The wavefronts or sectors."""
        return max(self.turns) + 1


class RequestPicture(msgspec.Struct, frozen=True):
    """A request that takes most of an access, and what a swizzle makes of it."""

    space: Literal["global", "shared"]
    size: int
    """Bytes that each thread accesses."""
    unit: int
    """Bytes that `layout` and `swizzle` count in: those of an element, where that is known, else 1."""
    layout: str | None
    """From the thread to its offset, less that of the first thread; `None` where no layout says it."""
    request: WarpRequest
    swizzle: str | None = None
    """For the tensor's offsets: what `check-bank-conflicts` proposes."""
    swizzled: WarpRequest | None = None
    """The same request through it."""
