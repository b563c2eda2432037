"""`cutecc`: the group of subcommands, and what happens to errors."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import signal
import sys
import traceback
from types import FrameType
from typing import Any, NoReturn

import click

from cutecc import __version__
from cutecc.cli.streams import discard_output, open_closed
from cutecc.config import Settings
from cutecc.errors import Error, LimitError, RecordError, UnsupportedVersionError, UsageError, describe
from cutecc.support.distributions import is_here, needed_by
from cutecc.support.harmless import harmless, message_text, one_line, readable
from cutecc.support.spelling import close_names

EXIT_FAILED = 1
"""The kernel does not trace, a pass or tool failed, or a comparison found a difference."""
EXIT_USAGE = 2
"""The request is wrong: an option, file (also one that is damaged), function, spec, pass, pipeline or target."""
EXIT_UNCHECKED = 2
"""A command that looks for something could not: its status 1 says that it has found it."""
EXIT_LIMIT = 3
"""An emulated kernel would take more than its limits allow."""
EXIT_INTERRUPTED = 130
"""Interrupted (Ctrl-C); what was written stays."""
EXIT_READER_GONE = 141
"""As a shell has it of a program that `SIGPIPE` ends."""

_LOST_OUTPUT = (errno.ENOSPC, errno.EBADF, errno.EIO)

# Subcommands load when they are called, so that `cutecc --help` shows at once: name to (module, summary).
_COMMANDS = {
    "compile": ("cutecc.cli.compile", "Compile a kernel: every pass, LLVM IR, PTX, cubin, SASS."),
    "report": ("cutecc.cli.report", "Write the page of a record: every stage beside the source."),
    "show": ("cutecc.cli.show", "Print a stage of a record, or its PTX, SASS, LLVM IR."),
    "diff": ("cutecc.cli.diff", "Compare two stages of a record; what a pass changed."),
    "resume": ("cutecc.cli.resume", "Go on from a stage of a record that you have edited."),
    "compare": ("cutecc.cli.compare", "Set two records side by side: passes, code, results, time."),
    "versions": ("cutecc.cli.versions", "Say what changed between versions of the DSL, or of kernels."),
    "explain": ("cutecc.cli.explain", "Say what became of a line of Python."),
    "run": ("cutecc.cli.run", "Launch a kernel and compare with its reference."),
    "sanitize": ("cutecc.cli.sanitize", "Run a kernel on the CPU and look for races, bad accesses, …"),
    "check": ("cutecc.cli.check", "Find narrow accesses, divergent barriers, spills and more, by line."),
    "prove": ("cutecc.cli.prove", "Prove that a kernel's warps never hang or race, at any size."),
    "bench": ("cutecc.cli.bench", "Time a kernel, beside others that do the same."),
    "estimate": ("cutecc.cli.estimate", "Estimate a kernel's time on a GPU that is not here."),
    "profile": ("cutecc.cli.profile", "Sample where a kernel's time goes, by line."),
    "opt": ("cutecc.cli.opt", "Run a pipeline on an MLIR module and print the result."),
    "operators": ("cutecc.cli.operators", "List the operators that fit, and why others do not."),
    "layout": ("cutecc.cli.layout", "Evaluate a layout expression and draw it."),
    "watch": ("cutecc.cli.watch", "Run any program and record the kernels that it compiles."),
    "passes": ("cutecc.cli.passes", "List the passes, or describe one."),
    "pipelines": ("cutecc.cli.pipelines", "Print the named pipelines in full."),
    "doctor": ("cutecc.cli.doctor", "Say whether what is installed fits together."),
    "cache": ("cutecc.cli.cache", "Show, clear or check what the cache keeps."),
    "parity": ("cutecc.cli.parity", "Compare the nvidia pipeline with the wheel's single run."),
    "coverage": ("cutecc.cli.coverage", "Say what of a kernel the open pipeline lowers."),
    "diff-test": ("cutecc.cli.diff_test", "Run kernels through both pipelines and compare."),
    "bisect": ("cutecc.cli.bisect", "Find the pass, and the rewrite, after which a check fails."),
    "reduce": ("cutecc.cli.reduce", "Make a module smaller while it keeps failing."),
    "repro": ("cutecc.cli.repro", "Say whether a saved failure still happens."),
    "update-checks": ("cutecc.cli.update_checks", "Write the check lines of lit tests of passes."),
}
_CHECKS = ("sanitize", "check", "prove")
"""Commands that look for something."""

_LONGEST_USAGE = 1 << 14
"""Characters of what is said of a wrong command line."""


class _ReaderGone(Exception):
    """The reader of our output has gone, as in `cutecc passes | head`."""


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        with needed_by(f"cutecc {cmd_name}", extra="run"):
            module = importlib.import_module(_COMMANDS[cmd_name][0])
        return getattr(module, cmd_name.replace("-", "_"))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in _COMMANDS and (close := close_names(args[0], _COMMANDS)):
            ctx.fail(f"no command '{args[0]}'; did you mean '{close[0]}'?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would end with status 1, which is a verdict of some commands.
            raise _ReaderGone from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        here = {name: summary for name, (module, summary) in _COMMANDS.items() if is_here(module)}
        with formatter.section("Commands"):
            formatter.write_dl([*here.items()])
        if elsewhere := [name for name in _COMMANDS if name not in here]:
            with formatter.section("With pip install cutecc"):
                formatter.write_text(", ".join(elsewhere))


def _show_version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from cutecc.ir.version import PACKAGE, installed_wheel  # late: it takes longer than the help does

    click.echo(f"cutecc, version {__version__}")
    with contextlib.suppress(UnsupportedVersionError):
        click.echo(f"{PACKAGE}, version {installed_wheel()}")
    context.exit()


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    epilog="Example: cutecc compile examples/elementwise_add.py --dump-after=all",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_show_version,
    help="Show the versions and exit.",
)
@click.option("--debug", is_flag=True, help="Show where in cutecc an error comes from.")
def cutecc(debug: bool) -> None:
    """Open compiler driver and pass inspector for CuTe DSL kernels."""


def main() -> None:
    """The entry point of the `cutecc` command."""
    open_closed()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows a question mark.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    command = next((argument for argument in arguments if not argument.startswith("-")), None)
    failed = EXIT_UNCHECKED if command in _CHECKS else EXIT_FAILED
    interrupts = _noted_interrupts()
    try:
        debug = debug or Settings.from_environment().debug
        # Without standalone mode, click returns the status of a command that ends with `context.exit`.
        with needed_by(" ".join(["cutecc", *filter(None, [command])]), extra="run"):
            status = cutecc.main(arguments, standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status or 0)
    except click.ClickException as error:
        # It quotes arguments, which may be anything.
        shown = io.StringIO()
        error.show(shown)
        click.echo(harmless(shown.getvalue().rstrip()[:_LONGEST_USAGE], coloured=False), err=True)
        sys.exit(EXIT_USAGE)
    except (KeyboardInterrupt, click.exceptions.Abort):
        _end_interrupted()
    except (_ReaderGone, BrokenPipeError):
        discard_output()
        sys.stderr.close()
        sys.exit(EXIT_READER_GONE)
    except Exception as failure:
        expected = isinstance(failure, Error | MemoryError | RecursionError)
        if interrupts and not expected:
            _end_interrupted()
        if debug and expected:
            traceback.print_exc()
        elif debug and not _is_lost_output(failure):
            raise
        error, status = _as_error(failure, failed)
        report(error)
        sys.exit(status)


def _as_error(failure: Exception, failed: int) -> tuple[Error, int]:
    """What is said of a failure, and the exit status, which is `failed` for most."""
    match failure:
        case LimitError():
            return failure, EXIT_LIMIT
        case UsageError() | RecordError():
            return failure, EXIT_USAGE
        case Error():
            return failure, failed
        case MemoryError():
            reason = f": {failure}" if str(failure) else ""
            return Error(f"this machine's memory is too small{reason}", hints=["give smaller sizes"]), failed
        case RecursionError():
            return Error("something that was read is nested too deeply"), failed
        case OSError() if _is_lost_output(failure):
            discard_output()
            return Error(f"cannot write standard output: {failure.strerror}"), failed
        case OSError(filename=filename) if filename is not None:
            # As of a name that is too long, or a folder that may not be searched.
            return UsageError(f"cannot use {filename}: {failure.strerror}"), EXIT_USAGE
        case _:
            hints = ["this is a bug in cutecc, or versions do not fit (cutecc doctor says); --debug shows where"]
            return Error(f"internal error: {describe(failure)}", hints=hints), failed


def _is_lost_output(failure: Exception) -> bool:
    return isinstance(failure, OSError) and failure.filename is None and failure.errno in _LOST_OUTPUT


def _noted_interrupts() -> list[int]:
    """Where each interrupt is put down as it comes. Python makes another error of one that comes while it loads a
    module: a `RuntimeError` of a descriptor, a `SyntaxError` of a name in a string."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
    return came


def _end_interrupted() -> NoReturn:
    # A second one would interrupt the interpreter's end, with a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    click.echo("interrupted; what was written stays", err=True)
    sys.exit(EXIT_INTERRUPTED)


def report(error: Error) -> None:
    """Print an error as compilers do: where, `error:`, what; then the source line, notes and hints.

    Where standard error cannot be written, the exit status says what there is to say.
    """
    with contextlib.suppress(OSError):
        _report(error)


def _report(error: Error) -> None:
    place = f"{one_line(str(error.location))}: " if error.location else ""
    colour = False if os.environ.get("NO_COLOR") else None  # None: only on a terminal
    head = click.style("error: ", fg="red", bold=True)
    click.echo(f"{place}{head}{message_text(error.message)}", err=True, color=colour)
    for label, text in readable(error.details()):
        label = click.style(f"{label}: ", fg="cyan", bold=True) if label else ""
        click.echo(f"{label}{text}", err=True, color=colour)
