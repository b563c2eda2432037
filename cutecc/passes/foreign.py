"""Failures of code that is not ours: passes and plugins written by others."""

from __future__ import annotations

import signal


def foreign_failures() -> tuple[type[BaseException], ...]:
    """What to catch around such code. It may call `sys.exit`; only the user's own interrupt goes through.

    Where interrupts are ignored, as in worker processes, a `KeyboardInterrupt` is the code's own.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        return (BaseException,)
    return (Exception, SystemExit, GeneratorExit)
