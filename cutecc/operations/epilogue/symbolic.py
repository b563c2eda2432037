"""The values that a traced function computes with: each operation on one adds a step to the graph."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NoReturn, cast

from cutecc.errors import EpilogueError, SourceLocation
from cutecc.operations.epilogue.declarations import known_type
from cutecc.operations.epilogue.source import frame_of, running_location
from cutecc.operations.epilogue.values import INFINITIES, Argument, Kind, Operation, Reduction, Step
from cutecc.operations.epilogue.verification import joined, takes_condition
from cutecc.operations.words import article

_LARGEST_POWER = 16
_NO_MATH = "functions of the module math do not take it: write exp(x), sqrt(x), tanh(x), … without the module"


_UFUNCS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": lambda x, y: x / y,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}
"""What numpy calls for an operator with a number of its own on the left."""

_AXES: dict[Any, Kind] = {
    **{None: "scalar", 0: "row", -2: "row", 1: "column", -1: "column"},
    **{(0, 1): "scalar", (1, 0): "scalar", (-2, -1): "scalar", (-1, -2): "scalar"},
}
"""What a reduction over an axis leaves."""
_SAME = {
    **{"absolute": "abs", "fabs": "abs", "power": "**", "clip": "clamp", "fmax": "maximum", "fmin": "minimum"},
    **{"amax": "max", "amin": "min", "hardtanh": "clamp"},
}
"""Our names of libraries' functions."""


class Trace:
    """The steps of one function, as it runs."""

    def __init__(self, file: str, compute: str, functions: Sequence[str]) -> None:
        self.file = file
        """Of the function: places are in it."""
        self.compute = compute
        self.functions = functions
        """The names of the language's functions, for hints."""
        self.steps: list[Step] = []
        self._known: dict[tuple[Operation, tuple[Argument, ...], str], Value] = {}

    def step(self, operation: Operation, *arguments: Any, dtype: str = "") -> Value:
        """The value of an operation; of the same one on the same arguments there is one step."""
        values = [
            self.argument(each, operation, condition=takes_condition(operation, index))
            for index, each in enumerate(arguments)
        ]
        references = tuple(each.reference for each in values)
        if (found := self._known.get((operation, references, dtype))) is not None:
            return found
        location = running_location(self.file)
        place = frame_of(location) if location else None
        step = Step(f"%{len(self.steps)}", operation, references, joined(each.kind for each in values), dtype, place)
        self.steps.append(step)
        value = self._known[operation, references, dtype] = Value(self, step.name, step.kind, step.is_condition)
        return value

    def argument(self, given: Any, what: str, *, condition: bool = False) -> Value:
        """A value, or a number as one, where `what` takes it."""
        if not isinstance(given, Value):
            return Value(self, self._constant(given, what), "scalar", False)
        if given.trace is not self:
            raise self.error(f"{what} of a value of another function")
        if given.reduction != "none":
            raise self.error(
                f"{what} of a {given.reduction} over the product, which is complete only after the kernel",
                "return the reduction, and compute with it afterwards",
            )
        if given.condition and not condition:
            raise self.error(f"{what} of a condition", "where(condition, 1, 0) is its number")
        if condition and not given.condition:
            raise self.error(f"{what} needs a condition", "compare: x != 0")
        return given

    def error(self, message: str, *hints: str, location: SourceLocation | None = None) -> EpilogueError:
        """The error at the expression that is being evaluated, or at `location`."""
        return EpilogueError(message, location or running_location(self.file), hints=list(hints))

    def instead_of(self, name: str) -> str:
        """The hint for a library's function called `name`."""
        ours = _SAME.get(name, name)
        return f"write {ours}(…)" if ours in self.functions else f"there are: {', '.join(self.functions)}"

    def _constant(self, given: Any, what: str) -> Argument:
        if getattr(given, "shape", ()):
            raise self.error(
                f"{what} of an array that is no operand", "make it a parameter, and declare it: bias=Row('f16')"
            )
        if not isinstance(given, Real):
            name = type(cast("object", given)).__name__
            raise self.error(
                f"{what} of {'None' if given is None else article(name)}", "values and numbers can be used"
            )
        number = float(given)
        if math.isnan(number):
            raise self.error(f"{what} of NaN", "a constant is a number or infinite")
        return number if math.isfinite(number) else next(each for each, value in INFINITIES.items() if value == number)


