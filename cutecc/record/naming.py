"""File names of a record: plain and portable, so that none of them leads anywhere."""

from __future__ import annotations

import re
from pathlib import PurePath

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_NUMBER = re.compile(r"__\d+$")
"""What ends the symbol of a kernel whose arguments have no part in it."""
_ARGUMENTS = (
    *("_tensorptr", "_Tensor", "_FakeTensor", "_ptr"),
    *("_TiledMMA", "_TiledCopy", "_CopyAtom_", "_MmaAtom_"),
    "_object_at_",
)
"""How the first argument begins in the symbol of a kernel; of a method, how the text of `self` ends."""
_LONGEST = 200
"""Characters of the longest name that a record may hold."""


def file_name(text: str, limit: int = 80) -> str:
    """`text` as one plain, portable file name: letters, digits, `.`, `_` and `-`, not hidden, at most `limit` long."""
    return _UNSAFE.sub("-", text).strip("-.")[:limit] or "unnamed"


def record_stem(file: str, function: str | None) -> str:
    """What the folders of records begin with, of a kernel file beside others."""
    stem = PurePath(file).stem
    return file_name(f"{stem}-{function}" if function else stem)


def is_plain(name: str) -> bool:
    """Whether a record may hold a file called `name`: one that `file_name` leaves as it is."""
    return name == file_name(name, limit=_LONGEST)


def short_kernel_name(symbol: str) -> str:
    """The Python name inside the DSL's symbol `kernel_cutlass_NAME_ARGUMENTS…_0`, as far as it can be told."""
    name = symbol.removeprefix("kernel_cutlass_")
    for mark in _ARGUMENTS:
        name = name.partition(mark)[0]
    return _NUMBER.sub("", name)
