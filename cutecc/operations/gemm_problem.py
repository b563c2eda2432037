"""A matrix product as a command line names it: `4096x4096x4096:f16`, with types and layouts as far as they matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from cutecc.arguments.dtypes import close_type_names, find_numeric_type
from cutecc.errors import UsageError
from cutecc.operations.words import known_word, positive_integer, unknown_word

Major = Literal["row", "column"]
Types: TypeAlias = tuple[str | None, str | None, str | None]
Layouts: TypeAlias = tuple[Major | None, Major | None, Major | None]
_LAYOUT_WORDS: dict[str, Major] = {"row": "row", "column": "column", "t": "row", "n": "column"}
_ROLES = ("A", "B", "D")


@dataclass(frozen=True)
class GemmProblem:
    """out = A @ B: its sizes, and what is asked for of types and layouts. `None` leaves a part open."""

    sizes: tuple[int, int, int] | None = None
    """M, N and K."""
    batches: int | None = None
    """How many products of these sizes; `None` for one of matrices, without a mode for batches."""
    types: Types = (None, None, None)
    """Of the elements of A, B and out, by their names in `cutecc.arguments.dtypes`."""
    accumulator: str | None = None
    layouts: Layouts = (None, None, None)
    """Of A, B and out: `row` has contiguous rows."""

    @classmethod
    def parse(cls, text: str) -> GemmProblem:
        """The product that `MxNxK[xL]:TYPES[:LAYOUTS]` spells; TYPES and LAYOUTS as `parse_types`, `parse_layouts`.

        Raises `UsageError` for anything else.
        """
        first, *rest = [part.strip() for part in text.split(":")]
        sizes = first.lower().replace("×", "x").replace("*", "x").split("x")
        if len(sizes) not in (3, 4) or len(rest) > 2 or not all(rest):
            raise UsageError(
                f"'{text}' is not MxNxK:TYPES:LAYOUTS",
                hints=[
                    "for example 4096x4096x4096:f16, 512x512x64x8:bf16 for 8 products, or "
                    "1024x1024x1024:f16,f16,f32:row,column,row"
                ],
            )
        m, n, k, *batches = [positive_integer(each, "a size of a product") for each in sizes]
        problem = cls((m, n, k), batches[0] if batches else None)
        if rest:
            types, accumulator = parse_types(rest[0])
            problem = replace(problem, types=types, accumulator=accumulator)
        return replace(problem, layouts=parse_layouts(rest[1])) if len(rest) > 1 else problem

    def __str__(self) -> str:
        parts = ["x".join(map(str, [*(self.sizes or "???"), *([] if self.batches is None else [self.batches])]))]
        if any(self.types):
            a, b, d = self.types
            types = [a or "?"] if a == b and d is None else [each or "?" for each in self.types]
            parts.append(",".join([*types, *([self.accumulator] if self.accumulator else [])]))
        if any(self.layouts):
            parts.append(",".join(each or "?" for each in self.layouts))
        return ":".join(map(str, parts))

    def complete(self) -> GemmProblem:
        """The same with every open part filled in.

        Out has the type of A; `f16` where that has 8 bits and is a float, `i32` where it is an integer. The accumulator
        is `f32`, `f64` of f64 and `i32` of integers. Layouts are `row`; of 8-bit types, B's is `column`, which is how
        tensor cores read them. Raises `UsageError` when nothing says a type.
        """
        a = self.types[0] or self.types[1] or self.types[2]
        if a is None:
            raise UsageError(f"the product {self} has no element types", hints=["for example 4096x4096x4096:f16"])
        b = self.types[1] or a
        dtype = find_numeric_type(a)
        assert dtype is not None
        is_narrow = dtype.width == 8
        usual = "i32" if dtype.is_integer else "f64" if dtype.width == 64 else "f32"
        d = self.types[2] or ("i32" if dtype.is_integer else "f16" if is_narrow else a)
        rows: Layouts = ("row", "column" if is_narrow else "row", "row")
        layouts = tuple(given or default for given, default in zip(self.layouts, rows, strict=True))
        return replace(self, types=(a, b, d), accumulator=self.accumulator or usual, layouts=cast("Layouts", layouts))

    def specs(self) -> tuple[str, str, str]:
        """Argument specs of A, B and out of a complete problem, with L in front where there are batches."""
        assert self.sizes is not None
        m, n, k = self.sizes
        specs: list[str] = []
        for dtype, layout, shape in zip(self.types, self.layouts, ((m, k), (k, n), (m, n)), strict=True):
            sizes, order = [*shape], [0, 1] if layout == "column" else [1, 0]
            if self.batches is not None:
                sizes, order = [self.batches, *sizes], [2, *order]
            specs.append(f"{dtype}[{','.join(map(str, sizes))}] order=({','.join(map(str, order))})")
        a, b, d = specs
        return a, b, d


def parse_types(text: str) -> tuple[Types, str | None]:
    """The types of A, B and out, and of the accumulator: `f16`, `f16,f16,f32` or `f16,f16,f16,f32`.

    A single one is A's and B's. Raises `UsageError` for an unknown type, and for two of them.
    """
    names = [_type(word) for word in text.split(",")]
    if len(names) == 1:
        return (names[0], names[0], None), None
    if len(names) not in (3, 4):
        raise UsageError(
            f"'{text}' names {len(names)} types",
            hints=["one is A's and B's; three are those of A, B and out; a fourth is the accumulator's"],
        )
    return (names[0], names[1], names[2]), names[3] if len(names) == 4 else None


def parse_layouts(text: str) -> tuple[Major, Major, Major]:
    """The layouts of A, B and out: `row,column,row`, or a letter each as BLAS has them, `tnt`, where `t` is `row`.

    Raises `UsageError` for anything else.
    """
    words = text.split(",") if "," in text else list(text.strip().lower())
    if len(words) != len(_ROLES) or ("," not in text and not set(words) <= {"t", "n"}):
        raise UsageError(
            f"'{text}' is not the layouts of A, B and out", hints=["for example row,column,row, or tnt for short"]
        )
    a, b, d = words
    return _layout(a), _layout(b), _layout(d)


def _layout(word: str) -> Major:
    return _LAYOUT_WORDS[known_word(word, _LAYOUT_WORDS, "layout")]


def _type(word: str) -> str:
    found = find_numeric_type(word.strip())
    if found is None:
        raise unknown_word(
            word, ["f16", "bf16", "f32", "f64", "i8", "f8E4M3FN"], "type", close=close_type_names(word.strip())
        )
    return found.name
