"""Which command lines this user has compiled with, in which folder, and the text of the file then.

What a record says of its command may come from anybody. What the store says is this user's own doing: running that once
more, on the same text, runs nothing that has not run here already.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from cutecc.cache import lookup
from cutecc.cache.fingerprint import digest_of
from cutecc.cache.folder import CacheError
from cutecc.cache.store import Store
from cutecc.config import Settings


def remember(command: Sequence[str], source: str, kernel: str) -> None:
    """Note that `command`, run in the current folder, has compiled a kernel of the file `source`. Best effort."""
    try:
        content = b"%s\n%s" % (kernel.encode(), Path(source).read_bytes())
        Store.of(Settings.from_environment()).put(_name(command, source), content)
    except (CacheError, OSError):
        return  # whoever wants to know is told what to run


def recall(command: Sequence[str], source: str) -> bytes | None:
    """What the file `source` held when `command` compiled it in the current folder; `None` where nobody knows."""
    if not lookup.wanted(None):
        return None
    try:
        content = Store.of(Settings.from_environment()).get(_name(command, source))
    except CacheError:
        return None
    return None if content is None else content.partition(b"\n")[2]


def kernel_of(content: bytes) -> str:
    """The kernel that a file of the store, `*.run`, is about."""
    return content.partition(b"\n")[0].decode(errors="replace")


def _name(command: Sequence[str], source: str) -> str:
    return f"{digest_of([os.getcwd(), [*command], source])}.run"
