"""Running a command of the user's: for so long, with all that it starts, however much it says."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time

_LONGEST = 65536
"""Bytes of what a command says that are kept, its end: there may be more than memory holds."""
_PATIENCE = 0.1
"""Seconds between two looks whether a command has ended that keeps its output open."""

# Reads the numbers of process groups, and at the end of its input ends the last, unless that was 0.
_REAP = "while read group; do last=$group; done; [ ${last:-0} = 0 ] || kill -9 -$last"
_reaper: tuple[int, subprocess.Popen[bytes]] | None = None
"""With the process that started it: a copy of this one needs its own."""


def run(words: list[str], seconds: float) -> tuple[int, bytes]:
    """The exit status of a command, negative for a signal's, and the last 64 KiB of what it printed.

    What it has started in its process group ends with it, and with this process. Raises `TimeoutError` when it has not
    ended after `seconds`, and `OSError` when it cannot be run.
    """
    end = time.monotonic() + seconds
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        _tell_reaper(process.pid)
        said = _said(process, end)
        status = process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _tell_reaper(0)
    return status, said


def _said(process: subprocess.Popen[bytes], end: float) -> bytes:
    """The end of what a process prints until it ends, or closes its output."""
    said = b""
    assert process.stdout is not None
    with process.stdout as output:
        while True:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError
            if select.select([output], [], [], min(_PATIENCE, left))[0]:
                more = os.read(output.fileno(), _LONGEST)
                if not more:
                    return said
                said = (said + more)[-_LONGEST:]
            elif process.poll() is not None:
                # What it has left behind keeps its output open.
                return said


def _tell_reaper(group: int) -> None:
    """Have the group end when this process does: one that is killed cannot see to it.

    Of commands that run at a time, in threads, that holds for the last one.
    """
    global _reaper
    if _reaper is None or _reaper[0] != os.getpid():
        _reaper = (
            os.getpid(),
            subprocess.Popen(
                ["/bin/sh", "-c", _REAP],
                stdin=subprocess.PIPE,
                # It has nothing to say, and keeps nobody waiting for the end of this process's output.
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ),
        )
    stdin = _reaper[1].stdin
    assert stdin is not None
    with contextlib.suppress(BrokenPipeError):
        stdin.write(b"%d\n" % group)
        stdin.flush()
