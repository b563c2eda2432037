"""Which multiply-adds there are, on which targets: the table that validity and the choice of an instruction read.

The shapes of `mma.sync` and `wgmma` are those of the PTX ISA, sections "Matrix multiply-accumulate".
"""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.operations.instruction import NARROWED, Arithmetic, MathInstruction, Unit
from cutecc.operations.operand import ROUNDED_TYPES
from cutecc.target import Target

WGMMA_TARGET = "sm_90a"
_FP8 = ("f8E4M3FN", "f8E5M2")
_WGMMA_BYTES = 32
"""Of K that one `wgmma` multiplies."""


@dataclass(frozen=True)
class InstructionKind:
    """Instructions of one unit on one pair of types."""

    unit: Unit
    a: str
    b: str
    accumulators: tuple[str, ...]
    shapes: tuple[tuple[int, int, int], ...]
    """The best one first. Of `wgmma` with every N."""
    arithmetics: tuple[Arithmetic, ...] = ("multiply_add",)
    since: str = "sm_80"
    """The first target; of `wgmma` the only one."""

    def exists_on(self, target: Target) -> bool:
        if self.unit == "wgmma":
            return target.name == self.since
        return target >= Target.parse(self.since)

    def instructions(self) -> list[MathInstruction]:
        return [
            MathInstruction(self.unit, shape, self.a, self.b, accumulator, arithmetic)
            for arithmetic in self.arithmetics
            for accumulator in self.accumulators
            for shape in self.shapes
        ]


def wgmma_extents(dtype: str) -> tuple[int, ...]:
    """Every N of a `wgmma` on operands of this type: multiples of 8 up to 256, of i8 above 32 multiples of 16."""
    return tuple(n for n in range(8, 257, 8) if dtype != "i8" or n <= 32 or n % 16 == 0)


def extents_in_words(dtype: str) -> str:
    """What `wgmma_extents` lists."""
    return "a multiple of 8 up to 32 or of 16 up to 256" if dtype == "i8" else "a multiple of 8 up to 256"


def _wgmma(a: str, b: str, bits: int, accumulators: tuple[str, ...], arithmetic: Arithmetic) -> InstructionKind:
    shapes = tuple((64, n, _WGMMA_BYTES * 8 // bits) for n in reversed(wgmma_extents(a)))
    return InstructionKind("wgmma", a, b, accumulators, shapes, (arithmetic,), WGMMA_TARGET)


KINDS: tuple[InstructionKind, ...] = (
    InstructionKind("simt", "f64", "f64", ("f64",), ((1, 1, 1),)),
    InstructionKind("simt", "f32", "f32", ("f32",), ((1, 1, 1),)),
    InstructionKind("tensor_op", "f64", "f64", ("f64",), ((8, 8, 4),)),
    InstructionKind("tensor_op", "tf32", "tf32", ("f32",), ((16, 8, 8),), ("multiply_add", "multiply_add_fast_f32")),
    InstructionKind("tensor_op", "f32", "f32", ("f32",), ((16, 8, 16), (16, 8, 8)), tuple(NARROWED)),
    InstructionKind("tensor_op", "f16", "f16", ("f32", "f16"), ((16, 8, 16), (16, 8, 8))),
    InstructionKind("tensor_op", "bf16", "bf16", ("f32",), ((16, 8, 16), (16, 8, 8))),
    InstructionKind("tensor_op", "i8", "i8", ("i32",), ((16, 8, 32),), ("multiply_add_saturate",)),
    *(InstructionKind("tensor_op", each, each, ("f32",), ((16, 8, 32),), since="sm_89") for each in _FP8),
    _wgmma("tf32", "tf32", 32, ("f32",), "multiply_add"),
    _wgmma("f16", "f16", 16, ("f32", "f16"), "multiply_add"),
    _wgmma("bf16", "bf16", 16, ("f32",), "multiply_add"),
    _wgmma("i8", "i8", 8, ("i32",), "multiply_add_saturate"),
    *(_wgmma(a, b, 8, ("f32",), "multiply_add") for a in _FP8 for b in _FP8),
)
"""All of them. `simt` has its place on every target that cutecc compiles for, the oldest of which is sm_80."""


_BY_TYPES = {(kind.unit, kind.a, kind.b): kind for kind in KINDS}


def kind_of(unit: Unit, a: str, b: str) -> InstructionKind | None:
    """How a unit multiplies these types, if it does."""
    return _BY_TYPES.get((unit, a, b))


def multiplied_type(unit: Unit, dtype: str, arithmetic: Arithmetic | None = None) -> str:
    """What a unit makes of elements of this type in memory: tensor cores multiply f32 as tf32.

    An arithmetic that rounds f32 to something else has it as f32.
    """
    keeps = unit == "simt" or (unit == "tensor_op" and arithmetic in NARROWED)
    return "tf32" if dtype == "f32" and not keeps else dtype


def why_not(kind: InstructionKind, arithmetic: Arithmetic) -> str:
    """Why a unit does not multiply in that way."""
    if arithmetic in NARROWED and kind.unit == "wgmma":
        return (
            f"{arithmetic} rounds f32 to {NARROWED[arithmetic]} in registers, and wgmma reads A and B from shared "
            "memory as they are"
        )
    return f"{kind.unit} on {kind.a} is {' or '.join(kind.arithmetics)}, not {arithmetic}"


def memory_type(multiplied: str) -> str:
    """The type in memory of what an instruction multiplies."""
    return ROUNDED_TYPES.get(multiplied, multiplied)
