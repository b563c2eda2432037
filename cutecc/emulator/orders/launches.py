"""A launch in all its orders, or in one that was kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cutecc.emulator.checks.reports import merge_findings, merge_key
from cutecc.emulator.grid import cluster_and_rank, cluster_of, is_cooperative
from cutecc.emulator.launch import BlocksRun, Work
from cutecc.emulator.options import REPLAY
from cutecc.emulator.orders.budget import OrdersBudget
from cutecc.emulator.orders.director import Director
from cutecc.emulator.orders.exploring import Abandoned, Explorer
from cutecc.emulator.orders.kept_schedule import KeptSchedule, Step, digest_of
from cutecc.emulator.orders.result import ORDER, Orders, Witness
from cutecc.emulator.orders.trace import Event, Process
from cutecc.emulator.parallel import run_launch
from cutecc.emulator.waves import are_independent
from cutecc.errors import EmulatorError, UsageError

if TYPE_CHECKING:
    from cutecc.emulator.machine.lanes import Array
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.run import Run
    from cutecc.emulator.memory.allocations import Allocation


class _Spent(BaseException):
    """The budget is. No error: nobody else catches it."""


Told = Callable[["Run"], None]


@dataclass
class OrdersLeft:
    """What is left of a call's budget, and how far it got: shared by its launches."""

    budget: OrdersBudget
    executed: int = 0
    witnesses: int = 0
    seen: set[Hashable] = field(default_factory=set[Hashable])
    """What was found already."""
    seconds: float = 0.0
    """That were spent on launches before."""
    _started: float = 0.0

    @contextmanager
    def counting(self) -> Generator[None]:
        """Have the clock run."""
        self._started = time.monotonic() - self.seconds
        try:
            yield
        finally:
            self.seconds = time.monotonic() - self._started

    def ask(self) -> None:
        """Raise `_Spent` if nothing is left."""
        seconds, orders = self.budget.seconds, self.budget.orders
        is_late = seconds is not None and time.monotonic() - self._started > seconds
        if is_late or (orders is not None and self.executed >= orders):
            raise _Spent


@dataclass(frozen=True)
class Launched:
    """A launch, its memory, and who is told of it."""

    work: Work
    program: Program
    allocations: Sequence[Allocation]
    module: Array
    number: int
    """Which launch of the call, from 0 on."""
    started: Told | None = None

    def run(
        self, blocks: Sequence[int], director: Director, show: Callable[[str], None] = lambda text: None
    ) -> BlocksRun:
        """Run blocks as directed."""

        def started(run: Run) -> None:
            director.attach(run)
            if self.started is not None:
                self.started(run)

        return run_launch(
            self.work, self.program, self.allocations, self.module, blocks, show, None, started, schedule=director
        )

    def parts(self, blocks: Sequence[int]) -> list[list[int]]:
        """Blocks that may tell each other something: clusters where they are all that does; else all blocks."""
        launch = self.work.launch
        if is_cooperative(launch) or not are_independent(self.program):
            return [list(blocks)]
        shape = cluster_of(launch)
        found: dict[int, list[int]] = {}
        for block in blocks:
            found.setdefault(cluster_and_rank(block, launch.grid, shape)[0], []).append(block)
        return list(found.values())

    @contextmanager
    def restored(self) -> Generator[Callable[[], None]]:
        """What has the memory be as it is now, as often as it is called."""
        arrays = [each.data for each in self.allocations if each.data.flags.writeable] + [self.module]
        copies = [each.copy() for each in arrays]

        def restore() -> None:
            for array, copy in zip(arrays, copies, strict=True):
                array[...] = copy

        yield restore


def explore(
    launched: Launched, blocks: Sequence[int], left: OrdersLeft, ordinary: Callable[[], BlocksRun]
) -> BlocksRun:
    """Run a launch as usual by `ordinary`, and then in all orders.

    The memory is at the end what the usual run has left, and so is what is printed. Raises `EmulatorError` for a fault
    where nothing is checked.
    """
    orders = Orders(budget=str(left.budget))
    parts = launched.parts(blocks)
    orders.total = len(parts)
    before = left.seconds
    with launched.restored() as restore:
        found = ordinary()
        found.orders = orders
        if found.failure is not None:
            return found
        left.seen.update(map(merge_key, found.findings))
        with launched.restored() as finish, left.counting():
            try:
                for part in parts:
                    _explore_part(launched, part, left, found, orders, restore)
                    if orders.ended_by is not None:
                        break
                    orders.parts += 1
            except KeyboardInterrupt:
                orders.ended_by = "interrupt"
            finally:
                finish()
    orders.seconds = left.seconds - before
    return found


def _explore_part(
    launched: Launched,
    part: Sequence[int],
    left: OrdersLeft,
    found: BlocksRun,
    orders: Orders,
    restore: Callable[[], None],
) -> None:
    explorer = Explorer(left.ask)
    while not explorer.is_complete:
        try:
            left.ask()
            restore()
            run = launched.run(part, director := explorer.begin())
        except Abandoned:
            explorer.abandon()
            continue
        except _Spent:
            orders.ended_by = "budget"
            return
        left.executed += 1
        orders.executed += 1
        _note(launched, part, left, found, orders, run, director)
        explorer.end()


def _note(
    launched: Launched,
    part: Sequence[int],
    left: OrdersLeft,
    found: BlocksRun,
    orders: Orders,
    run: BlocksRun,
    director: Director,
) -> None:
    """Take what an order has found, and none before."""
    if run.failure is not None and not isinstance(run.failure, EmulatorError):
        raise run.failure
    news = [each for each in run.findings if merge_key(each) not in left.seen]
    found.stopped += [each for each in run.stopped if not found.stopped]
    if not news:
        return
    left.seen.update(map(merge_key, news))
    left.witnesses += 1
    name, seed = f"{ORDER}{left.witnesses}", launched.work.options.seed
    named = [replace(each, schedule=name, seed=seed) for each in news]
    steps = [Step.of(event) for event in director.trace.events]
    kept = KeptSchedule(launched.work.launch.kernel.name, digest_of(launched.work, part), launched.number, part, steps)
    orders.witnesses.append(Witness(kept, named))
    found.findings = merge_findings([*found.findings, *named])


class _Repeating:
    """The policy of an order that was kept."""

    def __init__(self, schedule: KeptSchedule, path: str) -> None:
        self._steps = schedule.steps
        self._path = path
        self._asked = -1

    def choose(self, position: int, offered: Sequence[Process]) -> Process | None:
        if position >= len(self._steps):
            return next(iter(offered), None)
        process = self._steps[position].process
        if self._asked == position or process._replace(answer=0) not in offered:
            raise UsageError(
                f"the kernel does not follow {self._path} any more from its choice {position + 1} on",
                hints=["it has to run on the same inputs: the same --size, --seed and --inputs"],
            )
        self._asked = position
        return process

    def committed(self, event: Event) -> None:
        """It was to happen."""


def repeat(launched: Launched, schedule: KeptSchedule, path: str, show: Callable[[str], None]) -> BlocksRun:
    """Run the blocks of a schedule as it has them. Raises `UsageError` if it is not of this launch."""
    schedule.check(launched.work, path)
    found = launched.run(schedule.blocks, Director(_Repeating(schedule, path)), show)
    found.findings = [replace(each, schedule=f"{REPLAY}{path}") for each in found.findings]
    if isinstance(found.failure, UsageError):
        raise found.failure
    return found
