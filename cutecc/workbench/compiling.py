"""Compiling for what comes of it. For a process of its own: it loads the MLIR bindings, and an abort ends it."""

from __future__ import annotations

import sys

from cutecc.compilation.events import Event, PassFinished, PassStarted
from cutecc.driver import lower
from cutecc.errors import Error, InternalError, describe
from cutecc.passes import plugins
from cutecc.workbench.failing import NOTHING, RUNS, Failure
from cutecc.workbench.subjects import Subject


def failure_of(subject: Subject) -> Failure | None:
    """How compiling a subject ends here; `None` when nothing fails. It may end the process."""
    plugins.load_files()
    try:
        lower(subject.request(), emit=_say_pass)
    except Error as error:
        return Failure.of(error)
    except Exception as failure:
        return Failure.of(InternalError(f"internal error: {describe(failure)}"))
    return None


def _say_pass(event: Event) -> None:
    """Leave in what the process prints which pass it is in, for when it ends there."""
    if isinstance(event, PassStarted):
        print(f"{RUNS}{event.name}", file=sys.stderr, flush=True)
    elif isinstance(event, PassFinished):
        print(f"{RUNS}{NOTHING}", file=sys.stderr, flush=True)
