"""`cutecc run --keep`: what the emulator counted, in the record of the kernel that ran."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutecc.cli.files import is_record
from cutecc.cli.sizes import sizes_text
from cutecc.emulator.counters.keeping import kept_counters
from cutecc.errors import UsageError
from cutecc.record import Compilation
from cutecc.record.counters import keep_counters
from cutecc.record.folder import RecordFolder

if TYPE_CHECKING:
    from cutecc.cli.verdict import Trial


def check_keeping(input_: str, values: dict[str, Any]) -> None:
    """Refuse what would only fail after the run."""
    if values["keep"] is None:
        return
    if not values["counters"]:
        raise UsageError("--keep keeps what was counted", hints=["count with --counters"])
    folder: Path = values["keep"]
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"--keep: {folder} is a file, and a record is a folder")
    if not is_record(input_) and folder.resolve() == Path(input_).resolve().parent:
        raise UsageError(f"--keep: {folder} is the folder of the input", hints=["name another one"])


def keep(input_: str, record: Compilation, trial: Trial, folder: Path) -> None:
    """Put what a launch counted into the record in `folder`.

    A kernel that was compiled for the run has its record there; one out of a record gets it there, unless that is the
    folder which it comes from.
    """
    if is_record(input_) and Path(input_).resolve() != folder.resolve():
        copy = RecordFolder(folder)
        copy.save(record)
        copy.close()
    assert trial.emulation is not None
    points = [text for text in (sizes_text(trial.sizes), f"seed {trial.seed}") if text]
    keep_counters(folder, kept_counters(trial.emulation, ", ".join(points)))
