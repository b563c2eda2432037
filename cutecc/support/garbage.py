"""Python's garbage collector, while many objects come that live on."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Generator


@contextlib.contextmanager
def without_collection() -> Generator[None]:
    """Hundreds of thousands of such objects would be traversed over and over.

    Other threads do without the collector too, or with it again once the first of several such scopes ends.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
