"""Which atoms the open lowering knows: a row for each, made by the decorators below."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom, MmaAtom, TiledCopy, TiledMma, TypeView
from cutecc.layout import Layout
from cutecc.passes.lowering.values.memory import Tensor

_FAMILIES = ("universal", "qualified", "sm80", "sm90", "tma")


State = tuple[tuple[str, str], ...]
"""What a value of an atom's type carries beside its type: the fields that `set_value` sets, each with LLVM's type."""


@dataclass(frozen=True)
class CopyRow:
    """How a copy atom becomes instructions."""

    lower: Callable[[CopyAtom, Tensor, Tensor, ir.Value | None], None]
    """Takes the atom, what one thread copies from and to, and the predicate, an `i1`, of an atom that has its own."""
    has_predicate: bool = False
    """Whether the instruction takes a predicate; all others stand under a condition."""
    takes: Callable[[CopyAtom], bool] | None = None
    """Which atoms of the kind it is for; all, where there is nothing to tell."""
    state: State = ()
    """What a value of the atom's type carries."""
    with_fields: bool = False


@dataclass(frozen=True)
class MmaRow:
    """How a matrix product atom becomes instructions."""

    lower: Callable[[MmaAtom, ir.Value, ir.Value, ir.Value], ir.Value]
    """Takes the atom and what one thread has of A, B and C, a vector each; gives what it has of D."""
    takes: Callable[[MmaAtom], bool] | None = None
    """As a `CopyRow` has it."""
    state: State = ()
    """As a `CopyRow` has it."""


_COPIES: dict[str, CopyRow] = {}
_PRODUCTS: dict[str, MmaRow] = {}
_HELD: dict[str, State] = {}

_Lower = TypeVar("_Lower", bound=Callable[..., object])


def copies(
    *kinds: str,
    has_predicate: bool = False,
    takes: Callable[[CopyAtom], bool] | None = None,
    state: State = (),
    with_fields: bool = False,
) -> Callable[[_Lower], _Lower]:
    """Make a function the row of the copy atoms called `kinds`, those that it `takes`."""

    def add(lower: _Lower) -> _Lower:
        row = CopyRow(lower, has_predicate, takes, state, with_fields)  # pyright: ignore[reportArgumentType]
        _COPIES.update(dict.fromkeys(kinds, row))
        return lower

    return add


def multiplies(
    *kinds: str, takes: Callable[[MmaAtom], bool] | None = None, state: State = ()
) -> Callable[[_Lower], _Lower]:
    """Make a function the row of the matrix product atoms called `kinds`, those that it `takes`."""

    def add(lower: _Lower) -> _Lower:
        _PRODUCTS.update(dict.fromkeys(kinds, MmaRow(lower, takes, state)))  # pyright: ignore[reportArgumentType]
        return lower

    return add


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
    _HELD.update(dict.fromkeys(kinds, state))


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
            raise Error(f"the open lowering does not know the copy atom {type_view} yet", hints=[_HINT])


def mma_atom(type_view: TypeView) -> MmaAtom:
    """The same of a matrix product. Its verifier takes nothing else, and cutecc reads every such type."""
    atom = type_view.atom if isinstance(type_view, TiledMma) else type_view
    assert isinstance(atom, MmaAtom)
    return atom


def copy_row(atom: CopyAtom) -> CopyRow:
    """The row of a copy atom; `Error` for one that the open lowering does not know."""
    row = copy_rows().get(atom.kind)
    if row is None or (row.takes and not row.takes(atom)):
        raise Error(f"the open lowering does not know the copy atom {spelled(atom)} yet", hints=[_HINT])
    return row


def mma_row(atom: MmaAtom) -> MmaRow:
    """The row of a matrix product atom; errors as `copy_row`."""
    row = mma_rows().get(atom.kind)
    if row is None or (row.takes and not row.takes(atom)):
        raise Error(f"the open lowering does not know the matrix product atom {spelled(atom)} yet", hints=[_HINT])
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


_HINT = "--pipeline nvidia compiles it"


def _load() -> None:
    for family in _FAMILIES:
        importlib.import_module(f"cutecc.passes.lowering.atoms.{family}")
