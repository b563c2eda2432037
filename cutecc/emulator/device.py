"""The CPU as a device: a call of a compiled kernel, emulated."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cutecc.arguments.specs import PointerSpec
from cutecc.emulator.call import Call, run_call
from cutecc.emulator.checks.finding import Finding, Stopped
from cutecc.emulator.foreign import finding_in_ptx, is_foreign, tell_in_ptx
from cutecc.emulator.host import LaunchSummary, Progress
from cutecc.emulator.limits import STRICT_LIMITS, Limits
from cutecc.emulator.names import OPTION_NAMES, line_hint
from cutecc.emulator.options import ALL, BlockSample, EmulatorOptions
from cutecc.emulator.report import describe_blocks, one_a_line, sanitizer_error, stopped_lines
from cutecc.errors import EmulatorError, LaunchError, LimitError, UsageError
from cutecc.ptx.locations import PtxText
from cutecc.record.compilation import Compilation
from cutecc.runtime.binding import Binder, Bound
from cutecc.runtime.host import tensor_shapes
from cutecc.runtime.program.evaluation import Evaluator
from cutecc.runtime.program.verification import verify
from cutecc.support import forks

if TYPE_CHECKING:
    from cutecc.emulator.counters.counters import Counters
    from cutecc.emulator.machine.run import Run
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.emulator.orders.result import Orders

_FEW_BLOCKS = 4
"""So many are no sample of more."""
_LINE = re.compile(r"^\s*\.loc\s", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class Emulation:
    """What came of a call on the emulator. What the kernel computed is in the arrays of the call."""

    kernel: str
    """The kernel's short name."""
    target: str
    """What the code that ran is compiled for."""
    options: EmulatorOptions
    findings: list[Finding]
    """What the checks found, in the order of launches and blocks; the same of one line of Python once."""
    counters: Counters | None
    """Of all launches together; `None` unless asked for."""
    printed: str
    """What the kernel and the host function printed."""
    launches: list[LaunchSummary] = field(default_factory=list[LaunchSummary])
    seconds: float = 0.0
    line_hint: str | None = None
    """How code that does not say which lines it belongs to would; `None` for code that does."""
    stopped: list[Stopped] = field(default_factory=list[Stopped])
    """What ended before the kernel did, and so did not see the rest: checks by a mistake of cutecc's own, or the run
    itself by an error after something was found."""
    orders: Orders | None = None
    """How many orders there are, where all were tried, and those that found something."""
    confined_by: list[str] = field(default_factory=list[str])
    """What kept blocks of unknown origin from anything but the call's memory: `setrlimit`, `landlock`, `seccomp`."""

    @property
    def ok(self) -> bool:
        """Whether nothing was found, and all that was to be checked was."""
        return not self.findings and not self.stopped

    @property
    def blocks(self) -> int:
        """Blocks that ran."""
        return sum(launch.ran for launch in self.launches)

    @property
    def total_blocks(self) -> int:
        """Blocks of all grids."""
        return sum(launch.total for launch in self.launches)

    @property
    def sample(self) -> BlockSample | None:
        """Blocks that stand for all under another schedule: half of them, and no more than run at a time.

        `None` where blocks, or launches, take what others have written, and where there are few.
        """
        if len(self.launches) != 1 or self.options.blocks is not None:
            return None
        (launch,) = self.launches
        if launch.resident is None:
            return None
        count = min(launch.resident, max(_FEW_BLOCKS, -(-launch.total // 2)))
        return BlockSample(count=count) if count < launch.total else None

    def summary(self) -> str:
        """What ran, in a line: `elementwise_add for sm_90a: 1,024 blocks, round-robin`."""
        order = self.options.schedule
        if self.orders is not None:
            return f"{self.kernel} for {self.target}: {describe_blocks(self.launches)}, {self.orders.executed:,} orders"
        seed = f" (seed {self.options.seed})" if order in ("random", "adversarial") else ""
        return f"{self.kernel} for {self.target}: {describe_blocks(self.launches)}, {order}{seed}"

    def __repr__(self) -> str:
        count = len(self.findings)
        return f"<Emulation {self.summary()}, {count or 'no'} finding{'' if count == 1 else 's'}>"

    def raise_findings(self) -> None:
        """Raise `SanitizerError` when something was found, `EmulatorError` when a check ended before the kernel did."""
        notes = [" ".join(each.strip() for each in stopped_lines(stopped)) for stopped in self.stopped]
        if notes and not self.findings:
            raise EmulatorError(f"nothing was found in {self.kernel}, but not all of it was checked", notes=notes)
        if self.findings:
            error = sanitizer_error(self.kernel, self.findings)
            error.notes += notes
            if self.line_hint is not None:
                error.hints.append(self.line_hint)
            raise error


class Emulator:
    """Calls one compiled kernel on the CPU. Threads may share it."""

    def __init__(self, compilation: Compilation, binder: Binder, *, untrusted: bool = False) -> None:
        """With `untrusted` blocks run in a process that can do nothing else, within strict limits.

        Raises `LaunchError` for a record without PTX."""
        program = compilation.host_program
        ptx = compilation.artifact("ptx")
        if program is None:
            raise LaunchError(f"{compilation.name} for {compilation.target} cannot run: its record has no host program")
        if ptx is None:
            raise LaunchError(
                f"{compilation.name} for {compilation.target} cannot run on the CPU: its record has no PTX, which is "
                "what the emulator executes",
                hints=["compile it with the artifact 'ptx', which is among those that are made by default"],
            )
        verify(program)
        self.compilation = compilation
        self.binder = binder
        self.untrusted = untrusted
        self._program = program
        places = next(artifact.places for artifact in compilation.artifacts if artifact.kind == "ptx")
        self._ptx = PtxText(ptx.rstrip(b"\0").decode(errors="replace"), places)
        self._line_hint = None if _LINE.search(self._ptx.text) else line_hint(compilation)
        self._lock = forks.lock()
        self._made: Evaluator | None = None

    def emulate(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        options: EmulatorOptions = EmulatorOptions(),
        *,
        show: Callable[[str], None] | None = None,
        progress: Progress | None = None,
        started: Callable[[Run], None] | None = None,
    ) -> Emulation:
        """A call `kernel(*args, **kwargs)`, on arrays of the CPU, in place; it has ended when this returns.

        `extent=` is how many bytes lie behind a bare pointer, or behind each by its name; `cutecc.emulator.extents`.
        `show` takes printed text as it comes, `progress` how many blocks have run, `started` what says where they are.
        Raises `ArgumentError` and `LaunchError` as calls on a GPU do; `EmulatorError` for a fault inside of the kernel,
        unless something is checked: faults are findings then, and an error after a finding is told with it.
        """
        if self.untrusted and (options.schedule == ALL or options.replayed is not None):
            raise UsageError("an untrusted kernel runs in a process of its own, where nobody directs its warps")
        call, allocations = self.prepare(args, kwargs, options)
        start = time.monotonic()
        if self.untrusted:
            from cutecc.emulator.untrusted.confinement import confinement

            outcome = confinement.run(call, allocations, show, progress)
        else:
            outcome = run_call(call, self._evaluator(), allocations, show, progress, started)
        seconds = time.monotonic() - start
        failure = outcome.failure
        if is_foreign(self.compilation):
            outcome.findings = [finding_in_ptx(each) for each in outcome.findings]
            if isinstance(failure, EmulatorError):
                tell_in_ptx(failure)
        if failure is not None:
            if isinstance(failure, EmulatorError) and self._line_hint is not None and self._may_have_lines(failure):
                failure.hints.append(self._line_hint)
            if not outcome.findings:
                raise failure
            outcome.stopped.append(Stopped.of(failure, options.check, None, options.schedule, options.seed))
        return Emulation(
            self.compilation.name,
            self.compilation.target,
            options,
            one_a_line(outcome.findings),
            outcome.counters,
            outcome.printed,
            outcome.launches,
            seconds,
            self._line_hint,
            outcome.stopped,
            outcome.orders,
            outcome.confined_by,
        )

    def prepare(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], options: EmulatorOptions
    ) -> tuple[Call, list[Allocation]]:
        """A call and its memory, before anything runs. Raises as `emulate` does for its arguments."""
        named = dict(kwargs)
        checked = not named.pop("unchecked", False)
        extent = None if self.binder.has_parameter("extent") else named.pop("extent", None)
        bound = self.binder.bind(args, named, checked=checked, place="cpu")
        call = Call(
            self._program,
            self._ptx,
            self.compilation.target,
            bound.leaves,
            tensor_shapes(self.binder, bound),
            self.compilation.variables,
            options,
            options.limits or (STRICT_LIMITS if self.untrusted else Limits()),
        )
        return call, self._allocations(bound, extent)

    def call(self, args: Sequence[Any], kwargs: Mapping[str, Any], options: EmulatorOptions) -> None:
        """As a call on a GPU; what is found is a `SanitizerError`. Printed text goes to standard output."""
        self.emulate(args, kwargs, options, show=_to_standard_output).raise_findings()

    def _may_have_lines(self, failure: EmulatorError) -> bool:
        """Whether compiling it again would tell more: not of a limit, and not what somebody else has compiled."""
        return not self.untrusted and not isinstance(failure, LimitError)

    def _evaluator(self) -> Evaluator:
        with self._lock:
            if self._made is None:
                self._made = Evaluator(self._program)
        return self._made

    def _allocations(self, bound: Bound, extent: object) -> list[Allocation]:
        """The memory of the call: of every array, and what is behind bare pointers."""
        from cutecc.emulator.extents import bare_pointers, pointer_allocations, read_extents

        parameters = self.binder.parameters
        arrays = list(self._arrays(bound))
        extents = read_extents(extent, parameters, bound)
        # What a record that was read says is the word of whoever made it.
        is_own = self.compilation.read_from is None
        specs = {each.name: each.spec for each in parameters if is_own and isinstance(each.spec, PointerSpec)}
        return [*arrays, *pointer_allocations(bare_pointers(parameters, bound), extents, arrays, specs)]

    def _arrays(self, bound: Bound) -> Iterable[Allocation]:
        """The memory of every array of the call."""
        from cutecc.emulator.memory.allocations import tensor_allocation

        for name, array in bound.arrays.items():
            allocation = tensor_allocation(array, name)
            if array.readonly:
                allocation.data.flags.writeable = False
            yield allocation


def take_options(kwargs: dict[str, Any], binder: Binder) -> EmulatorOptions:
    """Take the emulator's options out of a call's keyword arguments; the kernel's own parameters stay.

    Raises `UsageError` for what is none, or for single ones beside `emulator=`.
    """
    names = [name for name in (*OPTION_NAMES, "emulator") if name in kwargs and not binder.has_parameter(name)]
    given = {name: kwargs.pop(name) for name in names}
    options = given.pop("emulator", None)
    if options is None:
        return EmulatorOptions(**given)
    if given or not isinstance(options, EmulatorOptions):
        wrong = f"beside emulator= there is {'=, '.join(given)}=" if given else f"emulator= is {options!r}"
        raise UsageError(f"{wrong}: emulator=EmulatorOptions(…) holds all options of the emulator")
    return options


def _to_standard_output(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
