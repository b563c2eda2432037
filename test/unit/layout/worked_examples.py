"""Worked examples of the published CuTe documentation, as data: an operation, its operands, the documented result.

The sources are documents of the CUTLASS repository: `01_layout.md`, `02_layout_algebra.md`, `03_tensor.md`,
`0t_mma_atom.md` and `0z_tma_tensors.md` in `media/docs/cpp/cute`, and the notebook `cute_layout_algebra.ipynb` in
`examples/python/CuTeDSL`. Texts are as the `cute` dialect writes them; integers that a document calls dynamic are `?`,
and their values stand in `leaves`. A tile is written as the documents do where they say that a tuple is a tiler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# The dialect has no operation for it: the algebra does it elsewhere, or the document states a relation.
NO_OPERATION = "no operation"


@dataclass(frozen=True)
class Example:
    """One documented result."""

    source: str
    operation: str
    operands: tuple[str, ...]
    result: str
    attributes: tuple[tuple[str, Any], ...] = ()
    wheel: str | None = None
    """What the installed wheel gives instead, where it differs, or `NO_OPERATION`."""
    leaves: tuple[int, ...] = ()
    """Values of the operands' `?`, in the order of the text."""
    result_leaves: tuple[int, ...] = ()
    """The documented values of the result's `?`."""


@dataclass(frozen=True)
class Table:
    """A documented table of a layout's indices: rows by the first coordinate, columns by the second."""

    source: str
    layout: str
    rows: tuple[tuple[int | tuple[int, ...], ...], ...]
    offset: int = 0
    """What the document adds to each index."""


def _example(
    source: str, operation: str, *operands: str, gives: str, wheel: str | None = None, **named: Any
) -> Example:
    attributes = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in named.items())
    return Example(source, operation, operands, gives, attributes, wheel)


def _dynamic(
    source: str, operation: str, *operands: str, gives: str, of: tuple[int, ...], values: tuple[int, ...]
) -> Example:
    return Example(source, operation, operands, gives, leaves=of, result_leaves=values)


LAYOUTS = "01_layout.md"
ALGEBRA = "02_layout_algebra.md"
TENSORS = "03_tensor.md"
MMA = "0t_mma_atom.md"
TMA = "0z_tma_tensors.md"
NOTEBOOK = "cute_layout_algebra.ipynb"

_CONSTRUCTION = (
    _example(LAYOUTS, "make_layout", "8", gives="8:1"),
    _example(LAYOUTS, "make_layout", "?", gives="?:1"),
    _example(LAYOUTS, "make_layout", "(2,4)", gives="(2,4):(1,2)"),
    _example(LAYOUTS, "make_layout", "(2,?)", gives="(2,?):(1,2)"),
    _example(LAYOUTS, "make_layout", "(2,?)", "(12,1)", gives="(2,?):(12,1)"),
    _dynamic(LAYOUTS, "make_layout", "(?,(?,?))", gives="(?,(?,?)):(1,(?,?))", of=(2, 2, 2), values=(2, 2, 2, 2, 4)),
    _dynamic(LAYOUTS, "make_ordered_layout", "(2,?)", "(1,0)", gives="(2,?):(?,1)", of=(4,), values=(4, 4)),
    _example(TENSORS, "make_layout", "(8,?)", gives="(8,?):(1,8)"),
    _example(TENSORS, "make_layout", "(?,16)", "(16,1)", gives="(?,16):(16,1)"),
    _example(TENSORS, "make_layout", "(4,8)", gives="(4,8):(1,4)"),
    _example(TENSORS, "make_ordered_layout", "(4,8)", "(1,0)", gives="(4,8):(8,1)"),
    _example(TENSORS, "make_layout_like", "(4,8):(32,2)", gives="(4,8):(8,1)"),
)

