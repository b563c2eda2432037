"""Copies whose elements have predicates of their own move whole vectors where these hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from cutecc.errors import UsageError
from cutecc.ir.building import at_end
from cutecc.ir.mlir import arith, cute, ir, scf
from cutecc.ir.segments import segments
from cutecc.ir.types import AddressSpace, CoordValue, CopyAtom, LayoutValue, MemRef, Scalar, TiledCopy, to_type, view
from cutecc.layout import Layout
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import remark
from cutecc.passes.lowering.values.loops import unrolled_loop
from cutecc.passes.registry import register
from cutecc.passes.rewriting import Rewriter, rewrite, rewrites
from cutecc.passes.transforms.vectors import in_vectors

_WIDTHS = (16, 32, 64, 128)
"""Bits of a vector. All GPUs have loads and stores of up to 128."""
_NOT_EQUAL = 1
"""As `arith.cmpi` numbers it."""


@register
@dataclass(frozen=True)
class VectorizePredicatedCopies(ModulePass):
    """Copy vectors where all of their elements' predicates hold, and single elements elsewhere.

    Of copies between global memory and registers by an atom of one element. One test decides for all that a thread
    copies, so that inside of a tensor its loads are issued without a branch between them; at an edge, there is one for
    each vector. Elements whose predicates do not hold are neither read nor written, as before.
    """

    name: ClassVar[str] = "vectorize-predicated-copies"

    bits: int = _WIDTHS[-1]
    """The widest access: 16, 32, 64 or 128."""

    def __post_init__(self) -> None:
        if self.bits not in _WIDTHS:
            raise UsageError(f"bits is {', '.join(map(str, _WIDTHS[:-1]))} or {_WIDTHS[-1]}, not {self.bits}")

    def run(self, module: ir.Module) -> None:
        rewrite(module, [self.vectorize], once=True)

    @rewrites("cute.copy")
    def vectorize(self, copy: ir.Operation, rewriter: Rewriter) -> None:
        *_, predicates = segments(copy)
        if not predicates:
            return
        found = vectors_of(copy, self.bits)
        if isinstance(found, str):
            remark(copy, f"not vectorised: {found}")
            return
        remark(
            copy,
            f"copies {found.length} elements at a time, {found.bits} bits, where all of their predicates hold",
            {"bits": found.bits},
        )
        _write(copy, found)
        rewriter.erase(copy)


@dataclass(frozen=True)
class Vectors:
    """How the elements of a copy are vectors."""

    single: CopyAtom
    """The atom of one element."""
    length: int
    """Elements of a vector."""
    order: Layout
    """From (element of a vector, vector) to the number of the element."""

    @property
    def bits(self) -> int:
        """Of a vector."""
        return self.length * self.single.element.bits

    @property
    def whole(self) -> CopyAtom:
        """The atom of one vector."""
        return CopyAtom(self.single.kind, self.single.element, self.single.parameters.with_(copy_bits=self.bits))

    @property
    def singly(self) -> Layout:
        """As `order`, the elements of a vector not in the first mode, which an atom moves, but in the second."""
        inside, among = self.order[0], self.order[1]
        return Layout((1, inside.shape, among.shape), (0, inside.stride, among.stride))


def vectors_of(copy: ir.Operation, bits: int) -> Vectors | str:
    """The longest vectors of at most `bits` that a copy with predicates is made of, or why there are none."""
    match [view(operand.type) for operand in copy.operands]:
        case [
            (CopyAtom() as atom) | TiledCopy(CopyAtom() as atom),
            MemRef(element=Scalar() as element, layout=Layout() as from_, swizzle=None) as source,
            MemRef(layout=Layout() as to, swizzle=None) as destination,
            MemRef(layout=Layout() as asked, swizzle=None) as predicates,
        ]:
            pass
        case _:
            return "its layouts are swizzled, or its elements no numbers"
    if atom.kind != "universal_copy" or atom.parameters.get("copy_bits", element.bits) != element.bits:
        return f"its atom, {to_type(atom)}, does not move single elements"
    # MLIR has verified that there is a predicate for each atom: they count as the elements do.
    spaces = {source.space, destination.space}
    if spaces != {AddressSpace.GMEM, AddressSpace.RMEM} or predicates.space != AddressSpace.RMEM:
        return "it is not between global memory and registers, with predicates in registers"
    widths = [width for width in reversed(_WIDTHS) if 8 <= element.bits <= width // 2 and width <= bits]
    lengths = [width // element.bits for width in widths]
    orders = {length: order for length in lengths if (order := in_vectors(length, from_, to, asked))}
    if not orders:
        return f"in the layouts {from_} and {to} elements are not known to stand side by side in vectors"
    alignment = min(source.alignment or 1, destination.alignment or 1)
    for length, order in orders.items():
        if length * element.bits <= 8 * alignment:
            return Vectors(CopyAtom(atom.kind, element, atom.parameters), length, order)
    return f"its tensors are known to be aligned to {alignment} byte{'' if alignment == 1 else 's'} only"


def _write(copy: ir.Operation, vectors: Vectors) -> None:
    """Build what `copy` does, in vectors."""
    single, whole = (cute.make_atom(to_type(atom), []) for atom in (vectors.single, vectors.whole))
    tensors = list(copy.operands)[1:]
    by_vector, by_element = _ordered(tensors, vectors.order), _ordered(tensors, vectors.singly)
    count = vectors.order[1].size
    assert isinstance(count, int)

    def each_vector() -> None:
        with unrolled_loop(count) as number:
            if number is None:
                _copy(single, by_element)
                return
            vector, elements = _at(number, by_vector, "(_,?)"), _at(number, by_element, "(_,_,?)")
            _copy_or_else(whole, vector, lambda: _copy(single, elements))

    _copy_or_else(whole, by_vector, each_vector)


def _copy_or_else(atom: ir.Value, tensors: list[ir.Value], otherwise: Callable[[], None]) -> None:
    """Build a copy without predicates where all of them hold, and `otherwise` elsewhere."""
    source, destination, predicates = tensors
    branch = scf.if_([], _all_hold(predicates))
    inside, outside = (ir.Block.create_at_start(region) for region in branch.regions)
    with at_end(inside):
        cute.copy(atom, [source], [destination])
        scf.yield_([])
    with at_end(outside):
        otherwise()
        scf.yield_([])


def _copy(atom: ir.Value, tensors: list[ir.Value]) -> None:
    source, destination, predicates = tensors
    cute.copy(atom, [source], [destination], pred=predicates)


def _ordered(tensors: list[ir.Value], order: Layout) -> list[ir.Value]:
    layout = cute.make_layout(to_type(LayoutValue(order)))
    return [cute.composition(tensor, layout) for tensor in tensors]


def _at(number: ir.Value, tensors: list[ir.Value], place: str) -> list[ir.Value]:
    """The parts of `tensors` at a coordinate, whose `?` is `number`."""
    coordinate = cute.make_coord(ir.Type.parse(f'!cute.coord<"{place}">'), [number])
    return [cute.slice(tensor, coordinate) for tensor in tensors]


def _all_hold(predicates: ir.Value) -> ir.Value:
    """Whether no predicate is zero, an `i1`. The code generator knows what they were computed from, and tests less."""
    tensor = view(predicates.type)
    assert isinstance(tensor, MemRef) and isinstance(tensor.layout, Layout)
    size = tensor.layout.size
    assert isinstance(size, int)
    coordinates = [cute.make_coord(to_type(CoordValue(number)), []) for number in range(size)]
    bytes_ = [cute.memref_load(predicates, coordinate) for coordinate in coordinates]
    zero = arith.constant(bytes_[0].type, 0)
    return reduce(arith.andi, [arith.cmpi(_NOT_EQUAL, byte, zero) for byte in bytes_])
