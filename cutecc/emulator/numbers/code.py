"""Element-wise arithmetic as LLVM IR: what a compiled function does with one element of each operand.

A body is a Python function of `Value`s that returns one or several; calling it writes the IR. There is no control flow:
both sides of a choice are computed and `Value.then` takes one. Every value is a vector of `WIDTH` elements.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

WIDTH = 8
"""Elements that the code handles at a time."""

Rounding = Literal["rn", "rz", "rm", "rp"]
"""To nearest even, toward zero, toward minus infinity, toward plus infinity."""

_DYNAMIC = 'metadata !"round.dynamic", metadata !"fpexcept.ignore"'
_BITS = {"float": 32, "double": 64}


@dataclass(slots=True)
class Code:
    """The IR of one body, as it is written."""

    rounding: Rounding = "rn"
    """How `fadd` and its like round."""
    lines: list[str] = field(default_factory=list[str])
    declarations: set[str] = field(default_factory=set[str])
    count: int = 0

    def emit(self, text: str, type_: str) -> Value:
        """One instruction and its result."""
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name} = {text}")
        return Value(self, name, type_)

    def constant(self, type_: str, number: int) -> Value:
        """An integer, of any sign."""
        width = int(type_[1:])
        number &= (1 << width) - 1
        return Value(self, f"splat ({type_} {number})" if width > 1 else f"splat (i1 {bool(number)})".lower(), type_)

    def real(self, type_: str, number: float) -> Value:
        """A `float` or `double`."""
        bits = struct.unpack("<Q", struct.pack("<d", number))[0]
        return Value(self, f"splat ({type_} 0x{bits:016X})", type_)

    def call(self, name: str, result: str, *operands: Value, extra: str = "") -> Value:
        """A call of an intrinsic, by its name without types; `extra` is a further operand of it."""
        types = [vector(each.type) for each in operands]
        mangled = f"llvm.{name}.{suffix(result)}"
        more = f", {extra}" if extra else ""
        more_type = f", {extra.split()[0]}" if extra else ""
        self.declarations.add(f"declare {vector(result)} @{mangled}({', '.join(types)}{more_type})")
        arguments = ", ".join(f"{type_} {each.text}" for type_, each in zip(types, operands, strict=True))
        return self.emit(f"call {vector(result)} @{mangled}({arguments}{more})", result)

    def constrained(self, name: str, *operands: Value) -> Value:
        """A floating operation in the rounding mode that the code has set."""
        type_ = operands[0].type
        types = [vector(type_)] * len(operands)
        mangled = f"llvm.experimental.constrained.{name}.{suffix(type_)}"
        self.declarations.add(f"declare {vector(type_)} @{mangled}({', '.join(types)}, metadata, metadata)")
        arguments = ", ".join(f"{vector(type_)} {each.text}" for each in operands)
        return self.emit(f"call {vector(type_)} @{mangled}({arguments}, {_DYNAMIC}) strictfp", type_)


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """`WIDTH` elements of an LLVM type: `i1`, `i8` … `i128`, `float`, `double`. Operators are those of integers."""

    code: Code
    text: str
    type: str

    @property
    def width(self) -> int:
        """Bits of an element."""
        return _BITS.get(self.type) or int(self.type[1:])

    def constant(self, number: int) -> Value:
        """A constant of the same integer type."""
        return self.code.constant(self.type, number)

    def real(self, number: float) -> Value:
        """A constant of the same floating type."""
        return self.code.real(self.type, number)

    def _operation(self, name: str, other: Value | int, type_: str = "") -> Value:
        right = self._as_value(other)
        return self.code.emit(f"{name} {vector(self.type)} {self.text}, {right.text}", type_ or self.type)

    def _as_value(self, other: Value | int) -> Value:
        return self.constant(other) if isinstance(other, int) else other

    # Integers.

    def __add__(self, other: Value | int) -> Value:
        return self._operation("add", other)

    def __sub__(self, other: Value | int) -> Value:
        return self._operation("sub", other)

    def __rsub__(self, other: int) -> Value:
        return self.constant(other) - self

    def __mul__(self, other: Value | int) -> Value:
        return self._operation("mul", other)

    def __neg__(self) -> Value:
        return 0 - self

    def __and__(self, other: Value | int) -> Value:
        return self._operation("and", other)

    def __or__(self, other: Value | int) -> Value:
        return self._operation("or", other)

    def __xor__(self, other: Value | int) -> Value:
        return self._operation("xor", other)

    def __invert__(self) -> Value:
        return self ^ -1

    def __lshift__(self, other: Value | int) -> Value:
        """The amount must be less than the width; so of the other shifts."""
        return self._operation("shl", other)

    def __rshift__(self, other: Value | int) -> Value:
        """Zeros come in."""
        return self._operation("lshr", other)

    def sign_shift(self, other: Value | int) -> Value:
        """To the right; copies of the sign come in."""
        return self._operation("ashr", other)

    def unsigned_div(self, other: Value) -> Value:
        """Must not divide by 0."""
        return self._operation("udiv", other)

    def unsigned_rem(self, other: Value) -> Value:
        """Must not divide by 0."""
        return self._operation("urem", other)

    def _compare(self, condition: str, other: Value | int) -> Value:
        return self._operation(f"icmp {condition}", other, "i1")

    def same(self, other: Value | int) -> Value:
        return self._compare("eq", other)

    def differs(self, other: Value | int) -> Value:
        return self._compare("ne", other)

    def below(self, other: Value | int, signed: bool = False) -> Value:
        return self._compare("slt" if signed else "ult", other)

    def at_most(self, other: Value | int, signed: bool = False) -> Value:
        return self._compare("sle" if signed else "ule", other)

    def above(self, other: Value | int, signed: bool = False) -> Value:
        return self._compare("sgt" if signed else "ugt", other)

    def least(self, other: Value | int, signed: bool = False) -> Value:
        """The smaller of the two."""
        return self.code.call("smin" if signed else "umin", self.type, self, self._as_value(other))

    def most(self, other: Value | int, signed: bool = False) -> Value:
        """The larger of the two."""
        return self.code.call("smax" if signed else "umax", self.type, self, self._as_value(other))

    def leading_zeros(self) -> Value:
        """The width, for 0."""
        return self.code.call("ctlz", self.type, self, extra="i1 false")

    def ones(self) -> Value:
        return self.code.call("ctpop", self.type, self)

    def reversed(self) -> Value:
        """The bits in the other order."""
        return self.code.call("bitreverse", self.type, self)

    def resize(self, type_: str, signed: bool = False) -> Value:
        """As an integer type of another width, cut or extended."""
        width = int(type_[1:])
        if width == self.width:
            return self
        return self._cast("trunc" if width < self.width else "sext" if signed else "zext", type_)

    def then(self, first: Value | int, second: Value) -> Value:
        """Of an `i1`: `first` where it holds, else `second`."""
        one = second._as_value(first)
        kind = vector(second.type)
        return self.code.emit(
            f"select {vector('i1')} {self.text}, {kind} {one.text}, {kind} {second.text}", second.type
        )

    # Between integers and floats.

    def _cast(self, name: str, type_: str) -> Value:
        return self.code.emit(f"{name} {vector(self.type)} {self.text} to {vector(type_)}", type_)

    def bits(self) -> Value:
        """Of a float: its bits."""
        return self._cast("bitcast", f"i{self.width}")

    def float(self) -> Value:
        """Bits as what they mean, a `float` or `double` by their number."""
        return self._cast("bitcast", {32: "float", 64: "double"}[self.width])

    def widen(self) -> Value:
        """A `float` as `double`."""
        return self._cast("fpext", "double")

    def narrow(self) -> Value:
        """A `double` as `float`, rounded to nearest."""
        return self._cast("fptrunc", "float")

    def number(self) -> Value:
        """A signed integer of up to 53 bits as a `double`."""
        return self._cast("sitofp", "double")

    def integer(self, type_: str, signed: bool) -> Value:
        """A whole number as an integer that can hold it."""
        return self._cast("fptosi" if signed else "fptoui", type_)

    # Floats.

    def _arithmetic(self, name: str, *others: Value) -> Value:
        if self.code.rounding != "rn":
            return self.code.constrained(name, self, *others)
        if name in ("fma", "sqrt"):
            return self.code.call(name, self.type, self, *others)
        return self._operation(name, others[0])

    def fadd(self, other: Value) -> Value:
        return self._arithmetic("fadd", other)

    def fsub(self, other: Value) -> Value:
        return self._arithmetic("fsub", other)

    def fmul(self, other: Value) -> Value:
        return self._arithmetic("fmul", other)

    def fdiv(self, other: Value) -> Value:
        return self._arithmetic("fdiv", other)

    def sqrt(self) -> Value:
        return self._arithmetic("sqrt")

    def fma(self, other: Value, addend: Value) -> Value:
        """`self * other + addend`, rounded once."""
        return self._arithmetic("fma", other, addend)

    def compare(self, condition: str, other: Value) -> Value:
        """LLVM's conditions: `olt`, `ueq`, `uno` …"""
        return self._operation(f"fcmp {condition}", other, "i1")

    def is_nan(self) -> Value:
        return self.compare("uno", self)


