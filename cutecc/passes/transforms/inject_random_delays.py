"""Warps wait for random times where they meet others, so that those in front run into those behind."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from cutecc.errors import UsageError
from cutecc.ir.building import after, at_start, before, located
from cutecc.ir.mlir import ir, nvvm
from cutecc.ir.modules import body_of
from cutecc.ir.walking import walk
from cutecc.passes.debug_counter import limited
from cutecc.passes.diagnostics import remark
from cutecc.passes.lowering.values.integers import computed, constant
from cutecc.passes.nesting import OperationPass
from cutecc.passes.registry import register

_LONGEST = 1_000_000
"""Nanoseconds that `nanosleep` sleeps at most (PTX ISA, "nanosleep")."""
_STEPS = 11
"""Bits of a random number that become a length; multiplied by `_LONGEST`, they fit into 32."""

_BOTH = ("before", "after")
_SITES = {
    # Of a block's threads.
    "nvvm.barrier": _BOTH,
    "nvvm.barrier0": _BOTH,
    "nvvm.barrier.cta.sync": _BOTH,
    "nvvm.barrier.cta.red": _BOTH,
    "nvvm.barrier.arrive": ("before",),
    "nvvm.barrier.cta.arrive": ("before",),
    # Of a cluster's blocks.
    "nvvm.cluster.arrive": ("before",),
    "nvvm.cluster.arrive.relaxed": ("before",),
    "nvvm.cluster.wait": _BOTH,
    # By mbarriers. A store to another block arrives at one.
    "nvvm.mbarrier.init": ("before",),
    "nvvm.mbarrier.arrive": ("before",),
    "nvvm.mbarrier.arrive.expect_tx": ("before",),
    "nvvm.mbarrier.arrive.nocomplete": ("before",),
    "nvvm.mbarrier.arrive_drop": ("before",),
    "nvvm.mbarrier.arrive_drop.expect_tx": ("before",),
    "nvvm.mbarrier.arrive_drop.nocomplete": ("before",),
    "nvvm.mbarrier.complete_tx": ("before",),
    "nvvm.cp.async.mbarrier.arrive": ("before",),
    "nvvm.store.async": ("before",),
    "nvvm.mbarrier.try_wait": _BOTH,
    "nvvm.mbarrier.try_wait.parity": _BOTH,
    "nvvm.mbarrier.wait": _BOTH,
    "nvvm.mbarrier.wait.parity": _BOTH,
    # By pipelines of the experimental DSL.
    "lir.barrier_sync": _BOTH,
    "lir.producer_acquire": _BOTH,
    "lir.producer_commit": ("before",),
    "lir.consumer_wait": _BOTH,
    "lir.consumer_release": ("before",),
    # By flags in global memory, where they have these orders.
    "nvvm.atomicrmw": ("before",),
    "nvvm.red": ("before",),
    "nvvm.store.ext": ("before",),
    # Of launches. What a kernel does behind the first is still to be waited for.
    "llvm.inline_asm": ("after",),
    "nvvm.griddepcontrol": ("after",),
}
"""Operations by which warps wait for each other, and where warps are delayed.

