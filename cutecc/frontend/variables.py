"""Which environment variables the user's files read."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from types import FrameType
from typing import Any

from cutecc.frontend.failures import ENTRY_FRAME
from cutecc.frontend.installed import OWN, is_installed, is_library

_BY_NAME = ("__getitem__", "__delitem__")
"""What `get`, `in`, `pop`, `setdefault` and `os.getenv` come down to."""
_OF_ALL = ("__iter__", "__len__", "__repr__")
"""What `copy`, `items`, `dict(os.environ)` and the like come down to."""


class VariableReads:
    """Watches `os.environ` and `os.environb` from `with` on, in all threads.

    A package reads for whoever calls it, and for itself while it is imported.
    """

    def __init__(self, path: str) -> None:
        """`path` is a file that is the user's wherever it lies."""
        self._path = os.path.abspath(path)
        self._originals: dict[str, Any] = {}
        self.names: set[str] = set()
        self.all = False
        """Whether somebody asked for more than single variables."""

    def __enter__(self) -> VariableReads:
        kind = type(os.environ)
        self._originals = {name: vars(kind)[name] for name in (*_BY_NAME, *_OF_ALL)}
        for name, original in self._originals.items():
            setattr(kind, name, self._watched(original, by_name=name in _BY_NAME))
        return self

    def __exit__(self, *failure: object) -> None:
        for name, original in self._originals.items():
            setattr(type(os.environ), name, original)

    def _watched(self, original: Callable[..., Any], *, by_name: bool) -> Callable[..., Any]:
        def method(environment: Any, *arguments: Any) -> Any:
            here = inspect.currentframe()
            if self._is_for_user(here and here.f_back):
                if by_name:
                    self.names.update(os.fsdecode(each) for each in arguments if isinstance(each, str | bytes))
                else:
                    self.all = True
            return original(environment, *arguments)

        return method

    def _is_for_user(self, frame: FrameType | None) -> bool:
        by_package = False
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(OWN) or frame.f_code.co_name == ENTRY_FRAME:
                return False
            if file in ("<entry>", self._path):
                return True
            if file.startswith("<"):
                if by_package and file.startswith("<frozen importlib"):
                    return False
            elif is_installed(file):
                by_package = by_package or not is_library(file)
            else:
                return True
            frame = frame.f_back
        return not by_package
