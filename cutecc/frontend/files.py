"""Files that the user names."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import tokenize
from collections.abc import Generator

from cutecc.errors import Error, UsageError
from cutecc.support.spelling import did_you_mean

_UNKNOWN = re.compile(r"unknown encoding(?: for .*)?: (.*)", re.DOTALL)
"""What Python says of a coding line."""
_LARGEST_SOURCE = 16 << 20
"""Bytes: a hundred times the largest that people write."""


def check_file(path: str) -> None:
    """Raise `UsageError`, with the name that may have been meant, unless there is a file at `path`.

    A Python file also has to be one that Python, the DSL and records can name and read.
    """
    if os.path.isfile(path):
        if path.endswith(".py"):
            _check_source(path)
        return
    if os.path.lexists(path) and not os.path.islink(path):
        raise UsageError(f"{path} is no regular file")
    folder, base = os.path.split(path)
    names = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
    hints = did_you_mean(base, names, lambda each: os.path.join(folder, each))
    raise UsageError(f"there is no file {path}", hints=hints)


def _check_source(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        raise UsageError(f"the name {path!a} is not UTF-8: rename the file") from None
    size = os.path.getsize(path)
    if size > _LARGEST_SOURCE:
        raise UsageError(f"{path} has {size} bytes; a Python file with a kernel has at most {_LARGEST_SOURCE}")
    try:
        with open(path, "rb") as source:
            encoding, _ = tokenize.detect_encoding(source.readline)
        # One that is no encoding of text is found by Python too, and refused.
        b"#".decode(encoding)
    except (SyntaxError, LookupError, UnicodeError) as failure:
        if "invalid or missing" in str(failure):
            return  # whoever reads the text says better that it is not UTF-8
        unknown = _UNKNOWN.match(str(failure))
        what = f"unknown encoding '{unknown[1]}' in its" if unknown else "it names no encoding of text in its"
        raise UsageError(f"{path}: {what} coding line", notes=[] if unknown else [str(failure)]) from None
    except OSError as failure:
        raise UsageError(f"cannot read {path}: {failure.strerror}") from None


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
