"""Which operations of a kernel are sites of a timeline, and which barrier each is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from cutecc.ir.locations import user_location
from cutecc.ir.mlir import ir
from cutecc.ir.walking import walk
from cutecc.timelines.sites import (
    CLUSTER,
    COPIES,
    PRODUCTS,
    STORES,
    TENSOR_MEMORY,
    Site,
    SiteKind,
    mbarrier,
    named_barrier,
)

Level = Literal["waits", "all"]
Moment = Literal["instant", "begin", "end", "pop"]
"""When it is recorded. `pop` ends the mark that was begun last."""


@dataclass(frozen=True)
class _Kind:
    kind: SiteKind
    name: str
    barrier: str | int | None = None
    """What it is about, or the operand that says it."""


def _wait(name: str, barrier: str | int | None) -> _Kind:
    return _Kind("wait", name, barrier)


_WAITS = {
    "nvvm.mbarrier.try_wait": _wait("mbarrier wait", 0),
    "nvvm.mbarrier.try_wait.parity": _wait("mbarrier wait", 0),
    "nvvm.mbarrier.wait": _wait("mbarrier wait", 0),
    "nvvm.mbarrier.wait.parity": _wait("mbarrier wait", 0),
    "nvvm.wgmma.wait.group.sync.aligned": _wait("wait for products", PRODUCTS),
    "nvvm.cp.async.bulk.wait_group": _wait("wait for bulk stores", STORES),
    "nvvm.cp.async.wait.group": _wait("wait for copies", COPIES),
    "nvvm.cp.async.wait.all": _wait("wait for copies", COPIES),
    "nvvm.tcgen05.wait": _wait("wait for tensor memory", TENSOR_MEMORY),
    "nvvm.barrier": _Kind("barrier", "barrier"),
    "nvvm.barrier0": _Kind("barrier", "barrier"),
    "nvvm.barrier.cta.sync": _Kind("barrier", "barrier"),
    "nvvm.barrier.cta.red": _Kind("barrier", "barrier"),
    "nvvm.cluster.wait": _Kind("barrier", "cluster barrier", CLUSTER),
}
"""Recorded before and after."""
_EVENTS = {
    "nvvm.mbarrier.arrive": _Kind("arrive", "mbarrier arrive", 0),
    "nvvm.mbarrier.arrive.nocomplete": _Kind("arrive", "mbarrier arrive", 0),
    "nvvm.mbarrier.arrive_drop": _Kind("arrive", "mbarrier arrive", 0),
    "nvvm.mbarrier.arrive.expect_tx": _Kind("arrive", "mbarrier arrive", 0),
    "nvvm.mbarrier.arrive_drop.expect_tx": _Kind("arrive", "mbarrier arrive", 0),
    "nvvm.mbarrier.txn": _Kind("arrive", "mbarrier arrive", 0),
    "nvvm.cp.async.mbarrier.arrive": _Kind("arrive", "mbarrier arrive", 0),
    "nvvm.barrier.arrive": _Kind("arrive", "barrier arrive"),
    "nvvm.barrier.cta.arrive": _Kind("arrive", "barrier arrive"),
    "nvvm.cluster.arrive": _Kind("arrive", "cluster arrive", CLUSTER),
    "nvvm.cluster.arrive.relaxed": _Kind("arrive", "cluster arrive", CLUSTER),
    "nvvm.cp.async.commit.group": _Kind("copy", "copies", COPIES),
    "nvvm.wgmma.commit.group.sync.aligned": _Kind("product", "products", PRODUCTS),
    "nvvm.tcgen05.commit": _Kind("product", "products", 0),
}
"""Recorded after, where all is asked for."""
_MARKS = ("iket.mark", "iket.range_push", "iket.range_pop", "iket.range_start", "iket.range_end")
_TMA = re.compile(r"tma_(load|store|reduce)")


@dataclass(frozen=True)
class Place:
    """An operation that is a site, and when its times are read."""

    operation: ir.Operation
    site: Site
    moments: tuple[Moment, ...]


def places(kernel: ir.Operation, level: Level) -> Iterator[Place]:
    """The sites of a kernel, in the order of its text."""
    barriers = _Barriers(kernel)
    names = [*_WAITS, *_MARKS, *((*_EVENTS, "cute.copy") if level == "all" else ())]
    for operation in walk(kernel, *names):
        if operation.name in _MARKS:
            yield _mark(operation)
        elif operation.name in _WAITS:
            # One that has a result looks, and does not wait; barriers that reduce have one too.
            if not len(operation.results) or operation.name.startswith("nvvm.barrier"):
                yield Place(operation, _site(operation, _WAITS[operation.name], barriers), ("begin", "end"))
        elif operation.name in _EVENTS:
            yield Place(operation, _site(operation, _EVENTS[operation.name], barriers), ("instant",))
        elif found := _TMA.search(str(operation.operands[0].type)):
            load = found[1] == "load"
            barrier = barriers.of_atom(operation.operands[0]) if load else STORES
            yield Place(operation, _located(operation, "copy", f"TMA {found[1]}", barrier), ("instant",))


def _site(operation: ir.Operation, kind: _Kind, barriers: _Barriers) -> Site:
    if isinstance(kind.barrier, int):
        return _located(operation, kind.kind, kind.name, barriers.of(operation.operands[kind.barrier]))
    return _located(operation, kind.kind, kind.name, kind.barrier or _named_barrier(operation))


def _located(operation: ir.Operation, kind: SiteKind, name: str, barrier: str | None = None) -> Site:
    place = user_location(operation.location)
    return Site(kind, name, barrier, *((place.file, place.line or 0) if place else ("", 0)))


def _mark(operation: ir.Operation) -> Place:
    begun = operation
    if operation.name == "iket.range_end" and len(operation.operands):
        begun = _owner(operation.operands[0]) or operation
    name = next((str(a.value) for a in begun.attributes.values() if isinstance(a, ir.StringAttr)), "range")
    moments: dict[str, Moment] = {
        "iket.mark": "instant",
        "iket.range_push": "begin",
        "iket.range_start": "begin",
        "iket.range_end": "end",
        "iket.range_pop": "pop",
    }
    return Place(operation, _located(operation, "mark", name), (moments[operation.name],))


def _named_barrier(operation: ir.Operation) -> str:
    """Of `bar.sync` and its like, as far as its number is a constant; it is 0 where there is none."""
    sizes = operation.attributes.get("operandSegmentSizes", None)
    has_number = len(operation.operands) and (sizes is None or ir.DenseI32ArrayAttr(sizes)[0])
    if not has_number:
        return named_barrier(0)
    owner = _owner(operation.operands[0])
    value = None if owner is None else owner.attributes.get("value", None)
    return named_barrier(value.value) if isinstance(value, ir.IntegerAttr) else "named barrier"


class _Barriers:
    """Names for the mbarriers of a kernel: the stages of a pipeline have one name.

    Addresses are compared as they are computed, for the trace computes each anew. Where a stage is chosen by a number
    that is not constant, what it is counted from is the pipeline's own; constant numbers behind it are its stages.
    """

    def __init__(self, kernel: ir.Operation) -> None:
        self._keys: dict[ir.Value, str] = {}
        self._numbers: dict[str, int] = {}
        self._allocated = 0
        self._arrays: set[str] = set()
        for operation in walk(kernel, *(name for name, kind in (_WAITS | _EVENTS).items() if kind.barrier == 0)):
            start, constant = self._split(operation.operands[0])
            if not constant:
                self._arrays.add(start)

    def of(self, address: ir.Value) -> str:
        """The name of the mbarrier at an address."""
        start, constant = self._split(address)
        key = start if not constant or start in self._arrays else self._key(address)
        return mbarrier(self._numbers.setdefault(key, len(self._numbers)))

    def of_atom(self, atom: ir.Value) -> str | None:
        """That of the barrier which a TMA atom tells."""
        owner = _owner(atom)
        while owner is not None and len(owner.operands):
            if owner.name.endswith("atom.set_value") and "tma_bar" in str(owner):
                return self.of(owner.operands[1])
            owner = _owner(owner.operands[0])
        return None

    def _split(self, address: ir.Value) -> tuple[str, bool]:
        """What an address is counted from, and whether by a constant; without any offset, itself and a constant."""
        owner = _owner(address)
        while owner is not None and owner.name in _CASTS:
            address = owner.operands[0]
            owner = _owner(address)
        if owner is None or owner.name != "cute.add_offset":
            return self._key(address), True
        return self._key(owner.operands[0]), "?" not in str(owner.operands[1].type)

    def _key(self, value: ir.Value) -> str:
        known = self._keys.get(value)
        if known is None:
            known = self._keys[value] = self._compute(value)
        return known

    def _compute(self, value: ir.Value) -> str:
        owner = _owner(value)
        if owner is None or "alloc" in owner.name:
            self._allocated += 1
            return f"#{self._allocated}"
        if owner.name in _CASTS:
            return self._key(owner.operands[0])
        if len(owner.regions) or len(owner.results) > 1:
            self._allocated += 1
            return f"#{self._allocated}"
        attributes = ",".join(f"{name}={owner.attributes[name]}" for name in sorted(owner.attributes.keys()))
        operands = ",".join(self._key(each) for each in owner.operands)
        return f"{owner.name}[{attributes}]({operands}):{value.type}"


_CASTS = ("builtin.unrealized_conversion_cast", "cute.recast_iter", "llvm.bitcast", "llvm.addrspacecast")


def _owner(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation if isinstance(owner, ir.OpView) else owner
