# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The arithmetic of an epilogue on register values: its steps, and the conversion of what comes out.

A value of kind `full` or `row` is a `TensorSSA` of n elements, one for each column that a thread holds of a row; one of
kind `column` or `scalar` has a single element, which stands for all of them.

Steps are computed in the epilogue's compute type. For f32 they use the hardware's approximations (`tanh.approx`,
`ex2.approx`, polynomials for `erf` and `normal_cdf`) when every output has 16 bits or fewer: their errors, up to 2⁻¹¹
relative for tanh, 1.7e-5 for `normal_cdf` and 10⁻⁶ for the others, are then below or about that of rounding. With one
output of f32 or f64, a reduction too, all functions are accurate.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import cutlass
from cutlass import cute

from cutecc.frontend.written_place import called_from
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import INFINITIES, Argument, Output, Step, default_conversion, is_float
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.operand import type_bits

_LARGEST = {"f64": 1.7976931348623157e308, "f32": 3.4028234663852886e38, "f16": 65504.0, "bf16": 3.3895313892515355e38}
_LARGEST |= {"f8E4M3FN": 448.0, "f8E5M2": 57344.0}
_PACK = {"i8": "cvt.pack.sat.s8.s32.b32", "u8": "cvt.pack.sat.u8.s32.b32"}


def run(epilogue: Epilogue, steps: Sequence[Step], values: dict[str, cute.TensorSSA]) -> None:
    """Add the results of `steps` to `values`, which has what they refer to, in the compute type."""
    arithmetic = _Arithmetic(numeric(epilogue.compute), is_approximate(epilogue))
    for step in steps:
        arguments = [_value(argument, values) for argument in step.arguments]
        compute = partial(_computed, epilogue, arithmetic, step, arguments)
        values[step.name] = called_from(step.place, epilogue.name, compute)


def _computed(epilogue: Epilogue, arithmetic: _Arithmetic, step: Step, arguments) -> cute.TensorSSA:
    if step.operation == "to":
        return to_compute(converted(arguments[0], step.dtype, default_conversion(step.dtype)), epilogue)
    value = arithmetic.apply(step.operation, arguments)
    if step.operation == "normal_cdf" and is_approximate(epilogue) and not _is_gelu(epilogue, step):
        # Saturation makes 0 of what is no number; a product with the same argument would bring it back.
        x = arguments[0]
        return cute.where(x == x, value, x)
    return value


def _is_gelu(epilogue: Epilogue, step: Step) -> bool:
    """Whether nothing is made of a function's value but products with its argument."""
    users = [each for each in epilogue.steps if step.name in each.arguments]
    multiplied = all(each.operation == "mul" and step.arguments[0] in each.arguments for each in users)
    return multiplied and all(output.value != step.name for output in epilogue.outputs)


def is_approximate(epilogue: Epilogue) -> bool:
    """Whether the outputs are narrow enough for the hardware's approximate functions."""
    return epilogue.compute == "f32" and all(type_bits(output.dtype) <= 16 for output in epilogue.outputs)


def to_compute(value: cute.TensorSSA, epilogue: Epilogue) -> cute.TensorSSA:
    return value.to(numeric(epilogue.compute))


def reduced(epilogue: Epilogue, output: Output, left, right):
    """What the reduction of `output` makes of two values: of `TensorSSA`, element by element."""
    operation = "add" if output.reduction == "sum" else output.reduction
    return _Arithmetic(numeric(epilogue.compute), False).apply(operation, [left, right])


def neutral(output: Output, compute: str) -> float:
    """What the reduction of `output` leaves a value alone with."""
    if output.reduction == "sum":
        return 0
    sign = -1 if output.reduction == "max" else 1
    return sign * math.inf if is_float(compute) else (-(2**31) if sign < 0 else 2**31 - 1)


