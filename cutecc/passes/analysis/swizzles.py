"""The swizzle that takes most bank conflicts out of a tensor in shared memory, found by counting what each takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cutecc.layout.swizzle import Swizzle
from cutecc.memory_rules.warps import WARP, Array
from cutecc.passes.analysis.requests import AccessRequests, KernelRequests, taken
from cutecc.passes.analysis.shared_rows import SharedRows

_LINE_BITS = 7
"""Of the place in a line of 128 bytes, which all banks together hold."""
_WORD_BITS = 2
"""Of those, the lowest: of the place in a bank."""
_MOST_REQUESTS = 4096
"""Different ones of a tensor; with more, no swizzle is looked for."""
_MATRIX_ELEMENT = 2
"""Bytes; of `ldmatrix` and `stmatrix`."""


@dataclass(frozen=True)
class Proposal:
    """A swizzle for all accesses of a tensor."""

    bytewise: Swizzle
    """Of offsets in bytes."""
    unit: int
    """Bytes of an element; 1 where that is not known."""
    base: int
    """The address of the tensor."""

    @property
    def swizzle(self) -> Swizzle:
        """Of offsets in elements."""
        base = self.bytewise.base - (self.unit.bit_length() - 1)
        return Swizzle(self.bytewise.bits, base, self.bytewise.shift)

    def each(self, accesses: Sequence[AccessRequests]) -> float:
        """What a request takes with it."""
        rows = [(each, each.rows) for each in accesses if each.rows is not None]
        wavefronts = sum(_wavefronts(each, _swizzled(of, self.base, self.bytewise)) for each, of in rows)
        return wavefronts / sum(int(of.counts.sum()) for _, of in rows)


@dataclass
class _Tensor:
    """What overlaps in shared memory."""

    begin: int
    end: int
    accesses: list[AccessRequests]


def proposals(kernel: KernelRequests) -> dict[int, Proposal]:
    """The swizzle that takes fewest wavefronts, for accesses by `id`, where one takes fewer than there are.

    None for tensors that an exclusive or, such as a swizzle's, permutes already, or that are no whole lines of 128
    bytes, within which a swizzle moves what is in them. All accesses of the tensor that are known are counted.
    """
    found: dict[int, Proposal] = {}
    for tensor in _tensors(kernel):
        if (proposal := _proposed(tensor)) is not None:
            found |= {id(each): proposal for each in tensor.accesses}
    return found


def _tensors(kernel: KernelRequests) -> Iterator[_Tensor]:
    """Accesses of the same bytes together."""
    ranges: list[_Tensor] = []
    for access in kernel.accesses:
        if access.rows is not None:
            addresses = access.rows.addresses[:, -WARP:]
            present = addresses[addresses >= 0]
            ranges.append(_Tensor(int(present.min()), int(present.max()) + access.size, [access]))
    current: _Tensor | None = None
    for each in sorted(ranges, key=lambda each: each.begin):
        if current is not None and each.begin < current.end:
            current.end = max(current.end, each.end)
            current.accesses += each.accesses
            continue
        if current is not None:
            yield current
        current = each
    if current is not None:
        yield current


def _proposed(tensor: _Tensor) -> Proposal | None:
    if not _can_be_swizzled(tensor):
        return None
    alike = _alike(tensor.accesses)
    if sum(len(rows.counts) for _, rows in alike) > _MOST_REQUESTS:
        return None

    def total(swizzle: Swizzle) -> int:
        return sum(_wavefronts(access, _swizzled(rows, tensor.begin, swizzle)) for access, rows in alike)

    best, fewest = _fewest(tensor, total)
    if best is None:
        return None
    # As few bits as do the same.
    fewer = (Swizzle(bits, best.base, best.shift) for bits in range(1, best.bits))
    best = next((each for each in fewer if total(each) == fewest), best)
    return Proposal(best, min(_unit(tensor.accesses), 1 << best.base), tensor.begin)


def _can_be_swizzled(tensor: _Tensor) -> bool:
    """Whether it has conflicts, nothing that permutes it already, and whole lines alone."""
    is_bad = any(each.spaces["shared"].taken > each.spaces["shared"].ideal for each in tensor.accesses)
    has_lines = (tensor.begin | tensor.end) % (1 << _LINE_BITS) == 0
    return is_bad and has_lines and not any(each.is_permuted for each in tensor.accesses)


def _fewest(tensor: _Tensor, total: Callable[[Swizzle], int]) -> tuple[Swizzle | None, int]:
    """The first swizzle with the fewest wavefronts, if any has fewer than there are, and that number."""
    of_each = [each.spaces["shared"] for each in tensor.accesses]
    best, fewest, least = None, sum(each.taken for each in of_each), sum(each.ideal for each in of_each)
    for swizzle in _candidates(max(each.size for each in tensor.accesses), tensor.end - tensor.begin):
        if (count := total(swizzle)) < fewest:
            best, fewest = swizzle, count
        if fewest <= least:
            break
    return best, fewest


def _candidates(widest: int, room: int) -> Iterator[Swizzle]:
    """Swizzles of byte offsets that keep what a thread accesses together, within `room` bytes; coarse ones first."""
    for base in range(_LINE_BITS - 1, max(_WORD_BITS, widest.bit_length() - 1) - 1, -1):
        for source in range(_LINE_BITS, (room - 1).bit_length()):
            yield Swizzle(_LINE_BITS - base, base, source - base)


def _alike(accesses: Sequence[AccessRequests]) -> list[tuple[AccessRequests, SharedRows]]:
    """The requests of accesses that are served by the same rules, each once, with one of those accesses."""
    groups: defaultdict[tuple[str, int, bool, bool], list[AccessRequests]] = defaultdict(list)
    for each in accesses:
        groups[each.kind, each.size, each.past_l1, each.is_increment].append(each)
    found: list[tuple[AccessRequests, SharedRows]] = []
    for same in groups.values():
        rows = [each.rows for each in same if each.rows is not None]
        addresses, places = np.unique(np.concatenate([each.addresses for each in rows]), axis=0, return_inverse=True)
        counts = np.bincount(places.reshape(-1), np.concatenate([each.counts for each in rows]))
        found.append((same[0], SharedRows(addresses, counts.astype(np.int64))))
    return found


def _wavefronts(access: AccessRequests, rows: SharedRows) -> int:
    """What all requests take together."""
    total = 0
    for count in np.unique(rows.counts):
        _, (_, wavefronts, _) = taken(access, "shared", rows.addresses[rows.counts == count])[-1]
        total += int(count) * wavefronts
    return total


def _swizzled(rows: SharedRows, base: int, swizzle: Swizzle) -> SharedRows:
    """The same requests with their addresses in shared memory, the last 32 of each, swizzled from `base` on."""
    shared = rows.addresses[:, -WARP:]
    moved = np.where(shared >= 0, base + swizzled(shared - base, swizzle), shared)
    return SharedRows(np.concatenate([rows.addresses[:, :-WARP], moved], axis=1), rows.counts)


def swizzled(offsets: Array, swizzle: Swizzle) -> Array:
    """All offsets through a swizzle of positive shift."""
    flips = offsets & (((1 << swizzle.bits) - 1) << (swizzle.base + swizzle.shift))
    return offsets ^ (flips >> swizzle.shift)


def _unit(accesses: Sequence[AccessRequests]) -> int:
    """Bytes of the tensor's elements: those that loads and stores are of, if they are all of the same."""
    sizes = {each.element for each in accesses if each.element}
    if len(sizes) == 1:
        return sizes.pop()
    return _MATRIX_ELEMENT if not sizes and any(each.kind.startswith("matrix") for each in accesses) else 1
