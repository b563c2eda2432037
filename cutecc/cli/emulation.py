"""What `run` and `sanitize` share: a launch on the CPU emulator, its options, and saying what takes long."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from cutecc.cli.files import is_ptx, is_record
from cutecc.cli.headings import wrapped
from cutecc.cli.options import apply_all
from cutecc.cli.tables import print_table
from cutecc.errors import UsageError
from cutecc.support.harmless import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as ProgressBar

    from cutecc.cli.console import Console
    from cutecc.emulator.checks.finding import Finding, Place, Stopped
    from cutecc.emulator.device import Emulation
    from cutecc.emulator.limits import Limits
    from cutecc.emulator.machine.run import Run
    from cutecc.emulator.options import EmulatorOptions
    from cutecc.errors import SourceLocation
    from cutecc.kernel import Kernel

_BAR_AFTER_SECONDS = 1.0
_LINE_EVERY_SECONDS = 30.0
_SILENT_SECONDS = 10.0
"""Without a block that has ended: then it is said how many there are, and where they are."""
_LONG_SECONDS = 60.0
"""Left at the pace so far: then it is said how a run is made shorter."""
_LONGEST_NAME = 40
"""Characters: the DSL's names of kernels hold their layouts."""
_SAMPLE = "--blocks 4 runs a sample"
_LARGE_BYTES = 256 << 20
"""Of all arguments: what is done with so many takes seconds."""

emulator_options = apply_all(
    click.option(
        "--schedule",
        metavar="NAME",
        help="On the emulator, the order of warps: round-robin, random or adversarial, or replay:FILE.",
    ),
    click.option("--blocks", metavar="BLOCKS", help="On the emulator, run a sample: 16, 0:8 or (0,1,0)."),
    click.option(
        "--shared",
        type=click.Choice(("poison", "zero")),
        help="On the emulator, what shared memory begins with: poison, which is the default, or zeros.",
    ),
    click.option("--processes", type=click.IntRange(1), metavar="N", help="On the emulator, at most so many."),
    click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="NAME=N,…",
        help="On the emulator, the most a run may take: seconds, steps, memory, blocks, registers, ptx.",
    ),
    click.option(
        "--untrusted",
        is_flag=True,
        help="The bundle or PTX is anybody's: emulate it in a process that can do nothing else, within strict limits.",
    ),
)


def read_options(values: dict[str, Any], *, check: str | None = None, counters: bool = False) -> EmulatorOptions:
    """The emulator's options from the command line's. Raises `UsageError`."""
    from cutecc.emulator.options import ALL, EmulatorOptions

    if values["schedule"] == ALL and check is None:
        raise UsageError("a run has one order", hints=["cutecc sanitize --schedule all tries all of them"])
    return EmulatorOptions(
        check=check,
        schedule=values["schedule"],
        budget=values.get("budget"),
        seed=values["seed"],
        blocks=values["blocks"],
        counters=counters,
        processes=values["processes"],
        shared=values["shared"],
        limits=read_limits(values),
    )


def prepare_untrusted(text: str, values: dict[str, Any]) -> None:
    """Begin to start what an untrusted kernel runs in, if the input `text` is one; imports meanwhile cost nothing.

    Raises `UsageError` for a program, which compiling runs.
    """
    if not values["untrusted"]:
        return
    if not is_record(text) and not is_ptx(text):
        raise UsageError(
            f"--untrusted is for bundles and PTX, and compiling {text} runs it",
            hints=["read it first, or run all of cutecc in a container"],
        )
    from cutecc.emulator.untrusted.confinement import confinement

    confinement.start()


def check_arguments(sizes: Sequence[int], values: dict[str, Any]) -> None:
    """Raise `LimitError` where the arguments of an untrusted kernel, whose record says how large they are, take too
    much; `sizes` are their bytes in each of several runs."""
    if values["untrusted"]:
        read_limits(values).check("memory", max(sizes), "the arguments take")


