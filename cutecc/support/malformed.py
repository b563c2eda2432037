"""What msgspec raises for data that is not what it should be, when the data comes from a file."""

from __future__ import annotations

from typing import Final

import msgspec

MALFORMED: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Of the wrong form, not UTF-8 within strings, or nested too deeply."""
