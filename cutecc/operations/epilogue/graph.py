"""An epilogue as a value: what becomes of a product's accumulators, as a graph of elementwise steps and reductions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import msgspec

from cutecc.errors import EpilogueError
from cutecc.operations.epilogue.binding import bind, drop_source
from cutecc.operations.epilogue.trace import trace
from cutecc.operations.epilogue.values import ACCUM, Input, Kind, Output, Step, default_conversion, is_float
from cutecc.operations.epilogue.verification import verify
from cutecc.operations.operand import TRANSPOSED, Layout, type_bits
from cutecc.support.locations import Frame
from cutecc.support.malformed import MALFORMED

_TRANSPOSED: Final[Mapping[Kind, Kind]] = {"full": "full", "row": "column", "column": "row", "scalar": "scalar"}

_Operand = TypeVar("_Operand", "Input", "Output")


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
        verify(self)

    @property
    def operands(self) -> tuple[Input | Output, ...]:
        """Inputs, then outputs: the order in which a kernel takes them."""
        return (*self.inputs, *self.outputs)

    def operand(self, name: str) -> Input | Output | None:
        return next((each for each in self.operands if each.name == name), None)

    @property
    def source(self) -> Input | None:
        """The input `C`, which `beta` scales; none when nothing is called so."""
        return next((each for each in self.inputs if each.name == "C"), None)

    @property
    def numbers(self) -> tuple[Input, ...]:
        """The inputs that a launch passes as numbers."""
        return tuple(each for each in self.inputs if not each.in_memory)

    @property
    def stored(self) -> tuple[Input | Output, ...]:
        return tuple(each for each in self.operands if isinstance(each, Output) or each.in_memory)

    @property
    def full_bits(self) -> int:
        """Bits that are read and written for each element of D."""
        return sum(type_bits(each.dtype) for each in self.operands if each.kind == "full")

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
    def from_json(cls, written: bytes | str) -> Epilogue:
        """The epilogue that `to_json` wrote. Raises `EpilogueError` for any other text."""
        try:
            return msgspec.json.decode(written, type=cls)
        except MALFORMED as failure:
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
            inputs=tuple(map(_transposed, self.inputs)),
            steps=tuple(replace(each, kind=_TRANSPOSED[each.kind]) for each in self.steps),
            outputs=tuple(map(_transposed, self.outputs)),
        )

    def with_operand(
        self, name: str, *, dtype: str | None = None, layout: Layout | None = None, alignment: int | None = None
    ) -> Epilogue:
        """The same with another type, layout or alignment (elements) of one operand."""
        if self.operand(name) is None:
            known = ", ".join(each.name for each in self.operands)
            raise EpilogueError(f"the epilogue has no operand {name}", hints=[f"its operands are: {known}"])

        def changed(each: _Operand) -> _Operand:
            return _changed(each, dtype, layout, alignment) if each.name == name else each

        return replace(self, inputs=tuple(map(changed, self.inputs)), outputs=tuple(map(changed, self.outputs)))

    def bound(self, /, **values: float) -> Epilogue:
        """The same with constants for scalar inputs, simplified: 0 times anything is 0, as BLAS has it for alpha and
        beta. Inputs that nothing reads any more are gone. Raises `EpilogueError` for what is no scalar input."""
        return bind(self, values)

    def without_source(self) -> Epilogue:
        """The same for beta = 0: C is not read. Raises `EpilogueError` where C counts whatever beta is."""
        return drop_source(self)

    @classmethod
    def trace(cls, function: Callable[..., Any], /, accumulator: str = "f32", **operands: Any) -> Epilogue:
        """The epilogue that a plain function over `accum` computes; see `cutecc.operations.epilogue.trace.trace`."""
        return cls(*trace(function, accumulator, **operands))

    def __str__(self) -> str:
        """One line for each operand and step, with the place that it comes from.

        gelu: accum f32, in f32
          alpha: scalar f32 = 1.0
          %0 = mul alpha, accum    # kernel.py:12:9
          D: full f16:row:8 = round(%0)
        """
        lines = [(f"{self.name or 'epilogue'}: {ACCUM} {self.accumulator}, in {self.compute}", None)]
        lines += [(f"  {_input(each)}", each.place) for each in self.inputs]
        lines += [(f"  {_step(each)}", each.place) for each in self.steps]
        lines += [(f"  {_output(each)}", each.place) for each in self.outputs]
        width = max(len(line) for line, _ in lines)
        return "\n".join(f"{line:{width}}  # {_place(place)}" if place else line for line, place in lines)


def _transposed(operand: _Operand) -> _Operand:
    layout = TRANSPOSED[operand.layout] if operand.kind == "full" else "row"
    return replace(operand, kind=_TRANSPOSED[operand.kind], layout=layout)


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


def _input(operand: Input) -> str:
    words = f"{operand.name}: {operand.kind} {_memory(operand)}"
    if operand.kind == "scalar" and operand.in_memory:
        words += " in memory"
    return words if operand.default is None else f"{words} = {operand.default}"


def _step(step: Step) -> str:
    arguments = ", ".join(str(each) for each in step.arguments)
    kind = "" if step.kind == "full" else f" : {step.kind}"
    return f"{step.name} = {step.operation} {arguments}{f', {step.dtype}' if step.dtype else ''}{kind}"


def _output(operand: Output) -> str:
    value = operand.value if operand.reduction == "none" else f"{operand.reduction} {operand.value}"
    return f"{operand.name}: {operand.kind} {_memory(operand)} = {operand.conversion}({value})"


def _memory(operand: Input | Output) -> str:
    return f"{operand.dtype}:{operand.layout}:{operand.alignment}" if operand.kind == "full" else operand.dtype


def _place(place: Frame) -> str:
    return f"{place.file}:{place.line}:{place.column}"
