"""What to do about a finding, by its kind. Findings of races say so themselves, by what is known (`wording`)."""

from __future__ import annotations

from cutecc.emulator.checks.finding import Finding, FindingKind

HINTS: dict[FindingKind, str] = {
    "out-of-bounds": "look at the index and the predicate here, and at the sizes of the launch",
    "misaligned": "a vector access needs an offset, and rows, of a multiple of its size",
    "uninitialised-shared": "fill all that is read, tails and halos too, or leave out what is not there",
    "uninitialised-register": "set it on all ways to here: accumulators start with fill(0) or without accumulation",
    "barrier": "all threads that come to a barrier name the same number of threads, a multiple of 32",
    "divergent-barrier": "move the barrier out of the branch, or have the condition be the same for whole warps",
    "mbarrier": "initialise it once, for as many arrivals as there are in a phase, and announce the bytes that come",
    "accumulator": "cute.nvgpu.warpgroup.wait_group(0) before the registers are read; warpgroup.fence() before a "
    "multiplication uses what others wrote",
    "trap": "a device assertion failed, or the kernel asked for what hardware answers with a fault",
}


_OF_SHARED = "look at the index here, and at how much shared memory the kernel allocates"
"""Out of bounds of a block's shared memory, which is the kernel's own."""
_OF_BULK = "look at the size of the copy and at where it begins: no predicate cuts off what is past the end"
"""Out of bounds of global memory by a bulk copy."""


def hint_of(finding: Finding) -> str | None:
    """`None` where the message has further lines, which say more."""
    if "\n" in finding.message:
        return None
    if finding.kind == "out-of-bounds" and finding.message.endswith("shared memory"):
        return _OF_SHARED
    if finding.kind == "out-of-bounds" and finding.message.startswith("a bulk copy"):
        return _OF_BULK
    return HINTS.get(finding.kind)
