"""The instruction that multiplies: on which unit, in which shape, on which types, and what it adds up in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import UsageError
from cutecc.operations.operand import type_name
from cutecc.operations.words import extents, known_word, shown, text_of, unknown_word, whole_numbers

Unit = Literal["simt", "tensor_op", "wgmma"]
"""What executes: a thread's own multiplier, `mma.sync` of a warp, `wgmma` of four warps (a warpgroup)."""
Arithmetic = Literal[
    "multiply_add",
    "multiply_add_fast_f32",
    "multiply_add_fast_f16",
    "multiply_add_fast_bf16",
    "multiply_add_saturate",
]
"""`multiply_add_fast_f32` splits every f32 into two tf32 and multiplies three times, for nearly the digits of f32.
`multiply_add_fast_f16` and `multiply_add_fast_bf16` round every f32 to that type and multiply once.
`multiply_add_saturate` stops at the ends of the integer accumulator's range."""

UNITS: tuple[Unit, ...] = get_args(Unit)
ARITHMETICS: tuple[Arithmetic, ...] = get_args(Arithmetic)
NARROWED: dict[Arithmetic, str] = {"multiply_add_fast_f16": "f16", "multiply_add_fast_bf16": "bf16"}
"""What an arithmetic rounds f32 to, in registers on the way from shared memory to the tensor cores."""
INSTRUCTION_TYPES = ("f64", "f32", "tf32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "i32")
"""What instructions multiply and add; `tf32` is what tensor cores make of f32 in memory."""


@dataclass(frozen=True)
class MathInstruction:
    """A multiply-add of one unit. Written `tensor_op:16x8x16:f16:f16:f32:multiply_add`."""

    unit: Unit
    shape: tuple[int, int, int]
    """M, N, K of one instruction: (1, 1, 1) of `simt`; (64, n, k) of `wgmma`, where n is the threadblock's N."""
    a: str
    """The type of A as it is multiplied, or f32 where the arithmetic rounds it."""
    b: str
    accumulator: str
    arithmetic: Arithmetic = "multiply_add"

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", known_word(self.unit, UNITS, "unit"))
        object.__setattr__(self, "shape", whole_numbers(self.shape, "MNK", "an instruction's shape"))
        object.__setattr__(self, "arithmetic", known_word(self.arithmetic, ARITHMETICS, "arithmetic"))
        for name in ("a", "b", "accumulator"):
            object.__setattr__(self, name, instruction_type(type_name(getattr(self, name))))

    @classmethod
    def parse(cls, text: str) -> MathInstruction:
        """The instruction that `unit:shape:a:b:accumulator:arithmetic` spells; the last is `multiply_add` if left out.

        Raises `UsageError` for an unknown word and a shape that is none.
        """
        words = text_of(text, "an instruction").split(":")
        if len(words) not in (5, 6):
            raise UsageError(
                f"instruction '{text}' is not unit:shape:a:b:accumulator",
                hints=["for example tensor_op:16x8x16:f16:f16:f32 or simt:1x1x1:f32:f32:f32"],
            )
        m, n, k = extents(words[1], "MNK", "an instruction's shape")
        unit, arithmetic = known_word(words[0], UNITS, "unit"), words[5] if len(words) == 6 else "multiply_add"
        return cls(unit, (m, n, k), *words[2:5], arithmetic)  # type: ignore[arg-type]  # checked as it is made

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        words = [self.unit, shape, self.a, self.b, self.accumulator]
        return ":".join(words if self.arithmetic == "multiply_add" else [*words, self.arithmetic])

    @property
    def multiplies(self) -> str:
        """What tensor cores get of A: its type, or what the arithmetic rounds it to."""
        return NARROWED.get(self.arithmetic, self.a)

    def transposed(self) -> MathInstruction:
        """What computes the transposed product; the shape stays, since no unit has the transposed one."""
        return MathInstruction(self.unit, self.shape, self.b, self.a, self.accumulator, self.arithmetic)


def as_instruction(instruction: MathInstruction | str) -> MathInstruction:
    """`instruction` itself, or the one that the text spells."""
    if not isinstance(instruction, MathInstruction | str):  # pyright: ignore[reportUnnecessaryIsInstance]
        what = "an instruction is text such as tensor_op:16x8x16:f16:f16:f32, or a MathInstruction"
        raise UsageError(f"{what}, not {shown(instruction)}")
    return instruction if isinstance(instruction, MathInstruction) else MathInstruction.parse(instruction)


@cache
def instruction_type(name: str) -> str:
    """The name of a type of `INSTRUCTION_TYPES` as cutecc spells it; `UsageError` with close names for others."""
    found = find_numeric_type(name.strip())
    if found is not None and found.name in INSTRUCTION_TYPES:
        return found.name
    raise unknown_word(name, INSTRUCTION_TYPES, "type of an instruction")
