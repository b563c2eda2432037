"""The standard streams: what stands in for one that is closed, and for one that nobody can write to."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator


def open_closed() -> None:
    """Give each standard stream that was closed when the process began an end that reads and writes fail on.

    Otherwise the next file that is opened would take its number, and child processes would write into it.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest number that is free. Nobody sees errors that go nowhere, but output that is lost is an error.
            flags = os.O_RDONLY if name == "stdout" else os.O_WRONLY
            opened = os.open(os.devnull, flags)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            # Written without a buffer of bytes, an error comes at once.
            setattr(sys, name, open(descriptor, mode, encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115


@contextlib.contextmanager
def output_to_stderr(wanted: bool = True) -> Generator[None]:
    """Have what is written to standard output meanwhile go to standard error, so that JSON is alone there.

    That is also what the C library holds in its buffer: the CUDA driver writes through it what kernels print.
    """
    if not wanted:
        yield
        return
    usual = os.dup(1)
    _flush()
    os.dup2(2, 1)
    try:
        yield
    finally:
        _flush()
        os.dup2(usual, 1)
        os.close(usual)


def _flush() -> None:
    import ctypes  # takes longer to load than most commands have

    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)


def discard_output() -> None:
    """Have what is left in the buffer of standard output go nowhere: the interpreter writes it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
