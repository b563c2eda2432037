"""Files that the user names."""

from __future__ import annotations

import difflib
import os

from cutecc.errors import UsageError


def check_file(path: str) -> None:
    """Raise `UsageError`, with the name that may have been meant, unless there is a file at `path`."""
    if os.path.isfile(path):
        return
    folder, base = os.path.split(path)
    names = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
    close = difflib.get_close_matches(base, names, n=1)
    hints = [f"did you mean {os.path.join(folder, close[0])}?"] if close else []
    raise UsageError(f"there is no file {path}", hints=hints)
