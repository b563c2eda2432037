"""The runs of `cutecc sanitize`: each schedule in turn, on the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cutecc.cli.emulation import announce, emulate, read_options

if TYPE_CHECKING:
    from cutecc.cli.subject import Subject
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.harness.arguments import Arguments
    from cutecc.kernel import Kernel

_WORTH_SECONDS = 4.0
"""Of the first run: then the others run beside each other, for which a process is started."""


@dataclass(frozen=True)
class CheckedRun:
    """One launch and what came of it."""

    sizes: dict[str, int]
    emulation: Emulation


@dataclass(frozen=True)
class Plan:
    """The options of each run. A run does not depend on those before it: its own options alone repeat it."""

    tries: Sequence[EmulatorOptions]
    samples: bool
    """Whether runs but the first take a sample of the blocks, where that says as much of an order of warps."""

    @classmethod
    def read(cls, values: dict[str, Any]) -> Plan:
        """From the command line's: without a word all schedules once, of which the first takes all blocks.

        With `--runs` so many, which take turns at the schedules; those that follow one another have the same seed, and
        inputs. With `--schedule` all have that one, and each a seed of its own. Raises `UsageError`.
        """
        from cutecc.emulator.options import SCHEDULES

        options, runs = read_options(values, check=values["check"]), values["runs"]
        if values["schedule"] is not None:
            return cls([replace(options, seed=options.seed + each) for each in range(runs or 1)], False)
        count = len(SCHEDULES)
        turns = [
            replace(options, schedule=SCHEDULES[number % count], seed=options.seed + number // count)
            for number in range(runs or count)
        ]
        return cls(turns, runs is None)


def run_all(
    subject: Subject, sizes: dict[str, int], given: dict[str, Any], plan: Plan, source: str, text_to_stderr: bool
) -> list[CheckedRun]:
    """All runs at these sizes. What the kernel prints is shown of the first."""
    inputs = _Inputs(subject, sizes, given)
    first, *others = plan.tries
    emulation = inputs.emulate(first, source, text_to_stderr=text_to_stderr)
    if plan.samples and (sample := emulation.sample) is not None:
        others = [replace(each, blocks=sample) for each in others]
    found = [emulation]
    if len(others) > 1 and first.cores > 1 and emulation.seconds > _WORTH_SECONDS:
        found += _beside_each_other(inputs, others, source)
    else:
        found += [inputs.emulate(each, source, quiet=True) for each in others]
    return [CheckedRun(inputs.sizes, each) for each in found]


def _beside_each_other(inputs: _Inputs, tries: Sequence[EmulatorOptions], source: str) -> Iterator[Emulation]:
    from cutecc.support.pool import WorkerPool

    *others, own = tries
    pool = WorkerPool(min(own.cores - 1, len(others)))
    try:
        kernel, specs, outputs = inputs.subject.kernel, inputs.subject.specs, inputs.subject.workload.outputs
        futures = [
            pool.submit(emulate_elsewhere, kernel, specs, outputs, inputs.asked, inputs.given, each, source)
            for each in others
        ]
        last = inputs.emulate(own, source, quiet=True)
        yield from (future.result() for future in futures)
        yield last
    finally:
        pool.kill()


def emulate_elsewhere(
    kernel: Kernel,
    specs: Any,
    outputs: Any,
    sizes: dict[str, int],
    given: dict[str, Any],
    options: EmulatorOptions,
    source: str,
) -> Emulation:
    """Runs in another process: one run, on inputs that it makes itself."""
    from cutecc.harness.arguments import make_arguments

    arguments = make_arguments(specs, outputs, sizes=sizes)
    _make(arguments, given, options.seed)
    return _emulate(kernel, arguments, options, source, text_to_stderr=False, quiet=True)


class _Inputs:
    """A kernel and its arguments, which are made once for all runs of a seed."""

    def __init__(self, subject: Subject, sizes: dict[str, int], given: dict[str, Any]) -> None:
        from cutecc.harness.arguments import make_arguments

        self.subject, self.asked, self.given = subject, sizes, given
        self._arguments = make_arguments(subject.specs, subject.workload.outputs, sizes=sizes)
        self.sizes = self._arguments.sizes
        self._seed: int | None = None

    def emulate(
        self, options: EmulatorOptions, source: str, *, text_to_stderr: bool = False, quiet: bool = False
    ) -> Emulation:
        """One run on a copy of the arguments."""
        arguments = self._arguments
        if self._seed != options.seed:
            _make(arguments, self.given, options.seed)
            self._seed = options.seed
        return _emulate(self.subject.kernel, arguments, options, source, text_to_stderr=text_to_stderr, quiet=quiet)


def _make(arguments: Arguments, given: dict[str, Any], seed: int) -> None:
    announce(f"making {arguments.bytes / 1e9:.1f} GB of arguments", arguments.bytes)
    arguments.randomize(seed)
    arguments.assign(given)


def _emulate(
    kernel: Kernel, arguments: Arguments, options: EmulatorOptions, source: str, *, text_to_stderr: bool, quiet: bool
) -> Emulation:
    from cutecc.harness.on_device import DeviceArguments, HostMemory

    with HostMemory() as memory:
        on_cpu = DeviceArguments(arguments, memory)
        on_cpu.upload()
        return emulate(kernel, on_cpu.by_name, options, source=source, text_to_stderr=text_to_stderr, quiet=quiet)
