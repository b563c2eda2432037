"""Which shapes each kind of `tcgen05.mma` has (PTX ISA, "Matrix Shape").

Where editions of the manual differ in the steps of N, the smallest one counts. K = 96 is here of one block as well: the
table has it of pairs alone, but public kernels use both.
"""

from __future__ import annotations

from collections.abc import Iterable

from cutecc.emulator.numbers.instruction_descriptor import SCALE_VECTORS, InstructionDescriptor


def refusal_of_shape(form: InstructionDescriptor, *, pair: bool, stationary: bool) -> str | None:
    """What is wrong with M, N or K, and what there is; `None` if nothing is."""
    kind = f"kind::{form.kind} of {'a pair of blocks' if pair else '.ws' if stationary else 'one block'}"
    kind += " with a sparse A" if form.sparse else ""
    rows = _rows(form, pair, stationary)
    if form.m not in rows:
        return f"has {form.m} rows of A, where {kind} has {_listed(rows)}"
    columns = _columns(form, pair, stationary)
    if form.n not in columns:
        return f"has {form.n} columns of B, where {kind} has {_listed(columns)}"
    if form.deep and form.m != (256 if pair else 128):
        return f"has K = 96 with {form.m} rows of A, where {kind} has {256 if pair else 128}"
    return None


def _rows(form: InstructionDescriptor, pair: bool, stationary: bool) -> tuple[int, ...]:
    scaled = form.kind in SCALE_VECTORS
    if stationary:
        return (32, 64, 128)
    if pair:
        return (256,) if scaled and form.sparse else (128, 256)
    return (128,) if scaled else (64, 128)


def _columns(form: InstructionDescriptor, pair: bool, stationary: bool) -> Iterable[int]:
    if stationary:
        return (64, 128) if form.sparse else (64, 128, 256)
    step = (2 if form.transpose_b and form.element_bits(form.b) == 8 else 1) * (16 if pair else 8)
    if form.kind != "i8":
        return range(step, 257, step)
    if pair:
        return range(32, 257, 32)
    return tuple(each for each in range(step, 257, step) if each <= 32 or each % 16 == 0)


def _listed(values: Iterable[int]) -> str:
    if isinstance(values, range):
        return f"multiples of {values.step} up to {values[-1]}"
    return ", ".join(map(str, values))
