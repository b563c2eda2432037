"""The tiles of `wgmma` that a product may have, all at once: arrays, so that thousands are estimated in little time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels import sm90
from cutecc.operations.tile import Schedule, TileDescription, TileRequest
from cutecc.operations.tile_rules import WGMMA_TILE_BYTES, limits_of
from cutecc.operations.warp_specialized_model import Cuts

WAYS: tuple[tuple[Schedule, int, int], ...] = (
    *(("cooperative", 2, 256), ("cooperative", 2, 128), ("pingpong", 2, 128)),
    # One computing warpgroup before two that take turns: equally fast where a block has but one tile, or faster.
    *(("cooperative", 1, 64), ("pingpong", 2, 64)),
)
"""Schedules, computing warpgroups, and the M of a threadblock."""
SUMS = 128 * 128
"""Accumulators of a warpgroup that leave its threads registers for an epilogue: 128 of them."""
_COLUMNS = range(256, 0, -8)
_CLUSTERS = ((1, 2), (2, 1), (1, 1), (1, 4), (4, 1), (2, 2), (2, 4), (4, 2))
_CLUSTERS_OF_SLICES = ((2, 1), (4, 1), (4, 2))
_MOST_STAGES = 16


@dataclass(frozen=True)
class WgmmaTiles:
    """Tiles that fit into shared memory, with as many stages as do; not all of them are valid."""

    tiles: tuple[tuple[Any, ...], ...]
    """The parts of each."""
    cuts: Cuts

    def tile(self, index: int) -> TileDescription:
        """One of them."""
        return TileDescription(*self.tiles[index])


def wgmma_tiles(compiled: GemmDescription, request: TileRequest) -> WgmmaTiles:
    """Those of what is compiled, with the parts that are asked for."""
    return _fitting(
        compiled.with_tile(TileDescription((64, 64, 64), 2, (1, 1, 1), swapped=compiled.tile.swapped)), request
    )


@lru_cache(maxsize=256)
def _fitting(compiled: GemmDescription, request: TileRequest) -> WgmmaTiles:
    most = limits_of(compiled.target).shared_memory_per_block
    parts = list(_parts(compiled, request))
    cuts = Cuts.of(compiled, [TileDescription(*each) for each in parts])
    k = int(cuts.k[0]) if len(parts) else 0
    groups = np.array([each[2][0] for each in parts], np.int64)
    one, two = (sm90.shared_memory_of(compiled, (cuts.m, cuts.n, k), stages, groups, cuts.slices) for stages in (1, 2))
    stages = np.minimum((most - one) // np.maximum(two - one, 1) + 1, _MOST_STAGES)
    if request.stages:
        stages = np.where(stages >= request.stages, request.stages, 0)
    kept = [index for index in range(len(parts)) if stages[index] >= 2]
    tiles = [(parts[index][0], int(stages[index]), *parts[index][2:]) for index in kept]
    return WgmmaTiles(tuple(tiles), Cuts.of(compiled, [TileDescription(*each) for each in tiles]))


def _parts(compiled: GemmDescription, request: TileRequest) -> Iterator[tuple[Any, ...]]:
    """Of each tile that is asked for, without its stages."""
    k = WGMMA_TILE_BYTES * 8 // compiled.a.bits
    usual = _CLUSTERS_OF_SLICES if compiled.mode == "split_k_cluster" else _CLUSTERS
    asked = request.threadblock or (None, None, None)
    if asked[2] not in (None, k):
        return
    for schedule, groups, m in WAYS:
        if asked[0] not in (None, m) or request.schedule not in (None, schedule):
            continue
        if request.warps not in (None, (groups, 1, 1)):
            continue
        rows = m if schedule == "pingpong" else m // groups
        for n in _COLUMNS:
            if asked[1] not in (None, n) or (rows * n > SUMS and not request.threadblock):
                continue
            for cluster in (request.cluster,) if request.cluster else usual:
                yield (m, n, k), 2, (groups, 1, 1), cluster, schedule, compiled.tile.swapped