def vector(type_: str) -> str:
    """The type of `WIDTH` elements."""
    return f"<{WIDTH} x {type_}>"


def suffix(type_: str) -> str:
    """How the names of intrinsics spell the vector type."""
    return f"v{WIDTH}{'f' + str(_BITS[type_]) if type_ in _BITS else type_}"


Results = Value | tuple[Value, ...]
Body = (
    Callable[[Value], Results]
    | Callable[[Value, Value], Results]
    | Callable[[Value, Value, Value], Results]
    | Callable[[Value, Value, Value, Value], Results]
    | Callable[[Value, Value, Value, Value, Value], Results]
)
"""What is done with one element of each operand."""
Compute = (
    Callable[[Value], Value]
    | Callable[[Value, Value], Value]
    | Callable[[Value, Value, Value], Value]
    | Callable[[Value, Value, Value, Value], Value]
    | Callable[[Value, Value, Value, Value, Value], Value]
)
"""A body with one result."""


def apply(body: Body, operands: Sequence[Value]) -> tuple[Value, ...]:
    """The body's results."""
    found = cast(Callable[..., Results], body)(*operands)
    return found if isinstance(found, tuple) else (found,)


def compute_one(compute: Compute, operands: Sequence[Value]) -> Value:
    """The result of a body that has one."""
    return cast(Callable[..., Value], compute)(*operands)
