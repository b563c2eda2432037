"""How recorded times lie in memory: what arms a kernel, and what its warps write.

A kernel that records has two variables: `cutecc_timeline_N` arms it, and `cutecc_timeline_N_sites`, JSON, says what its
sites are. Each warp has a region of its own: a header and records, of which those behind the region's end are counted
and not written.
"""

from __future__ import annotations

import msgspec
import numpy as np

from cutecc.timelines.sites import Site

NAME = "cutecc_timeline_{}"
SITES_NAME = "cutecc_timeline_{}_sites"
ARMING = np.dtype(
    [
        ("base", "<u8"),
        ("first", "<u4"),
        ("blocks", "<u4"),
        ("stride", "<u4"),
        ("warps", "<u4"),
        ("unused", "<u8"),
    ]
)
"""Where regions begin, the first block that is recorded and how many are, bytes of a region, and a bit for each warp of
a block that is. It lies in constant memory. Zeros: off."""
HEADERS = np.dtype(
    [
        ("start", "<u8"),
        ("start_clock", "<u4"),
        ("processor", "<u2"),
        ("repeated", "<u2"),
        ("end", "<u8"),
        ("end_clock", "<u4"),
        ("used", "<u4"),
    ]
)
"""`%globaltimer`, `%clock` and `%smid` at the warp's start, whether a later launch found it written, the first two at
the warp's end, and bytes that it used, the header's too."""
RECORDS = np.dtype([("code", "<u4"), ("clock", "<u4")])
HEADER, RECORD = HEADERS.itemsize, RECORDS.itemsize
PAIR = 2 * RECORD
"""Records are written in pairs; the second of a pair is zero where a warp goes on elsewhere."""
MOMENTS = ("instant", "begin", "end", "pop")
"""A code is four times its site's number, from 1, and the number of its moment. Zero is no record."""


class KernelSites(msgspec.Struct):
    """What `SITES_NAME` holds."""

    kernel: str
    """Its symbol."""
    sites: list[Site]


def code(site: int, moment: str) -> int:
    """The code of a site's moment; sites from 0."""
    return 4 * (site + 1) + MOMENTS.index(moment)
