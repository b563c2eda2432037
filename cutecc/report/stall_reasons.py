"""Why a warp waited when a sample was taken, in words."""

from __future__ import annotations

STALL_REASONS = {
    "barrier": "waits at a barrier for other warps of the block",
    "branch_resolving": "waits until it is known where a branch goes",
    "dispatch": "is held back between the scheduler and the units",
    "drain": "has ended, and waits until its stores are written",
    "gmma": "waits for the tensor cores of its warpgroup",
    "imc": "waits for a constant that is not in the cache",
    "lg": "waits for room in the queue of global and local accesses: there are too many",
    "long_sb": "waits for data of global, local or texture memory",
    "math": "waits for an arithmetic unit that is busy",
    "membar": "waits at a fence of memory",
    "mio": "waits for room in the queue of shared memory and special functions",
    "misc": "waits for something else",
    "no_inst": "waits for the next instruction, which is not in the cache, or was jumped to",
    "not_selected": "could go on, another warp was chosen",
    "selected": "went on",
    "short_sb": "waits for data of shared memory or a special function",
    "sleeping": "sleeps",
    "tex": "waits for room in the queue of textures",
    "wait": "waits the fixed time of the instruction before",
    "warpgroup_arrive": "waits for the other warps of its warpgroup",
}
"""By the names that Nsight Compute gives them behind `stall_`."""

_OTHER_NAMES = {
    "constant_misc": "imc",
    "imc_miss": "imc",
    "lg_throttle": "lg",
    "long_scoreboard": "long_sb",
    "math_pipe_throttle": "math",
    "mio_throttle": "mio",
    "no_instruction": "no_inst",
    "no_instructions": "no_inst",
    "short_scoreboard": "short_sb",
    "sleep": "sleeping",
    "tex_throttle": "tex",
}


def reason_in_words(name: str) -> str:
    """What the reason of a name means; of one that is not known, the name itself."""
    return STALL_REASONS.get(_OTHER_NAMES.get(name, name), name.replace("_", " "))
