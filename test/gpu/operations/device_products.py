"""Products on a device against float64, with poisoned outputs and the tolerance of each type.

An element of D may differ from the exact result by

    slope * ACCUMULATION[instruction] * |alpha| * (|A| |B|)     sums of rounded numbers
    + slope * FUNCTIONS * reach                                 the epilogue's own arithmetic
    + ROUNDING[type of D] * |D|                                 the conversion to D

where `slope` is how steep the epilogue is at most, FUNCTIONS are `APPROXIMATE`, `ACCURATE` or `ACCURATE_F64`, and
`reach` is 1 plus the size of all that the epilogue reads. Random data is made of what the instruction multiplies
exactly (tf32 of 11 significant bits), so that nothing else has to be allowed for. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from covering_set import Case
from device_arrays import INTERLEAVED, Stored, elements, matrix, vector

from cutecc.operations import Gemm, GemmDescription
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.reference import Evaluated, evaluate
from cutecc.operations.epilogue.values import Output
from cutecc.operations.operand import type_bits

ACCUMULATION = {
    "f64": 2.0**-50,
    "f32": 2.0**-21,
    "tf32": 2.0**-20,
    "f16": 2.0**-20,
    "bf16": 2.0**-20,
    # Tensor cores keep about 14 bits of sums of 8-bit products.
    "f8E4M3FN": 2.0**-10,
    "f8E5M2": 2.0**-10,
    "i8": 0.0,
}
"""By what is multiplied: the error of a sum, of the sum of absolute products."""
FAST_F32 = 2.0**-19
"""The same for three products of tf32."""
INTO_F16 = 2.0**-8
"""The same for sums in f16."""
ROUNDING = {
    "f64": 2.0**-52,
    "f32": 2.0**-22,
    "f16": 2.0**-10,
    "bf16": 2.0**-7,
    "f8E4M3FN": 2.0**-3,
    "f8E5M2": 2.0**-2,
    "i8": 0.0,
    "u8": 0.0,
    "i32": 0.0,
}
"""By the type of a result: two units in the last place of f32, one of other floats (f64 as well, since `evaluate`
rounds in f64 itself)."""
SMALLEST = {"f16": 2.0**-24, "bf16": 2.0**-133, "f8E4M3FN": 2.0**-9, "f8E5M2": 2.0**-16}
"""By the type of a result: the distance of its smallest numbers."""
APPROXIMATE, ACCURATE, ACCURATE_F64 = 2.0**-10, 2.0**-20, 2.0**-48
"""Errors of an epilogue's arithmetic: with the hardware's approximate functions, in f32 and in f64."""


@dataclass(frozen=True)
class Sizes:
    """Of a product."""

    m: int
    n: int
    k: int
    batches: int = 1


@dataclass
class Prepared:
    """A product whose arguments are in memory."""

    case: Case
    op: Gemm
    sizes: Sizes
    stored: dict[str, Stored]
    """By name: A, B and what the epilogue reads and writes in memory."""

    def arguments(self, names: Mapping[str, Stored] | None = None) -> dict[str, Any]:
        """As `Gemm.run` takes them: lists of matrices in mode `array`."""
        found = {name: each.tensor for name, each in (names or self.stored).items()}
        if self.op.description.mode != "array":
            return found
        # Anywhere in memory: not in their order.
        return {name: [each[index] for index in self.order] for name, each in found.items()}

    @property
    def order(self) -> list[int]:
        """The matrix in memory that is each one of a list."""
        return [*range(self.sizes.batches)][::-1]

    @property
    def results(self) -> dict[str, Stored]:
        """What is written."""
        return {each.name: self.stored[each.name] for each in self.op.epilogue.outputs}


def granularity(description: GemmDescription) -> tuple[int, int, int]:
    """What M, N and K have to be multiples of: alignments of contiguous extents, and groups of 32."""
    least = {"m": 1, "n": 1, "k": 1}
    places = {"A": ("m", "k"), "B": ("k", "n")}
    matrices = {"A": description.a, "B": description.b, "C": description.c, "D": description.d}
    for each in description.epilogue.operands:
        if each.kind == "full" and each.name not in matrices:
            matrices[each.name] = _operand_of(each)
    for name, operand in matrices.items():
        if operand is None:
            continue
        rows, columns = places.get(name, ("m", "n"))
        if operand.is_interleaved:
            grouped = columns if operand.is_along_rows else rows
            least[grouped] = max(least[grouped], INTERLEAVED)
            continue
        if name in places and description.family == "sm90":
            continue  # TMA knows the edges
        contiguous = columns if operand.layout == "row" else rows
        if name in places or operand.layout == description.d.layout:
            least[contiguous] = max(least[contiguous], operand.alignment)
    return least["m"], least["n"], least["k"]


def fitting(description: GemmDescription, m: int, n: int, k: int, batches: int = 1) -> Sizes:
    """Sizes at least as large that the description takes."""
    m, n, k = (-(-size // step) * step for size, step in zip((m, n, k), granularity(description), strict=True))
    return Sizes(m, n, k, batches)


def ragged(description: GemmDescription, *, small: bool) -> list[Sizes]:
    """Sizes whose last tiles are not full: less than one, a little more, several; `small` has the second alone."""
    (m, n, k), batches = description.tile.threadblock, 3 if description.mode in ("batched", "array") else 1
    depth = k * description.tile.stages
    across, down = description.tile.cluster
    wanted = [(m + 3, n + 5, k + 9)]
    if not small:
        few = [(1, 1, 1), (m - 1, n - 1, depth - 1)]
        many = [(2 * m * across + m // 2 + 1, 2 * n * down + n // 2 + 3, depth + k + 1)]
        wanted = [*wanted, *few, *many]
    return list(dict.fromkeys(fitting(description, *each, batches) for each in wanted))


def prepare(case: Case, op: Gemm, sizes: Sizes, device: str, seed: int = 0) -> Prepared:
    """Random inputs and poisoned outputs in the memory of a device."""
    description, generator = op.description, np.random.default_rng(seed)
    m, n, k, batches = sizes.m, sizes.n, sizes.k, sizes.batches
    batched = description.mode in ("batched", "array")
    stored = {
        "A": matrix(description.a, m, k, batches, device, batched=batched),
        "B": matrix(description.b, sizes.k, sizes.n, sizes.batches, device, batched=batched),
    }
    for each in description.epilogue.operands:
        if each.kind == "full":
            operand = {"C": description.c, "D": description.d}.get(each.name) or _operand_of(each)
            stored[each.name] = matrix(operand, m, n, batches, device, batched=batched)
        elif isinstance(each, Output) or each.in_memory:
            extent = {"row": n, "column": m}.get(each.kind)
            stored[each.name] = vector(each.dtype, extent, batches, device, each.alignment, batched=batched)
    outputs = {each.name for each in description.epilogue.outputs}
    for name, each in stored.items():
        if name not in outputs:
            each.codes[...] = _random(each, case, description, generator)
            each.put()
    return Prepared(case, op, sizes, stored)


def run(prepared: Prepared, alpha: float | None = None, beta: float | None = None, **options: Any) -> dict[str, bytes]:
    """Poison the outputs, compute, and return the bytes of every result; with poison around it."""
    for each in prepared.results.values():
        each.put()
    prepared.op.run(**prepared.arguments(), **numbers(prepared.op.epilogue, alpha, beta), **options)
    prepared.op.sync()
    return {name: each.fetch().tobytes() for name, each in prepared.results.items()}


def check(
    prepared: Prepared, found: Mapping[str, bytes], alpha: float | None = None, beta: float | None = None
) -> None:
    """Hold results against float64: within tolerance, and nothing written besides."""
    expected, allowed = reference(prepared, alpha, beta)
    for name, each in prepared.results.items():
        image = np.frombuffer(found[name], np.uint8).copy()
        value = each.decode(image)
        exact, rounded = expected[name].exact.reshape(value.shape), expected[name].rounded.reshape(value.shape)
        tolerance = np.broadcast_to(allowed[name].reshape(value.shape), value.shape)
        with np.errstate(invalid="ignore"):
            error = np.minimum(abs(value - exact), abs(value - rounded))
        error = np.where(value == rounded, 0.0, error)
        wrong = ~(error <= tolerance)
        where = f"{prepared.case.name} {prepared.sizes} alpha={alpha} beta={beta}: {name}"
        if wrong.any():
            at = tuple(int(each) for each in np.argwhere(wrong)[0])
            raise AssertionError(
                f"{where}: {int(wrong.sum())} of {wrong.size} wrong, the first at {at}: {value[at]!r}, "
                f"exactly {exact[at]!r}, tolerance {tolerance[at]:.3g}"
            )
        each.codes_in(image)[...] = each.codes
        stray = np.flatnonzero(image != each.image)
        assert not stray.size, f"{where}: {stray.size} bytes written outside of it, the first at {stray[0]}"


def reference(
    prepared: Prepared, alpha: float | None = None, beta: float | None = None
) -> tuple[dict[str, Evaluated], dict[str, Any]]:
    """The exact results, and how far an element may be from them."""
    op, stored = prepared.op, prepared.stored
    description, epilogue = op.description, op.epilogue
    scalars = numbers(epilogue, alpha, beta)
    a, b = stored["A"].decode(), stored["B"].decode()
    accum, magnitude = a @ b, abs(a) @ abs(b)
    inputs: dict[str, Any] = dict(scalars)
    outputs = {each.name for each in epilogue.outputs}
    for name, each in stored.items():
        if name not in ("A", "B") and name not in outputs:
            values = each.decode()
            inputs[name] = np.zeros_like(values) if name == "C" and not scalars.get("beta", 1.0) else values
            if epilogue.operand(name).kind == "scalar":  # type: ignore[union-attr]
                inputs[name] = inputs[name][:, 0]
    factor = abs(scalars.get("alpha", 1.0))
    reach = 1.0 + factor * abs(accum)
    for each in epilogue.inputs:
        if each.name == "C" or (each.name in inputs and each.kind == "full"):
            reach = reach + abs(scalars.get("beta", 1.0) if each.name == "C" else 1.0) * abs(inputs[each.name])
        elif each.kind in ("row", "column"):
            values = abs(inputs[each.name])
            reach = reach + (values[:, None, :] if each.kind == "row" else values[:, :, None])
    error = prepared.case.slope * (_accumulation(description) * factor * magnitude + _functions(epilogue) * reach)
    allowed: dict[str, Any] = {}
    evaluated = evaluate(epilogue, accum, inputs)
    for each in epilogue.outputs:
        axes = {"row": 1, "column": 2, "scalar": (1, 2)}.get(each.kind)
        bound = error if axes is None else error.sum(axes) if each.reduction == "sum" else error.max(axes)
        if each.dtype in ("i8", "u8", "i32"):
            bound = np.zeros_like(bound)
        rounding = ROUNDING[each.dtype] * abs(evaluated[each.name].exact) + SMALLEST.get(each.dtype, 0.0)
        allowed[each.name] = bound + rounding
    return evaluated, allowed


def numbers(epilogue: Epilogue, alpha: float | None, beta: float | None) -> dict[str, float]:
    """Of alpha and beta those that the epilogue has; 1 where they are not given."""
    names = {each.name for each in epilogue.inputs}
    given = {"alpha": alpha, "beta": beta}
    return {name: 1.0 if value is None else value for name, value in given.items() if name in names}


def _operand_of(each: Any) -> Any:
    from cutecc.operations import Operand

    return Operand(each.dtype, each.layout, each.alignment)


def _random(each: Stored, case: Case, description: GemmDescription, generator: np.random.Generator) -> Any:
    kind = elements(each.dtype)
    if not kind.is_float and case.small:
        return generator.integers(-4, 5, each.codes.shape).astype(kind.code)
    codes = kind.random(each.codes.size, generator).reshape(each.codes.shape)
    instruction = description.instruction
    if each.dtype == "f32" and instruction.arithmetic != "multiply_add_fast_f32":
        # No more digits than what is multiplied has.
        mask = {"tf32": 0xFFFFE000, "f16": 0xFFFFE000, "bf16": 0xFFFF0000}.get(instruction.multiplies, 0xFFFFFFFF)
        codes = (np.ascontiguousarray(codes).view(np.uint32) & np.uint32(mask)).view(np.float32)
        if instruction.multiplies == "f16":
            codes = codes.astype(np.float16).astype(np.float32)
    return codes


def _accumulation(description: GemmDescription) -> float:
    instruction = description.instruction
    if instruction.accumulator == "f16":
        return INTO_F16
    if instruction.arithmetic == "multiply_add_fast_f32":
        return FAST_F32
    return max(ACCUMULATION[instruction.multiplies], ACCUMULATION[instruction.transposed().multiplies])


def _functions(epilogue: Epilogue) -> float:
    if epilogue.compute == "f64":
        return ACCURATE_F64
    narrow = all(type_bits(each.dtype) <= 16 for each in epilogue.outputs)
    plain = all(step.operation in ("add", "sub", "mul", "neg", "to", "max", "min") for step in epilogue.steps)
    return APPROXIMATE if narrow and not plain else ACCURATE
