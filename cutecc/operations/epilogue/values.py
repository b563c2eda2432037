"""What an epilogue is made of: operands that it reads and writes, and the steps between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from cutecc.operations.operand import OPERAND_TYPES, Layout, Operand, most_aligned
from cutecc.support.locations import Frame

Kind = Literal["full", "row", "column", "scalar"]
"""The shape of a value of a product of M×N: `full` has M×N elements, `row` N, one a column and the same in every row,
`column` M, one a row, `scalar` one. All of them for each batch."""
_Arithmetic = Literal["add", "sub", "mul", "div", "neg", "abs", "max", "min"]
_Function = Literal["exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "normal_cdf"]
_Condition = Literal["lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"]
Operation = Literal[_Arithmetic, _Function, _Condition, "where", "to"]
"""What a step does. `max` and `min` are NaN when either argument is. Comparisons, `and`, `or`, `not` give conditions,
which only those three and `where`, as its first argument, take. `to` rounds to a type, as an output of that type is by
default, and goes on in the compute type."""
Reduction = Literal["none", "sum", "max", "min"]
Conversion = Literal["round", "clamp", "fast_clamp"]
"""How a value becomes an output's type. All round to nearest, ties to even.

`round`: what is too large for `f16`, `bf16`, `f32` becomes infinite; the 8-bit floats saturate, as hardware does.
`clamp`: saturates to the finite numbers of the type. Integers always do; what is no number becomes 0.
`fast_clamp`: the same result, for 8-bit integers only, four packed at a time.
"""
ACCUMULATORS: Final = ("f64", "f32", "f16", "i32")
ACCUM: Final = "accum"
"""The reference of a product's accumulators, M×N."""
INFINITIES: Final[Mapping[str, float]] = {"inf": float("inf"), "-inf": float("-inf")}
"""References that are constants: JSON has no numbers for them."""

CONDITIONS: Final = ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not")
ARITY: Final[Mapping[str, int]] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "max", "min", *CONDITIONS), 2),
    **dict.fromkeys(("neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "normal_cdf"), 1),
    **dict.fromkeys(("not", "to"), 1),
    "where": 3,
}
Argument = str | float
"""An argument of a step: `accum`, the name of an input or of an earlier step, `inf`, `-inf`, or a finite constant."""


def is_float(dtype: str) -> bool:
    return not dtype.startswith(("i", "u"))


def default_conversion(dtype: str) -> Conversion:
    """How an output of a type is converted when nothing else is said."""
    return "round" if is_float(dtype) else "clamp"


@dataclass(frozen=True)
class Input:
    """An operand that an epilogue reads."""

    name: str
    kind: Kind
    dtype: str
    """In memory; a step sees it converted to the compute type."""
    layout: Layout = "row"
    """Of a full operand; `row` for all others."""
    alignment: int = 0
    """Elements that the address and every leading dimension are multiples of; as many as 16 bytes hold if not given."""
    in_memory: bool = True
    """False for a scalar that a launch passes as a number; true for one element a batch in memory, and all others."""
    default: float | None = None
    """The value of a scalar that a launch does not give."""
    place: Frame | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _align(self)

    @property
    def operand(self) -> Operand:
        """A full one as a matrix."""
        return Operand(self.dtype, self.layout, self.alignment)


@dataclass(frozen=True)
class Step:
    """One elementwise operation, in the compute type."""

    name: str
    """`%0`, `%1`, … in their order."""
    operation: Operation
    arguments: tuple[Argument, ...]
    kind: Kind
    """The shape of the result: what is the same along rows or columns need not be computed for each element."""
    dtype: str = ""
    """What `to` rounds to; empty for every other operation."""
    place: Frame | None = field(default=None, compare=False)

    @property
    def is_condition(self) -> bool:
        """Whether the result is true or false for each element, not a number."""
        return self.operation in CONDITIONS


@dataclass(frozen=True)
class Output:
    """An operand that an epilogue writes: a value for each element, or a reduction of them."""

    name: str
    kind: Kind
    """`full`, or what a reduction leaves: `row` is over axis 0, `column` over axis 1, `scalar` over both."""
    dtype: str
    value: str
    """`accum`, or the name of an input or a step that is `full`."""
    reduction: Reduction = "none"
    """`none` exactly when the output is full. A reduction is of the values before they are rounded."""
    conversion: Conversion = "round"
    layout: Layout = "row"
    alignment: int = 0
    """Elements, as of an input."""
    place: Frame | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _align(self)


def _align(operand: Input | Output) -> None:
    if not operand.alignment and operand.dtype in OPERAND_TYPES:
        object.__setattr__(operand, "alignment", most_aligned(operand.dtype))
