"""Which atoms the open lowering knows: rows, made by the decorators below, of cutecc's own modules and from outside.

Cutecc's are in the modules beside this one, all of which are read. Those from outside are in the files of `--load`, in
packages that have an entry point for them (`cutecc.passes.plugins`), and in whatever a program imports. A kind of atom
may have several rows, each of which says what it `takes` and on which `chips`; two for the same are an error.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cutecc.errors import Error, UsageError
from cutecc.ir.types import CopyAtom, MmaAtom, TiledCopy, TiledMma, TypeView
from cutecc.layout import Layout
from cutecc.passes import plugins, registrations
from cutecc.passes.lowering import atoms
from cutecc.passes.lowering.atoms.rows import Atom, CopyRow, MmaRow, Row, State, Whole
from cutecc.target import Target, known_targets

if TYPE_CHECKING:
    from cutecc.passes.lowering.atoms.uses import Copy, Product
    from cutecc.passes.lowering.values.matrix_descriptors import DescriptorFormat

_Lower = TypeVar("_Lower", bound=Callable[..., None])


class _Table(Generic[Atom]):
    """The rows of one sort, by the kinds of atoms that they are for."""

    group = registrations.ATOMS

    def __init__(self, what: str) -> None:
        self.what = what
        self.rows: dict[str, tuple[Row[Atom], ...]] = {}
        registrations.keep(self)

    def add(self, kinds: Sequence[str], row: Row[Atom]) -> None:
        """Give all of `kinds` a row, or none. Raises `UsageError` where one has a row whose atoms this one takes too.

        The same function of a module that is loaded again is its successor.
        """
        self.rows.update({kind: (*self._beside(kind, row), row) for kind in kinds})

    def _beside(self, kind: str, row: Row[Atom]) -> list[Row[Atom]]:
        """The rows of a kind that stay when it is given `row`."""
        others = [other for other in self.rows.get(kind, ()) if not _succeeds(row, other)]
        for other in others:
            if None in (row.takes, other.takes) and None in (row.chips, other.chips):
                hint = "say by `takes` or `chips` what each is for"
                raise _two_rows(f"{self.what}s called {kind}", other, row, hint)
        return others

    def of(self, atom: Atom, target: Target | None = None) -> Row[Atom] | None:
        """The row that takes `atom` on `target`, or on some chip. Raises `UsageError` where two do."""
        found = [row for row in self.all_of(atom) if target is None or row.is_on(target)]
        for other in found[1:]:
            if target is not None or not _are_for_other_chips(found[0], other):
                raise _two_rows(f"{self.what} {spelled(atom)}", found[0], other, "have one of them not take it")
        return found[0] if found else None

    def known(self, atom: Atom, target: Target | None = None) -> Row[Atom]:
        """The same; `Error` where there is none."""
        row = self.of(atom, target)
        if row is None:
            elsewhere = list(self.all_of(atom))
            on = f" on {target}" if elsewhere else ""
            message = f"the open lowering does not know the {self.what} {spelled(atom)}{on} yet"
            raise Error(message, hints=[*_other_chip(elsewhere), HINT])
        return row

    def all_of(self, atom: Atom) -> Iterator[Row[Atom]]:
        """The rows that take `atom`."""
        load()
        return (row for row in self.rows.get(atom.kind, ()) if row.is_for(atom))

    def definitions(self) -> Mapping[str, Callable[..., None]]:
        """The function of each row; what registers itself has these (`registrations`)."""
        return {f"{self.what} {row.name}": row.lower for rows in self.rows.values() for row in rows}

    def forget(self, name: str) -> None:
        """Drop the rows whose function `definitions` calls `name`."""
        for kind, rows in list(self.rows.items()):
            self.rows[kind] = tuple(row for row in rows if f"{self.what} {row.name}" != name)


def _succeeds(new: Row[Any], old: Row[Any]) -> bool:
    """Whether `new` is `old` of a module that is loaded again, or of a part of `__main__` that is run again."""
    if new.name != old.name:
        return False
    if new.lower.__module__ == "__main__":
        # What is run again is compiled again; one definition may make several rows, in a loop.
        return new.code is not old.code
    return new.loaded_with is not old.loaded_with


def _other_chip(rows: Sequence[Row[Any]]) -> list[str]:
    """A hint at the oldest chip that one of `rows` is for: `lower-atoms` by itself is for its option's default."""
    chips = (chip for chip in known_targets() if any(row.chips and row.is_on(chip) for row in rows))
    return [f"{chip} has a row for it: lower-atoms{{chip={chip}}}" for chip in itertools.islice(chips, 1)]


def _are_for_other_chips(one: Row[Any], other: Row[Any]) -> bool:
    return one.chips is not None and other.chips is not None and one.before_chips == other.before_chips


def _two_rows(of: str, one: Row[Any], other: Row[Any], hint: str) -> UsageError:
    return UsageError(f"there are two rows for the {of}: {one.place} and {other.place}", hints=[hint])


_COPIES = _Table[CopyAtom]("copy atom")
_PREFETCHES = _Table[CopyAtom]("prefetching copy atom")
_PRODUCTS = _Table[MmaAtom]("matrix product atom")
_HELD: dict[str, State] = {}


