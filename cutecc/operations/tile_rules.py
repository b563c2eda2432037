"""The rules about tiles: what warps, registers and shared memory hold. They are asked last."""

from __future__ import annotations

from functools import cache
from math import prod

from cutecc.operations.description import GemmDescription
from cutecc.operations.instruction_set import extents_in_words, wgmma_extents
from cutecc.operations.kernels.family import Part, Refusal, family
from cutecc.operations.kernels.operand_copies import is_read_along_k
from cutecc.operations.operand import WIDEST_ALIGNMENT
from cutecc.operations.tile import TileDescription
from cutecc.target import Limits, Target

WGMMA_TILE_BYTES = 128
"""Of K in a tile that `wgmma` reads: a row of its widest swizzle."""
WGMMA_ACCUMULATORS = {"cooperative": 200, "pingpong": 128}
"""Registers a thread that accumulators may take of the 232 or 240 that a computing warpgroup has."""
MOST_CLUSTER = 8
"""Threadblocks of a cluster that every GPU with clusters can launch."""

_LAYOUT_AND_TYPE: dict[str, tuple[Part, Part]] = {"A": ("a.layout", "a.dtype"), "B": ("b.layout", "b.dtype")}


def schedule(description: GemmDescription) -> Refusal | None:
    """Warp-specialised schedules are of wgmma."""
    unit, tile = description.instruction.unit, description.tile
    if (tile.schedule == "multistage") != (unit == "wgmma"):
        return None
    known = "cooperative or pingpong" if unit == "wgmma" else "multistage"
    return Refusal(f"the schedule of {unit} is {known}, not {tile.schedule}", ("tile.schedule", "instruction"))


def cluster(description: GemmDescription) -> Refusal | None:
    """Clusters are of wgmma, and as large as every GPU with clusters can launch."""
    unit, (along_m, along_n) = description.instruction.unit, description.tile.cluster
    if unit != "wgmma" and (along_m, along_n) != (1, 1):
        reason = f"{unit} has no clusters, and this is one of {along_m}x{along_n}"
        return Refusal(reason, ("tile.cluster", "instruction"))
    if along_m not in (1, 2, 4) or along_n not in (1, 2, 4) or along_m * along_n > MOST_CLUSTER:
        reason = f"a cluster is 1, 2 or 4 threadblocks each way and {MOST_CLUSTER} at most, not {along_m}x{along_n}"
        return Refusal(reason, ("tile.cluster",))
    return None


def stages(description: GemmDescription) -> Refusal | None:
    """One tile is loaded while another is multiplied."""
    count = description.tile.stages
    return None if count >= 2 else Refusal(f"a kernel has 2 stages or more, not {count}", ("tile.stages",))


def warps(description: GemmDescription) -> Refusal | None:
    """There are as many warps as a threadblock can have; warpgroups of wgmma lie along M."""
    unit, tile = description.instruction.unit, description.tile
    count = "x".join(map(str, tile.warps))
    if min(tile.warps) < 1:
        return Refusal(f"there is at least one warp each way, not {count}", ("tile.warps",))
    if unit == "wgmma":
        if tile.schedule == "pingpong" and tile.warps != (2, 1, 1):
            reason = f"pingpong is between 2x1x1 warpgroups, not {count}"
            return Refusal(reason, ("tile.warps", "tile.schedule", "instruction"))
        if tile.warps not in ((1, 1, 1), (2, 1, 1)):
            return Refusal(f"1x1x1 or 2x1x1 warpgroups compute a tile, not {count}", ("tile.warps", "instruction"))
        return None
    threads, most = prod(tile.warps) * 32, limits_of(description.target).threads_per_block
    if threads > most:
        return Refusal(f"{count} warps are {threads} threads, and a threadblock has {most} at most", ("tile.warps",))
    return None


def extent(description: GemmDescription, axis: int) -> Refusal | None:
    """Warps divide the threadblock's M (axis 0), N (1), K (2) into whole instructions."""
    unit, tile = description.instruction.unit, description.tile
    if unit == "wgmma":
        return (_wgmma_rows, _wgmma_columns, _wgmma_depth)[axis](description)
    size, count = tile.threadblock[axis], tile.warps[axis]
    step = (8, 4, 1)[axis] if unit == "simt" else description.instruction.shape[axis]
    if size >= 1 and size % (max(count, 1) * max(step, 1)) == 0:
        return None
    whose = "the threads of a warp" if unit == "simt" else "an instruction"
    reason = f"a threadblock's {'MNK'[axis]} of {size} is not {count} warps times a multiple of the {step} of {whose}"
    parts: tuple[Part, Part, Part] = ("tile.m", "tile.n", "tile.k")
    return Refusal(reason, (parts[axis], "tile.warps", "instruction"))


def _wgmma_rows(description: GemmDescription) -> Refusal | None:
    tile = description.tile
    m, groups = tile.threadblock[0], 1 if tile.schedule == "pingpong" else tile.warps[0]
    if m in (64 * groups, 128 * groups):
        return None
    whose = "a warpgroup computes" if groups == 1 else f"{groups} warpgroups compute"
    reason = f"with {tile.schedule}, {whose} {64 * groups} or {128 * groups} rows, not {m}"
    return Refusal(reason, ("tile.m", "tile.warps", "tile.schedule", "instruction"))


