"""Which atoms the open lowering knows: a row for each, made by the decorators below."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.types import CopyAtom, MmaAtom
from cutecc.passes.lowering.values.memory import Tensor

_FAMILIES = ("universal", "sm80", "sm90")


@dataclass(frozen=True)
class CopyRow:
    """How a copy atom becomes instructions."""

    lower: Callable[[CopyAtom, Tensor, Tensor, ir.Value | None], None]
    """Takes the atom, what one thread copies from and to, and the predicate, an `i1`, of an atom that has its own."""
    has_predicate: bool = False
    """Whether the instruction takes a predicate; all others stand under a condition."""


@dataclass(frozen=True)
class MmaRow:
    """How a matrix product atom becomes instructions."""

    lower: Callable[[MmaAtom, ir.Value, ir.Value, ir.Value], ir.Value]
    """Takes the atom and what one thread has of A, B and C, a vector each; gives what it has of D."""


_COPIES: dict[str, CopyRow] = {}
_PRODUCTS: dict[str, MmaRow] = {}

_Lower = TypeVar("_Lower", bound=Callable[..., object])


def copies(*kinds: str, has_predicate: bool = False) -> Callable[[_Lower], _Lower]:
    """Make a function the row of the copy atoms called `kinds`."""

    def add(lower: _Lower) -> _Lower:
        _COPIES.update({kind: CopyRow(lower, has_predicate) for kind in kinds})  # pyright: ignore[reportArgumentType]
        return lower

    return add


def multiplies(*kinds: str) -> Callable[[_Lower], _Lower]:
    """Make a function the row of the matrix product atoms called `kinds`."""

    def add(lower: _Lower) -> _Lower:
        _PRODUCTS.update({kind: MmaRow(lower) for kind in kinds})  # pyright: ignore[reportArgumentType]
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


def copy_row(atom: CopyAtom) -> CopyRow:
    """The row of a copy atom; `Error` for one that the open lowering does not know."""
    row = copy_rows().get(atom.kind)
    if row is None:
        raise Error(f"the open lowering does not know the copy atom {atom.kind} yet", hints=[_HINT])
    return row


def mma_row(atom: MmaAtom) -> MmaRow:
    """The row of a matrix product atom; errors as `copy_row`."""
    row = mma_rows().get(atom.kind)
    if row is None:
        raise Error(f"the open lowering does not know the matrix product atom {atom.kind} yet", hints=[_HINT])
    return row


_HINT = "--pipeline nvidia compiles it"


def _load() -> None:
    for family in _FAMILIES:
        importlib.import_module(f"cutecc.passes.lowering.atoms.{family}")
