"""Which atoms the open lowering knows: a row for each, made by the decorators below in the modules beside this one."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from cutecc.errors import Error, UsageError
from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom, MmaAtom, TiledCopy, TiledMma, TypeView
from cutecc.layout import Layout
from cutecc.layout.tiled import values_of
from cutecc.passes.lowering import atoms
from cutecc.passes.lowering.values.tensors import Coordinates, Operand, known_count
from cutecc.passes.lowering.values.vector_accesses import Tensor, joined

Whole = Literal["never", "unless predicated", "always"]

State = tuple[tuple[str, str], ...]
"""What a value of an atom's type carries beside its type: the fields that `set_value` sets, each with LLVM's type."""


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
        tvs = (self.atom.a_tv, self.atom.b_tv, self.atom.c_tv)
        a, b, c = (values_of(tv) for tv in tvs if tv is not None)
        return a, b, c

    def loaded(self) -> list[ir.Value]:
        """What the thread has of A, B and C, all in registers: a vector each."""
        operands = map(in_memory, self.operands[1:])
        return [joined(tensor.load(count)) for tensor, count in zip(operands, self.counts, strict=True)]

    def addend(self) -> ir.Value:
        """What it has of C, a vector."""
        return joined(in_memory(self.operands[3]).load(self.counts[2]))

    def store(self, values: ir.Value) -> None:
        """Store what it has of D, a vector."""
        in_memory(self.operands[0]).store([values], self.counts[2])


def in_memory(operand: Operand) -> Tensor:
    """An operand that an instruction loads or stores itself. Raises `Error` for any other."""
    if not isinstance(operand, Tensor):
        what = "a tensor of coordinates" if isinstance(operand, Coordinates) else "a tensor of descriptors"
        raise Error(f"{what} is no tensor in memory")
    return operand


@dataclass(frozen=True)
class CopyRow:
    """How a copy atom becomes instructions."""

    lower: Callable[[Copy], None]
    has_predicate: bool = False
    """Whether the instruction takes a predicate."""
    takes: Callable[[CopyAtom], bool] | None = None
    """Which atoms of the kind it is for; all, where there is nothing to tell."""
    state: State = ()
    """What a value of the atom's type carries."""
    whole: Whole = "never"
    """Whether one call moves all of the first mode, where the atom's type does not say how many bits."""

    def counts(self, atom: CopyAtom, first: Sequence[Layout], *, predicated: bool) -> list[int]:
        """How many elements one call takes of each tensor, from and perhaps to; `first` are their first modes."""
        assert atom.source_tv is not None and atom.destination_tv is not None
        whole = self.whole == "always" or (self.whole == "unless predicated" and not predicated)
        if whole and "copy_bits" not in atom.parameters:
            return [known_count(mode.size) for mode in first]
        return [values_of(tv) for tv in (atom.source_tv, atom.destination_tv)][: len(first)]


@dataclass(frozen=True)
class MmaRow:
    """How a matrix product atom becomes instructions."""

    lower: Callable[[Product], None]
    takes: Callable[[MmaAtom], bool] | None = None
    """As a `CopyRow` has it."""
    state: State = ()
    """As a `CopyRow` has it."""


_COPIES: dict[str, CopyRow] = {}
_PREFETCHES: dict[str, Callable[[Copy], None]] = {}
_PRODUCTS: dict[str, MmaRow] = {}
_HELD: dict[str, State] = {}

_Row = TypeVar("_Row")
_LowerCopy = Callable[[Copy], None]
_LowerProduct = Callable[[Product], None]


def copies(
    *kinds: str,
    has_predicate: bool = False,
    takes: Callable[[CopyAtom], bool] | None = None,
    state: State = (),
    whole: Whole = "never",
) -> Callable[[_LowerCopy], _LowerCopy]:
    """Make a function the row of the copy atoms called `kinds`, those that it `takes`."""

    def add(lower: _LowerCopy) -> _LowerCopy:
        _check_own(lower)
        _add(_COPIES, kinds, CopyRow(lower, has_predicate, takes, state, whole))
        return lower

    return add


def prefetches(*kinds: str) -> Callable[[_LowerCopy], _LowerCopy]:
    """Make a function how the copy atoms called `kinds` have the caches fetch what they would copy."""

    def add(lower: _LowerCopy) -> _LowerCopy:
        _check_own(lower)
        _add(_PREFETCHES, kinds, lower)
        return lower

    return add


def multiplies(
    *kinds: str, takes: Callable[[MmaAtom], bool] | None = None, state: State = ()
) -> Callable[[_LowerProduct], _LowerProduct]:
    """Make a function the row of the matrix product atoms called `kinds`, those that it `takes`."""

    def add(lower: _LowerProduct) -> _LowerProduct:
        _check_own(lower)
        _add(_PRODUCTS, kinds, MmaRow(lower, takes, state))
        return lower

    return add


