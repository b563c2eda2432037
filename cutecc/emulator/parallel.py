"""All blocks of a launch: in this process, or in several where blocks have nothing to do with each other and it pays.

Findings, printed text and the order in which a schedule takes the warps are the same in one process and in several,
because waves are. To find races between blocks their accesses have to be compared with each other, which one process
does that runs them all.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.emulator.checks.history import History
from cutecc.emulator.checks.reports import merge_findings
from cutecc.emulator.launch import BlocksRun, Work, load_program, run_wave
from cutecc.emulator.memory.allocations import Allocation
from cutecc.emulator.memory.sharing import SharedMemory, share
from cutecc.emulator.waves import Queue, Waves, are_independent, waves
from cutecc.errors import EmulatorError
from cutecc.support.pool import WorkerPool

if TYPE_CHECKING:
    from cutecc.emulator.machine.lanes import Array
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.run import Run
    from cutecc.emulator.machine.schedule import Schedule

_LOOK_AFTER_SECONDS = 0.5
_WORTH_SECONDS = 4.0
"""Work that is left, at the pace so far, for which starting processes pays: each imports NumPy and decodes the PTX."""
_AHEAD = 4
"""Parts for each process that are handed out before the first one's result is needed."""


def run_launch(
    work: Work,
    program: Program,
    allocations: Sequence[Allocation],
    module: Array,
    blocks: Sequence[int],
    show: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
    started: Callable[[Run], None] | None = None,
    schedule: Schedule | None = None,
) -> BlocksRun:
    """Run blocks of a launch; `program` is the one of its PTX, `module` its variables, which the blocks change.

    `show` takes what the kernel prints, block by block, `progress` how many blocks have run and how many will, and
    `started` each part that begins in this process. `schedule` is another one than the options name, in this process.
    Raises `EmulatorError` for the first fault in the order of blocks, unless something is checked.
    """
    options = work.options
    parts = waves(program, work.launch, blocks, options.schedule)
    queue = Queue(parts, work.launch)
    whole = _Whole(len(blocks), progress)
    may_share = (
        schedule is None
        and len(parts) > 1
        and options.cores > 1
        and "races" not in options.check
        and are_independent(program)
    )
    history = History()
    start = time.monotonic()
    while queue and not whole.is_stuck:
        if may_share and (options.processes or _pays(time.monotonic() - start, whole.parts, len(parts))):
            with share(allocations, module) as memory:
                if memory is not None:
                    _run_in_processes(work, memory, parts, show, whole)
                    break
            may_share = False
        before = queue.gone
        part = run_wave(
            work, program, allocations, module, queue.begin(), history, show, started, queue.cancel, schedule
        )
        part.blocks = queue.gone - before
        whole.add(part)
    return whole.result


class _Whole:
    """What came of the parts so far, in their order."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.result = BlocksRun()
        self.parts = 0
        self._total = total
        self._progress = progress
        self._tell()

    @property
    def is_stuck(self) -> bool:
        """Whether something has failed, or threads wait for good, which those of the next blocks would do as well."""
        return self.result.failure is not None or any(finding.kind == "deadlock" for finding in self.result.findings)

    def add(self, part: BlocksRun) -> None:
        """Take the next part's results."""
        self.parts += 1
        self.result.blocks += part.blocks
        self.result.findings = merge_findings([*self.result.findings, *part.findings])
        self.result.stopped += part.stopped
        self.result.failure = part.failure
        if part.counters is not None:
            if self.result.counters is None:
                self.result.counters = part.counters
            else:
                self.result.counters.add(part.counters)
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self.result.blocks, self._total)


def _pays(seconds: float, done: int, parts: int) -> bool:
    return done > 0 and seconds > _LOOK_AFTER_SECONDS and seconds / done * (parts - done) > _WORTH_SECONDS


# Processes.


@dataclass(frozen=True)
class _Part:
    """What came of a part in another process."""

    run: BlocksRun
    printed: list[str]
    steps: int
    """Instructions that it took."""
    error: EmulatorError | None = None


def _run_in_processes(
    work: Work, memory: SharedMemory, parts: Waves, show: Callable[[str], None], whole: _Whole
) -> None:
    """Run the parts that are left; their results come in the order of parts."""
    left, cores = range(whole.parts, len(parts)), work.options.cores
    pool = WorkerPool(min(cores, len(left)))
    running: deque[Future[_Part]] = deque()
    try:
        for number in left:
            running.append(pool.submit(run_part, work, memory, parts[number]))
            # No more than keeps all processes busy: there may be millions.
            while len(running) > (0 if number == left[-1] else _AHEAD * cores):
                part = running.popleft().result()
                work.budget.step(part.steps)
                for text in part.printed:
                    show(text)
                if part.error is not None:
                    raise part.error
                whole.add(part.run)
                if whole.is_stuck:
                    return
    finally:
        pool.kill()


def run_part(work: Work, memory: SharedMemory, blocks: Sequence[int]) -> _Part:
    """Runs in another process: blocks of a launch, on memory in a file."""
    allocations, module = memory.open()
    printed: list[str] = []
    budget, before = work.budget, work.budget.steps

    def show(text: str) -> None:
        budget.show(text)
        printed.append(text)

    try:
        program = load_program(work.ptx, work.launch.kernel.name, budget.limits)
        run = run_wave(work, program, allocations, module, blocks, History(), show)
    except EmulatorError as error:
        return _Part(BlocksRun(), printed, before - budget.steps, error)
    return _Part(run, printed, before - budget.steps)
