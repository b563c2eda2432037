"""The option sets of LLVM that code is generated with, and which result is the best."""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.backend.ptxas_log import parse_log

_ALWAYS = (
    # The wheel's pointers to shared memory take 32 bits, in the DSL's inline assembly too.
    "-nvptx-short-ptr",
    # As in the wheel, a product and a sum may become one instruction.
    "-nvptx-fma-level=1",
    # ptxas unrolls loops whose number of rounds is not known itself.
    "-unroll-runtime=0",
    # ptxas reduces the strength of addresses in loops itself, and a value that another branch needs stays where it is
    # computed. Of 132 modules for sm_80 and sm_90a, the number of instructions, geometric mean, is 1.015 times the
    # wheel's without these two, 0.978 with them, and they take fewer registers.
    "-disable-lsr",
    "-instcombine-code-sinking=0",
)
_FAST_MATH = ("-nvptx-prec-divf32=0", "-nvptx-prec-sqrtf32=0")


@dataclass(frozen=True)
class OptionSet:
    """Options of LLVM, under a name for the record."""

    name: str
    options: tuple[str, ...]
    """Of its code generator alone: LLVM IR that was optimised for one set serves them all."""

    def for_process(self, *, fast_math: bool) -> tuple[str, ...]:
        """All options that a process of this set is started with."""
        return (*_ALWAYS, *(_FAST_MATH if fast_math else ()), *self.options)


# A value that another branch needs stays where it is computed, to the end: what computes the next tensor's address
# otherwise stands between predicated loads and holds them up, which took an element-wise add 12 % longer.
_PLAIN = ("-disable-machine-sink",)
FIRST = OptionSet("plain", _PLAIN)
# What loops only use is computed in them again: descriptors of wgmma are hoisted otherwise, and take its registers.
_RECOMPUTED = OptionSet("sink", ("-sink-insts-to-avoid-spills",))
# Values go to where they are used, also into another branch.
_MOVED = OptionSet("move", ())
# Of ten attention kernels and norms that spill by the first set, four spill less by this, two of them hardly any more;
# its code is up to a tenth longer. In kernels of Hopper, it may mix wgmma with what its registers are used for.
_ORDERED = OptionSet("pressure", (*_PLAIN, "-nvptx-sched4reg"))


@dataclass(frozen=True, order=True)
class Quality:
    """What ptxas says of a module, worst first; of two, the lesser is the better."""

    serialisations: int
    """Warnings that `wgmma` instructions wait for one another."""
    spilled_bytes: int
    registers: int
    """Of the kernel that takes the most."""

    @classmethod
    def of(cls, log: str) -> Quality:
        """What `log`, of `ptxas -v`, says."""
        parsed = parse_log(log)
        entries = parsed.entries.values()
        return cls(
            sum(
                (complaint.code or "").startswith("C75") and "serialized" in complaint.message
                for complaint in parsed.complaints
            ),
            sum((entry.spill_store_bytes or 0) + (entry.spill_load_bytes or 0) for entry in entries),
            max((entry.registers or 0 for entry in entries), default=0),
        )

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing to cure."""
        return not self.serialisations and not self.spilled_bytes

    def __str__(self) -> str:
        parts = [f"{self.registers} registers", f"{self.spilled_bytes} bytes of spills"]
        if self.serialisations:
            parts.append(f"{self.serialisations} warnings of serialised wgmma")
        return ", ".join(parts)


_LONG = 8_000
"""Lines of PTX that take ptxas several seconds."""


def others(quality: Quality) -> list[OptionSet]:
    """What may cure the code of the first set, which is of this `quality`, the most likely first.

    Each is tried without optimising again, until one is clean or there is no room for more (`has_room`).
    """
    if quality.is_clean:
        return []
    return [_RECOMPUTED, *([] if quality.serialisations else [_ORDERED]), _MOVED]


def has_room(tried: int, lines: int) -> bool:
    """Whether one more option set may be tried, after so many, of code of so many lines of PTX.

    Three together take no more than three times what the wheel takes. The bound is a size and not a time, so that a
    module gets the same code however busy the machine is.
    """
    return tried < (3 if lines <= _LONG else 2)
