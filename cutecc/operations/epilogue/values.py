"""An epilogue as a value: what becomes of a product's accumulators, as a graph of elementwise steps and reductions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeVar

import msgspec

from cutecc.errors import EpilogueError
from cutecc.operations.operand import OPERAND_TYPES, Layout, most_aligned
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
_TRANSPOSED: Final[Mapping[Kind, Kind]] = {"full": "full", "row": "column", "column": "row", "scalar": "scalar"}

_Operand = TypeVar("_Operand", "Input", "Output")

Argument = str | float
"""An argument of a step: `accum`, the name of an input or of an earlier step, `inf`, `-inf`, or a finite constant."""


def is_float(dtype: str) -> bool:
    """Whether an operand's type is a floating-point type."""
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


@dataclass(frozen=True)
class Epilogue:
    """What becomes of the accumulators of a product: inputs, steps in an order that can be executed, outputs.

    Two are equal when they compute the same in the same steps, whatever they are called and wherever they are written.
    """

    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    """The one called `D` is the product's result."""
    accumulator: str = "f32"
    compute: str = "f32"
    """The type of all steps: `f64` for `f64` accumulators, `i32` for `i32` ones without steps, `f32` otherwise."""
    name: str = field(default="", compare=False)
    """The function's name; for people only."""

    def __post_init__(self) -> None:
        from cutecc.operations.epilogue.verification import verify

        verify(self)

    @property
    def operands(self) -> tuple[Input | Output, ...]:
        """Inputs, then outputs: the order in which a kernel takes them."""
        return (*self.inputs, *self.outputs)

    def operand(self, name: str) -> Input | Output | None:
        """The operand of this name."""
        return next((each for each in self.operands if each.name == name), None)

    @property
    def source(self) -> Input | None:
        """The input `C`, which `beta` scales; none when nothing is called so."""
        return next((each for each in self.inputs if each.name == "C"), None)

    @property
    def is_identity(self) -> bool:
        """Whether the accumulators are the one result, only converted."""
        return not self.inputs and [(each.value, each.reduction) for each in self.outputs] == [(ACCUM, "none")]

    @property
    def has_reductions(self) -> bool:
        """Whether an output is a reduction, which tiles of a product finish together."""
        return any(each.reduction != "none" for each in self.outputs)

    @property
    def key(self) -> str:
        """64 hexadecimal digits: the same for equal epilogues, in every process and place."""
        return hashlib.sha256(msgspec.json.encode(self.without_places())).hexdigest()

    def to_json(self, *, places: bool = True) -> bytes:
        """One line of JSON; without `places` and name it is the same wherever the function is written."""
        return msgspec.json.encode(self if places else self.without_places())

    @classmethod
    def from_json(cls, text: bytes | str) -> Epilogue:
        """The epilogue that `to_json` wrote. Raises `EpilogueError` for any other text."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as failure:
            raise EpilogueError(f"this is no epilogue: {failure}") from None

    def without_places(self) -> Epilogue:
        """The same without name and places: what a kernel depends on."""
        return replace(
            self,
            name="",
            inputs=tuple(replace(each, place=None) for each in self.inputs),
            steps=tuple(replace(each, place=None) for each in self.steps),
            outputs=tuple(replace(each, place=None) for each in self.outputs),
        )

    def transposed(self) -> Epilogue:
        """The same epilogue of the transposed product: rows are columns, axis 0 is axis 1, layouts change."""
        return replace(
            self,
            inputs=tuple(
                replace(each, kind=_TRANSPOSED[each.kind], layout=_transposed_layout(each)) for each in self.inputs
            ),
            steps=tuple(replace(each, kind=_TRANSPOSED[each.kind]) for each in self.steps),
            outputs=tuple(
                replace(each, kind=_TRANSPOSED[each.kind], layout=_transposed_layout(each)) for each in self.outputs
            ),
        )

    def with_operand(
        self, name: str, *, dtype: str | None = None, layout: Layout | None = None, alignment: int | None = None
    ) -> Epilogue:
        """The same with another type, layout or alignment (elements) of one operand."""
        if self.operand(name) is None:
            known = ", ".join(each.name for each in self.operands)
            raise EpilogueError(f"the epilogue has no operand {name}", hints=[f"its operands are: {known}"])
        return replace(
            self,
            inputs=tuple(
                _changed(each, dtype, layout, alignment) if each.name == name else each for each in self.inputs
            ),
            outputs=tuple(
                _changed(each, dtype, layout, alignment) if each.name == name else each for each in self.outputs
            ),
        )

    def bound(self, /, **values: float) -> Epilogue:
        """The same with constants for scalar inputs, simplified: 0 times anything is 0, as BLAS has it for alpha and
        beta. Inputs that nothing reads any more are gone. Raises `EpilogueError` for what is no scalar input."""
        from cutecc.operations.epilogue.binding import bind

        return bind(self, values)

    def without_source(self) -> Epilogue:
        """The same for beta = 0: C is not read. Raises `EpilogueError` where C counts whatever beta is."""
        from cutecc.operations.epilogue.binding import drop_source

        return drop_source(self)

    @classmethod
    def trace(cls, function: Callable[..., Any], /, accumulator: str = "f32", **operands: Any) -> Epilogue:
        """The epilogue that a plain function over `accum` computes; see `cutecc.operations.epilogue.trace.trace`."""
        from cutecc.operations.epilogue.trace import trace

        return trace(function, accumulator, **operands)

    def __str__(self) -> str:
        from cutecc.operations.epilogue.printing import text

        return text(self)


def _align(operand: Input | Output) -> None:
    if not operand.alignment and operand.dtype in OPERAND_TYPES:
        object.__setattr__(operand, "alignment", most_aligned(operand.dtype))


def _transposed_layout(operand: Input | Output) -> Layout:
    if operand.layout == "interleaved32":
        return operand.layout
    return "column" if operand.kind == "full" and operand.layout == "row" else "row"


def _changed(operand: _Operand, dtype: str | None, layout: Layout | None, alignment: int | None) -> _Operand:
    changes: dict[str, Any] = {}
    if dtype is not None and dtype != operand.dtype:
        # The widest alignment of one type is not that of another.
        changes |= {"dtype": dtype, "alignment": 0}
        if isinstance(operand, Output) and is_float(dtype) != is_float(operand.dtype):
            changes["conversion"] = default_conversion(dtype)
    if layout is not None:
        changes["layout"] = layout
    if alignment is not None:
        changes["alignment"] = alignment
    return replace(operand, **changes)
