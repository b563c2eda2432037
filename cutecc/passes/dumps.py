"""Dumps: which modules to write as text, and what the first line of one says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

STAGE_MARK = "// cutecc-stage: "
"""Begins the first line of a dump; the rest of the line is JSON: `after` (a pass selector, null for the traced module),
`target`, `kernel`, `pipeline` and `options`."""


@dataclass(frozen=True)
class DumpChoice:
    """Which modules to write as text."""

    after: Sequence[str] = ()
    """Pass selectors, or `all`."""
    before: Sequence[str] = ()
    unchanged: bool = False
    """Also write dumps after passes that changed nothing."""
    locations: bool = False
    """Print source locations into dumps."""

    def __bool__(self) -> bool:
        return bool(self.after or self.before)


def read_stage(text: str) -> dict[str, Any]:
    """What the first line of a dump says about it; empty for any other module."""
    first = text.partition("\n")[0]
    if not first.startswith(STAGE_MARK):
        return {}
    try:
        stage = json.loads(first.removeprefix(STAGE_MARK))
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], stage) if isinstance(stage, dict) else {}
