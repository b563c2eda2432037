"""A run on the emulator that shows what the prover suspects: sizes of the user's own, and an order of the warps."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cutecc.emulator.checks.finding import Finding, FindingKind
from cutecc.emulator.limits import Limits
from cutecc.emulator.options import ALL, SCHEDULES, EmulatorOptions
from cutecc.emulator.orders.budget import OrdersBudget
from cutecc.emulator.report import finding_dict
from cutecc.errors import Error
from cutecc.harness.arguments import make_arguments
from cutecc.harness.on_device import DeviceArguments, HostMemory
from cutecc.proving.sizes import Launching, Sizes

if TYPE_CHECKING:
    from cutecc.arguments.specs import Spec
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.orders.kept_schedule import KeptSchedule
    from cutecc.kernel import Kernel
    from cutecc.proving.proof import Proof

_OF_SYNCHRONISATION: frozenset[FindingKind] = frozenset(
    ("deadlock", "race", "mbarrier", "barrier", "divergent-barrier", "accumulator", "uninitialised-shared")
)
"""What a missing or wrong synchronisation shows as; the last one where the reader is early."""
_MORE = (0, 1, 2, 4, 8)
"""Than the proof's numbers: what a run has to find may be some steps behind what a proof finds."""
_BLOCKS = "0:1"
"""The first block, and what is in its cluster."""
_ORDERS_SECONDS = 10.0
"""For all orders of one launch."""


@dataclass(frozen=True)
class Witness:
    """A run that fails."""

    sizes: Sizes
    blocks: str
    schedule: str
    """One of the emulator's, or `all` for the order that is kept."""
    findings: Sequence[Finding]
    order: KeptSchedule | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        found: dict[str, Any] = {"sizes": self.sizes, "blocks": self.blocks, "schedule": self.schedule}
        return found | {"findings": [finding_dict(each) for each in self.findings]}


def tell_preconditions(proof: Proof, kernel: Kernel, specs: Mapping[str, Spec]) -> None:
    """Say a proof's preconditions in the user's names, where a number follows one of their sizes."""
    launching = Launching(kernel, specs, proof.kernel, proof.formulas)
    for number, least in proof.least.items():
        # What is true from the size on with which the number is too small for the last time.
        tie = launching.tie(number, least - 1) if least > 1 else None
        first = 1 if tie is None else tie.value + 1
        if (follows := tie or launching.tie(number, least)) is not None:
            proof.preconditions[number] = f"{follows.size} at least {first}"


def refute(proof: Proof, kernel: Kernel, specs: Mapping[str, Spec], outputs: Sequence[str], seconds: float) -> None:
    """Look for a run that shows what a suspicious proof tells, for so many seconds: then it is refuted.

    `kernel` is compiled with the lines of its source. Raises `Error` for one that the emulator does not run.
    """
    launching = Launching(kernel, specs, proof.kernel, proof.formulas)
    running = _Running(kernel, specs, outputs, time.monotonic() + seconds)
    witness = running.search(list(_tries(proof, launching)))
    proof.tried = running.tried
    if witness is not None:
        proof.answer, proof.witness = "refuted", witness


def _tries(proof: Proof, launching: Launching) -> Iterator[Sizes]:
    """Sizes to try: those of the proof's numbers, of a few more steps, and the user's own."""
    numbers = {name: number for name, number in proof.sizes.items() if name in proof.formulas}
    seen: list[Sizes] = []
    for more in _MORE if numbers else ():
        for sizes in launching.sizes_for({name: number + more for name, number in numbers.items()}):
            if sizes not in seen:
                seen.append(sizes)
                yield sizes
    if launching.own not in seen:
        yield launching.own


class _Running:
    def __init__(self, kernel: Kernel, specs: Mapping[str, Spec], outputs: Sequence[str], deadline: float) -> None:
        self._kernel, self._specs, self._outputs, self._deadline = kernel, specs, outputs, deadline
        self._tried: dict[str, list[str]] = {}

    @property
    def tried(self) -> list[str]:
        """What has run and found nothing, or could not: by sizes, the schedules."""
        return [f"{sizes}: {', '.join(schedules)}" for sizes, schedules in self._tried.items()]

    def search(self, tries: Sequence[Sizes]) -> Witness | None:
        """The first run that finds something: all sizes in the usual schedules come before all orders of any."""
        plans = [(sizes, schedule) for sizes in tries for schedule in SCHEDULES]
        plans += [(sizes, ALL) for sizes in tries]
        for sizes, schedule in plans:
            left = self._deadline - time.monotonic()
            if left <= 0:
                break
            what = "all orders" if schedule == ALL else schedule
            try:
                found = self._run(sizes, schedule, left)
            except Error as error:
                found, what = None, f"{what} ({error.message})"
            if found is not None:
                return found
            self._tried.setdefault(", ".join(f"{name}={value}" for name, value in sizes.items()), []).append(what)
        return None

    def _run(self, sizes: Sizes, schedule: str, seconds: float) -> Witness | None:
        options = EmulatorOptions(
            check=True,
            schedule=schedule,
            blocks=_BLOCKS,
            budget=OrdersBudget(min(seconds, _ORDERS_SECONDS)) if schedule == ALL else None,
            limits=replace(Limits(), seconds=max(1.0, seconds)),
        )
        emulation = self._emulate(sizes, options)
        for order in emulation.orders.witnesses if emulation.orders is not None else ():
            if findings := _of_synchronisation(order.findings):
                return Witness(sizes, _BLOCKS, schedule, findings, order.schedule)
        findings = _of_synchronisation(emulation.findings)
        return Witness(sizes, _BLOCKS, schedule, findings) if findings else None

    def _emulate(self, sizes: Sizes, options: EmulatorOptions) -> Emulation:
        arguments = make_arguments(self._specs, self._outputs, sizes=sizes)
        arguments.randomize(options.seed)
        with HostMemory() as memory:
            given = DeviceArguments(arguments, memory)
            given.upload()
            return self._kernel.emulator.emulate((), given.by_name, options)


def _of_synchronisation(findings: Sequence[Finding]) -> list[Finding]:
    return [each for each in findings if each.kind in _OF_SYNCHRONISATION]