def read_limits(values: dict[str, Any]) -> Limits:
    """Of the command line, or the usual ones. Raises `UsageError`."""
    from cutecc.emulator.limits import STRICT_LIMITS, Limits

    return Limits.parse(values["limits"], STRICT_LIMITS if values["untrusted"] else Limits())


def announce(what: str, size: int) -> None:
    """Say on standard error what begins, when arguments of `size` bytes make it take long."""
    if size >= _LARGE_BYTES:
        click.echo(f"{what} …", err=True)


def emulate(
    kernel: Kernel,
    arguments: dict[str, Any],
    options: EmulatorOptions,
    *,
    source: str,
    text_to_stderr: bool = False,
    quiet: bool = False,
) -> Emulation:
    """One call on the emulator, of the kernel in the file `source`, which errors and findings name as it is given.

    What the kernel prints goes to standard output, or to standard error, and nowhere if `quiet`.
    """
    from cutecc.frontend.files import errors_as_given
    from cutecc.frontend.kernel_file import split_path

    def show(text: str) -> None:
        if not quiet:
            click.echo(text, nl=False, err=text_to_stderr)

    path, _ = split_path(source)
    with BlockProgress(may_sample=options.blocks is None, source=path) as progress, errors_as_given(path):
        found = kernel.emulator.emulate((), arguments, options, show=show, progress=progress, started=progress.started)
    return replace(
        found,
        findings=[finding_as_given(finding, path) for finding in found.findings],
        stopped=[_stop_as_given(each, path) for each in found.stopped],
    )


def finding_as_given(finding: Finding, path: str) -> Finding:
    """A finding that names the kernel's file as the user did."""
    from cutecc.frontend.files import as_given

    other = finding.other and _place_as_given(finding.other, path)
    # A deadlock's further lines say where each warp waits.
    message = as_given(finding.message, path)
    return replace(finding, message=message, place=_place_as_given(finding.place, path), other=other)


def _stop_as_given(stopped: Stopped, path: str) -> Stopped:
    from cutecc.frontend.files import as_given

    return replace(stopped, location=_location_as_given(stopped.location, path), reason=as_given(stopped.reason, path))


def _place_as_given(place: Place, path: str) -> Place:
    return replace(place, location=_location_as_given(place.location, path))


def _location_as_given(location: SourceLocation | None, path: str) -> SourceLocation | None:
    if location is None or location.file != os.path.abspath(path):
        return location
    return replace(location, file=path)


def emulation_dict(emulation: Emulation) -> dict[str, Any]:
    """What ran, as JSON has it."""
    options = emulation.options
    found: dict[str, Any] = {
        "schedule": options.schedule,
        "checks": sorted(options.check),
        "blocks": emulation.blocks,
        "total_blocks": emulation.total_blocks,
        "seconds": round(emulation.seconds, 3),
        "printed": emulation.printed,
        "confined_by": emulation.confined_by,
    }
    if emulation.orders is not None:
        found["orders"] = emulation.orders.to_dict()
    if emulation.counters is not None:
        found["counters"] = emulation.counters.to_dict()
    return found


def confined_text(emulation: Emulation) -> str:
    """What kept an untrusted kernel from anything but its arrays."""
    by = emulation.confined_by
    alone = "" if "seccomp" in by else ", which keeps it from neither files nor processes: this system has no seccomp"
    return f"untrusted: it ran in a process of its own, confined by {', '.join(by)}{alone}"


def show_emulation(emulation: Emulation, console: Console) -> None:
    """Which blocks ran, unless all did, and the counters."""
    from cutecc.emulator.report import describe_blocks

    if emulation.confined_by:
        console.say(wrapped(confined_text(emulation), console.width))
    if emulation.blocks < emulation.total_blocks:
        ran = f"{describe_blocks(emulation.launches)} ran: what the others write was not compared"
        console.print(ran, highlight=False)
    if emulation.counters is not None:
        from cutecc.emulator.counters.table import counter_tables

        tables = counter_tables(emulation.counters, width=console.width, hint=emulation.line_hint)
        print_table(tables, console)


