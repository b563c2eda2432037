"""Files that the user names."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Generator

from cutecc.errors import Error, UsageError
from cutecc.spelling import did_you_mean


def check_file(path: str) -> None:
    """Raise `UsageError`, with the name that may have been meant, unless there is a file at `path`."""
    if os.path.isfile(path):
        return
    folder, base = os.path.split(path)
    names = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
    hints = did_you_mean(base, names, lambda each: os.path.join(folder, each))
    raise UsageError(f"there is no file {path}", hints=hints)


def as_given(text: str, path: str | None) -> str:
    """`text`, the absolute path of the user's file at `path` in it as the user wrote it."""
    return text if path is None else text.replace(f"{os.path.abspath(path)}:", f"{path}:")


@contextlib.contextmanager
def errors_as_given(path: str) -> Generator[None]:
    """Lets errors name the file at `path` as the user did."""
    try:
        yield
    except Error as error:
        if error.location and error.location.file == os.path.abspath(path):
            error.location = dataclasses.replace(error.location, file=path)
        error.notes = [as_given(note, path) for note in error.notes]
        raise