def _operator(operation: Operation, *, turned: bool = False) -> Callable[[Value, Any], Value]:
    """The method of an operator; `turned` where the value stands on its right."""

    def method(self: Value, other: Any) -> Value:
        return self.trace.step(operation, *((other, self) if turned else (self, other)))

    return method


def _refused(message: str, hint: str) -> Callable[..., NoReturn]:
    """The method of what a value does not do."""

    def method(self: Value, *_: Any) -> NoReturn:
        raise self.trace.error(message, hint)

    return method


_ROUNDING = "x.to('i32') rounds to the nearest integer"
_ONE_ELEMENT = "a function says what becomes of any one element"
_OPERATORS = "operators: + - * / ** and comparisons"


@dataclass(frozen=True, eq=False, repr=False)
class Value:
    """One value for each element, column or row of a product, or for all of it; known to the kernel only."""

    trace: Trace
    reference: Argument
    """What steps call it."""
    kind: Kind
    condition: bool = False
    reduction: Reduction = "none"

    def __repr__(self) -> str:
        return f"<{'condition' if self.condition else 'value'} {self.reference}: {self.kind}>"

    __hash__ = object.__hash__

    __add__, __radd__ = _operator("add"), _operator("add", turned=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", turned=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", turned=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", turned=True)
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("lt", "le", "gt", "ge"))
    __and__, __or__ = _operator("and"), _operator("or")
    __rand__, __ror__ = __and__, __or__

    def __eq__(self, other: object) -> Value:  # type: ignore[override]  # a condition, as arrays have it
        return self.trace.step("eq", self, other)

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return self.trace.step("ne", self, other)

    def __neg__(self) -> Value:
        return self.trace.step("neg", self)

    def __pos__(self) -> Value:
        return self.trace.argument(self, "+")

    def __abs__(self) -> Value:
        return self.trace.step("abs", self)

    def __pow__(self, exponent: Any) -> Value:
        number = float(exponent) if isinstance(exponent, Real) else math.nan
        if number in (0.5, -0.5):
            return self.trace.step("sqrt" if number > 0 else "rsqrt", self)
        if number not in range(-_LARGEST_POWER, _LARGEST_POWER + 1):
            raise self.trace.error(
                "** with an exponent that is no small number",
                f"exponents: whole numbers from -{_LARGEST_POWER} to {_LARGEST_POWER}, 0.5, -0.5; else exp(y * log(x))",
            )
        if not number:
            raise self.trace.error("** with 0 is 1 for all elements", "write 1")
        power = self._power(abs(int(number)))
        return power if number > 0 else 1 / power

    def _power(self, exponent: int) -> Value:
        if exponent == 1:
            return self.trace.argument(self, "**")
        half = self._power(exponent // 2)
        return half * half * self if exponent % 2 else half * half

    def __invert__(self) -> Value:
        return self.trace.step("not", self)

    def to(self, dtype: Any) -> Value:
        """The value rounded to a type; computing goes on in the compute type."""
        name = known_type(dtype, running_location(self.trace.file))
        value = self.trace.argument(self, "to")
        # Each number of the compute type, or of a narrower one, is one of these already.
        if name in (self.trace.compute, "f64"):
            return value
        return self.trace.step("to", value, dtype=name)

    def sum(self, axis: Any = None) -> Value:
        """The sum over the rows (axis 0), the columns (axis 1) or all elements of a batch."""
        return self.reduced("sum", axis)

    def max(self, axis: Any = None) -> Value:
        """The maximum over an axis, as `sum`."""
        return self.reduced("max", axis)

    def min(self, axis: Any = None) -> Value:
        """The minimum over an axis, as `sum`."""
        return self.reduced("min", axis)

    def reduced(self, reduction: Reduction, axis: Any) -> Value:
        """A reduction of the value, which can only be returned."""
        value = self.trace.argument(self, reduction)
        if value.kind != "full":
            raise self.trace.error(
                f"{reduction} of a {value.kind} value: only values of M×N elements are reduced",
                "compute it before the launch: it does not depend on the product",
            )
        kind = _AXES.get(axis) if isinstance(axis, int | tuple | None) else None
        if kind is None or isinstance(axis, bool):
            raise self.trace.error(
                f"{reduction} over axis {axis}",
                "axis=0 leaves one value for each column, axis=1 one for each row, no axis one for all",
            )
        return Value(self.trace, value.reference, kind, reduction=reduction)

    # What Python or a library asks of a value, and a kernel cannot answer while it is traced.

    def __bool__(self) -> NoReturn:
        raise self.trace.error(
            "a value is not known while the function is traced: `if`, `and`, `or`, `not`, chained comparisons and "
            "Python's own max and min cannot decide on it",
            "write where(condition, x, y), max(x, y), min(x, y), and &, |, ~ between conditions",
            *self._known_outside(),
        )

    def __float__(self) -> NoReturn:
        self._no_number("float")

    def __int__(self) -> NoReturn:
        self._no_number("int")

    def __index__(self) -> NoReturn:
        self._no_number("index")

    def __complex__(self) -> NoReturn:
        self._no_number("complex")

    __round__ = _refused("round of a value", _ROUNDING)
    __floor__ = _refused("floor of a value", _ROUNDING)
    __ceil__ = _refused("ceil of a value", _ROUNDING)
    __trunc__ = _refused("trunc of a value", _ROUNDING)
    __len__ = _refused("len of a value", _ONE_ELEMENT)
    __getitem__ = _refused("a value cannot be indexed", _ONE_ELEMENT)
    __iter__ = _refused("a value cannot be iterated over", _ONE_ELEMENT)
    __floordiv__ = __rfloordiv__ = _refused("// of a value", _OPERATORS)
    __mod__ = __rmod__ = _refused("% of a value", _OPERATORS)
    __matmul__ = __rmatmul__ = _refused("@ of a value", _OPERATORS)
    __xor__ = __rxor__ = _refused("^ of a value", _OPERATORS)
    __lshift__ = __rlshift__ = _refused("<< of a value", _OPERATORS)
    __rshift__ = __rrshift__ = _refused(">> of a value", _OPERATORS)
    __rpow__ = _refused("** with a value as the exponent", "write exp(x * c), where c is the logarithm")

    def __getattr__(self, name: str) -> NoReturn:
        # Libraries and Python look for protocols; that a value has none must not stop them.
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.trace.error(
            f"a value has no {name}", "it has to(dtype), sum(axis), max(axis), min(axis); functions are called by name"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Value:
        name = str(ufunc.__name__)
        if method == "__call__" and name in _UFUNCS and not options:
            left, right = (each if isinstance(each, Value) else self._number(each, name) for each in inputs)
            return _UFUNCS[name](left, right)
        raise self.trace.error(f"numpy's {name} of a value", self.trace.instead_of(name))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> NoReturn:
        raise self.trace.error(f"numpy's {function.__name__} of a value", self.trace.instead_of(function.__name__))

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> NoReturn:
        value = next(each for each in arguments if isinstance(each, Value))
        name = str(getattr(function, "__name__", function))
        raise value.trace.error(f"torch's {name} of a value", value.trace.instead_of(name))

    def _number(self, given: Any, what: str) -> Any:
        """A number of numpy's as Python's, whose operators leave it to the value what they do."""
        plain = given.item() if getattr(given, "shape", None) == () else given
        self.trace.argument(plain, what)
        return float(plain)

    def _no_number(self, what: str) -> NoReturn:
        raise self.trace.error(
            f"a value is not known while the function is traced: it has no {what}",
            *(self._known_outside() or [_NO_MATH]),
        )

    def _known_outside(self) -> list[str]:
        """The hint for an operand that Python wants to know."""
        name = str(self.reference)
        if self.kind != "scalar" or not name.isidentifier():
            return []
        return [f"{name} is an operand, which each call gives anew; for Python to know it, take it from outside"]
