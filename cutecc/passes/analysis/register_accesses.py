"""What operations read and write of a thread's own tensors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cutecc.ir.constants import constant_of
from cutecc.ir.mlir import ir
from cutecc.ir.segments import segments
from cutecc.passes.analysis.equality import Equality
from cutecc.passes.analysis.loops import enclosing
from cutecc.passes.analysis.register_views import ALLOCATIONS, RegisterView, RegisterViews, is_in_registers

_STRUCTURE = ("scf.if", "scf.for", "scf.while", "scf.yield", "scf.condition")
_LOADS, _STORES = ("cute.memref.load", "cute.memref.load_vec"), ("cute.memref.store", "cute.memref.store_vec")
_ALWAYS_ADDING = ("cute_nvgpu.sm80.mma", "cute_nvgpu.sm89.mma", "cute_nvgpu.sm120.mma", "cute_nvgpu.atom.universal_fma")
"""Products without a field that keeps them from reading the accumulators."""


@dataclass(frozen=True)
class Access:
    """An operation's reading, or writing, of a tensor in registers."""

    view: RegisterView
    is_write: bool
    does: str
    """What a reading does, up to the registers: `cute.gemm adds to accumulators`."""
    is_whole: bool = True
    """Whether what is read is all of the view: no predicate leaves some of it out."""


class RegisterAccesses:
    """The accesses of a kernel's tensors in registers.

    A tensor is left out when something is done with it that is not followed: its address goes elsewhere, a branch
    yields it or another, or an operation is unknown here.
    """

    def __init__(self, kernel: ir.Operation) -> None:
        self._views = RegisterViews(Equality())
        self._left_out: set[ir.Operation] = set()
        self.by_operation: dict[ir.Operation, list[Access]] = {}
        """In the order of the program."""
        kernel.walk(self._collect, ir.WalkOrder.PRE_ORDER)
        for operation, accesses in list(self.by_operation.items()):
            self.by_operation[operation] = [each for each in accesses if each.view.root not in self._left_out]

    def _collect(self, operation: ir.Operation) -> ir.WalkResult:
        if any(is_in_registers(each) for each in operation.operands):
            if operation.name in _STRUCTURE:
                self._follow(operation)
            elif accesses := list(self._accesses(operation)):
                self.by_operation[operation] = accesses
            elif not _is_harmless(operation):
                self._leave_out(operation.operands)
        return ir.WalkResult.ADVANCE

    def _follow(self, operation: ir.Operation) -> None:
        """Leave out what comes out of a branch or loop as one tensor or another."""
        around = operation if operation.name in ("scf.for", "scf.while") else operation.block.owner.operation
        carried = [*around.results, *(each for region in around.regions for each in region.blocks[0].arguments)]
        if any(is_in_registers(each) and self._views.of(each) is None for each in carried):
            self._leave_out(operation.operands)

    def _leave_out(self, values: Iterable[ir.Value]) -> None:
        found = (self._views.of(each) for each in values if is_in_registers(each))
        self._left_out |= {each.root for each in found if each is not None}

    def _accesses(self, operation: ir.Operation) -> Iterator[Access]:
        operands = list(operation.operands)
        if operation.name in _LOADS and not _is_unused(operation.results[0]):
            yield from self._access(operands[0], "loads from registers", coordinate=operands[1:])
        elif operation.name == "cute.memref.store":
            yield from self._access(operands[0], coordinate=operands[1:2])
        elif operation.name == "cute.memref.store_vec":
            yield from self._access(operands[1])
        elif operation.name == "cute.copy":
            yield from self._of_copy(operation)
        elif operation.name == "cute.gemm":
            yield from self._of_gemm(operation)

    def _of_copy(self, operation: ir.Operation) -> Iterator[Access]:
        _, sources, targets, predicates = segments(operation)
        for each in sources:
            yield from self._access(each, "cute.copy copies registers", is_whole=not predicates)
        for each in predicates:
            yield from self._access(each, "cute.copy decides by predicates")
        for each in targets:
            yield from self._access(each)

    def _of_gemm(self, operation: ir.Operation) -> Iterator[Access]:
        _, products, *factors, sums = segments(operation)
        for each in (each for group in factors for each in group):
            yield from self._access(each, "cute.gemm multiplies registers")
        for each in sums if _adds(operation.operands[0]) else []:
            yield from self._access(each, "cute.gemm adds to accumulators")
        for each in products:
            yield from self._access(each)

    def _access(
        self, tensor: ir.Value, does: str = "", *, coordinate: list[ir.Value] | None = None, is_whole: bool = True
    ) -> Iterator[Access]:
        if is_in_registers(tensor):
            found = self._views.element(tensor, coordinate[0]) if coordinate else self._views.of(tensor)
            if found is not None:
                yield Access(found, not does, does, is_whole)


def allocated(operation: ir.Operation) -> bool:
    """Whether `operation` makes a tensor in registers."""
    return operation.name in ALLOCATIONS and is_in_registers(operation.results[0])


def written_in(loop: ir.Operation, accesses: dict[ir.Operation, list[Access]]) -> dict[ir.Operation, int]:
    """The bits, by tensor, that some round of `loop` may write."""
    found: dict[ir.Operation, int] = {}
    for operation, each in accesses.items():
        writes = [access.view for access in each if access.is_write]
        if writes and loop in enclosing(operation):
            for view in writes:
                found[view.root] = found.get(view.root, 0) | view.bits
    return found


def _adds(atom: ir.Value) -> bool:
    """Whether a product certainly reads its accumulators: the atom's field says so, or it has none."""
    if any(name in str(atom.type) for name in _ALWAYS_ADDING):
        return True
    while not isinstance(atom.owner, ir.Block) and atom.owner.operation.name == "cute_nvgpu.atom.set_value":
        operation = atom.owner.operation
        if "accum_c" in str(operation.attributes["field"]):
            return constant_of(operation.operands[1]) not in (None, 0)
        atom = operation.operands[0]
    return False


def _is_unused(value: ir.Value) -> bool:
    """Whether nothing is done with what is loaded, or another value may be chosen instead."""
    return all(use.owner.operation.name == "arith.select" for use in value.uses)


def _is_harmless(operation: ir.Operation) -> bool:
    """Whether an operation with a tensor of registers makes a view of it, or looks at its layout or values only."""
    if operation.name in _LOADS or operation.name in _STORES or operation.name.startswith("cute.print"):
        return True
    return operation.name.startswith("cute.") and bool(operation.results) and operation.name != "cute.ptrtoint"
