"""What a watched program is told, in its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HOOK = Path(__file__).parent / "hook"
"""The folder that goes on `PYTHONPATH`."""
FOLDER = "CUTECC_WATCH"
"""The folder to record into; empty or `0` is off."""
MARK = "CUTECC_WATCH_MARK"
"""What the folder's mark has to be; empty where `cutecc watch` has not made it."""
_ONLY = "CUTECC_WATCH_ONLY"
_LINES = "CUTECC_WATCH_LINES"
_OFF = ("", "0", "false", "no", "off")


def is_off(text: str) -> bool:
    """Whether a variable's value means off."""
    return text.strip().lower() in _OFF


@dataclass(frozen=True)
class WatchSettings:
    """What to record, and how."""

    only: tuple[str, ...] = ()
    """`CUTECC_WATCH_ONLY`: shell patterns of functions and kernels, separated by commas; of none, everything."""
    lines: bool = False
    """`CUTECC_WATCH_LINES`: trace with the user's lines."""

    @classmethod
    def from_environment(cls) -> WatchSettings:
        """The settings of this process."""
        only = os.environ.get(_ONLY, "").split(",")
        return cls(
            tuple(pattern.strip() for pattern in only if pattern.strip()),
            not is_off(os.environ.get(_LINES, "")),
        )

    def environment(self, folder: Path, base: Mapping[str, str], mark: str = "") -> dict[str, str]:
        """`base` with what makes a program started in it record into `folder`, which has this `mark`."""
        paths: Sequence[str] = [str(HOOK), *filter(None, [base.get("PYTHONPATH")])]
        return {
            **base,
            "PYTHONPATH": os.pathsep.join(paths),
            FOLDER: str(folder.absolute()),
            MARK: mark,
            _ONLY: ",".join(self.only),
            _LINES: "1" if self.lines else "",
        }
