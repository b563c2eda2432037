"""The control codes of SASS instructions: how the compiler has each of them wait for those before it.

NVIDIA documents none of this, and nvdisasm prints only the reuse flags. From Volta on, each instruction of 128 bits
has 21 for it, from bit 105 on. The layout is public knowledge: Jia et al., "Dissecting the NVIDIA Volta GPU
Architecture via Microbenchmarking" (2018), after Scott Gray's maxas for Maxwell, which has the same fields elsewhere;
the text is written as CuAssembler does. What compiled code shows agrees with it up to Blackwell.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.target import Target

INSTRUCTION_BYTES = 16
BARRIERS = 6
"""That a warp has for instructions without a fixed latency."""
_KNOWN_MAJORS = range(7, 13)
_FIRST_BIT = 105
_NO_BARRIER = 7


@dataclass(frozen=True)
class Control:
    """The control code of an instruction."""

    stall: int
    """Cycles from its issue to that of the warp's next instruction, 0 to 15."""
    yields: bool
    """Whether the scheduler had better go on with another warp."""
    write_barrier: int | None
    """The barrier, 0 to 5, that tells when its results are written."""
    read_barrier: int | None
    """The barrier, 0 to 5, that tells when its operands are read, so that their registers may be written."""
    waits: frozenset[int]
    """The barriers that it waits for."""
    reuse: frozenset[int]
    """The operands, of the first four, whose registers stay at hand for the next instruction: its `.reuse`."""

    def __str__(self) -> str:
        """As `B--2---:R-:W1:Y:S04`: waits for barrier 2, sets 1 when it has written, yields, stalls for 4 cycles."""
        waits = "".join(str(each) if each in self.waits else "-" for each in range(BARRIERS))
        read, write = ("-" if each is None else str(each) for each in (self.read_barrier, self.write_barrier))
        return f"B{waits}:R{read}:W{write}:{'Y' if self.yields else '-'}:S{self.stall:02}"


def controls(code: bytes, target: Target) -> list[Control] | None:
    """The control code of each instruction in `code`, what a section of a cubin holds.

    `None` for a target whose layout is another's, or not known.
    """
    if target.major not in _KNOWN_MAJORS:
        return None
    ends = range(INSTRUCTION_BYTES, len(code) + 1, INSTRUCTION_BYTES)
    return [_control(int.from_bytes(code[end - INSTRUCTION_BYTES : end], "little")) for end in ends]


def _control(encoding: int) -> Control:
    bits = encoding >> _FIRST_BIT
    return Control(
        stall=bits & 0xF,
        # The bit says that the scheduler had better stay with the warp.
        yields=not bits >> 4 & 1,
        write_barrier=_barrier(bits >> 5),
        read_barrier=_barrier(bits >> 8),
        waits=_set_bits(bits >> 11 & 0x3F),
        reuse=_set_bits(bits >> 17 & 0xF),
    )


def _barrier(bits: int) -> int | None:
    return None if bits & 7 == _NO_BARRIER else bits & 7


def _set_bits(bits: int) -> frozenset[int]:
    return frozenset(each for each in range(bits.bit_length()) if bits >> each & 1)
