"""What an instruction's memory semantics say: strong or weak, release, acquire, and how far they reach."""

from __future__ import annotations

from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation

WEAK, OF_BLOCK, WIDE = range(3)
"""A strong access is morally strong towards threads of the same block, or of any block."""

_STRONG = ("relaxed", "acquire", "release", "acq_rel", "volatile", "mmio")


def strength(operation: Operation) -> int:
    """How strong the operation's accesses are. Atomics are relaxed at least, of the whole GPU by default."""
    form = operation.form
    if form.opcode in ("ld", "st"):
        if not any(form.has(each) for each in _STRONG):
            return WEAK
    elif form.opcode == "mbarrier":
        return WEAK if form.modifiers[:1] in (("init",), ("inval",)) else WIDE
    elif not (form.opcode in ("atom", "red", "multimem") or form.has("reduce")):
        return WEAK
    return OF_BLOCK if form.has("cta") else WIDE


def is_initialisation(operation: Operation) -> bool:
    """Whether the operation initialises an mbarrier."""
    return operation.form.opcode == "mbarrier" and operation.form.modifiers[:1] == ("init",)


def acquires(form: Form) -> bool:
    return form.has("acquire") or form.has("acq_rel")


def releases(form: Form) -> bool:
    return form.has("release") or form.has("acq_rel")


def fences_threads(form: Form) -> bool:
    """Whether a fence orders memory among threads: not those of proxies, which only order a thread's own accesses."""
    return not form.has("proxy") and not form.has("mbarrier_init")


def is_of_block(form: Form) -> bool:
    """Whether a fence reaches no further than the block: `.cta`. `membar` without a level does not exist."""
    return form.has("cta")
