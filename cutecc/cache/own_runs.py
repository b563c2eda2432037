"""Which command lines this user has compiled with, in which folder, and the text of the files then.

What a record says of its command may come from anybody. What the store says is this user's own doing: running that once
more, on the same text, runs nothing that has not run here already, but for modules that the files import.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from cutecc.cache import lookup
from cutecc.cache.fingerprint import digest_of, file_digest
from cutecc.cache.folder import CacheError
from cutecc.cache.store import Store
from cutecc.config import Settings

_NAME_CODE = {"--load", "--provider", "--pipeline", "--ptxas", "--link-libraries"}
"""Options whose values are files that compiling runs, or that decide what it runs; some have other values too."""


def remember(command: Sequence[str], source: str, kernel: str) -> None:
    """Note that `command`, run in the current folder, has compiled a kernel of the file `source`. Best effort."""
    try:
        name = _name(command, source)
        content = b"%s\n%s\n%s" % (name.encode(), kernel.encode(), Path(source).read_bytes())
        Store.of(Settings.from_environment()).put(name, content)
    except (CacheError, OSError):
        return  # whoever wants to know is told what to run


def recall(command: Sequence[str], source: str) -> bytes | None:
    """What the file `source` held when `command` compiled it in the current folder; `None` where nobody knows.

    Nobody does either where one of `code_of(command)` is not what it was then.
    """
    if not lookup.wanted(None):
        return None
    try:
        name = _name(command, source)
        content = Store.of(Settings.from_environment()).get(name)
    except (CacheError, OSError):
        return None
    kept_as, _, text = _parts(content or b"")
    return text if kept_as == name else None


def kernel_of(content: bytes) -> str:
    """The kernel that a file of the store, `*.run`, is about."""
    return _parts(content)[1]


def _parts(content: bytes) -> tuple[str, str, bytes]:
    """Its own name, the kernel, the text of the kernel's file."""
    name, _, rest = content.partition(b"\n")
    kernel, _, text = rest.partition(b"\n")
    return name.decode(errors="replace"), kernel.decode(errors="replace"), text


def code_of(command: Sequence[str]) -> Iterator[str]:
    """The files beside its kernels that a command line has code from: passes, operators, libraries, tools."""
    for word, following in zip(command, [*command[1:], ""], strict=True):
        option, is_joined, value = word.partition("=")
        if option in _NAME_CODE:
            yield from (each for each in (value if is_joined else following).split(",") if os.path.isfile(each))


def _name(command: Sequence[str], source: str) -> str:
    code = [file_digest(each) for each in code_of(command)]
    return f"{digest_of([os.getcwd(), [*command], source, code])}.run"
