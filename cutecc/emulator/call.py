"""One call of a kernel on the CPU, its arguments numbers by now: its host program with all launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cutecc.emulator.checks.finding import Finding, Stopped
from cutecc.emulator.host import EmulatorHost, LaunchSummary, Progress
from cutecc.emulator.limits import Budget, Limits
from cutecc.emulator.options import EmulatorOptions
from cutecc.ptx.locations import PtxText
from cutecc.record.host_program import HostProgram
from cutecc.record.variables import Variable
from cutecc.runtime.program.evaluation import Evaluator, StatusError

if TYPE_CHECKING:
    from cutecc.emulator.counters.counters import Counters
    from cutecc.emulator.machine.run import Run
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.emulator.orders.result import Orders


@dataclass(frozen=True)
class Call:
    """What is called, and how; not the memory that it is called on."""

    program: HostProgram
    """Verified."""
    ptx: PtxText
    target: str
    """What the PTX is made for."""
    leaves: Sequence[int | float]
    """The arguments of the program."""
    shapes: Mapping[str, tuple[int, ...]]
    """Of the call's tensors."""
    variables: Sequence[Variable]
    """Memory of the kernels that the source names."""
    options: EmulatorOptions
    limits: Limits


@dataclass
class Outcome:
    """What came of a call."""

    findings: list[Finding] = field(default_factory=list[Finding])
    """In the order of launches and blocks."""
    stopped: list[Stopped] = field(default_factory=list[Stopped])
    """Checks that ended before the blocks did."""
    counters: Counters | None = None
    """Of all launches together."""
    launches: list[LaunchSummary] = field(default_factory=list[LaunchSummary])
    printed: str = ""
    failure: Exception | None = None
    """What ended the call."""
    orders: Orders | None = None
    """Of all launches, where all orders were tried."""
    confined_by: list[str] = field(default_factory=list[str])
    """What kept the call from anything but its memory; nothing in this process."""


def run_call(
    call: Call,
    evaluate: Evaluator,
    allocations: Sequence[Allocation],
    show: Callable[[str], None] | None = None,
    progress: Progress | None = None,
    started: Callable[[Run], None] | None = None,
) -> Outcome:
    """Run a call to its end in this process; `evaluate` is of its program, `allocations` are its memory.

    `show` takes printed text as it comes, `progress` how many blocks have run, `started` what says where they are.
    """
    host = EmulatorHost(
        call.ptx,
        call.target,
        allocations,
        call.options,
        call.shapes,
        call.variables,
        show,
        progress,
        started,
        budget=Budget(call.limits),
    )
    failure: Exception | None = None
    try:
        evaluate(call.leaves, host)
    except Exception as error:
        failure = host.explained(error) if isinstance(error, StatusError) else error
    return Outcome(
        [finding for run in host.runs for finding in run.findings],
        [each for run in host.runs for each in run.stopped],
        _sum([run.counters for run in host.runs if run.counters is not None]),
        host.launches,
        "".join(host.printed),
        failure,
        _all_orders([run.orders for run in host.runs if run.orders is not None]),
    )


def _all_orders(orders: Sequence[Orders]) -> Orders | None:
    """The orders of several launches as one's."""
    if not orders:
        return None
    first, *others = orders
    for other in others:
        first.add(other)
    return first


def _sum(counters: Sequence[Counters]) -> Counters | None:
    """The counters of several launches as one's."""
    if not counters:
        return None
    first, *others = counters
    for other in others:
        first.add(other)
    return first
