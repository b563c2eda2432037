"""`mma.sync` and `mma.sp`: the matrices of a warp multiplied, `D = A * B + C`.

Integers and bits are exact, `f64` is a chain of fused multiply-adds. Floats of 8 to 19 bits are summed as on an H200,
whatever the target; see `numbers.matrix_sums` for how, and for what is known of other GPUs. Forms with a `.kind`, which
an H200 does not have, are summed as its `f16` is: all at once, and in the precision that the manual asks for at least.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.mma_scales import Scales
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.numbers import fragments, matrix_sums
from cutecc.emulator.numbers.code import Rounding
from cutecc.emulator.numbers.fragments import MatrixFragment
from cutecc.emulator.numbers.matrix_elements import SUMS, bits, kind_of, numbers
from cutecc.ptx.syntax import Operand
from cutecc.ptx.types import TYPE_BITS

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang

_FORM: Final = re.compile(
    r"(?P<sparse>sp\.|sp::ordered_metadata\.)?sync\.aligned\.m(?P<m>\d+)n(?P<n>8)k(?P<k>\d+)"
    r"\.(?P<major_a>row|col)\.(?P<major_b>row|col)(?P<satfinite>\.satfinite)?"
    r"\.(?P<d>\w+)\.(?P<a>\w+)\.(?P<b>\w+)\.(?P<c>\w+)"
    r"(?:\.(?P<combine>xor|and)\.popc|\.(?P<rounding>rn|rz|rm|rp)|\.(?P<scale>ue8m0|ue4m3))?"
)
"""Without what is about kinds and scales, which may be in two places."""
_DEPTHS: Final = {
    (8, "f64"): (4,),
    (16, "f64"): (4, 8, 16),
    (16, "f16"): (8, 16),
    (16, "bf16"): (8, 16),
    (16, "tf32"): (4, 8),
    (16, "fp8"): (16, 32),
    (16, "f8f6f4"): (16, 32),
    (16, "mxf8f6f4"): (32,),
    (16, "mxf4"): (64,),
    (16, "mxf4nvf4"): (64,),
    (8, "int8"): (16,),
    (16, "int8"): (16, 32),
    (8, "int4"): (32,),
    (16, "int4"): (32, 64),
    (8, "b1"): (128,),
    (16, "b1"): (128, 256),
}
"""K by M and the kind of A and B; sparse shapes with 16 rows have twice that K."""
_NARROW: Final = {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}
_ELEMENTS: Final = {"f8f6f4": _NARROW, "mxf8f6f4": _NARROW, "mxf4": {"e2m1"}, "mxf4nvf4": {"e2m1"}}
"""What A and B may be, each, by a form's `.kind`."""