_COORDINATES = (
    _example(LAYOUTS, "idx2crd", "16", "(3,(2,3))", gives="(1,(1,2))"),
    _example(LAYOUTS, "idx2crd", "(1,5)", "(3,(2,3))", gives="(1,(1,2))"),
    _example(LAYOUTS, "idx2crd", "(1,(1,2))", "(3,(2,3))", gives="(1,(1,2))"),
    _dynamic(LAYOUTS, "idx2crd", "?", "(3,(2,3))", gives="(?,(?,?))", of=(16,), values=(1, 1, 2)),
    _dynamic(LAYOUTS, "idx2crd", "(1,?)", "(3,(2,3))", gives="(1,(?,?))", of=(5,), values=(1, 2)),
    _dynamic(LAYOUTS, "idx2crd", "(1,(?,2))", "(3,(2,3))", gives="(1,(?,2))", of=(1,), values=(1,)),
    _example(LAYOUTS, "crd2idx", "16", "(3,(2,3)):(3,(12,1))", gives="17"),
    _example(LAYOUTS, "crd2idx", "(1,5)", "(3,(2,3)):(3,(12,1))", gives="17"),
    _example(LAYOUTS, "crd2idx", "(1,(1,2))", "(3,(2,3)):(3,(12,1))", gives="17"),
    _dynamic(LAYOUTS, "crd2idx", "?", "(3,(2,3)):(3,(12,1))", gives="?", of=(16,), values=(17,)),
    _dynamic(LAYOUTS, "crd2idx", "(1,?)", "(3,(2,3)):(3,(12,1))", gives="?", of=(5,), values=(17,)),
    # The table of the three coordinate sets of `(3,(2,3))`: by its 1-D and by its 2-D coordinate.
    *(
        _example(LAYOUTS, "idx2crd", coordinate, "(3,(2,3))", gives=f"({i},({j},{k}))")
        for k in range(3)
        for j in range(2)
        for i in range(3)
        for coordinate in (str(i + 3 * j + 6 * k), f"({i},{j + 2 * k})")
    ),
)

_MODES = (
    _example(LAYOUTS, "get", "(4,(3,6)):(1,(4,12))", mode=[0], gives="4:1"),
    _example(LAYOUTS, "get", "(4,(3,6)):(1,(4,12))", mode=[1], gives="(3,6):(4,12)"),
    _example(LAYOUTS, "get", "(4,(3,6)):(1,(4,12))", mode=[1, 0], gives="3:4"),
    _example(LAYOUTS, "get", "(4,(3,6)):(1,(4,12))", mode=[1, 1], gives="6:12"),
    _example(LAYOUTS, "select", "(2,3,5,7):(1,2,6,30)", mode=[1, 3], gives="(3,7):(2,30)"),
    _example(LAYOUTS, "select", "(2,3,5,7):(1,2,6,30)", mode=[0, 1, 3], gives="(2,3,7):(1,2,30)"),
    _example(LAYOUTS, "select", "(2,3,5,7):(1,2,6,30)", mode=[2], gives="(5):(6)"),
    # `take<1,3>` and `take<1,4>`.
    _example(LAYOUTS, "select", "(2,3,5,7):(1,2,6,30)", mode=[1, 2], gives="(3,5):(2,6)"),
    _example(LAYOUTS, "select", "(2,3,5,7):(1,2,6,30)", mode=[1, 2, 3], gives="(3,5,7):(2,6,30)"),
    _example(LAYOUTS, "concatenate", "3:1", "4:3", gives="(3,4):(1,3)", wheel=NO_OPERATION),
    _example(LAYOUTS, "concatenate", "4:3", "3:1", gives="(4,3):(3,1)", wheel=NO_OPERATION),
    _example(
        LAYOUTS, "concatenate", "(3,4):(1,3)", "(4,3):(3,1)", gives="((3,4),(4,3)):((1,3),(3,1))", wheel=NO_OPERATION
    ),
    _example(LAYOUTS, "concatenate", "3:1", gives="(3):(1)", wheel=NO_OPERATION),
    _example(LAYOUTS, "concatenate", "(3):(1)", gives="((3)):((1))", wheel=NO_OPERATION),
    _example(LAYOUTS, "concatenate", "3:1", "(3):(1)", "3:1", gives="(3,(3),3):(1,(1),1)", wheel=NO_OPERATION),
    _example(LAYOUTS, "append_to_rank", "3:1", "4:3", rank=2, gives="(3,4):(1,3)"),
    _example(LAYOUTS, "prepend_to_rank", "3:1", "4:3", rank=2, gives="(4,3):(3,1)"),
    _example(LAYOUTS, "append_to_rank", "(3,4):(1,3)", "(3,4):(1,3)", rank=3, gives="(3,4,(3,4)):(1,3,(1,3))"),
    _example(LAYOUTS, "group_modes", "(2,3,5,7):(1,2,6,30)", begin=0, end=2, gives="((2,3),5,7):((1,2),6,30)"),
    _example(LAYOUTS, "group_modes", "((2,3),5,7):((1,2),6,30)", begin=1, end=3, gives="((2,3),(5,7)):((1,2),(6,30))"),
    _example(LAYOUTS, "flatten", "((2,3),5,7):((1,2),6,30)", gives="(2,3,5,7):(1,2,6,30)", wheel=NO_OPERATION),
    _example(LAYOUTS, "flatten", "((2,3),(5,7)):((1,2),(6,30))", gives="(2,3,5,7):(1,2,6,30)", wheel=NO_OPERATION),
)

