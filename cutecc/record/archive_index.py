"""What an archive says of itself: its first entry, JSON with a format and a version."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from cutecc.errors import RecordError
from cutecc.record import archive, manifest
from cutecc.support.malformed import MALFORMED


class Index(Protocol):
    """What such an entry has at least."""

    format: str
    version: str
    """`MAJOR.MINOR`: a new optional key raises the minor version; a newer major one is refused."""


AnIndex = TypeVar("AnIndex", bound=Index)


def read_index(data: bytes, where: str, name: str, kind: type[AnIndex], newest: str, what: str, how: str) -> AnIndex:
    """The first entry of the archive `data`, which is called `name`.

    `newest` is the format and the major version that are read, `cutecc/operation 1`. Raises `RecordError`, which names
    `where`, for anything else than a `what`; `how` to make one is a hint.
    """
    first = archive.first_entry(data)
    if first is None or first[0] != name.encode():
        is_bundle = first is not None and first[0] == b"bundle.json"
        raise RecordError(
            f"{where} is not a {what}", hints=["it holds a kernel: cutecc.load(path)" if is_bundle else how]
        )
    try:
        index = msgspec.json.decode(first[1], type=kind)
    except MALFORMED as failure:
        raise RecordError(f"{where} is damaged: its {name} is not as it should be: {failure}") from None
    of, _, major = newest.partition(" ")
    if index.format != of:
        raise RecordError(f"{where} is not a {what}: its {name} does not say so", hints=[*archive.REMEDIES])
    manifest.check_version(index.version, int(major), where, what)
    return index
