"""Find tensors in registers that are read before anything has written them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from cutecc.ir.constants import constant_of
from cutecc.ir.locations import nearest_location
from cutecc.ir.mlir import ir
from cutecc.ir.modules import body_of
from cutecc.ir.types import MemRef, view
from cutecc.layout import idx2crd
from cutecc.layout.facts import offsets
from cutecc.layout.tuples import show
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.loops import enclosing, is_loop
from cutecc.passes.analysis.register_accesses import Access, RegisterAccesses, allocated, written_in
from cutecc.passes.diagnostics import warning
from cutecc.passes.registry import register

Bits = dict[ir.Operation, int]
"""Of each tensor, by what allocates it, a mask of bits."""


@register
@dataclass(frozen=True)
class CheckUninitialisedFragments(AnalysisPass):
    """Warn of tensors in registers whose elements are read where nothing can have written them yet.

    Code generators fold such a read away, so that nothing is left of it for the emulator to find. What a branch or a
    predicated copy may write counts as written.
    """

    name: ClassVar[str] = "check-uninitialised-fragments"
    looks_after: ClassVar[str | None] = None

    def run(self, module: ir.Module) -> None:
        for device in body_of(module.operation):
            if device.operation.name == "gpu.module":
                for kernel in body_of(device.operation):
                    for found in _Walk(kernel.operation).run():
                        _say(found)


@dataclass
class _Found:
    """The first reading of a tensor that comes too early."""

    operation: ir.Operation
    access: Access
    bits: int
    """Those that nothing has written."""
    writes: list[ir.Operation] = field(default_factory=list["ir.Operation"])
    """All that write to the tensor, somewhere."""


@dataclass(frozen=True)
class _Around:
    """A branch or loop that is being gone through."""

    operation: ir.Operation
    written: Bits
    """What some round of a loop may write; of a branch nothing."""
    is_guard: bool
    """Whether what is inside need not run in the first round of the loops around."""


class _Walk:
    """Goes through a kernel as it runs, each loop for one round: what its first round reads, none has written."""

    def __init__(self, kernel: ir.Operation) -> None:
        self._kernel = kernel
        self._accesses = RegisterAccesses(kernel).by_operation
        self._around: list[_Around] = []
        self._found: dict[ir.Operation, _Found] = {}

    def run(self) -> list[_Found]:
        """What is read too early, one reading of a tensor, in the order of the program."""
        if self._accesses:
            for region in self._kernel.regions:
                self._go_through(region, {})
        for found in self._found.values():
            root = found.access.view.root
            for operation, accesses in self._accesses.items():
                if any(each.is_write and each.view.root == root for each in accesses):
                    found.writes.append(operation)
        return list(self._found.values())

    def _go_through(self, region: ir.Region, written: Bits) -> None:
        for block in region.blocks:
            for each in block.operations:
                operation = each.operation
                if allocated(operation):
                    written[operation] = 0
                for access in self._accesses.get(operation, []):
                    if not access.is_write:
                        self._read(operation, access, written)
                for access in self._accesses.get(operation, []):
                    if access.is_write:
                        root = access.view.root
                        written[root] = written.get(root, 0) | access.view.bits
                if len(operation.regions):
                    self._inside(operation, written)

    def _inside(self, operation: ir.Operation, written: Bits) -> None:
        loops = is_loop(operation)
        later = written_in(operation, self._accesses) if loops else {}
        self._around.append(_Around(operation, later, not (loops and _has_a_round(operation))))
        sides = [written] if loops else [dict(written) for _ in operation.regions]
        for number, region in enumerate(operation.regions):
            self._go_through(region, sides[number % len(sides)])
        self._around.pop()
        # What either side has written may have been written.
        for side in sides:
            for root, bits in side.items():
                written[root] = written.get(root, 0) | bits

    def _read(self, operation: ir.Operation, access: Access, written: Bits) -> None:
        root = access.view.root
        missing = access.view.bits & ~(written.get(root, 0) | self._of_rounds_before(root))
        is_all = access.view.is_exact and access.is_whole
        if not missing or not (is_all or missing == access.view.bits):
            return
        found = self._found.setdefault(root, _Found(operation, access, 0))
        if found.operation.location == operation.location and found.access.does == access.does:
            # The parts of one statement.
            found.bits |= missing

    def _of_rounds_before(self, root: ir.Operation) -> int:
        """What rounds before may have written, where a branch may keep the first round from coming here."""
        found, is_guarded = 0, False
        for around in reversed(self._around):
            if is_loop(around.operation):
                if around.operation in enclosing(root):
                    break
                if is_guarded:
                    found |= around.written.get(root, 0)
            is_guarded = is_guarded or around.is_guard
        return found


def _has_a_round(loop: ir.Operation) -> bool:
    """Whether a loop runs at least once."""
    if loop.name != "scf.for":
        return False
    low, high = constant_of(loop.operands[0]), constant_of(loop.operands[1])
    return low is not None and high is not None and low < high


def _say(found: _Found) -> None:
    root = found.access.view.root
    tensor = view(root.results[0].type)
    assert isinstance(tensor, MemRef)
    places = offsets(tensor.layout)
    element, width = (1 << tensor.element.bits) - 1, tensor.element.bits
    missing = [number for number, place in enumerate(places) if found.bits >> place * width & element]
    made = f"the fragment{_made_at(root, found.operation)}"
    if len(missing) < len(places):
        first = show(idx2crd(missing[0], tensor.layout.shape))
        which = f"{len(missing)} of {len(places)} elements of {made}, the first at {first}"
    else:
        which = f"{f'all {len(places)} elements' if len(places) > 1 else 'the one element'} of {made}"
    warning(
        found.operation,
        f"{found.access.does} that nothing has written, {which}: {_mend(found, is_all=len(missing) == len(places))}",
        {"elements": len(places), "unwritten elements": len(missing), "unwritten bits": found.bits.bit_count()},
    )


def _made_at(root: ir.Operation, operation: ir.Operation) -> str:
    made, own = nearest_location(root.location), nearest_location(operation.location)
    if made is None:
        return ""
    return f" of line {made.line}" if own and made.file == own.file else f" of {Path(made.file).name}:{made.line}"


def _loops_around(operation: ir.Operation) -> list[ir.Operation]:
    """From the innermost on."""
    return [each for each in enclosing(operation) if is_loop(each)]


def _mend(found: _Found, *, is_all: bool) -> str:
    """What to write, and where."""
    root = found.access.view.root
    outside, loops = set(_loops_around(root)), _loops_around(found.operation)
    between = [each for each in loops if each not in outside]
    where = f"before the loop{_at_line(between[-1])}" if between else "first"
    own, lines = _line_of(found.operation), [_line_of(each) for each in found.writes]
    if found.access.does.endswith("accumulators") or own in lines:
        # What is added to has to begin with something.
        if outside and not between:
            where = f"before the loop{_at_line(loops[0])}"
            return f"each round of the loop makes it anew: make it {where}, and fill(0) it there"
        return f"fill(0) it {where}{_instead_of_filling(found)}"
    if found.access.does.endswith("predicates"):
        return f"store each of them {where}"
    if is_all:
        later = f"line {lines[0]} writes it, and comes later: " if lines else ""
        return f"{later}load it {where}, or fill(0) it"
    return f"fill(0) it {where}, or write each of its elements"


def _instead_of_filling(found: _Found) -> str:
    if found.operation.name != "cute.gemm":
        return ", or load it"
    return ", or set the field ACCUMULATE to False for the first cute.gemm" if _has_field(found) else ""


def _has_field(found: _Found) -> bool:
    """Whether the instruction can leave its accumulators out."""
    return found.operation.name == "cute.gemm" and "sm90.mma" in str(found.operation.operands[0].type)


def _line_of(operation: ir.Operation) -> int | None:
    place = nearest_location(operation.location)
    return place.line if place else None


def _at_line(operation: ir.Operation) -> str:
    line = _line_of(operation)
    return f" at line {line}" if line else ""
