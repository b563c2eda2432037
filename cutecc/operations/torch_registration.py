"""An operator of torch that is registered by the first call of it, once, from whichever thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecc.support import forks


class Registration:
    """What `register` makes of torch, kept."""

    def __init__(self, register: Callable[[], Any]) -> None:
        """`register` is called once: torch refuses a second operator of a name."""
        self._register = register
        self._operator: Any = None
        self._lock = forks.rlock()

    def __call__(self) -> Any:
        """The operator. Raises `UsageError` without torch."""
        if self._operator is None:
            with self._lock:
                if self._operator is None:
                    self._operator = self._register()
        return self._operator
