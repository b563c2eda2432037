"""Files that the user names: reading and writing them, and what they are."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

from cutecc.errors import UsageError
from cutecc.support.output_file import reason, write_output

_LONGEST_INPUT = 1 << 30
"""Bytes."""


def read_input(path: Path) -> bytes:
    """The content of the user's file, or pipe; `UsageError` when it cannot be read.

    A pipe that nobody writes to is empty. A device is refused, but for a terminal and the one that is empty: others
    have no end.
    """
    try:
        # What is opened like this may be a pipe without a writer, for which open would wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            mode = os.fstat(descriptor).st_mode
            if not (
                stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or os.isatty(descriptor) or os.path.samefile(path, os.devnull)
            ):
                raise UsageError(f"cannot read {path}: it is a device, or a socket")
            os.set_blocking(descriptor, True)
            too_long = os.fstat(descriptor).st_size > _LONGEST_INPUT
            data = b"" if too_long else file.read(_LONGEST_INPUT + 1)
    except (OSError, ValueError) as failure:
        raise UsageError(f"cannot read {path}: {reason(failure)}") from None
    if too_long or len(data) > _LONGEST_INPUT:
        raise UsageError(f"cannot read {path}: it has more than {_LONGEST_INPUT} bytes")
    return data


def hints_for(path: str) -> list[str]:
    """What to do instead with a file that a command cannot use, as far as the file says."""
    from cutecc.record.bundle import OPERATION_HINT, is_operation

    return [OPERATION_HINT] if is_operation(path) else []


def check_output(path: Path | None) -> None:
    """Raise `UsageError` when a file cannot or should not be written, before there is much to lose.

    It has no folder, is one, or is a program: nobody asks for the loss of that.
    """
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    if path.is_dir():
        raise UsageError(f"cannot write {path}: Is a directory")
    if path.suffix == ".py" and path.exists():
        raise UsageError(f"cannot write {path}: it is a Python file, which would be lost")


def is_ptx(text: str) -> bool:
    """Whether `text` names a file of PTX."""
    return text.endswith(".ptx")


def is_record(text: str) -> bool:
    """Whether `text` names a bundle or the folder of a record."""
    return text.endswith(".cutecc") or Path(text).is_dir()


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays in a file, by name. Raises `UsageError` for a file that cannot be read, or holds other things."""
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except OSError as failure:
        raise UsageError(f"cannot read {path}: {failure.strerror or failure}") from None
    # A single array, in a file without names, is no context.
    except (ValueError, AttributeError, EOFError, TypeError, zipfile.BadZipFile):
        raise UsageError(f"{path} is no .npz file of numbers", hints=["numpy.savez(FILE, x=…) writes one"]) from None


def save_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays by name. Raises `UsageError` for a file that cannot be written."""
    import numpy as np

    # A file and not a path, so that the name stays as it was given.
    write_output(path, lambda file: np.savez(file, **arrays))  # pyright: ignore[reportArgumentType]
