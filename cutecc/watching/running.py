"""Running a program to watch: its streams, signals and exit status are its own."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any

from cutecc.errors import UsageError

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT")
_PYTHON = re.compile(r"(python|pypy)[\d.]*t?(\.exe)?")
_ISOLATING = re.compile(r"-[bBdiOPqRsuvx]*([IES])")
_POLL_SECONDS = 0.2


class NotStartedError(UsageError):
    """A program that cannot be started."""

    status: int = 127
    """What a shell would end with."""


def run(command: Sequence[str], environment: Mapping[str, str], while_running: Callable[[], None] | None = None) -> int:
    """Run `command`; returns its exit status, negative for the signal that ended it.

    Signals that this process gets go on to the program. Ctrl-C reaches both, and is the program's business. Calls
    `while_running` now and then. Raises `NotStartedError`.
    """
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        if process is None:
            early.append(number)
        elif process.poll() is None:
            process.send_signal(number)

    def leave(_number: int, _frame: FrameType | None) -> None:
        pass

    handlers: dict[int, Any] = {getattr(signal, name): forward for name in _FORWARDED if hasattr(signal, name)}
    handlers[signal.SIGINT] = leave
    # What this process was told to ignore, as by `nohup`, stays so, and the program inherits it.
    handlers = {number: each for number, each in handlers.items() if signal.getsignal(number) is not signal.SIG_IGN}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        process = _start(command, environment)
        for number in early:
            process.send_signal(number)
        while True:
            try:
                return process.wait(_POLL_SECONDS if while_running else None)
            except subprocess.TimeoutExpired:
                if while_running:
                    while_running()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def check_program(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Raise `NotStartedError` when there is no such program."""
    if shutil.which(command[0], mode=os.F_OK, path=environment.get("PATH")) is None:
        raise NotStartedError(f"cannot run {command[0]}: {os.strerror(errno.ENOENT)}")


def _start(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    try:
        # Python ignores SIGPIPE and SIGXFSZ itself; `restore_signals` sees to it that the program does not.
        return subprocess.Popen(command, env=dict(environment))
    except OSError as failure:
        error = NotStartedError(f"cannot run {command[0]}: {failure.strerror}")
        error.status = 127 if isinstance(failure, FileNotFoundError) else 126
        raise error from None


def end_as(status: int) -> int:
    """The exit status for a program's `status`; with a signal that ended it, this process ends by it too."""
    if status >= 0:
        return status
    number = -status
    if hasattr(signal, "SIGKILL"):
        import resource

        # One core file is enough: the program's.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return 128 + number


def ignoring_option(command: Sequence[str]) -> str | None:
    """The option of a Python on the command line that makes it ignore `PYTHONPATH` or start files."""
    if not _PYTHON.fullmatch(os.path.basename(command[0])):
        return None
    arguments = iter(command[1:])
    for argument in arguments:
        if match := _ISOLATING.match(argument):
            return f"-{match[1]}"
        if argument in ("-W", "-X"):
            next(arguments, None)
        elif not argument.startswith("-") or argument in ("-c", "-m", "-"):
            break
    return None
