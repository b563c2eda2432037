"""Arrays in files of the user's: `--inputs` and `--save`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cutecc.errors import UsageError
from cutecc.support.output_file import write_output


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
