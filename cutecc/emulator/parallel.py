"""All blocks of a launch: in this process, or in several where blocks have nothing to do with each other and it pays.

Findings, printed text and the order in which a schedule takes the warps are the same in one process and in several,
because waves are. To find races between blocks their accesses have to be compared with each other, which one process
does that runs them all.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.checks.history import History
from cutecc.emulator.checks.reports import merge_findings
from cutecc.emulator.independence import are_independent
from cutecc.emulator.launch import BlocksRun, load_program, run_wave
from cutecc.emulator.memory.allocations import Allocation, elements_of, merged
from cutecc.emulator.memory.names import Names
from cutecc.emulator.options import EmulatorOptions
from cutecc.emulator.waves import waves
from cutecc.errors import EmulatorError
from cutecc.pool import WorkerPool
from cutecc.ptx.locations import PtxText
from cutecc.runtime.launch import Launch

if TYPE_CHECKING:
    from cutecc.emulator.machine.lanes import Array
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.run import Run

_LOOK_AFTER_SECONDS = 0.5
_WORTH_SECONDS = 4.0
"""Work that is left, at the pace so far, for which starting processes pays: each imports NumPy and decodes the PTX."""
_SHARED_FOLDER = "/dev/shm"
_PAGE = mmap.PAGESIZE


def run_launch(
    ptx: PtxText,
    program: Program,
    launch: Launch,
    allocations: Sequence[Allocation],
    module: Array,
    blocks: Sequence[int],
    options: EmulatorOptions,
    show: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
    started: Callable[[Run], None] | None = None,
    names: Names = Names(),
) -> BlocksRun:
    """Run blocks of a launch; `program` is the one of `ptx`, `module` its variables, which the blocks change.

    `show` takes what the kernel prints, block by block, `progress` how many blocks have run and how many will, and
    `started` each part that begins in this process; `names` are of the kernel's memory.
    Raises `EmulatorError` for the first fault in the order of blocks, unless something is checked.
    """
    parts = waves(program, launch, blocks)
    whole = _Whole(len(blocks), progress)
    may_share = len(parts) > 1 and options.cores > 1 and "races" not in options.check and are_independent(program)
    history = History()
    start = time.monotonic()
    while whole.parts < len(parts) and not whole.is_stuck:
        if may_share and (options.processes or _pays(time.monotonic() - start, whole.parts, len(parts))):
            with _shared(allocations, module) as memory:
                if memory is not None:
                    _run_in_processes(ptx, launch, memory, parts, options, show, whole, names)
                    break
            may_share = False
        part = parts[whole.parts]
        run = run_wave(program, launch, allocations, module, part, options, history, show, started, names)
        whole.add(run)
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


# Memory that processes share.


@dataclass(frozen=True)
class _Place:
    """Where an allocation is in the file, without what makes up its memory."""

    offset: int
    """Bytes from the start of the file."""
    base: int
    size: int
    name: str
    describe: Callable[[int], str]
    writable: bool


@dataclass(frozen=True)
class SharedMemory:
    """Allocations in a file that several processes map."""

    path: str
    size: int
    places: list[_Place]
    module_size: int
    """Bytes of the module's variables, at the end of the file."""

    def open(self) -> tuple[list[Allocation], Array]:
        """The allocations and the module's variables, their bytes those of the file."""
        found: list[Allocation] = []
        contents = _map(self.path, self.size)
        for place in self.places:
            data = contents[place.offset : place.offset + place.size]
            data.flags.writeable = place.writable
            found.append(Allocation(place.base, data, place.name, place.describe, contents))
        return found, contents[self.size - self.module_size :]


def _map(path: str, size: int) -> Any:
    """A file's bytes."""
    if not size:
        return np.empty(0, np.uint8)
    with open(path, "r+b") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)


@contextlib.contextmanager
def _shared(allocations: Sequence[Allocation], module: Array) -> Generator[SharedMemory | None]:
    """All this memory in a file for the time of the block, copied back at its end; `None` where that cannot be."""
    if not all(elements_of(each) for each in allocations):
        # Of a bare pointer it is all that is mapped around it.
        yield None
        return
    # Tensors that overlap are one region; each has its own part of it.
    regions = merged(allocations)
    offsets: list[int] = []
    size = 0
    for region in regions:
        # An address has the alignment that it has in the caller's memory.
        offsets.append(size + int(region.start) % _PAGE)
        size = -(-(offsets[-1] + region.size) // _PAGE) * _PAGE
    size += module.size
    file = _reserve(size)
    if file is None:
        yield None
        return
    with file:
        path = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        contents = _map(path, size)
        for region, offset in zip(regions, offsets, strict=True):
            contents[offset : offset + region.size] = region.data
        contents[size - module.size :] = module
        places: list[_Place] = []
        for each in allocations:
            offset = next(
                (
                    offset + each.base - int(region.start)
                    for region, offset in zip(regions, offsets, strict=True)
                    if 0 <= each.base - int(region.start) < region.size
                ),
                0,
            )
            writable = bool(each.data.flags.writeable)
            places.append(_Place(offset, each.base, each.size, each.name, each.describe, writable))
        yield SharedMemory(path, size, places, module.size)
        module[:] = contents[size - module.size :]
        for region, offset in zip(regions, offsets, strict=True):
            if region.writable:
                region.data[:] = contents[offset : offset + region.size]


def _reserve(size: int) -> IO[bytes] | None:
    """A new file of so many bytes, in memory if possible; `None` when there is no room for it.

    It has no name, so that it goes with this process, however that ends.
    """
    for folder in (_SHARED_FOLDER, tempfile.gettempdir()):
        if not os.path.isdir(folder):
            continue
        try:
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the caller closes it
        except OSError:
            continue
        try:
            # Without, a write into the mapping would end the process when the folder is full.
            if size:
                os.posix_fallocate(file.fileno(), 0, size)
            return file
        except OSError as failure:
            file.close()
            if failure.errno not in (errno.ENOSPC, errno.EFBIG, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOMEM):
                raise
    return None


# Processes.


@dataclass(frozen=True)
class _Part:
    """What came of a part in another process."""

    run: BlocksRun
    printed: list[str]
    error: EmulatorError | None = None


def _run_in_processes(
    ptx: PtxText,
    launch: Launch,
    memory: SharedMemory,
    parts: Sequence[Sequence[int]],
    options: EmulatorOptions,
    show: Callable[[str], None],
    whole: _Whole,
    names: Names,
) -> None:
    """Run the parts that are left; their results come in the order of parts."""
    left = parts[whole.parts :]
    pool = WorkerPool(min(options.cores, len(left)))
    try:
        futures: list[Future[_Part]] = [
            pool.submit(run_part, ptx, launch, memory, list(part), options, names) for part in left
        ]
        for future in futures:
            part = future.result()
            for text in part.printed:
                show(text)
            if part.error is not None:
                raise part.error
            whole.add(part.run)
            if whole.is_stuck:
                break
    finally:
        pool.kill()


def run_part(
    ptx: PtxText,
    launch: Launch,
    memory: SharedMemory,
    blocks: list[int],
    options: EmulatorOptions,
    names: Names = Names(),
) -> _Part:
    """Runs in another process: blocks of a launch, on memory in a file."""
    allocations, module = memory.open()
    printed: list[str] = []
    try:
        program = load_program(ptx, launch.kernel.name)
        run = run_wave(program, launch, allocations, module, blocks, options, History(), printed.append, None, names)
    except EmulatorError as error:
        return _Part(BlocksRun(), printed, error)
    return _Part(run, printed)