def converted(value: cute.TensorSSA, dtype: str, conversion: str) -> cute.TensorSSA:
    """`value` rounded to the nearest of `dtype`, ties to even; integers saturate, and are 0 for what is no number."""
    target = numeric(dtype)
    if value.dtype is target:
        return value
    if is_float(dtype):
        if conversion == "clamp" and value.dtype.width > type_bits(dtype):
            limit = cute.full_like(value, _LARGEST[dtype])
            # Comparisons leave what is no number as it is.
            value = cute.where(value > limit, limit, cute.where(value < -limit, -limit, value))
        return value.to(target)
    if value.dtype.is_float:
        value = _elementwise(cutlass.Int32, _rounded(value.dtype), value)
    if dtype == "i32":
        return value
    return _packed(value, dtype) if conversion == "fast_clamp" else _saturated(value, dtype)


def _rounded(dtype: type[cutlass.Numeric]) -> Callable:
    # The instruction saturates, and makes 0 of what is no number.
    code = f"cvt.rni.s32.{'f64' if dtype is cutlass.Float64 else 'f32'} {{$w0}}, {{$r0}};"
    return lambda x: cute.arch.inline_ptx(code, write_only_types=[cutlass.Int32], read_only_args=[x])


def _saturated(value: cute.TensorSSA, dtype: str) -> cute.TensorSSA:
    low, high = (-128, 127) if dtype == "i8" else (0, 255)
    low, high = cute.full_like(value, low), cute.full_like(value, high)
    value = cute.where(value < low, low, cute.where(value > high, high, value))
    return value.to(numeric(dtype))


