"""One thread's use of an atom, as the function of its row gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom, MmaAtom, Scalar
from cutecc.layout import Layout, filter_layout
from cutecc.layout.tiled import values_of
from cutecc.passes.lowering.values.tensors import Coordinates, Operand, known_count
from cutecc.passes.lowering.values.vector_accesses import Tensor, element_count, joined, load_element, stored_type


@dataclass(frozen=True)
class Copy:
    """One thread's use of a copy atom."""

    atom: CopyAtom
    operands: tuple[Operand, ...]
    """From and to what; of a prefetch, from where alone."""
    predicate: ir.Value | None
    """An `i1`, of an atom whose instruction has one; all others stand under a condition."""
    fields: Mapping[str, ir.Value]
    """What the kernel told the atom, by the names in its row's state."""
    second: Tensor | None = None
    """Beside one of these: the numbers of the rows that are gathered or scattered, or where a reduction goes."""

    @property
    def source(self) -> Tensor:
        """What is copied, in memory."""
        return in_memory(self.operands[0])

    @property
    def destination(self) -> Tensor:
        """Where to, in memory."""
        return in_memory(self.operands[1])

    @property
    def place(self) -> list[ir.Value]:
        """Where in the tensor that a descriptor says: the first coordinate, an `i32` for each mode."""
        for each in self.operands:
            if isinstance(each, Coordinates):
                return each.first
        raise Error("TMA finds a tensor by its descriptor, and takes coordinates, not a tensor in global memory")

    @property
    def rows(self) -> list[ir.Value]:
        """Which rows of the tensor a gather or scatter takes, an `i32` each."""
        numbers = self.second
        if numbers is None or not isinstance(numbers.layout, Layout) or numbers.element != Scalar("i32"):
            raise Error("TMA gathers and scatters rows by a tensor of i32 beside the coordinates")
        # All elements of a row have its number.
        each = filter_layout(numbers.layout)
        type = stored_type(numbers.element)
        return [
            load_element(numbers.element, type, numbers.address(offset), numbers.alignment_at(offset))
            for offset in (each(row) for row in range(known_count(each.size)))
        ]

    @property
    def count(self) -> int:
        """How many elements of memory: what the call takes is one atom, or all where that does not say how many."""
        return known_count(self.source.layout.size)


@dataclass(frozen=True)
class Product:
    """One thread's use of a matrix product atom: d = a * b + c."""

    atom: MmaAtom
    operands: tuple[Operand, Operand, Operand, Operand]
    """D, A, B and C."""
    fields: Mapping[str, ir.Value]
    """As a `Copy` has them."""

    @property
    def multiplicands(self) -> tuple[Operand, Operand]:
        """A and B, each in registers or as descriptors."""
        return self.operands[1:3]

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many elements of A, B and C a thread has."""
        return thread_counts(self.atom)

    def loaded(self) -> list[ir.Value]:
        """What the thread has of A, B and C, all in registers: a vector each."""
        operands = map(in_memory, self.operands[1:])
        return [joined(tensor.load(count)) for tensor, count in zip(operands, self.counts, strict=True)]

    def addend(self) -> ir.Value:
        """What it has of C, a vector."""
        return joined(in_memory(self.operands[3]).load(self.counts[2]))

    def store(self, values: ir.Value) -> None:
        """Store what it has of D, a vector. Raises `Error` for anything else, and for more or fewer numbers."""
        if other := _other_than_vector(values):
            raise Error(f"the row stores {other}, D is a vector", hints=["vector_of makes a vector of numbers"])
        stored, wanted = element_count(values), self.counts[2]
        if stored != wanted:
            raise Error(f"the row stores {stored} number{'s' * (stored != 1)}, D has {wanted}")
        in_memory(self.operands[0]).store([values], wanted)


def thread_counts(atom: MmaAtom) -> tuple[int, int, int]:
    """How many elements of A, B and C a thread has; of two elements of a sparse A beside each other, it has one."""
    a, b, c = (values_of(tv) for tv in (atom.a_tv, atom.b_tv, atom.c_tv) if tv is not None)
    return a // 2 if "md_format" in atom.parameters else a, b, c


def _other_than_vector(given: object) -> str:
    """What is given in the place of a vector; empty for a vector."""
    if not isinstance(given, ir.Value):
        return f"a {type(given).__name__}"
    return "" if isinstance(given.type, ir.VectorType) else f"a value of type {given.type}"


def in_memory(operand: Operand) -> Tensor:
    """An operand that an instruction loads or stores itself. Raises `Error` for any other."""
    if not isinstance(operand, Tensor):
        what = "a tensor of coordinates" if isinstance(operand, Coordinates) else "a tensor of descriptors"
        raise Error(f"{what} is no tensor in memory")
    return operand