class BlockProgress:
    """Says on standard error how many blocks have run, when that takes long: a bar, or a line now and then.

    Once, how long it will take at the pace so far, and that a sample takes less; while no block has ended, and at an
    interrupt, where the run is.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, may_sample: bool = True, source: str | None = None
    ) -> None:
        """With `may_sample` all blocks run, and a sample would be shorter; `source` is the file as it is given."""
        self._clock = clock
        self._start = clock()
        self._said = self._start
        self._hint = may_sample
        self._bar: ProgressBar | None = None
        self._task: Any = None
        self._kernel = ""
        self._ended = threading.Event()
        """Of the first block, or of everything."""
        self._source = source
        self._run: Run | None = None
        self._state = ("", 0, 0)
        """The kernel, how many of its blocks have run, and how many will."""

    def __enter__(self) -> BlockProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.stop()
        if kind is KeyboardInterrupt and self._run is not None:
            kernel, done, total = self._state
            click.echo(f"{kernel}: {_blocks(done, total)} after {self._seconds()}{self._where()}", err=True)

    def started(self, run: Run) -> None:
        """Some blocks begin in this process."""
        self._run = run

    def __call__(self, kernel: str, done: int, total: int) -> None:
        """`done` of the `total` blocks of a launch have run; none at its start."""
        kernel = one_line(kernel)
        if len(kernel) > _LONGEST_NAME:
            kernel = kernel[: _LONGEST_NAME - 1] + "…"
        now = self._clock()
        self._ended.set()
        self._state = (kernel, done, total)
        if done == 0:
            self._start = self._said = now
            self._ended = threading.Event()
            threading.Thread(target=self._say_where, args=(self._ended,), daemon=True).start()
            return
        self._say_how_long(kernel, done, total, now - self._start)
        if sys.stderr.isatty():
            if self._bar is None and now - self._start > _BAR_AFTER_SECONDS and done < total:
                from cutecc.cli.console import progress_bar

                self._bar = progress_bar()
                self._bar.start()
            if self._bar is not None:
                if self._task is None or kernel != self._kernel:
                    self._task, self._kernel = self._bar.add_task(kernel, total=total), kernel
                self._bar.update(self._task, completed=done, total=total)
        elif now - self._said > _LINE_EVERY_SECONDS and done < total:
            self._said = now
            click.echo(f"{kernel}: {done:,} of {total:,} blocks after {now - self._start:.0f} s", err=True)

    def _say_where(self, ended: threading.Event) -> None:
        """Until the first block has ended."""
        seconds = _SILENT_SECONDS
        while not ended.wait(seconds):
            kernel, _, total = self._state
            hint = f" ({_SAMPLE})" if self._hint and total > 1 else ""
            click.echo(f"{kernel}: {_blocks(0, total)} after {self._seconds()}{self._where()}{hint}", err=True)
            seconds = _LINE_EVERY_SECONDS

    def _seconds(self) -> str:
        return f"{self._clock() - self._start:.0f} s"

    def _where(self) -> str:
        """Where the run is, if it is in this process."""
        from cutecc.frontend.files import as_given

        where = self._run.where() if self._run is not None else ""
        return f"; {one_line(as_given(where, self._source))}" if where else ""

    def _say_how_long(self, kernel: str, done: int, total: int, seconds: float) -> None:
        left = seconds / done * (total - done)
        if self._hint and seconds > _BAR_AFTER_SECONDS and left > _LONG_SECONDS:
            self._hint = False
            so_far = f"{done:,} of {total:,} blocks after {seconds:.0f} s"
            click.echo(f"{kernel}: {so_far}; all take about {_duration(seconds + left)} ({_SAMPLE})", err=True)


def _blocks(done: int, total: int) -> str:
    return f"{done:,} of {total:,} block{'' if total == 1 else 's'}"


def _duration(seconds: float) -> str:
    """In the largest unit of which there are two: `3 min`, `26 h`."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
