"""What the tests of planted bugs need."""

from __future__ import annotations

import os

# The user's cache is left alone.
os.environ["CUTECC_CACHE"] = "0"
