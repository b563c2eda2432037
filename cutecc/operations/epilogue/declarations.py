"""What an operand of an epilogue is: declared as a shape and a type, or told from an array of the user's."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from cutecc.arguments.arrays import Array, leading_mode, read_array
from cutecc.arguments.dtypes import close_type_names, find_numeric_type
from cutecc.errors import EpilogueError, SourceLocation, SpecError, UsageError
from cutecc.operations.epilogue.source import calling_location
from cutecc.operations.epilogue.values import Conversion, Kind, default_conversion, is_float
from cutecc.operations.operand import OPERAND_TYPES, Layout, Operand, common_alignment, known_layout, type_name
from cutecc.operations.words import article, of_kind, text_of, whole_number

_PACKAGE = f"{Path(__file__).parents[2]}/"
_KINDS: tuple[Kind, ...] = ("full", "row", "column", "scalar")


@dataclass(frozen=True)
class Full:
    """An operand of M×N elements: `Full("f16")`, `Full("f16", layout="column", alignment=1)`."""

    dtype: str
    layout: Layout = "row"
    alignment: int = 0
    """Elements that the address and every leading dimension are multiples of; as many as 16 bytes hold if not given."""
    conversion: Conversion | None = None
    """How results become the type; `round` for floating-point types and `clamp` for integers if not given."""

    def __post_init__(self) -> None:
        _set_type(self)


@dataclass(frozen=True)
class Row:
    """An operand of N elements, one for each column, the same in every row: the bias of a linear layer, say."""

    dtype: str
    alignment: int = 0

    def __post_init__(self) -> None:
        _set_type(self)


@dataclass(frozen=True)
class Column:
    """An operand of M elements, one for each row."""

    dtype: str
    alignment: int = 0

    def __post_init__(self) -> None:
        _set_type(self)


@dataclass(frozen=True)
class Scalar:
    """One value: a number of a launch, or with `in_memory` an element of memory for each batch, as results are."""

    dtype: str = "f32"
    default: float | None = None
    """The number when a launch gives none."""
    in_memory: bool = False

    def __post_init__(self) -> None:
        _set_type(self)
        with _at_the_call():
            object.__setattr__(self, "in_memory", of_kind(self.in_memory, bool, "whether a scalar is in memory"))
        default: object = self.default
        if default is not None and (self.in_memory or not isinstance(default, Real) or not math.isfinite(default)):
            raise EpilogueError(
                f"a scalar {'in memory ' if self.in_memory else ''}cannot have {self.default} as its default",
                calling_location(_PACKAGE),
                hints=["a number of a launch can have a finite one"],
            )


Declaration = Full | Row | Column | Scalar

_VECTORS: dict[Kind, type[Row] | type[Column]] = {"row": Row, "column": Column}

Size = tuple[int, int] | tuple[int, int, int]
"""(M, N) of a product, with the number of batches behind where it is known."""


def kind_of(declaration: Declaration) -> Kind:
    """The shape that a declaration names."""
    kinds: dict[type[Declaration], Kind] = {Full: "full", Row: "row", Column: "column", Scalar: "scalar"}
    return kinds[type(declaration)]


def known_type(dtype: Any, location: SourceLocation | None) -> str:
    """The name of a type of operands; `EpilogueError` with the close ones when it is none.

    Also takes the types of torch, numpy and the DSL, by their names.
    """
    name = type_name(dtype)
    found = find_numeric_type(name)
    if found is not None and found.name in OPERAND_TYPES:
        return found.name
    close = [each for each in close_type_names(name) if each in OPERAND_TYPES]
    hints = [f"did you mean {close[0]}?"] if close else []
    raise EpilogueError(
        f"operands of an epilogue cannot be of type {name}",
        location,
        hints=[*hints, f"types: {', '.join(OPERAND_TYPES)}"],
    )


def declared(name: str, given: Any, *, compute: str, size: Size | None, kind: Kind | None = None) -> Declaration:
    """What is given for an operand, as a declaration: one already, a matrix's `Operand` or its text, a number, an array
    of any library. Arrays stand for others like them, by their shape in a product of `size`, (M, N), unless `kind` is
    known.

    Raises `EpilogueError` for everything else, and for shapes that fit no operand or more than one.
    """
    if isinstance(given, Full | Row | Column | Scalar):
        return given
    if isinstance(given, Operand):
        return Full(given.dtype, given.layout, given.alignment)
    if isinstance(given, str) and (kind is not None or name in ("C", "D")):
        return _of_text(name, given, kind or "full")
    if isinstance(given, Real) and not getattr(given, "shape", ()):
        return Scalar(compute)
    try:
        array = read_array(given)
    except SpecError as error:
        raise EpilogueError(
            f"the operand {name}: {error.message}", calling_location(_PACKAGE), hints=error.hints
        ) from None
    if array is None:
        raise EpilogueError(
            f"{article(type(given).__name__)} does not say what the operand {name} is",
            calling_location(_PACKAGE),
            hints=[f'declare it: {name}=Full("f16"), Row, Column or Scalar', "or give an array like those of a launch"],
        )
    return _of_array(name, array, size, kind or ("full" if name in ("C", "D") else None))


def example_size(operands: Mapping[str, Any]) -> Size | None:
    """The size of a product by the example arrays for `D`, `C` or `accum`, the first of them that is one or says it."""
    for name in ("D", "C", "accum"):
        given = operands.get(name)
        match given:
            case (int(m), int(n)):
                return m, n
            case (int(m), int(n), int(batches)):
                return m, n, batches
            case _:
                pass
        if given is None or isinstance(given, Full | Row | Column | Scalar | Operand | Real):
            continue
        array = read_array(given)
        if array is not None and len(array.shape) in (2, 3):
            return array.shape[-2], array.shape[-1]
    return None


def _of_text(name: str, text: str, kind: Kind) -> Declaration:
    """The operand of a type, and of a full one its layout and alignment: `f16`, `f16:column:4`."""
    if kind == "full":
        try:
            operand = Operand.parse(text, "d")
        except UsageError as error:
            raise EpilogueError(
                f"the operand {name}: {error.message}", calling_location(_PACKAGE), hints=error.hints
            ) from None
        return Full(operand.dtype, operand.layout, operand.alignment)
    return Scalar(text, in_memory=True) if kind == "scalar" else _VECTORS[kind](text)


def _of_array(name: str, array: Array, size: Size | None, kind: Kind | None) -> Declaration:
    location = calling_location(_PACKAGE)
    dtype = known_type(array.dtype, location)
    shape = array.shape
    words: dict[Kind, str] = {each: f'{name}={each.capitalize()}("{dtype}")' for each in _KINDS}
    words["scalar"] = f'{name}=Scalar("{dtype}", in_memory=True)'
    if kind is not None:
        # Without the size, at least it has to be a matrix, or batches of one.
        fits = _holds(shape, kind, size) if size is not None else kind != "full" or len(shape) in (2, 3)
        possible: list[Kind] = [kind] if fits else []
    elif size is not None:
        possible: list[Kind] = [each for each in _KINDS if _looks_like(shape, each, size)]
    elif math.prod(shape) == 1 and len(shape) <= 1:
        possible: list[Kind] = ["scalar"]
    else:
        raise EpilogueError(
            f"what the operand {name} of shape {shape} is, only the size of the product tells",
            location,
            hints=["give D as an array too, or accum=(M, N)", f"or declare it: {' or '.join(words.values())}"],
        )
    if not possible:
        raise EpilogueError(
            f"the operand {name} of shape {shape} does not fit a product of {_size_text(size)}",
            location,
            hints=[_fitting(size), f"or declare it: {' or '.join(words.values())}"],
        )
    if len(possible) > 1:
        raise EpilogueError(
            f"the operand {name} of shape {shape} can be {' or '.join(possible)} in a product of {_size_text(size)}",
            location,
            hints=[f"declare it: {' or '.join(words[each] for each in possible)}"],
        )
    return _declaration(name, array, possible[0], dtype, location)


def _declaration(name: str, array: Array, kind: Kind, dtype: str, location: SourceLocation | None) -> Declaration:
    if kind == "full":
        return Full(dtype, *_memory(name, array, dtype, location))
    if kind == "scalar":
        return Scalar(dtype, in_memory=True)
    # How many elements the batches are apart: its values follow one another.
    apart = [step for extent, step in zip(array.shape, array.stride, strict=True) if extent > 1 and step != 1]
    return _VECTORS[kind](dtype, common_alignment(dtype, apart, [array.address]))


def _looks_like(shape: tuple[int, ...], kind: Kind, size: Size) -> bool:
    """Whether an array of a shape can be an operand of a kind, as numpy broadcasts it; batches may come first."""
    (m, n, *rest), inner = size, shape[-2:]
    batches = rest[0] if rest and rest[0] > 1 else None
    match kind:
        case "full":
            return len(shape) in (2, 3) and inner == (m, n)
        case "row":
            return shape in ((n,), (batches, n)) or (len(shape) in (2, 3) and inner == (1, n))
        case "column":
            return shape == (batches, m) or (len(shape) in (2, 3) and inner == (m, 1))
        case "scalar":
            return shape in ((), (1,), (batches,)) or (len(shape) in (2, 3) and inner == (1, 1))


def _holds(shape: tuple[int, ...], kind: Kind, size: Size) -> bool:
    """Whether an array of a shape has the elements of an operand whose kind is known; a vector can be (L, …) then."""
    if _looks_like(shape, kind, size):
        return True
    m, n = size[:2]
    match kind:
        case "row":
            return len(shape) == 2 and shape[1] == n
        case "column":
            return len(shape) in (1, 2) and shape[-1] == m
        case "scalar":
            return len(shape) == 1
        case "full":
            return False


def _fitting(size: Size | None) -> str:
    m, n = size[:2] if size else ("M", "N")
    return f"full operands are ({m}, {n}), rows ({n},) or (1, {n}), columns ({m}, 1), with batches (L, …) before"


def _size_text(size: Size | None) -> str:
    if size is None:
        return "M×N elements"
    m, n, *rest = size
    return f"({m}, {n})" + (f" and {rest[0]} batches" if rest and rest[0] > 1 else "")


def _memory(name: str, array: Array, dtype: str, location: SourceLocation | None) -> tuple[Layout, int]:
    mode = leading_mode(array)
    rank = len(array.shape)
    if mode is None or mode < rank - 2:
        raise EpilogueError(
            f"neither rows nor columns of the operand {name} are contiguous: strides {array.stride}",
            location,
            hints=["pass a contiguous copy"],
        )
    layout: Layout = "row" if mode == rank - 1 else "column"
    apart = [step for each, step in enumerate(array.stride) if each != mode]
    return layout, common_alignment(dtype, apart, [array.address])


@contextmanager
def _at_the_call() -> Generator[None]:
    """Has a wrong value be an error at the line that declares the operand."""
    try:
        yield
    except UsageError as error:
        raise EpilogueError(error.message, calling_location(_PACKAGE), error.notes, error.hints) from None


def _set_type(declaration: Declaration) -> None:
    object.__setattr__(declaration, "dtype", known_type(declaration.dtype, calling_location(_PACKAGE)))
    with _at_the_call():
        if not isinstance(declaration, Scalar):
            number = whole_number(declaration.alignment, "an alignment in elements")
            object.__setattr__(declaration, "alignment", number)
        if isinstance(declaration, Full):
            object.__setattr__(declaration, "layout", known_layout(declaration.layout, "d"))
            if declaration.conversion is not None:
                text_of(declaration.conversion, "a conversion")
    if isinstance(declaration, Full):
        conversion = default_conversion(declaration.dtype) if declaration.conversion is None else declaration.conversion
        allowed = ("round", "clamp") if is_float(declaration.dtype) else ("clamp", "fast_clamp")
        if conversion not in allowed or (conversion == "fast_clamp" and declaration.dtype == "i32"):
            raise EpilogueError(
                f"{declaration.dtype} results cannot be converted by {conversion}",
                calling_location(_PACKAGE),
                hints=[f"conversions: {', '.join(allowed[: 1 if declaration.dtype == 'i32' else 2])}"],
            )
        object.__setattr__(declaration, "conversion", conversion)
