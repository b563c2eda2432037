"""What a picture of a warp's request is drawn of, for remarks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutecc.layout.algebra import coalesce
from cutecc.layout.layout import Layout
from cutecc.memory_rules.banks import serve
from cutecc.memory_rules.sectors import SECTOR
from cutecc.memory_rules.warps import WARP, Array
from cutecc.passes.analysis.requests import NOBODY, AccessRequests, Space, placed, rules_of
from cutecc.passes.analysis.swizzles import Proposal, swizzled
from cutecc.record.warp_request import RequestPicture, WarpRequest


def picture_of(access: AccessRequests, space: Space, proposal: Proposal | None) -> RequestPicture | None:
    """The request of an access that takes most; `None` of copies whose rule says of no thread when it is served."""
    worst = access.spaces[space].worst_addresses
    if worst is None or (access.kind == "copy" and (space == "shared" or access.past_l1)):
        return None
    unit = proposal.unit if proposal is not None else access.element or 1
    if space == "global":
        return RequestPicture(space, access.size, unit, layout_of(worst, unit), _touching(worst))
    row = _row_of(access, worst, proposal)
    if proposal is None or row is None:
        return RequestPicture(space, access.size, unit, layout_of(worst, unit), _served(access, worst))
    offsets = row - proposal.base
    before, after = (
        _served(access, np.where(row >= 0, each, NOBODY)) for each in (offsets, swizzled(offsets, proposal.bytewise))
    )
    return RequestPicture(space, access.size, unit, layout_of(row, unit), before, str(proposal.swizzle), after)


def layout_of(offsets: Array, unit: int) -> str | None:
    """The layout from threads to offsets, in units of bytes, less that of the first thread.

    `None` where there is none: of the threads, the first two, four, … or all have to take part, and their strides to
    be multiples of the unit.
    """
    count = int(np.count_nonzero(offsets >= 0))
    bits = count.bit_length() - 1
    if count < 1 or count != 1 << bits or (offsets[:count] < 0).any():
        return None
    strides = [int(offsets[1 << bit] - offsets[0]) for bit in range(bits)]
    made = [sum(stride for bit, stride in enumerate(strides) if thread >> bit & 1) for thread in range(count)]
    if any(stride % unit for stride in strides) or (offsets[:count] - offsets[0] != made).any():
        return None
    return str(coalesce(Layout((2,) * bits, tuple(stride // unit for stride in strides)))) if bits else "1:0"


def _row_of(access: AccessRequests, worst: Array, proposal: Proposal | None) -> Array | None:
    """The request, at its place in shared memory, of which `worst` says where it is in a line."""
    if access.rows is None or proposal is None:
        return None
    rows = access.rows.addresses[:, -WARP:]
    return rows[int((placed(rows, rows >= 0) == worst).all(axis=1).argmax())]


def _served(access: AccessRequests, offsets: Array) -> WarpRequest:
    turns, before = serve(offsets, offsets >= 0, access.size, **rules_of(access))
    return WarpRequest([int(each) for each in offsets], turns, before)


def _touching(offsets: Array) -> WarpRequest:
    sectors = [int(each) // SECTOR if each >= 0 else -1 for each in offsets]
    return WarpRequest([int(each) for each in offsets], numbered(sectors))


def numbered(sectors: Sequence[int]) -> list[int]:
    """Of each sector which it is, in their order; -1 stays."""
    order = {sector: number for number, sector in enumerate(sorted({each for each in sectors if each >= 0}))}
    return [order.get(each, -1) for each in sectors]
