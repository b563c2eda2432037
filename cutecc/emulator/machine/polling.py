"""Loops that wait for what others do: they change nothing and look, time after time."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.ptx.syntax import Instruction

_POLLING = {"atom", "nanosleep"}
_POLLING_LOADS = {"volatile", "relaxed", "acquire"}
_ONLY_COMPUTE = {
    *("setp", "set", "selp", "mov", "add", "sub", "and", "or", "xor", "not", "bra", "cvt", "cvta", "mul", "mad", "ld"),
    *("shl", "shr", "shf", "lop3", "prmt", "bfe", "bfi", "popc", "clz", "neg", "abs", "div", "rem", "max", "min"),
    *("fence", "membar", "nanosleep", "atom", "mapa", "vote", "match", "activemask", "elect", "shfl", "redux"),
}
"""Opcodes of a loop that waits for something that others do."""


def is_polling(loop: Sequence[Instruction]) -> bool:
    """Whether a loop only looks whether something has changed."""
    return any(_looks(each) for each in loop) and all(_only_looks(each) for each in loop)


def awaits_blocks(loop: Sequence[Instruction]) -> bool:
    """Whether a loop may wait for blocks of other clusters."""
    seen = {each.opcode for each in loop if _looks(each) and _sees_other_blocks(each)}
    # A loop that does more, a barrier between looks, may wait as well; one with an atomic most often counts.
    return "ld" in seen or (bool(seen) and is_polling(loop))


def _looks(instruction: Instruction) -> bool:
    """Whether an instruction sees what other threads do."""
    if instruction.opcode == "ld":
        return any(each in _POLLING_LOADS for each in instruction.modifiers)
    if instruction.opcode == "mbarrier":
        return instruction.modifiers[0] in ("test_wait", "try_wait")
    return instruction.opcode in _POLLING


def _only_looks(instruction: Instruction) -> bool:
    """Whether an instruction does nothing that others could wait for."""
    if instruction.opcode in ("bar", "barrier"):
        return instruction.modifiers[:1] == ("warp",)
    return _looks(instruction) or instruction.opcode in _ONLY_COMPUTE


def _sees_other_blocks(instruction: Instruction) -> bool:
    """Whether what a loop looks at may be what blocks of other clusters do."""
    in_shared = any(modifier.startswith("shared") for modifier in instruction.modifiers)
    return instruction.opcode in ("ld", "atom") and not in_shared
