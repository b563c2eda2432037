"""Kernels record what their warps wait for, when, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Literal

import msgspec

from cutecc.ir import llvm_types
from cutecc.ir.building import after, at_start, before, located
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import remark
from cutecc.passes.lowering.values.host import kernels
from cutecc.passes.lowering.values.integers import computed, constant
from cutecc.passes.registry import register
from cutecc.passes.transforms import timeline_code
from cutecc.passes.transforms.timeline_sites import Place, places
from cutecc.timelines.layout import ARMING, NAME, PAIR, SITES_NAME, KernelSites, code

_CONVERGING = {
    # The clock is else read before the barrier resolves: BAR.SYNC.DEFER_BLOCKING lets the warp go on to instructions
    # that need nothing of others. Seen on an H200.
    "nvvm.barrier": "@p bar.warp.sync -1;",
    "nvvm.barrier0": "@p bar.warp.sync -1;",
    "nvvm.barrier.cta.sync": "@p activemask.b32 m; @p bar.warp.sync m;",
    "nvvm.barrier.cta.red": "@p activemask.b32 m; @p bar.warp.sync m;",
    "nvvm.cluster.wait": "@p activemask.b32 m; @p bar.warp.sync m;",
}
"""What keeps the order of a barrier and of a read of the clock behind it."""
_GLOBAL, _CONSTANT = 1, 4
"""Spaces of memory. What arms is read through the constant cache: each warp reads it, and waits."""
_CALLS = ("func.call", "gpu.call", "llvm.call")
_FREE = ("arith.constant", "cute.make_int_tuple", "cute.static", "builtin.unrealized_conversion_cast")
"""Operations that become no instructions."""


@dataclass(frozen=True)
class _Record:
    """A time that is read, before or after an operation."""

    operation: ir.Operation
    is_before: bool
    code: int


@register
@dataclass(frozen=True)
class RecordTimeline(ModulePass):
    """Have the first lane of each warp write when it comes to a site and leaves it, into memory that the runtime gives.

    Sites are waits, barriers and the user's own marks (`iket`); with `sites=all` also arrivals, asynchronous copies and
    matrix products. Nothing is written unless the kernel is armed, by the variable `cutecc_timeline_N` of its code.
    """

    name: ClassVar[str] = "record-timeline"

    sites: Literal["waits", "all"] = "all"
    """Which: `waits`, or `all`."""

    def run(self, module: ir.Module) -> None:
        number = 0
        for device, kernel in list(kernels(module)):
            found = list(places(kernel, self.sites))
            if not found:
                remark(kernel, "records nothing: it has no waits, barriers or marks")
                continue
            table = NAME.format(number)
            sites = KernelSites(kernel.attributes["sym_name"].value, [each.site for each in found])
            variables = ir.InsertionPoint.at_block_begin(device.regions[0].blocks[0])
            variables.insert(_variable(table, bytes(ARMING.itemsize), _CONSTANT))
            variables.insert(_variable(SITES_NAME.format(number), msgspec.json.encode(sites), _GLOBAL))
            with located(kernel), at_start(kernel.regions[0].blocks[0]):
                slot = llvm.alloca(llvm_types.pointer(), constant(1, 64), ir.TypeAttr.get(_integer(64)), alignment=8)
                cursor, limit = timeline_code.start(table)
                llvm.store(cursor, slot)
            for group in _groups(_records(found)):
                _write(group, slot, limit, table)
            for last in _ends(kernel):
                with before(last):
                    timeline_code.end(llvm.load(_integer(64), slot), limit, table)
            calls = any(walk(kernel, *_CALLS))
            remark(kernel, f"records {len(found)} sites{'; not what functions do that it calls' if calls else ''}")
            number += 1


def _records(found: Iterable[Place]) -> Iterator[_Record]:
    """The times that are read. A wait that follows the end of another begins there, and needs none of its own."""
    ended: ir.Operation | None = None
    for number, place in enumerate(found):
        for moment in place.moments:
            is_before = moment == "begin" and place.site.kind != "mark"
            if is_before and ended is not None and _follows(place.operation, ended):
                continue
            yield _Record(place.operation, is_before, code(number, moment))
        ended = place.operation if place.moments[-1] == "end" else None


def _follows(operation: ir.Operation, other: ir.Operation) -> bool:
    """Whether nothing that takes time is between an operation and another, which comes before it in the text."""
    behind = False
    for each in operation.block.operations:
        if each.operation == operation:
            return behind
        if behind and not each.operation.name.startswith(_FREE):
            return False
        behind = behind or each.operation == other
    return False


def _groups(records: Iterable[_Record]) -> Iterator[list[_Record]]:
    """Records between which there is no branch: in one block, and none in a nested region between them."""
    for _, group in groupby(records, key=lambda each: each.operation.block):
        yield list(group)


def _write(group: list[_Record], slot: ir.Value, limit: ir.Value, table: str) -> None:
    """All of a group are written, or none: what fits is asked once. Two are written at a time, behind the second."""
    size = PAIR * -(-len(group) // 2)
    with _beside(group[0]):
        cursor = llvm.load(_integer(64), slot)
        fits = timeline_code.fits(cursor, limit, size)
        llvm.store(computed("arith.addi", cursor, constant(size, 64)), slot)
        times = [timeline_code.clock(_order(group[0]), table)]
    for each in group[1:]:
        with _beside(each):
            times.append(timeline_code.clock(_order(each), table))
            if not len(times) % 2:
                _write_pair(cursor, fits, group, times)
    if len(group) % 2:
        with after(times[-1]):
            _write_pair(cursor, fits, group, times)


def _write_pair(cursor: ir.Value, fits: ir.Value, group: list[_Record], times: list[ir.Value]) -> None:
    """Write the last record, and the one before that is in its pair."""
    first = (len(times) - 1) // 2 * 2
    codes = [each.code for each in group[first : len(times)]]
    timeline_code.write(cursor, fits, first // 2 * PAIR, codes, times[first:])


def _beside(record: _Record) -> AbstractContextManager[None]:
    return before(record.operation) if record.is_before else after(record.operation)


def _order(record: _Record) -> str:
    return "" if record.is_before else _CONVERGING.get(record.operation.name, "")


def _ends(kernel: ir.Operation) -> Iterator[ir.Operation]:
    """Where a kernel returns."""
    for block in kernel.regions[0].blocks:
        last = list(block.operations)[-1].operation
        if not len(last.successors):
            yield last


def _variable(name: str, content: bytes, space: int) -> ir.Operation:
    """A variable in the device's memory, which others find by its name."""
    text = "".join(f"\\{each:02X}" for each in content)
    return ir.Operation.parse(
        f'llvm.mlir.global external @{name}("{text}") {{addr_space = {space} : i32, alignment = 16 : i64}} '
        f": !llvm.array<{len(content)} x i8>"
    )


def _integer(bits: int) -> ir.Type:
    return ir.IntegerType.get_signless(bits)
