"""Short names of barriers, by what they are for: mbarriers of a kernel have no names of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecc.proving.recording import Recording

_BLOCK = 24
_CLUSTER = -1
_COPIES = ("nvvm.cp.async.bulk.tensor.shared", "nvvm.cp.async.bulk.shared")
"""Into shared memory."""


class Barriers:
    """`full[0]` completes with copies, whoever waits for `empty[0]` copies; the number is the slot.

    What is neither is an `mbarrier`. Those of one use that are initialised at one place are one array; several arrays
    are numbered.
    """

    def __init__(self, run: Recording, uses: Mapping[int, str]) -> None:
        self._blocks = prod(run.program.kernel.cluster)
        arrays: dict[tuple[str, object], list[int]] = {}
        offsets = sorted({*map(_offset, run.mbarriers)})
        operations = {_offset(address): each.operation for address, each in run.mbarriers.items()}
        for offset in offsets:
            arrays.setdefault((uses.get(offset, "mbarrier"), operations[offset].location), []).append(offset)
        self._names: dict[int, tuple[str, int | None]] = {}
        for (use, location), members in arrays.items():
            same = [each for each in arrays if each[0] == use]
            name = use if len(same) == 1 else f"{use} {1 + same.index((use, location))}"
            for slot, offset in enumerate(members):
                self._names[offset] = (f"{name}[{slot}]", slot) if len(members) > 1 else (name, None)

    def name(self, keys: Sequence[int | tuple[int, int]], block: int) -> tuple[str, int | None]:
        """The name of what a warp of this block names, and which one of its array it is.

        Several are one in several blocks, or have no name together.
        """
        first = keys[0]
        if isinstance(first, tuple):
            return ("the cluster's barrier" if first[0] == _CLUSTER else f"barrier {first[1]}"), None
        names = {self._names[_offset(key)] for key in keys}
        if len(names) > 1:
            return f"{len(keys)} mbarriers", None
        ((name, slot),) = names
        blocks = sorted(key >> _BLOCK for key in keys if isinstance(key, int))
        if blocks == [block]:
            return name, slot
        if len(blocks) == self._blocks:
            return f"{name} in all blocks", slot
        where = "block" if len(blocks) == 1 else "blocks"
        return f"{name} of {where} {', '.join(map(str, blocks))}", slot


def uses_of(run: Recording) -> dict[int, str]:
    """What each mbarrier is for, by its place in its block."""
    found: dict[int, str] = {}
    for events in run.events_of.values():
        for each in events:
            if each.operation.name.startswith(_COPIES):
                found |= {_offset(key): "full" for key, _ in each.arrives}
    for events in run.events_of.values():
        if any(each.operation.name.startswith(_COPIES) for each in events):
            for each in events:
                if each.waits is not None and isinstance(each.waits[0], int):
                    found.setdefault(_offset(each.waits[0]), "empty")
    return found


def _offset(key: int | tuple[int, int]) -> int:
    """Of an mbarrier in its block."""
    assert isinstance(key, int)
    return key & (1 << _BLOCK) - 1