def _wgmma_columns(description: GemmDescription) -> Refusal | None:
    n, dtype = description.tile.threadblock[1], description.instruction.a
    if n in wgmma_extents(dtype):
        return None
    return Refusal(f"the N of wgmma is {extents_in_words(dtype)}, not {n}", ("tile.n", "instruction"))


def _wgmma_depth(description: GemmDescription) -> Refusal | None:
    k, bits = description.tile.threadblock[2], description.a.bits
    if k * bits == WGMMA_TILE_BYTES * 8:
        return None
    reason = (
        f"a tile that wgmma reads has {WGMMA_TILE_BYTES} bytes of K, "
        f"{WGMMA_TILE_BYTES * 8 // bits} elements of {description.a.dtype}, not {k}"
    )
    return Refusal(reason, ("tile.k", "instruction", "a.dtype"))


def orientation(description: GemmDescription) -> Refusal | None:
    """Rows and columns are exchanged for wgmma, whose rows are 64."""
    unit = description.instruction.unit
    if not description.tile.swapped or unit == "wgmma":
        return None
    return Refusal(f"a swapped tile is of wgmma, not of {unit}", ("instruction",))


def contiguous_run(description: GemmDescription, name: str) -> Refusal | None:
    """What is contiguous of a tile of A or B, where the kernel reads it, is a multiple of 16 bytes."""
    m, n, k = description.tile.threadblock
    operand = description.a if name == "A" else description.b
    is_along_k = operand.is_along_rows == (name == "A")
    if description.instruction.unit == "wgmma" and is_read_along_k(description, name.lower()):
        return None  # its K is 128 bytes
    along_rows: tuple[int, str, Part] = (m, "M", "tile.m") if name == "A" else (n, "N", "tile.n")
    size, letter, part = (k, "K", "tile.k") if is_along_k else along_rows
    if operand.is_interleaved:
        reason = f"a threadblock's {letter} of {size} is no multiple of the 32 that {name} interleaves"
        return Refusal(reason, (part,)) if size % 32 else None
    length = size * operand.bits // 8
    if size * operand.bits % (WIDEST_ALIGNMENT * 8) == 0:
        return None
    reason = f"a threadblock's {letter} of {size} is {length} bytes of {name}, no multiple of {WIDEST_ALIGNMENT}"
    parts: tuple[Part, ...] = (part, *_LAYOUT_AND_TYPE[name])
    return Refusal(reason, parts)


def registers(description: GemmDescription) -> Refusal | None:
    """Accumulators leave room in a thread's registers: half of them, more where other warps do the loading."""
    tile, accumulator = description.tile, description.instruction.accumulator
    used = accumulator_registers(tile, accumulator)
    parts: tuple[Part, ...] = ("tile.m", "tile.n", "tile.warps", "tile.schedule", "accumulator")
    if tile.schedule in WGMMA_ACCUMULATORS:
        most = WGMMA_ACCUMULATORS[tile.schedule]
    else:
        limits, threads = limits_of(description.target), 32 * max(prod(tile.warps), 1)
        most = min(limits.registers_per_thread + 1, limits.registers_per_sm // threads) // 2
    if used <= most:
        return None
    return Refusal(f"accumulators take {used} registers a thread, of which {most} are for them", parts)


def shared_memory(description: GemmDescription) -> Refusal | None:
    """Stages and epilogue fit into the shared memory of a threadblock."""
    return fits_shared_memory(description, family(description.family).shared_memory_bytes(description))


def fits_shared_memory(description: GemmDescription, used: int) -> Refusal | None:
    """So many bytes are not more than a threadblock has."""
    most = limits_of(description.target).shared_memory_per_block
    if used <= most:
        return None
    reason = f"the tile takes {used} bytes of shared memory, and a threadblock of {description.target} has {most}"
    parts: tuple[Part, ...] = (
        *("tile.stages", "tile.k", "tile.m", "tile.n", "tile.warps", "tile.schedule", "target", "instruction"),
        *("a.dtype", "b.dtype", "d.dtype", "c", "c.dtype", "epilogue"),
    )
    return Refusal(reason, parts)


def family_takes_it(description: GemmDescription) -> Refusal | None:
    """The family's own code takes it."""
    return family(description.family).accepts(description)


def accumulator_registers(tile: TileDescription, accumulator: str) -> int:
    """32-bit registers a thread that the accumulators of a tile take."""
    m, n, _ = tile.threadblock
    if tile.schedule == "multistage":
        threads = 32 * tile.warps[0] * tile.warps[1]
    else:
        threads = 128 * (1 if tile.schedule == "pingpong" else tile.warps[0])
    bits = {"f64": 64, "f16": 16}.get(accumulator, 32)
    return -(-m * n * bits // (max(threads, 1) * 32))


@cache
def limits_of(name: str) -> Limits:
    """What an SM of the target holds."""
    return Target.parse(name).limits