def _packed(value: cute.TensorSSA, dtype: str) -> cute.TensorSSA:
    """Four at a time: an instruction saturates two and puts them before two others."""
    count = cute.size(value.shape)
    if count % 4:
        return _saturated(value, dtype)
    source = cute.make_rmem_tensor((count,), cutlass.Int32)
    source.store(value)
    words = cute.make_rmem_tensor((count // 4,), cutlass.Int32)
    code = f"{_PACK[dtype]} {{$w0}}, {{$r0}}, {{$r1}}, {{$r2}};"
    for i in range(count // 4):
        word = cutlass.Int32(0)
        for pair in (2, 0):
            arguments = [source[4 * i + pair + 1], source[4 * i + pair], word]
            word = cute.arch.inline_ptx(code, write_only_types=[cutlass.Int32], read_only_args=arguments)
        words[i] = word
    return cute.recast_tensor(words, numeric(dtype)).load()


_PLAIN = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "neg": operator.neg, "abs": cute.math.abs},
    **{name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    **{"and": operator.and_, "or": operator.or_, "where": cute.where},
}
"""Operations that are the same in every compute type."""


class _Arithmetic:
    """The operations of steps in one compute type."""

    def __init__(self, compute: type[cutlass.Numeric], is_approximate: bool):
        self.compute, self.is_approximate = compute, is_approximate

    def apply(self, operation: str, arguments):
        shapes = [each.shape for each in arguments if isinstance(each, cute.TensorSSA)]
        shape = max(shapes, key=cute.size) if shapes else (1,)
        arguments = [self._widened(each, shape) for each in arguments]
        function = _PLAIN.get(operation) or getattr(self, f"_{operation}")
        return function(*arguments)

    def _widened(self, value, shape):
        if not isinstance(value, cute.TensorSSA):
            return cute.full(shape, value, self.compute)
        return value if value.shape == shape else value.broadcast_to(shape)

    def _div(self, x, y):
        return x * _reciprocal(y) if self.is_approximate else x / y

    def _max(self, x, y):
        if self.compute is cutlass.Float32:
            return _elementwise(self.compute, lambda a, b: cute.arch.fmax(a, b, nan=True), x, y)
        return cute.where((x > y) | (x != x), x, y)

    def _min(self, x, y):
        if self.compute is cutlass.Float32:
            return _elementwise(self.compute, lambda a, b: cute.arch.fmin(a, b, nan=True), x, y)
        return cute.where((x < y) | (x != x), x, y)

    def _exp(self, x):
        return cute.math.exp(x, fastmath=self.is_approximate)

    def _log(self, x):
        return cute.math.log(x, fastmath=self.is_approximate)

    def _sqrt(self, x):
        return cute.math.sqrt(x, fastmath=self.is_approximate)

    def _rsqrt(self, x):
        return cute.math.rsqrt(x, fastmath=self.is_approximate)

    def _tanh(self, x):
        return cute.math.tanh(x, fastmath=self.is_approximate)

    def _sigmoid(self, x):
        one = cute.full_like(x, 1)
        return self._div(one, one + self._exp(-x))

    def _erf(self, x):
        return _approximate_erf(x) if self.is_approximate else cute.math.erf(x)

    def _normal_cdf(self, x):
        if self.is_approximate:
            return _approximate_normal_cdf(x)
        # By erfc, which keeps its digits where the share is small.
        return cute.math.erfc(x * -math.sqrt(0.5)) * 0.5

    def _not(self, x):
        return x ^ cute.full(x.shape, True, cutlass.Boolean)


def _reciprocal(x):
    return _elementwise(cutlass.Float32, cute.arch.rcp_approx, x)


def _approximate_erf(x):
    """erf within 1.5e-7: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26."""
    size = cute.math.abs(x)
    one = cute.full_like(x, 1)
    t = _reciprocal(one + size * 0.3275911)
    polynomial = t * 1.061405429 - 1.453152027
    for coefficient in (1.421413741, -0.284496736, 0.254829592):
        polynomial = polynomial * t + coefficient
    found = one - polynomial * t * cute.math.exp(-(x * x), fastmath=True)
    return cute.math.copysign(found, x)


_NORMAL_CDF = (
    *(0.3989074528217316, -0.06636036932468414, 0.009830130264163017, -0.001114147948101163, 9.457439591642469e-05),
    *(-5.760768999607535e-06, 2.3436740548277157e-07, -5.633317368136659e-09, 5.998067320600597e-11),
)
"""Of (cdf(x) - 1/2) / x as a polynomial in x² up to 4.2²: the least largest error, by Lawson's algorithm."""
_NORMAL_CDF_END = 4.2


def _approximate_normal_cdf(x):
    """The normal distribution's share below x within 1.7e-5, exactly 0 and 1 from ±4.21 on; twelve instructions."""
    square = _elementwise(cutlass.Float32, lambda a: cute.arch.fmin(a * a, cutlass.Float32(_NORMAL_CDF_END**2)), x)
    # Even and odd powers apart: a warp alone at its epilogue would wait for each step of one chain.
    fourth = square * square
    even, odd = (cute.full_like(x, _NORMAL_CDF[end]) for end in (-1, -2))
    for coefficient in _NORMAL_CDF[-3::-2]:
        even = even * fourth + coefficient
    for coefficient in _NORMAL_CDF[-4::-2]:
        odd = odd * fourth + coefficient
    polynomial = odd * square + even
    half = cutlass.Float32(0.5)
    saturated = "fma.rn.sat.f32 {$w0}, {$r0}, {$r1}, {$r2};"
    return _elementwise(
        cutlass.Float32,
        lambda a, b: cute.arch.inline_ptx(saturated, write_only_types=[cutlass.Float32], read_only_args=[a, b, half]),
        *(x, polynomial),
    )


def _elementwise(dtype: type[cutlass.Numeric], function: Callable, *values: cute.TensorSSA) -> cute.TensorSSA:
    """`function` of each element, for what the DSL has for single numbers only."""
    count = cute.size(values[0].shape)
    sources = []
    for value in values:
        source = cute.make_rmem_tensor((count,), value.dtype)
        source.store(value)
        sources.append(source)
    result = cute.make_rmem_tensor((count,), dtype)
    for i in range(count):
        result[i] = function(*(source[i] for source in sources))
    return result.load()


def _value(argument: Argument, values: Mapping[str, cute.TensorSSA]):
    if isinstance(argument, str):
        return INFINITIES[argument] if argument in INFINITIES else values[argument]
    return argument
