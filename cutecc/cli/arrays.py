"""Arrays in files of the user's: `--inputs` and `--save`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cutecc.errors import UsageError


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
    """Write arrays by name. A file is whole or not there; into a device or pipe it is written as it comes."""
    try:
        if path.exists() and not path.is_file():
            _write(path, "wb", arrays)
            return
        # Where a link leads, not the link.
        final = Path(os.path.realpath(path))
        partial = final.with_name(f".{final.name}.{os.getpid()}.partial")
        try:
            _write(partial, "xb", arrays)
            os.replace(partial, final)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as failure:
        raise UsageError(f"cannot write {path}: {failure.strerror}") from None


def _write(path: Path, mode: str, arrays: dict[str, Any]) -> None:
    import numpy as np

    # A file and not a path, so that the name stays as it was given.
    with path.open(mode) as file:
        np.savez(file, **arrays)  # pyright: ignore[reportArgumentType]