What a thread waits for alone, its own asynchronous copies and matrix products, is not among them: who waits late finds
them done, and does not notice that it has waited for too few. Nor is what the threads of one warp do, which are delayed
together.
"""
_ORDERS = ("release", "acq_rel", "seq_cst")
_APART = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F)
"""Odd numbers that tell a warp's number and its block's three indices apart (xxHash's primes)."""
_MIX = (0x7FEB352D, 15, 0x846CA68B)
"""Factor, shift and factor, behind which the upper bits depend on all of a number's (Wellons, "Hash Prospector")."""


@register
@dataclass(frozen=True)
class InjectRandomDelays(OperationPass):
    """Delay warps at random where they synchronise, so that missing synchronisation shows in the results.

    At barriers, cluster barriers, mbarriers, releases of flags, and at the start of kernels that have any of these.
    Each time every second warp goes on at once, and the others wait for up to `most` nanoseconds; the threads of a warp
    stay together. A correct kernel computes the same as before, only later.
    """

    name: ClassVar[str] = "inject-random-delays"
    runs_on: ClassVar[tuple[str, ...]] = ("gpu.module",)

    most: int = 2000
    """The longest delay, in nanoseconds: 1 to 1000000. The hardware may take up to twice as long."""
    seed: int = 0
    """Other delays for every number."""
    repeatable: bool = False
    """Draw from the seed, the place, the warp and its block alone, not from the clock: a place delays a warp equally
    in every turn of a loop and every launch."""

    def __post_init__(self) -> None:
        if not 1 <= self.most <= _LONGEST:
            raise UsageError(f"most is 1 to {_LONGEST} nanoseconds, not {self.most}")

    def run(self, operation: ir.Operation) -> None:
        place = 0
        # Functions on the device, whatever dialect's they are.
        for kernel in (each for each in body_of(operation) if len(each.regions) and len(each.regions[0].blocks)):
            sites = list(limited(_sites(kernel)))
            if not sites:
                remark(kernel, "delays no warps, for they wait for no others")
                continue
            with at_start(kernel.regions[0].blocks[0]), located(kernel):
                warp = _warp()
                self._delay(warp, place)
            remark(kernel, f"delays warps by up to {self.most} ns at the start")
            for site in sites:
                where = _SITES[site.name]
                for each in where:
                    place += 1
                    with before(site) if each == "before" else after(site):
                        self._delay(warp, place)
                called = "griddepcontrol" if site.name == "llvm.inline_asm" else site.name
                remark(site, f"delays warps by up to {self.most} ns {' and '.join(where)} {called}")
            place += 1

    def _delay(self, warp: ir.Value, place: int) -> None:
        """Build the delay of a warp at a place."""
        drawn = computed("arith.addi", warp, _word(zlib.crc32(f"{self.seed} {place}".encode())))
        if not self.repeatable:
            drawn = computed("arith.xori", drawn, _read("clock"))
        first, shift, second = _MIX
        drawn = computed("arith.muli", drawn, _word(first))
        drawn = computed("arith.xori", drawn, computed("arith.shrui", drawn, _word(shift)))
        drawn = computed("arith.muli", drawn, _word(second))
        # Half of the numbers are negative: only who goes on at once runs into who does not.
        step = computed("arith.maxsi", computed("arith.shrsi", drawn, _word(31 - _STEPS)), _word(0))
        nvvm.nanosleep(computed("arith.shrui", computed("arith.muli", step, _word(self.most + 1)), _word(_STEPS)))


def _sites(kernel: ir.Operation) -> Iterator[ir.Operation]:
    """Where warps of a kernel are delayed."""
    initialising: ir.Block | None = None
    for operation in walk(kernel, *_SITES):
        match operation.name:
            case "nvvm.mbarrier.init":
                # Several in a row need one delay.
                if initialising is not None and operation.block == initialising:
                    continue
            case (
                "nvvm.mbarrier.try_wait"
                | "nvvm.mbarrier.try_wait.parity"
                | "nvvm.mbarrier.wait"
                | ("nvvm.mbarrier.wait.parity")
            ):
                # One that has a result looks, and does not wait.
                if len(operation.results):
                    continue
            case "nvvm.atomicrmw" | "nvvm.red" | "nvvm.store.ext":
                if not any(order in str(attribute) for attribute in operation.attributes.values() for order in _ORDERS):
                    continue
            case "llvm.inline_asm":
                if "griddepcontrol" not in str(operation.attributes["asm_string"]):
                    continue
            case _:
                pass
        initialising = operation.block if operation.name == "nvvm.mbarrier.init" else None
        yield operation


def _warp() -> ir.Value:
    """A number that is the same for the threads of a warp, and another for those of other warps and blocks."""
    thread = _read("tid.z")
    for axis in "yx":
        thread = computed("arith.addi", computed("arith.muli", thread, _read(f"ntid.{axis}")), _read(f"tid.{axis}"))
    indices = [computed("arith.shrui", thread, _word(5)), *(_read(f"ctaid.{axis}") for axis in "xyz")]
    parts = [computed("arith.muli", index, _word(factor)) for index, factor in zip(indices, _APART, strict=True)]
    return reduce(lambda total, part: computed("arith.addi", total, part), parts)


def _read(register: str) -> ir.Value:
    """The special register `%register`, of 32 bits."""
    return ir.Operation.create(f"nvvm.read.ptx.sreg.{register}", [ir.IntegerType.get_signless(32)]).result


def _word(number: int) -> ir.Value:
    """The lowest 32 bits of a number."""
    return constant((number + (1 << 31)) % (1 << 32) - (1 << 31), 32)