_COMPATIBLE = tuple(
    _example(LAYOUTS, "compatible", first, second, gives=gives, wheel=NO_OPERATION)
    for first, second, gives in (
        ("24", "32", "no"),
        ("24", "(4,6)", "yes"),
        ("(4,6)", "((2,2),6)", "yes"),
        ("((2,2),6)", "((2,2),(3,2))", "yes"),
        ("24", "((2,2),(3,2))", "yes"),
        ("24", "((2,3),4)", "yes"),
        ("((2,3),4)", "((2,2),(3,2))", "no"),
        ("((2,2),(3,2))", "((2,3),4)", "no"),
        ("24", "(24)", "yes"),
        ("(24)", "24", "no"),
        ("(24)", "(4,6)", "no"),
    )
)

_COALESCE = (
    _example(ALGEBRA, "coalesce", "(2,(1,6)):(1,(6,2))", gives="12:1"),
    _example(ALGEBRA, "coalesce", "(2,(1,6)):(1,(6,2))", "(1,1)", gives="(2,6):(1,2)"),
    _example(ALGEBRA, "coalesce", "(2,4):(1,2)", gives="8:1"),
    _example(NOTEBOOK, "coalesce", "(2,(1,6)):(1,(?,2))", gives="12:1"),
    _example(NOTEBOOK, "coalesce", "((2,(3,4)),(3,2),1):((4,(8,24)),(2,6),12)", gives="(24,6):(4,2)"),
)