@dataclass(frozen=True)
class Multiplication:
    """What a form of `mma` says."""

    shape: fragments.MatrixShape
    types: tuple[str, str, str, str]
    """Of D, A, B and C."""
    majors: tuple[fragments.Major, fragments.Major]
    """Of A and B, which only `m8n8k4` of `f16` leaves open."""
    sparse: bool
    saturate: bool
    combine: str
    """`and` or `xor` of bits, else empty."""
    rounding: Rounding
    """Of `f64`."""
    kind: str
    """Without `kind::`; empty where the form has none."""
    scales: Scales | None
    scale_type: str
    """What the form says of it, also where there are no such scales."""

    @classmethod
    def parse(cls, form: Form) -> Multiplication | None:
        """`None` when the emulator does not know it."""
        about = {each for each in form.modifiers if each.startswith(("kind::", "scale_vec::", "block_scale"))}
        match = _FORM.fullmatch(".".join(each for each in form.modifiers if each not in about))
        if match is None:
            return None
        kind = next((each.removeprefix("kind::") for each in about if each.startswith("kind::")), "")
        found = cls(
            (int(match["m"]), int(match["n"]), int(match["k"])),
            (match["d"], match["a"], match["b"], match["c"]),
            cast("tuple[fragments.Major, fragments.Major]", (match["major_a"], match["major_b"])),
            match["sparse"] is not None,
            match["satfinite"] is not None,
            match["combine"] or "",
            cast(Rounding, match["rounding"] or "rn"),
            kind,
            Scales.parse(form, kind),
            match["scale"] or "",
        )
        return found if found._has_types() and found._has_shape() else None

    def _has_types(self) -> bool:
        """Whether there is a multiplication of these types."""
        d, a, b, c = self.types
        if self.kind:
            of_both = {a, b} <= _ELEMENTS.get(self.kind, set())
            results = {"f16", "f32"} if self.kind == "f8f6f4" else {"f32"}
        else:
            of_both, results = kind_of(a) == kind_of(b), {*SUMS.get(kind_of(a), ())}
        is_scaled = self.kind.startswith("mx")
        return (
            of_both
            and {d, c} <= results
            and (a == "b1") == bool(self.combine)
            and is_scaled == (self.scales is not None) == bool(self.scale_type)
        )

    def _has_shape(self) -> bool:
        """Whether there is one of such matrices."""
        m, _, k = self.shape
        if self.batch > 1:
            return not self.sparse
        kind = self.kind or kind_of(self.types[1])
        depths = _DEPTHS.get((m, kind), ())
        if self.sparse:
            depths = tuple(2 * each for each in depths) if m == 16 and kind not in ("f64", "b1") else ()
            # Of 8-bit floats only the larger one.
            depths = depths[-1:] if kind in ("fp8", "f8f6f4") else depths
        return self.majors == ("row", "col") and k in depths

    @property
    def in_bytes(self) -> bool:
        """Whether each element of A and B is in a byte, whatever its bits."""
        return self.kind.endswith("f8f6f4")

    def bits(self, type_: str) -> int:
        """Those in a register for each element of A or B."""
        return 8 if self.in_bytes else TYPE_BITS[type_]

    @property
    def batch(self) -> int:
        """Matrices of a warp."""
        return 4 if self.shape == (8, 8, 4) and self.types[1] == "f16" else 1

    @cached_property
    def a(self) -> MatrixFragment:
        """As stored."""
        if self.batch > 1:
            return fragments.quad_pair_a(self.majors[0])
        m, _, k = self.shape
        return fragments.fragment_a(m, k // 2 if self.sparse else k, _packed(self.bits(self.types[1])))

    @cached_property
    def b(self) -> MatrixFragment:
        if self.batch > 1:
            return fragments.quad_pair_b(self.majors[1])
        _, n, k = self.shape
        return fragments.fragment_b(k, n, _packed(self.bits(self.types[2])))

    def result(self, type_: str) -> MatrixFragment:
        """C or D, of this type."""
        packed = 2 if type_ == "f16" else 1
        return fragments.quad_pair_c(packed) if self.batch > 1 else fragments.fragment_c(*self.shape[:2], packed)

    @property
    def sum(self) -> matrix_sums.Sum:
        """How products are added up."""
        d, a, b, c = self.types
        if d == "f64":
            return matrix_sums.chained(self.rounding)
        if d == "s32":
            return matrix_sums.differing if self.combine == "xor" else matrix_sums.whole
        result = "f16" if d == "f16" else "f32"
        if self.scales:
            # What is multiplied by its scale has no type of its own any more.
            a = b = "f32"
        elif not self.kind and kind_of(a) == "fp8":
            return matrix_sums.in_halves(result, 2 if self.sparse else 1)
        if self.batch > 1:
            return matrix_sums.one_by_one if result == "f32" else matrix_sums.in_pairs
        return matrix_sums.aligned_to_largest(matrix_sums.WIDE, (result, a, b, c))


def _packed(bits: int) -> int:
    return max(1, 32 // bits)


@instruction("mma.**")
def multiply(operation: Operation) -> Step:
    form = Multiplication.parse(operation.form)
    if form is None:
        raise operation.unmodelled()
    return multiplying(operation, form)


def multiplying(operation: Operation, form: Multiplication) -> Step:
    """Reads and writes whole fragments; all warps of the gang at once."""
    d_type, a_type, b_type, c_type = form.types
    word = "b64" if d_type == "f64" else "b32"
    to_d, a, b, c, *rest = operation.operands
    a_holders, b_holders = form.a.holders, form.b.holders
    c_fragment, d_fragment = form.result(c_type), form.result(d_type)
    c_holders, d_places = c_fragment.holders, d_fragment.places
    registers = d_fragment.registers
    write = operation.vector_writer(to_d, word, registers)
    read_a = _fragment_reader(operation, a, a_type, word, form.a.registers, form.in_bytes)
    read_b = _fragment_reader(operation, b, b_type, word, form.b.registers, form.in_bytes)
    read_c = _fragment_reader(operation, c, c_type, word, c_fragment.registers)
    expand = _expansion(operation, form, *rest[:2]) if form.sparse else None
    scale = form.scales.reader(operation, tuple(rest[-4:])) if form.scales else None
    total = form.sum
    m, n, k = form.shape
    batch = form.batch

    def execute(gang: Gang, lanes: Lanes) -> None:
        left = read_a(gang).take(a_holders, axis=1)
        if expand is not None:
            left = expand(gang, left)
        left = left.reshape(-1, batch, m, k)
        right = read_b(gang).take(b_holders, axis=1).reshape(-1, batch, k, n)
        if scale is not None:
            left, right = scale(gang, lanes, left, right)
        added = read_c(gang).take(c_holders, axis=1).reshape(-1, batch, m, n)
        values = total(left, right, added).reshape(gang.warps, -1).take(d_places, axis=1)
        words = bits(values, d_type, form.saturate).reshape(gang.warps, registers, WARP)
        write(gang, lanes, [words[:, each] for each in range(registers)])

    return aligned(operation, execute)


def _fragment_reader(
    operation: Operation, operand: Operand, type_: str, word: str, registers: int, in_bytes: bool = False
) -> Callable[[Gang], Array]:
    """Reads the registers of a fragment as numbers, shape `(warps, elements)`, ordered by register, lane, element."""
    read = operation.vector_reader(operand, word, registers)

    def elements(gang: Gang) -> Array:
        words = [each if each.shape else np.full(gang.shape, each) for each in read(gang)]
        return numbers(np.concatenate(words, axis=1), type_, in_bytes)

    return elements


def _expansion(
    operation: Operation, form: Multiplication, words: Operand, selector: Operand
) -> Callable[[Gang, Array], Array]:
    """Puts zeros into a sparse A, shape `(warps, elements)`."""
    read = operation.reader(words, "b32")
    expand = sparse_expansion(form.bits(form.types[1]), form.shape[2], operation.constant(selector))
    m, _, k = form.shape
    return lambda gang, stored: expand(
        stored.reshape(gang.warps, m, k // 2), np.broadcast_to(read(gang), gang.shape)
    ).reshape(gang.warps, m * k)


def sparse_expansion(element_bits: int, depth: int, selector: int) -> Callable[[Array, Array], Array]:
    """Makes A dense: `(warps, 16, K / 2)` stored and metadata registers `(warps, 32)` give `(warps, 16, K)`."""
    # 4 bits of metadata for two stored elements, of 32 bits for one, of 4 bits for four.
    stored_by_nibble = {32: 1, 4: 4}.get(element_bits, 2)
    total = depth // 2 // stored_by_nibble * 4
    width = 16 if element_bits >= 16 else 32
    place = fragments.metadata(element_bits, total // width, selector)
    lanes, shifts = place.lanes.reshape(-1), place.shifts.astype(np.uint32).reshape(-1)

    def expand(stored: Array, words: Array) -> Array:
        parts = words[:, lanes] >> shifts
        found = fragments.nibbles(parts, place.bits).reshape(len(words), 16, -1)
        return fragments.dense(stored, found, element_bits)

    return expand
