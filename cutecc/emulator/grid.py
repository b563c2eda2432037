"""Where blocks are in the grid of a launch and in their clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecc.runtime.launch import Launch

Dim3 = tuple[int, int, int]


def linear(index: Dim3, shape: Dim3) -> int:
    """The number of a block in the order of CUDA: x fastest."""
    return index[0] + shape[0] * (index[1] + shape[1] * index[2])


def index_of(number: int, shape: Dim3) -> Dim3:
    """The block of this number."""
    return number % shape[0], number // shape[0] % shape[1], number // (shape[0] * shape[1])


def clusters_of(grid: Dim3, cluster: Dim3) -> Dim3:
    """How many clusters a grid has in each direction."""
    return grid[0] // cluster[0], grid[1] // cluster[1], grid[2] // cluster[2]


def cluster_and_rank(block: int, grid: Dim3, cluster: Dim3) -> tuple[int, int]:
    """The number of a block's cluster among the clusters, and its own in the cluster, both x fastest."""
    x, y, z = (divmod(at, size) for at, size in zip(index_of(block, grid), cluster, strict=True))
    outer, inner = zip(x, y, z, strict=True)
    return linear(outer, clusters_of(grid, cluster)), linear(inner, cluster)


def in_cluster(outer: Dim3, rank: int, grid: Dim3, cluster: Dim3) -> int:
    """The number of the block of this rank in the cluster at `outer` among the clusters."""
    inner = index_of(rank, cluster)
    x, y, z = (which * size + each for which, size, each in zip(outer, cluster, inner, strict=True))
    return linear((x, y, z), grid)


def whole_cluster(block: int, grid: Dim3, cluster: Dim3) -> list[int]:
    """The numbers of all blocks of a block's cluster."""
    x, y, z = (each // size * size for each, size in zip(index_of(block, grid), cluster, strict=True))
    offsets = (index_of(number, cluster) for number in range(cluster[0] * cluster[1] * cluster[2]))
    return [linear((x + dx, y + dy, z + dz), grid) for dx, dy, dz in offsets]


def cluster_of(launch: Launch) -> Dim3:
    """Blocks of a cluster in x, y and z. A preferred cluster is a matter of speed: the emulator takes the other one."""
    x, y, z = (*launch.attributes.get("cluster", ()), 1, 1, 1)[:3]
    return x, y, z


def is_cooperative(launch: Launch) -> bool:
    """Whether all blocks have to be resident together."""
    return bool(launch.attributes.get("cooperative", (0,))[0])
