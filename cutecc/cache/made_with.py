"""What an entry was made with, and whether it can answer here: other tools have other keys."""

from __future__ import annotations

import importlib.metadata
import platform

from cutecc import __version__
from cutecc.cache.entries import Stored
from cutecc.cache.fingerprint import own_fingerprint
from cutecc.support.flavours import flavour

_WHEEL = "nvidia-cutlass-dsl"


def why_not_here(stored: Stored, *, described: bool) -> str | None:
    """What an entry was made with that is another here; `None` where nothing of that keeps it from answering.

    `described` is an entry that is found by a description, with whatever Python. Variables and the assembler, which are
    in keys too, are not compared.
    """
    made = stored.record.versions
    if (stored.cutecc or made.cutecc) != own_fingerprint():
        if made.cutecc == __version__:
            return f"of other files of cutecc {__version__}"
        return f"of cutecc {made.cutecc}; this is {__version__}"
    if made.wheel != (wheel := _wheel()):
        return f"of {_WHEEL} {made.wheel}; here is {wheel or 'none'}"
    if not described and made.python != (python := platform.python_version()):
        return f"of Python {made.python}; this is {python}"
    return None


def _wheel() -> str | None:
    """The wheel of this installation as records call it, `4.8.1 cu12`."""
    try:
        return f"{importlib.metadata.version(_WHEEL)} {flavour()}".rstrip()
    except importlib.metadata.PackageNotFoundError:
        return None