def copies(
    *kinds: str,
    has_predicate: bool = False,
    takes: Callable[[CopyAtom], bool] | None = None,
    chips: Callable[[Target], bool] | None = None,
    state: State = (),
    whole: Whole = "never",
) -> Callable[[Callable[[Copy], None]], Callable[[Copy], None]]:
    """Make a function the row of the copy atoms called `kinds`, those that it `takes`, on `chips`."""
    row = functools.partial(CopyRow, takes=takes, chips=chips, state=state, has_predicate=has_predicate, whole=whole)
    return _adding(_COPIES, kinds, row)


def prefetches(
    *kinds: str,
    takes: Callable[[CopyAtom], bool] | None = None,
    chips: Callable[[Target], bool] | None = None,
) -> Callable[[Callable[[Copy], None]], Callable[[Copy], None]]:
    """Make a function how the copy atoms called `kinds` have the caches fetch what they would copy."""
    return _adding(_PREFETCHES, kinds, functools.partial(Row[CopyAtom], takes=takes, chips=chips))


def multiplies(
    *kinds: str,
    takes: Callable[[MmaAtom], bool] | None = None,
    chips: Callable[[Target], bool] | None = None,
    state: State = (),
    matrices: DescriptorFormat | None = None,
) -> Callable[[Callable[[Product], None]], Callable[[Product], None]]:
    """Make a function the row of the matrix product atoms called `kinds`, those that it `takes`, on `chips`."""
    row = functools.partial(MmaRow, takes=takes, chips=chips, state=state, matrices=matrices)
    return _adding(_PRODUCTS, kinds, row)


def _adding(table: _Table[Atom], kinds: Sequence[str], row: Callable[..., Row[Atom]]) -> Callable[[_Lower], _Lower]:
    def add(lower: _Lower) -> _Lower:
        _check_function(lower)
        if not lower.__module__.startswith("cutecc."):
            _load_own()
        spec = getattr(sys.modules.get(lower.__module__), "__spec__", None)
        table.add(kinds, row(lower=lower, loaded_with=spec))
        return lower

    return add


def _check_function(lower: object) -> None:
    """Raise `UsageError` for what has no name and no place to tell rows apart by."""
    if not isinstance(lower, FunctionType):
        hint = "write the row as a function of one parameter, a thread's use of the atom"
        raise UsageError(f"{getattr(lower, '__qualname__', repr(lower))} is no function", hints=[hint])


def holds(*kinds: str, state: State) -> None:
    """Have atoms called `kinds` carry `state`; nothing copies with them before they are made another."""
    for kind in kinds:
        if kind in _HELD:
            raise Error(f"what the atoms called {kind} carry is said twice: {_HELD[kind]} and {state}")
        _HELD[kind] = state


def all_rows() -> list[tuple[str, str, Row[Any]]]:
    """Every row of an atom that is copied or multiplied with: of what sort of atom, which kind, and the row."""
    load()
    tables: tuple[_Table[Any], ...] = (_COPIES, _PRODUCTS)
    return [(table.what, kind, row) for table in tables for kind in sorted(table.rows) for row in table.rows[kind]]


def state_of(atom: CopyAtom | MmaAtom) -> State | None:
    """What a value of the atom's type carries; `None` for atoms that have no row.

    One that no row of its kind takes carries what others do: whatever executes it says so.
    """
    table: _Table[Any] = _PRODUCTS if isinstance(atom, MmaAtom) else _COPIES
    rows = (*table.all_of(atom), *table.rows.get(atom.kind, ()))
    return rows[0].state if rows else _HELD.get(atom.kind)


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


def find_copy_row(atom: CopyAtom) -> CopyRow | None:
    """The row that takes a copy atom on some chip, if there is one. Raises `UsageError` where two do."""
    row = _COPIES.of(atom)
    assert row is None or isinstance(row, CopyRow)
    return row


def copy_row(atom: CopyAtom, target: Target | None = None) -> CopyRow:
    """The row of a copy atom on `target`, or on some chip; `Error` for one that the open lowering does not know."""
    row = _COPIES.known(atom, target)
    assert isinstance(row, CopyRow)
    return row


def prefetch_row(atom: CopyAtom, target: Target) -> Row[CopyAtom]:
    """The row by which a copy atom prefetches; `Error` for one that has no way to."""
    copy_row(atom, target)
    row = _PREFETCHES.of(atom, target)
    if row is None:
        raise Error(f"the copy atom {spelled(atom)} has no instruction that prefetches", hints=[HINT])
    return row


def find_mma_row(atom: MmaAtom) -> MmaRow | None:
    """As `find_copy_row`, of a matrix product atom."""
    row = _PRODUCTS.of(atom)
    assert row is None or isinstance(row, MmaRow)
    return row


def mma_row(atom: MmaAtom, target: Target | None = None) -> MmaRow:
    """As `copy_row`, of a matrix product atom."""
    row = _PRODUCTS.known(atom, target)
    assert isinstance(row, MmaRow)
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
def _load_own() -> None:
    """Import the modules of this package, which make their rows."""
    for module in pkgutil.iter_modules(atoms.__path__, f"{atoms.__name__}."):
        importlib.import_module(module.name)


def load() -> None:
    """Load every module that has rows: cutecc's own, the user's files, those of installed packages."""
    _load_own()
    plugins.load_files()
    plugins.load_installed_atoms()
