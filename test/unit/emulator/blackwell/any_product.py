"""Any multiplication that there is: a form, an instruction descriptor, and operands at places that fit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from blackwell_model.cells import Cell
from blackwell_model.column_mask import ColumnMask, most_shifted
from blackwell_model.data_path import Layout, layout_of
from blackwell_model.instruction_descriptor import (
    MOST_SHIFTED,
    NEGATES,
    OPERAND_TYPES,
    RESULT_TYPES,
    TRANSPOSES,
    InstructionDescriptor,
    Kind,
)
from blackwell_model.matrix_shapes import Variant, columns, depths, may_shift_a, rows
from blackwell_model.places import Product, Scales, storage
from blackwell_model.scales import types_of, vectors_of
from blackwell_model.shared_descriptor import SharedDescriptor, Storage, Swizzle

_T = TypeVar("_T")
_HALF = 0x10000
"""A is in the first bytes of shared memory, B in the next ones."""


class AnyProduct:
    """Chooses at random."""

    def __init__(
        self, seed: int, layout: Layout | None = None, kind: Kind | None = None, most_columns: int = 16
    ) -> None:
        """N is at most `most_columns`, where the form has so few: reading the model's matrices is what takes time."""
        self._random = np.random.default_rng(seed)
        self._layout = layout
        self._kind = kind
        self._most_columns = most_columns

    def _one(self, choices: Sequence[_T]) -> _T:
        return choices[int(self._random.integers(len(choices)))]

    def _is(self) -> bool:
        return self._one([False, True])

    def product(self) -> Product:
        variant, m = self._variant()
        kind = variant.kind
        k = self._one(depths(variant, m))
        descriptor, scales = self._descriptor(variant, m, k)
        layout = layout_of(variant, m)
        lane = self._one(layout.lane_alignments)
        in_tensor_memory = self._is()
        shifts = in_tensor_memory and may_shift_a(variant, m) and not kind.is_scaled and self._is()
        stored = k // 2 if variant.sparse else k
        enable = self._is()
        scales_d = enable and kind in (Kind.F16, Kind.TF32) and not variant.weight_stationary
        return Product(
            variant,
            descriptor,
            Cell(lane, self._one([0, 3, 60])),
            Cell(lane, 330) if in_tensor_memory else self._matrix(kind, descriptor, stored, of_a=True),
            self._matrix(kind, descriptor, k, of_a=False),
            enable_input_d=enable,
            scale_input_d=self._one([0, 1, 10]) if scales_d else 0,
            metadata=Cell(lane, self._one([480, 482])),
            scales=scales,
            column_mask=self._mask(variant, descriptor, layout),
            disable_output_lane=self._disabled(variant),
            shifts_a=shifts,
        )

    def collector(self, product: Product) -> str:
        """A modifier of the form, or none."""
        uses = ["fill", "use", "lastuse", "discard"]
        if product.variant.weight_stationary:
            return self._one(["", *(f"collector::b{buffer}::{use}" for buffer in range(4) for use in uses)])
        return self._one(["", *(f"collector::a::{use}" for use in (uses[2:] if product.shifts_a else uses))])

    def _variant(self) -> tuple[Variant, int]:
        """And M."""
        while True:
            kind, sparse, stationary = self._kind or self._one(list(Kind)), self._is(), self._is()
            found = Variant(kind, 1 if stationary else self._one([1, 2]), stationary, sparse)
            if not found.exists:
                continue
            m = self._one(rows(found))
            if self._layout in (None, layout_of(found, m)):
                return found, m

    def _descriptor(self, variant: Variant, m: int, k: int) -> tuple[InstructionDescriptor, Scales | None]:
        kind = variant.kind
        of_a, of_b = (self._one(list(OPERAND_TYPES[kind])) for _ in range(2))
        transposes = [self._is() and self._may_be_transposed(kind, each) for each in (of_a, of_b)]
        eight_bits = transposes[1] and storage(kind, of_b) is Storage.BITS8
        widths = columns(variant, transposed_8_bit_b=eight_bits)
        few = [each for each in widths if each <= self._most_columns] or list(widths[:1])
        results = [
            code
            for name, code in RESULT_TYPES.get(kind, {"f32": 0}).items()
            if not (name == "f16" and "bf16" in (of_a, of_b))
        ]
        scales, scale_fields = None, {}
        if kind.is_scaled:
            scales, scale_fields = self._scales(kind, k)
        codes = OPERAND_TYPES[kind]
        signs = [int(kind in NEGATES and self._is()) for _ in range(2)]
        descriptor = InstructionDescriptor(
            m_sixteenths=m // 16,
            n_eighths=self._one(few) // 8,
            a_type=codes[of_a],
            b_type=codes[of_b],
            d_type=self._one(results),
            sparse=int(variant.sparse),
            sparsity_selector=self._one([0, 1, 2, 3]) if variant.sparse and kind in (Kind.F16, Kind.TF32) else 0,
            saturate=int(kind is Kind.I8 and self._is()),
            negate_a=signs[0],
            negate_b=signs[1],
            transpose_a=int(transposes[0]),
            transpose_b=int(transposes[1]),
            max_shift=self._one([0, 1, 2, 3]) if variant.weight_stationary else 0,
            k_is_96=int(k == 96),
            **scale_fields,
        )
        return descriptor, scales

    def _may_be_transposed(self, kind: Kind, dtype: str) -> bool:
        return kind in TRANSPOSES and storage(kind, dtype) in (Storage.BITS8, Storage.BITS16, Storage.BITS32)

    def _scales(self, kind: Kind, k: int) -> tuple[Scales, dict[str, int]]:
        choices = {
            Kind.MXF8F6F4: [None, "scale_vec::1X", "block32"],
            Kind.MXF4: [None, "scale_vec::2X", "block32"],
            Kind.MXF4NVF4: ["scale_vec::2X", "block32", "scale_vec::4X", "block16"],
        }[kind]
        qualifier = self._one([each for each in choices if k != 96 or not (each or "").startswith("scale_vec")])
        vectors = vectors_of(kind, qualifier, k)
        fields = {
            "a_scale_id": self._one(vectors.ids),
            "b_scale_id": self._one(vectors.ids),
            "scale_type": int(self._one(types_of(kind, vectors)) == "ue8m0"),
        }
        return Scales(Cell(0, 400), Cell(0, 440), qualifier), fields

    def _matrix(self, kind: Kind, descriptor: InstructionDescriptor, k: int, *, of_a: bool) -> SharedDescriptor:
        """Somewhere in its half of shared memory."""
        code = descriptor.a_type if of_a else descriptor.b_type
        dtype = next(name for name, each in OPERAND_TYPES[kind].items() if each == code)
        packing = storage(kind, dtype)
        transposed = descriptor.transpose_a if of_a else descriptor.transpose_b
        start = 0 if of_a else _HALF
        if transposed:
            swizzle = self._one([Swizzle.NONE, Swizzle.B128, Swizzle.B64, Swizzle.B32])
            if packing is Storage.BITS32:
                swizzle = Swizzle.B128_ATOM_32B
            atom = swizzle.width * swizzle.atom_lines
            groups = -(-k // swizzle.atom_lines)
            along, across = (atom * groups, atom) if self._is() else (atom, 2048)
            leading, stride = (across, along) if swizzle is Swizzle.NONE else (along, across)
            return SharedDescriptor(start, leading, stride, swizzle, self._base(swizzle))
        wide = -(-k // packing.in_a_unit) * 16
        swizzle = self._one([each for each in Swizzle if each is Swizzle.NONE or each.width >= wide])
        if swizzle is Swizzle.NONE:
            return SharedDescriptor(start + self._one([0, 16, 128]), *self._one([(128, 1024), (2048, 128)]), swizzle)
        if k == 96 and self._is():
            # What does not fit into a line of 128 bytes is in another one.
            inside = self._one(range(16, 128, 16))
            return SharedDescriptor(start + inside, start + 0x4000, 1024, Swizzle.B128, absolute_leading=True)
        inside = self._one(range(0, swizzle.width - wide + 1, 16))
        apart = self._one([swizzle.pattern, 1024])
        return SharedDescriptor(start + inside, 16, apart, swizzle, self._base(swizzle))

    def _base(self, swizzle: Swizzle) -> int:
        return self._one([0, 0, 3, 6]) if swizzle is not Swizzle.NONE else 0

    def _mask(self, variant: Variant, descriptor: InstructionDescriptor, layout: Layout) -> ColumnMask:
        if not variant.weight_stationary or self._is():
            return ColumnMask()
        most = min(MOST_SHIFTED[descriptor.max_shift], most_shifted(descriptor.m))
        draw = self._random.integers
        return ColumnMask(
            tuple(int(each) for each in draw(0, 9, 4)),  # pyright: ignore[reportArgumentType]
            tuple(int(each) for each in draw(0, 2, 4)),  # pyright: ignore[reportArgumentType]
            generates=self._is(),
            skip_span=int(draw(0, 5)),
            use_span=int(draw(0, 5)),
            shift=self._one(sorted({0, most // 2, most})),
        )

    def _disabled(self, variant: Variant) -> Sequence[int]:
        may = not variant.weight_stationary and not variant.kind.is_scaled and self._is()
        words = self._random.integers(0, 1 << 32, 4 * variant.cta_group)
        return [int(each) for each in words] if may else (0,) * 8