def _add(rows: dict[str, _Row], kinds: Sequence[str], row: _Row) -> None:
    """Give each of `kinds` its row. Raises `Error` for a kind that has one, or is named twice: which would hold?"""
    for kind in kinds:
        if kind in rows:
            raise Error(f"the atoms called {kind} have two rows: {rows[kind]} and {row}")
        rows[kind] = row


def _check_own(lower: Callable[..., None]) -> None:
    """Raise `UsageError` for a row from outside: which files passes come from the cache knows, and no others."""
    if not lower.__module__.startswith("cutecc."):
        raise UsageError(
            f"{lower.__name__}: rows of atoms are cutecc's own",
            hints=["write a pass that lowers each cute.copy or cute.gemm of these atoms, for before lower-atom-fields"],
        )


def copy_rows() -> dict[str, CopyRow]:
    """Every copy atom's row."""
    _load()
    return _COPIES


def mma_rows() -> dict[str, MmaRow]:
    """Every matrix product atom's row."""
    _load()
    return _PRODUCTS


def holds(*kinds: str, state: State) -> None:
    """Have atoms called `kinds` carry `state`; nothing copies with them before they are made another."""
    _add(_HELD, kinds, state)


def state_of(atom: CopyAtom | MmaAtom) -> State | None:
    """What a value of the atom's type carries; `None` for atoms that have no row."""
    _load()
    if atom.kind in _HELD:
        return _HELD[atom.kind]
    row = (mma_rows() if isinstance(atom, MmaAtom) else copy_rows()).get(atom.kind)
    return None if row is None else row.state


def copy_atom(type_view: TypeView) -> CopyAtom:
    """The atom that a copy is given, by itself or tiled; `Error` for one that cutecc cannot read."""
    match type_view:
        case (CopyAtom() as atom) | TiledCopy(atom=atom):
            return atom
        case _:
            raise Error(f"the open lowering does not know the copy atom {type_view} yet", hints=[HINT])


def mma_atom(type_view: TypeView) -> MmaAtom:
    """The same of a matrix product. Its verifier takes nothing else, and cutecc reads every such type."""
    atom = type_view.atom if isinstance(type_view, TiledMma) else type_view
    assert isinstance(atom, MmaAtom)
    return atom


def copy_row(atom: CopyAtom) -> CopyRow:
    """The row of a copy atom; `Error` for one that the open lowering does not know."""
    row = copy_rows().get(atom.kind)
    if row is None or (row.takes and not row.takes(atom)):
        raise Error(f"the open lowering does not know the copy atom {spelled(atom)} yet", hints=[HINT])
    return row


def prefetch_of(atom: CopyAtom) -> Callable[[Copy], None]:
    """How a copy atom prefetches; `Error` for one that has no way to."""
    copy_row(atom)
    if atom.kind not in _PREFETCHES:
        raise Error(f"the copy atom {spelled(atom)} has no instruction that prefetches", hints=[HINT])
    return _PREFETCHES[atom.kind]


def mma_row(atom: MmaAtom) -> MmaRow:
    """The row of a matrix product atom; errors as `copy_row`."""
    row = mma_rows().get(atom.kind)
    if row is None or (row.takes and not row.takes(atom)):
        raise Error(f"the open lowering does not know the matrix product atom {spelled(atom)} yet", hints=[HINT])
    return row


def spelled(atom: CopyAtom | MmaAtom) -> str:
    """An atom in a line: its kind, and what else decides about its instruction."""
    words = [atom.kind]
    if isinstance(atom, MmaAtom):
        words += ["×".join(map(str, atom.shape_mnk)), f"{atom.element_a} {atom.element_b} {atom.element_c}"]
        words += [f"{atom.major_a}-{atom.major_b}"] if atom.major_a else []
    for name, value in atom.parameters.items():
        # What a TMA copies, and where that lies, is in the descriptor.
        if isinstance(value, Layout) or value in ((), False) or (name == "copy_bits" and "tma" in atom.kind):
            continue
        text = "×".join(map(str, value)) if isinstance(value, tuple) else str(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        words.append(name if value is True else f"{name}={text}")
    return " ".join(words)


HINT = "--pipeline nvidia compiles it"
"""Of errors about what no row is for."""


@functools.cache
def _load() -> None:
    """Import the modules of this package, which make their rows."""
    for module in pkgutil.iter_modules(atoms.__path__, f"{atoms.__name__}."):
        importlib.import_module(module.name)
