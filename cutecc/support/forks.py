"""What a forked child gets of the process that it was forked from: the thread that forked, and no other.

What other threads held they hold for ever there, and what they had begun stays so. Locks from here are free in the
child, or a fork waits for them, and folders from here are the parent's alone.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
import weakref
from importlib import _bootstrap  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
from types import TracebackType
from typing import Any

from cutecc.errors import Error

_PATIENCE_SECONDS = 10.0
"""How long a fork waits for the other threads to come to an end that it can be done behind."""

_LOOK_SECONDS = 0.001
"""After which it is looked whether they have."""

_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_settled: list[SettledLock] = []
_folders: weakref.WeakSet[TemporaryFolder] = weakref.WeakSet()


def lock() -> threading.Lock:
    """A lock that is free in a forked child, whoever has it: for what is whole between any two steps."""
    made = threading.Lock()
    _locks.add(made)
    return made


def rlock() -> threading.RLock:
    """As `lock`, for a thread that may take it again."""
    made = threading.RLock()
    _locks.add(made)
    return made


class SettledLock:
    """A lock, which its thread may take again, over what is not to be forked half-way: a fork waits for its end.

    Where that takes too long, the child cannot do what `doing` names any more, and taking the lock is an `Error` there.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._lock = threading.RLock()
        self._is_lost = False
        self._has_waited = False
        _settled.append(self)

    def __enter__(self) -> None:
        if self._is_lost:
            raise Error(
                f"this process was forked while another thread of its parent was {self._doing}",
                hints=["fork before that begins, or start processes with the method 'spawn'"],
            )
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def wait(self) -> None:
        """Before a fork."""
        self._has_waited = self._lock.acquire(timeout=_PATIENCE_SECONDS)

    def forked_in_parent(self) -> None:
        """After it."""
        if self._has_waited:
            self._lock.release()

    def forked_in_child(self) -> None:
        """After it, in the child."""
        if self._has_waited:
            self._lock.release()
        else:
            self._is_lost = True


class TemporaryFolder(tempfile.TemporaryDirectory[str]):
    """A folder that goes with its `with`, or with this object; the end of a forked child leaves it to the parent."""

    def __init__(self) -> None:
        super().__init__(prefix="cutecc-", ignore_cleanup_errors=True)
        _folders.add(self)

    def leave(self) -> None:
        """Have it stay when this process ends."""
        finalizer: weakref.finalize[..., Any] = vars(self)["_finalizer"]
        finalizer.detach()


def _wait() -> None:
    for each in _settled:
        each.wait()
    # What another thread imports would stay half imported, and locked.
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while _others_import() and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)


def _others_import() -> bool:
    """Whether another thread is importing a module of cutecc's or the DSL's. Python has no other way to ask.

    A program's own may be one that never ends: `import main` is how some begin.
    """
    locks: dict[str, Any] = getattr(_bootstrap, "_module_locks", {})
    for name, lock in [*locks.items()]:
        owner = getattr(lock(), "owner", None)
        if owner not in (None, threading.get_ident()) and name.partition(".")[0] in ("cutecc", "cutlass"):
            return True
    return False


def _in_parent() -> None:
    for each in reversed(_settled):
        each.forked_in_parent()


def _in_child() -> None:
    for each in list(_locks):
        # What this thread has it goes on to have, and gives back.
        if not (hasattr(each, "_is_owned") and each._is_owned()):
            # The standard library does so with its own locks.
            each._at_fork_reinit()
    for each in reversed(_settled):
        each.forked_in_child()
    for each in list(_folders):
        each.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait, after_in_parent=_in_parent, after_in_child=_in_child)
