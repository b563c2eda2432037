"""The device that the user names."""

from __future__ import annotations

import re

from cutecc.errors import UsageError
from cutecc.runtime.workspace import Workspace


def open_device(name: str) -> Workspace:
    """The device called `cuda` or `cuda:1`. Raises `UsageError` for another name, `LaunchError` where it is not."""
    match = re.fullmatch(r"cuda(?::([0-9]+))?", name)
    if match is None:
        raise UsageError(f"no device is called '{name}'", hints=["GPUs are called cuda:0, cuda:1, …"])
    return Workspace(int(match[1] or 0))
