"""A mistake of the checks' own ends the checks, and neither the run nor what they have found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cutecc.emulator.checks.checker import Checker
from cutecc.emulator.checks.finding import Stopped
from cutecc.emulator.checks.instrument import instrument
from cutecc.emulator.checks.leftovers import report_leftovers
from cutecc.emulator.checks.selection import ALWAYS
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.watch import EVENTS, Agent, Watch

if TYPE_CHECKING:
    from cutecc.emulator.checks.history import History
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program

_NOBODY: Agent = -1


class Contained(Watch):
    """The checks of one machine, as long as they do not fail; what fails is told to `stopped`."""

    def __init__(
        self, machine: Machine, program: Program, which: frozenset[str], history: History, stopped: list[Stopped]
    ) -> None:
        """`which` are names of `CheckName`. Checks that have failed for other blocks of the launch are not begun again:
        what they remember of global memory lacks accesses."""
        self._machine = machine
        self._program = program
        self._which = which
        self._history = history
        self._stopped = stopped
        self._checker: Checker | None = None
        self.steps: Sequence[Step | None] = program.steps
        """The program's, with checks around those that need it."""
        if not history.is_broken:
            self._call(self._begin, None)

    def _begin(self) -> None:
        checker = Checker(self._machine, self._program, self._which, self._history)
        self.steps = instrument(self._program, checker, self._call)
        self._checker = checker
        self.listens, self.counts = checker.listens, checker.counts
        for event in EVENTS:
            if event != "end":
                setattr(self, event, partial(self._tell, getattr(checker, event)))

    def _call(self, check: Callable[[], None], operation: Operation | None) -> None:
        """Have the checks do something, which an instruction asks for."""
        if not self._history.is_broken:
            self._contain(check, operation)

    def _contain(self, check: Callable[[], None], operation: Operation | None) -> None:
        try:
            check()
        except Exception as failure:  # whatever it is, the kernel's findings are worth more
            self._stop(failure, operation)

    def _stop(self, failure: Exception, operation: Operation | None) -> None:
        self._history.is_broken = True
        self.listens = self.counts = False
        machine = self._machine
        location = None if operation is None else operation.instruction.location
        self._stopped.append(Stopped.of(failure, self._which - ALWAYS, location, machine.schedule_name, machine.seed))
        if self._checker is not None:
            try:
                found = self._checker.take()
            except Exception:  # the failure that is told may be this very one
                found = self._checker.take(settled=False)
            for finding in found:
                machine.report(finding)

    def _tell(self, check: Callable[..., Any], *arguments: Any) -> Any:
        """What the checker's `check` gives back of an event; once it has failed, nobody's number."""
        if self._history.is_broken:
            return _NOBODY
        try:
            return check(*arguments)
        except Exception as failure:
            self._stop(failure, next((each for each in arguments if isinstance(each, Operation)), None))
            return _NOBODY

    def end(self) -> None:
        # What was announced wrongly lets waits pass too early, of which races come: it is told first.
        self._contain(lambda: report_leftovers(self._machine), None)
        if (to := self._checker) is not None:
            self._call(to.end, None)