_COMPOSITION = (
    _example(ALGEBRA, "composition", "(6,2):(8,2)", "(4,3):(3,1)", gives="((2,2),3):((24,2),8)"),
    _example(ALGEBRA, "composition", "(6,2):(8,2)", "4:3", gives="(2,2):(24,2)"),
    # The document leaves a unit mode here, and coalesces by mode in its next step.
    _example(ALGEBRA, "composition", "(6,2):(8,2)", "3:1", gives="(3,1):(8,2)", wheel="3:8"),
    _example(ALGEBRA, "composition", "20:2", "(5,4):(4,1)", gives="(5,4):(8,2)"),
    _example(ALGEBRA, "composition", "20:2", "5:4", gives="5:8"),
    _example(ALGEBRA, "composition", "20:2", "4:1", gives="4:2"),
    _example(ALGEBRA, "composition", "(10,2):(16,4)", "(5,4):(1,5)", gives="(5,(2,2)):(16,(80,4))"),
    _example(ALGEBRA, "composition", "(10,2):(16,4)", "5:1", gives="(5,1):(16,4)", wheel="5:16"),
    _example(ALGEBRA, "composition", "(10,2):(16,4)", "4:5", gives="(2,2):(80,4)"),
    Example(
        ALGEBRA,
        "composition",
        ("(3,6,2,8):(?,?,?,?)", "16:9"),
        "(1,2,2,4):(?{div=9},?{div=3},?,?)",
        wheel="(2,2,4):(?{div=3},?,?)",
    ),
    _dynamic(
        ALGEBRA,
        "composition",
        "(?,?):(?,?)",
        "(?,?):(?,?)",
        gives="((?,?),(?,?)):((?,?),(?,?))",
        of=(10, 2, 16, 4, 5, 4, 1, 5),
        values=(5, 1, 2, 2, 16, 4, 80, 4),
    ),
    _example(ALGEBRA, "composition", "(12,(4,8)):(59,(13,1))", "[3:4;8:2]", gives="(3,(2,4)):(236,(26,1))"),
    _example(ALGEBRA, "composition", "(12,(4,8)):(59,(13,1))", "(3,8)", gives="(3,(4,2)):(59,(13,1))"),
    _dynamic(
        NOTEBOOK,
        "composition",
        "(6,2):(?,2)",
        "(4,3):(3,1)",
        gives="((2,2),3):((?{div=3},2),?)",
        of=(8,),
        values=(24, 8),
    ),
    _dynamic(
        NOTEBOOK,
        "composition",
        "(?,(?,?)):(?,(?,?))",
        "(3,8)",
        gives="(3,(?,?)):(?,(?,?))",
        of=(12, 4, 8, 59, 13, 1),
        values=(4, 2, 59, 13, 1),
    ),
    _example(ALGEBRA, "composition", "(9,(4,8)):(59,(13,1))", "[3:3;(2,4):(1,8)]", gives="(3,(2,4)):(177,(13,2))"),
    _example(ALGEBRA, "composition", "(4,2,3):(2,1,8)", "(4,(2,3)):(2,(1,8))", gives="((2,2),(2,3)):((4,1),(2,8))"),
    _example(ALGEBRA, "composition", "(2,3):(2,8)", "6:1", gives="(2,3):(2,8)"),
)

# Steps of the document's computation: shapes with their leading elements divided out, and modded out.
_SHAPES = (
    *(
        _example(ALGEBRA, "shape_div", shape, divisor, gives=gives)
        for shape, divisor, gives in (
            ("(6,2)", "2", "(3,2)"),
            ("(6,2)", "3", "(2,2)"),
            ("(6,2)", "6", "(1,2)"),
            ("(6,2)", "12", "(1,1)"),
            ("(3,6,2,8)", "3", "(1,6,2,8)"),
            ("(3,6,2,8)", "6", "(1,3,2,8)"),
            ("(3,6,2,8)", "9", "(1,2,2,8)"),
            ("(3,6,2,8)", "72", "(1,1,1,4)"),
        )
    ),
    *(
        _example(ALGEBRA, "shape_mod", shape, divisor, gives=gives, wheel=NO_OPERATION)
        for shape, divisor, gives in (
            ("(6,2)", "2", "(2,1)"),
            ("(6,2)", "3", "(3,1)"),
            ("(6,2)", "6", "(6,1)"),
            ("(6,2)", "12", "(6,2)"),
            ("(3,6,2,8)", "6", "(3,2,1,1)"),
            ("(3,6,2,8)", "9", "(3,3,1,1)"),
            ("(1,2,2,8)", "2", "(1,2,1,1)"),
            ("(1,2,2,8)", "16", "(1,2,2,4)"),
        )
    ),
)

_COMPLEMENT = (
    _example(ALGEBRA, "complement", "4:1", "24", gives="6:4"),
    _example(ALGEBRA, "complement", "6:4", "24", gives="4:1"),
    _example(ALGEBRA, "complement", "(4,6):(1,4)", "24", gives="1:0"),
    _example(ALGEBRA, "complement", "4:2", "24", gives="(2,3):(1,8)"),
    _example(ALGEBRA, "complement", "(2,4):(1,6)", "24", gives="3:2"),
    _example(ALGEBRA, "complement", "(2,2):(1,6)", "24", gives="(3,2):(2,12)"),
    _example(ALGEBRA, "complement", "(2,2):(4,1)", "24", gives="(2,3):(2,8)"),
    *(
        _example(ALGEBRA, "cosize", layout, gives="24")
        for layout in ("(4,6):(1,4)", "(6,4):(4,1)", "(4,(2,3)):(2,(1,8))", "((2,4),3):((1,6),2)")
    ),
    _example(ALGEBRA, "cosize", "((2,2),(3,2)):((1,6),(2,12))", gives="24"),
)

