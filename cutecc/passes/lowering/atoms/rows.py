"""What a row is: how an atom becomes instructions, what it takes and on which chips, and where it is written."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from cutecc.errors import Error, SourceLocation, describe, foreign_failures, line_in
from cutecc.ir.types import CopyAtom, MmaAtom
from cutecc.passes.registrations import origin
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.passes.lowering.atoms.uses import Copy, Product
    from cutecc.passes.lowering.values.matrix_descriptors import DescriptorFormat

Whole = Literal["never", "unless predicated", "always"]

State = tuple[tuple[str, str], ...]
"""What a value of an atom's type carries beside its type: the fields that `set_value` sets, each with LLVM's type."""

Atom = TypeVar("Atom", CopyAtom, MmaAtom)
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Row(Generic[Atom]):
    """How atoms of a kind become instructions."""

    lower: Callable[[Any], None]
    """Gets one thread's use of the atom."""
    takes: Callable[[Atom], bool] | None = None
    """Which atoms of the kind it is for; all, where there is nothing to tell."""
    chips: Callable[[Target], bool] | None = None
    """Which have the instruction; all, where there is nothing to tell."""
    state: State = ()
    """What a value of the atom's type carries."""
    loaded_with: object = field(repr=False)
    """Of the module that has `lower`: its spec, of which a reload makes another."""

    def is_for(self, atom: Atom) -> bool:
        """Whether it takes an atom."""
        return self.takes is None or self._called(self.takes, atom)

    def is_on(self, chip: Target) -> bool:
        """Whether a chip has its instruction."""
        return self.chips is None or self._called(self.chips, chip)

    def write(self, use: Copy | Product) -> None:
        """Write the instructions of one thread's use of the atom."""
        self._called(self.lower, use)

    def _called(self, function: Callable[[Any], _T], given: Any) -> _T:
        """What a function of the row gives. Raises `Error` at the line where it failed for a reason of no `Error`."""
        try:
            return function(given)
        except Error as error:
            if not (self.is_own or error.location):
                error.notes.append(f"the row {self.lower.__qualname__} is at {self._line(function, error)}")
            raise
        except foreign_failures() as failure:
            raise Error(
                f"the row {self.lower.__qualname__} failed with an internal error: {describe(failure)}",
                location=self._line(function, failure),
                hints=["this is a bug in the row; --debug shows where"],
            ) from failure

    def _line(self, function: Callable[..., object], failure: BaseException) -> SourceLocation | None:
        """Where in the file of a function of the row `failure` came from; where the function begins, if from its call.

        For a function that Python did not compile, where the row begins.
        """
        code = _code(function)
        return (line_in(code.co_filename, failure) or _beginning(code)) if code else self.beginning

    @property
    def is_own(self) -> bool:
        """Whether it is cutecc's."""
        return self.lower.__module__.startswith("cutecc.")

    @property
    def before_chips(self) -> tuple[Any, ...]:
        """What passes go by that know no chip: rows for one atom on several have it in common."""
        return (self.state,)

    @property
    def place(self) -> str:
        """Where it is: function, file and line."""
        return f"{self.name} ({self.beginning})" if self.beginning else self.name

    @property
    def beginning(self) -> SourceLocation | None:
        """Where the first line of its function is, decorators and all."""
        return _beginning(self.code) if self.code else None

    @property
    def code(self) -> CodeType | None:
        """What the function below its decorators executes."""
        return _code(self.lower)

    @property
    def name(self) -> str:
        """The function with its module."""
        return f"{self.lower.__module__}.{self.lower.__qualname__}"

    @property
    def origin(self) -> str:
        """The file or package that it comes from."""
        return origin(self.lower)


def _code(function: Callable[..., object]) -> CodeType | None:
    return getattr(inspect.unwrap(function), "__code__", None)


def _beginning(code: CodeType) -> SourceLocation:
    return SourceLocation(code.co_filename, code.co_firstlineno)


@dataclass(frozen=True, kw_only=True)
class CopyRow(Row[CopyAtom]):
    """How a copy atom becomes instructions."""

    has_predicate: bool = False
    """Whether the instruction takes a predicate."""
    whole: Whole = "never"
    """Whether one call moves all of the first mode, where the atom's type does not say how many bits."""

    @property
    def before_chips(self) -> tuple[Any, ...]:
        return (*super().before_chips, self.whole)


@dataclass(frozen=True, kw_only=True)
class MmaRow(Row[MmaAtom]):
    """How a matrix product atom becomes instructions."""

    matrices: DescriptorFormat | None = None
    """How its descriptors of matrices in shared memory look; `None` for one that takes none."""

    @property
    def before_chips(self) -> tuple[Any, ...]:
        return (*super().before_chips, self.matrices)
