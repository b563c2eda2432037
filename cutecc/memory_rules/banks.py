"""Accesses of shared memory: how many wavefronts a warp's request takes.

Shared memory has 32 banks, each 4 bytes wide; consecutive words lie in consecutive banks. In one wavefront each bank
serves one word, to any number of threads (CUDA C++ Programming Guide, "Shared Memory"). A warp's request with 8 bytes
a thread is served by half-warps, with 16 bytes by quarter-warps. Two halves, or the two quarters of a half, are served
together when the threads of all pairs `(i, i ^ 1)`, or of all pairs `(i, i ^ 2)`, access the same address or have a
thread that accesses nothing.
"""

from __future__ import annotations

import itertools

import numpy as np

from cutecc.memory_rules.warps import WARP, Array, Mask

BANKS = 32
_WORD = 4
"""Bytes."""
_WIDTH = BANKS * _WORD
_LANES = np.arange(WARP)
_SHIFT = 40
"""Bits of an element's number: room for all windows of a machine."""


def count_wavefronts(
    addresses: Array, mask: Mask, size: int, *, atomic: bool = False, merge: bool = True
) -> tuple[int, int, int]:
    """Requests, wavefronts, and the wavefronts that the same requests would take without bank conflicts.

    `addresses` and `mask` have the shape `(warps, 32)`; each thread accesses `size` bytes, a power of two, at a
    multiple of `size`. With `atomic`, threads at the same word are served one after another. Without `merge`, parts of
    a warp are never served together: `ldmatrix` serves 8 rows at a time.
    """
    addresses = addresses.astype(np.int64)
    groups = _groups(addresses, mask, size, merge and not atomic)
    # Accesses are aligned, so those of several words fill the same banks or none in common.
    width = max(size, _WORD)
    elements = addresses // width
    columns = _WIDTH // width
    slots = groups * columns + elements % columns
    if not mask.all():
        groups, elements, slots = groups[mask], elements[mask], slots[mask]
    parts = max(1, size * WARP // _WIDTH)
    most = len(mask) * parts * columns
    taken = np.bincount(slots.reshape(-1), minlength=most)
    if not atomic and taken.max() > 1:
        _, first = np.unique(((groups << _SHIFT) + elements).reshape(-1), return_index=True)
        taken = np.bincount(slots.reshape(-1)[first], minlength=most)
    taken = taken.reshape(-1, columns).max(axis=1)
    return int(np.count_nonzero(mask.any(axis=1))), int(taken.sum()), int(np.count_nonzero(taken))


def serve(
    addresses: Array, mask: Mask, size: int, *, atomic: bool = False, merge: bool = True
) -> tuple[list[int], list[int]]:
    """One request, thread by thread: the wavefront, from 0, that serves it, and how many of its bank come before it.

    Arguments are those of `count_wavefronts`, but for the shape, `(32,)`. Both are -1 for threads not in `mask`. What
    comes before are other words of the bank, or with `atomic` also the same one, for threads that could be served
    together: a thread that has any of them waits because of a bank conflict.
    """
    addresses = addresses.astype(np.int64)
    groups = _groups(addresses[None], mask[None], size, merge and not atomic)[0]
    elements = addresses // max(size, _WORD)
    columns = _WIDTH // max(size, _WORD)
    queues: dict[tuple[int, int], list[int]] = {}
    before, lengths = [-1] * WARP, dict[int, int]()
    for thread in np.flatnonzero(mask).tolist():
        group, element = int(groups[thread]), int(elements[thread])
        queue = queues.setdefault((group, element % columns), [])
        if atomic or element not in queue:
            queue.append(element)
        before[thread] = len(queue) - 1 if atomic else queue.index(element)
        lengths[group] = max(lengths.get(group, 0), len(queue))
    starts = dict(
        zip(sorted(lengths), itertools.accumulate((lengths[each] for each in sorted(lengths)), initial=0), strict=False)
    )
    return [starts[int(groups[each])] + before[each] if mask[each] else -1 for each in range(WARP)], before


def _groups(addresses: Array, mask: Mask, size: int, merge: bool) -> Array:
    """For each thread a number that it has in common with the threads that are served together with it."""
    parts = max(1, size * WARP // _WIDTH)
    part = np.broadcast_to(_LANES // (WARP // parts), addresses.shape)
    if parts > 1 and merge:
        # Halves of a warp for 8 bytes, quarters of a half for 16.
        span = WARP * 2 // parts
        shape = (len(addresses), -1, span)
        together = _pairs_match(addresses, mask, 1).reshape(shape).all(axis=2)
        together |= _pairs_match(addresses, mask, 2).reshape(shape).all(axis=2)
        part = np.where(np.repeat(together, span, axis=1), part & ~1, part)
    return np.arange(len(addresses))[:, None] * parts + part


def _pairs_match(addresses: Array, mask: Mask, distance: int) -> Mask:
    other = _LANES ^ distance
    return ~mask | ~mask[:, other] | (addresses == addresses[:, other])