_TILED = ("(9,(4,8)):(59,(13,1))", "[3:3;(2,4):(1,8)]")
_DIVIDE = (
    _example(ALGEBRA, "logical_divide", "(4,2,3):(2,1,8)", "4:2", gives="((2,2),(2,3)):((4,1),(2,8))"),
    _example(NOTEBOOK, "logical_divide", *_TILED, gives="((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"),
    _example(NOTEBOOK, "zipped_divide", *_TILED, gives="((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))"),
    _example(NOTEBOOK, "tiled_divide", *_TILED, gives="((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))"),
    _example(NOTEBOOK, "flat_divide", *_TILED, gives="(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))"),
    _example(TENSORS, "zipped_divide", "(8,24):(1,8)", "(4,8)", gives="((4,8),(2,3)):((1,8),(4,64))"),
)

_PRODUCT = (
    _example(ALGEBRA, "logical_product", "(2,2):(4,1)", "6:1", gives="((2,2),(2,3)):((4,1),(2,8))"),
    _example(NOTEBOOK, "blocked_product", "(2,5):(5,1)", "(3,4):(1,3)", gives="((2,3),(5,4)):((5,10),(1,30))"),
    # The C++ document says that mode 0 comes out coalesced.
    _example(
        ALGEBRA,
        "blocked_product",
        "(2,5):(5,1)",
        "(3,4):(1,3)",
        gives="(6,(5,4)):(5,(1,30))",
        wheel="((2,3),(5,4)):((5,10),(1,30))",
    ),
    _example(NOTEBOOK, "raked_product", "(2,5):(5,1)", "(3,4):(1,3)", gives="((3,2),(4,5)):((10,5),(30,1))"),
    _example(NOTEBOOK, "zipped_product", "(2,5):(5,1)", "(3,4):(1,3)", gives="((2,5),(3,4)):((5,1),(10,30))"),
    _example(NOTEBOOK, "tiled_product", "(2,5):(5,1)", "(3,4):(1,3)", gives="((2,5),3,4):((5,1),10,30)"),
    _example(NOTEBOOK, "flat_product", "(2,5):(5,1)", "(3,4):(1,3)", gives="(2,5,3,4):(5,1,10,30)"),
)

_SLICED = "((3,2),(2,5,2)):((4,1),(2,13,100))"
_SLICE = (
    _example(TENSORS, "slice", _SLICED, "(2,_)", gives="((2,5,2)):((2,13,100))"),
    _example(TENSORS, "slice", _SLICED, "(_,5)", gives="((3,2)):((4,1))"),
    _example(TENSORS, "slice", _SLICED, "((_,_),5)", gives="(3,2):(4,1)"),
    _example(TENSORS, "slice", _SLICED, "((_,1),(0,_,1))", gives="(3,5):(4,13)"),
    _example(TENSORS, "slice", _SLICED, "((2,_),(_,3,_))", gives="(2,2,2):(1,2,100)"),
)

_TUPLES = (
    _example(TMA, "tuple_add", "(42,2,7)", "(0,5,2)", gives="(42,7,9)"),
    _example(TMA, "crd2idx", "(2,3,4,7)", "(8,8,8,8):(2@1@0,1@1,5@1,1@0@0)", gives="((7,4),23)"),
)

