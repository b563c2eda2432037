"""Which shapes each kind of `tcgen05.mma` has.

PTX ISA, 9.7.16.2.1 "Matrix Shape", table 39, and its target note; 9.7.16.10.1, table 50 for transposed elements of 8
bits; 9.7.16.10.9.1 for `.ashift`.

The table of editions up to 8.8 has N in steps of 16 for M = 128 where 9.0 and later have 8, and CUTLASS asks for 16
(and of `.cta_group::2` for 32); what is here is the later text. That has K = 96 for pairs of blocks only, where CUTLASS
has it for one block too: `PUBLISHED_BEYOND_THE_TABLE`.
"""

from __future__ import annotations

from dataclasses import dataclass

from blackwell_model.instruction_descriptor import DENSE_K, Kind

PUBLISHED_BEYOND_THE_TABLE = {(128, 96, 1)}
"""M, K and blocks of shapes that public kernels use and table 39 has not."""


@dataclass(frozen=True)
class Variant:
    """A form of the instruction, as far as shapes depend on it."""

    kind: Kind
    cta_group: int = 1
    weight_stationary: bool = False
    sparse: bool = False

    @property
    def exists(self) -> bool:
        if not self.weight_stationary:
            return True
        return self.cta_group == 1 and not self.kind.is_scaled


def rows(variant: Variant) -> tuple[int, ...]:
    """Values of M."""
    if not variant.exists:
        return ()
    if variant.weight_stationary:
        return (32, 64, 128)
    if variant.cta_group == 2:
        return (256,) if variant.kind.is_scaled and variant.sparse else (128, 256)
    return (128,) if variant.kind.is_scaled else (64, 128)


def columns(variant: Variant, *, transposed_8_bit_b: bool = False) -> tuple[int, ...]:
    """Values of N."""
    if not variant.exists:
        return ()
    if variant.weight_stationary:
        return (64, 128) if variant.sparse else (64, 128, 256)
    step = 8 * variant.cta_group
    if transposed_8_bit_b:
        step = 16 * variant.cta_group
    if variant.kind is Kind.I8:
        return _integer_columns(variant.cta_group, step)
    return tuple(range(step, 257, step))


def _integer_columns(cta_group: int, step: int) -> tuple[int, ...]:
    if cta_group == 2:
        return tuple(range(32, 257, 32))
    return tuple(each for each in range(step, 257, step) if each <= 32 or each % 16 == 0)


def depths(variant: Variant, m: int) -> tuple[int, ...]:
    """Values of K, of which sm_103a alone has 96."""
    if variant.sparse:
        return (2 * DENSE_K[variant.kind],)
    dense = (DENSE_K[variant.kind],)
    if not variant.kind.is_4_bit:
        return dense
    has_96 = (m, variant.cta_group) == (256, 2) or (m, 96, variant.cta_group) in PUBLISHED_BEYOND_THE_TABLE
    return (*dense, 96) if has_96 else dense


def is_legal(variant: Variant, m: int, n: int, k: int, *, transposed_8_bit_b: bool = False) -> bool:
    return (
        m in rows(variant) and n in columns(variant, transposed_8_bit_b=transposed_8_bit_b) and k in depths(variant, m)
    )


def may_shift_a(variant: Variant, m: int) -> bool:
    """`.ashift` is for A in tensor memory, of whole lanes."""
    return not variant.weight_stationary and m in (128, 256)
