"""What the names of CUPTI's stall reasons mean, and what to do about them.

A sample is of an instruction that a warp is to execute next. Its reason says why the warp has not done so, or that it
has (`selected`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Stall(NamedTuple):
    """A reason in words."""

    waits: str
    """What the warp does: `waits for a value from global or local memory`."""
    advice: str
    """What to look at; empty where the reason is no trouble."""


STALLS: dict[str, Stall] = {
    "selected": Stall("issues this instruction", ""),
    "not_selected": Stall("is ready, and another warp issues", "the schedulers are busy: fewer instructions help"),
    "barrier": Stall("waits at a barrier of its block", "warps arrive at different times: balance their work"),
    "membar": Stall("waits for a memory fence", "fewer fences, or fences of the block instead of the device"),
    "long_scoreboard": Stall(
        "waits for a value from global or local memory",
        "the load is issued too late: prefetch, more stages, or more warps",
    ),
    "short_scoreboard": Stall(
        "waits for a value from shared memory or a special function unit",
        "bank conflicts, or too little between a load and its use",
    ),
    "lg_throttle": Stall("waits to issue a global or local access", "many narrow accesses: make them wider"),
    "mio_throttle": Stall(
        "waits to issue to shared memory or a special function unit", "many narrow accesses, or bank conflicts"
    ),
    "tex_throttle": Stall("waits to issue to the texture unit", "fewer texture and surface accesses"),
    "math_pipe_throttle": Stall("waits for a busy arithmetic unit", "the unit is the limit: it is well used"),
    "wait": Stall("waits a fixed number of cycles for the instruction before", "longer chains than there are warps"),
    "dispatch_stall": Stall("is held back by the dispatcher", "conflicts of register banks or of units"),
    "drain": Stall("waits for its stores before it ends", "stores at the end of a kernel: make them wider"),
    "branch_resolving": Stall("waits for a branch to be taken", "short loops: unroll them"),
    "no_instructions": Stall("waits for instructions to be fetched", "the code is long or jumps: unroll less"),
    "imc_miss": Stall("waits for a constant or an argument", "the first read of a constant: few of them matter"),
    "sleeping": Stall("sleeps", "it was told to: nanosleep, or a wait with a time limit"),
    "misc": Stall("waits for something that has no name", ""),
    "warpgroup_arrive": Stall(
        "waits for products of its warpgroup (wgmma)", "the tensor cores are the limit, or their operands are late"
    ),
    "gmma": Stall("waits for products of its warpgroup (wgmma)", "the tensor cores are the limit"),
}
"""By CUPTI's name without its prefix."""

_OTHER_NAMES = {
    "constant_misc": "imc_miss",
    "dispatch": "dispatch_stall",
    "imc": "imc_miss",
    "lg": "lg_throttle",
    "long_sb": "long_scoreboard",
    "math": "math_pipe_throttle",
    "mio": "mio_throttle",
    "no_inst": "no_instructions",
    "no_instruction": "no_instructions",
    "short_sb": "short_scoreboard",
    "sleep": "sleeping",
    "tex": "tex_throttle",
}
"""What Nsight Compute calls some of them, behind `stall_`."""


def stall_of(name: str) -> Stall:
    """The reason that CUPTI or Nsight Compute calls so; of one that is not known, the name itself."""
    return STALLS.get(_OTHER_NAMES.get(name, name), Stall(f"waits: {name.replace('_', ' ')}", ""))


_TRY_WAIT = re.compile(r"(?:@!?U?P\w+\s+)?U?SYNCS\.PHASECHK\b")
_WARPGROUP_WAIT = re.compile(r"(?:@!?U?P\w+\s+)?WARPGROUP\.DEPBAR")
_FULL = Stall("waits for shared memory to be filled (mbarrier)", "the producer is late: more stages, or earlier copies")
_EMPTY = Stall("waits for shared memory to be free (mbarrier)", "the consumers are the limit")
_MBARRIER = Stall("waits for an mbarrier", "whoever arrives there is late")
_CONSUMES = re.compile(r"consumer\w*wait|(?<![a-z])full")
_PRODUCES = re.compile(r"producer\w*(?:acquire|wait)|(?<![a-z])empty")
_SCOREBOARDS = ("long_scoreboard", "short_scoreboard")
"""Reasons of an instruction that needs what another one is to bring."""


def explain(reason: str, instruction: str = "", *, awaited: Sequence[str] = (), source: str = "") -> Stall:
    """A reason in words, for an instruction of SASS on a line of Python whose text is `source`.

    `awaited` are the instructions that bring what it needs. Where these ask for the phase of an mbarrier, that is what
    the warp waits for; who is late is told by what the line calls.
    """
    if reason in _SCOREBOARDS and any(map(_TRY_WAIT.match, (instruction, *awaited))):
        if _CONSUMES.search(source):
            return _FULL
        return _EMPTY if _PRODUCES.search(source) else _MBARRIER
    if reason == "barrier" and _WARPGROUP_WAIT.match(instruction):
        return STALLS["warpgroup_arrive"]
    return stall_of(reason)