_VOLTA_C = "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"
_HOPPER_C = "((4,8,4),(2,2)):((128,1,16),(64,8))"
_MMA = (
    *(
        _example(MMA, "crd2idx", str(thread), "(4,2):(1,16)", gives=str(gives))
        for thread, gives in enumerate((0, 1, 2, 3, 16, 17, 18, 19))
    ),
    *(
        _example(MMA, "crd2idx", f"({thread},0)", _VOLTA_C, gives=str(gives))
        for thread, gives in enumerate((0, 1, 16, 17, 4, 5, 20, 21))
    ),
    *(
        _example(MMA, "crd2idx", f"(0,{value})", _VOLTA_C, gives=str(gives))
        for value, gives in enumerate((0, 8, 2, 10, 32, 40, 34, 42))
    ),
    _example(MMA, "crd2idx", "(32,0)", _HOPPER_C, gives="16"),
    # The 64 by 128 accumulator: its first value beyond the 64 by 8 one is at column 8.
    _example(MMA, "crd2idx", "(0,4)", "((4,8,4),(2,2,16)):((128,1,16),(64,8,512))", gives="512"),
    _example(MMA, "crd2idx", "(127,0)", "(128,(64,16)):(0,(1,64))", gives="0"),
)

EXAMPLES: tuple[Example, ...] = (
    *_CONSTRUCTION,
    *_COORDINATES,
    *_MODES,
    *_COMPATIBLE,
    *_COALESCE,
    *_COMPOSITION,
    *_SHAPES,
    *_COMPLEMENT,
    *_DIVIDE,
    *_PRODUCT,
    *_SLICE,
    *_TUPLES,
    *_MMA,
)

TABLES: tuple[Table, ...] = (
    Table(LAYOUTS, "(2,4):(1,2)", ((0, 2, 4, 6), (1, 3, 5, 7))),
    Table(LAYOUTS, "(2,4):(12,1)", ((0, 1, 2, 3), (12, 13, 14, 15))),
    Table(LAYOUTS, "(2,(2,2)):(1,(2,4))", ((0, 2, 4, 6), (1, 3, 5, 7))),
    Table(LAYOUTS, "(2,(2,2)):(4,(2,1))", ((0, 2, 1, 3), (4, 6, 5, 7))),
    Table(LAYOUTS, "(4,2):(1,4)", ((0, 4), (1, 5), (2, 6), (3, 7))),
    Table(LAYOUTS, "(4,2):(2,1)", ((0, 1), (2, 3), (4, 5), (6, 7))),
    Table(LAYOUTS, "((2,2),2):((4,1),2)", ((0, 2), (4, 6), (1, 3), (5, 7))),
    Table(LAYOUTS, "(3,(2,3)):(3,(12,1))", ((0, 12, 1, 13, 2, 14), (3, 15, 4, 16, 5, 17), (6, 18, 7, 19, 8, 20))),
    # Vectors have one row, and coordinates without a first part.
    Table(LAYOUTS, "8:1", ((0, 1, 2, 3, 4, 5, 6, 7),)),
    Table(LAYOUTS, "8:2", ((0, 2, 4, 6, 8, 10, 12, 14),)),
    Table(LAYOUTS, "((4,2)):((2,1))", ((0, 2, 4, 6, 1, 3, 5, 7),)),
    Table(LAYOUTS, "((4,2)):((1,4))", ((0, 1, 2, 3, 4, 5, 6, 7),)),
    Table(
        TMA,
        "(4,5):(1,4)",
        ((42, 46, 50, 54, 58), (43, 47, 51, 55, 59), (44, 48, 52, 56, 60), (45, 49, 53, 57, 61)),
        offset=42,
    ),
    Table(TMA, "(4,5):(1@0,1@1)", tuple(tuple((row, column) for column in range(5)) for row in range(4))),
    Table(TMA, "(4,5):(1@1,1@0)", tuple(tuple((column, row) for column in range(5)) for row in range(4))),
    # Where the permuted tiled MMA puts each m-coordinate.
    Table(
        MMA,
        "(4,4,2):(1,8,4)",
        (
            (
                *(0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27),
                *(4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31),
            ),
        ),
    ),
)


def table_examples() -> Iterator[Example]:
    """An example for each entry of each table."""
    for table in TABLES:
        for row, entries in enumerate(table.rows):
            for column, entry in enumerate(entries):
                coordinate = str(column) if len(table.rows) == 1 else f"({row},{column})"
                index = str(entry).replace(" ", "") if isinstance(entry, tuple) else str(entry - table.offset)
                yield Example(table.source, "crd2idx", (coordinate, table.layout), index)
