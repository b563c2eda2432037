"""Names of files that people can read and type: no longer than it takes to tell them apart."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from cutecc.errors import UsageError
from cutecc.support.spelling import did_you_mean


def short_names(files: Iterable[str]) -> dict[str, str]:
    """For each path its shortest end, in whole parts, that no other path has."""
    parts = {file: file.split("/") for file in files}
    names: dict[str, str] = {}
    depth = 1
    while len(names) < len(parts):
        ends = {file: "/".join(each[-depth:]) for file, each in parts.items() if file not in names}
        count = Counter("/".join(each[-depth:]) for each in parts.values())
        for file, end in ends.items():
            if count[end] == 1 or depth >= len(parts[file]):
                names[file] = end
        depth += 1
    return names


def find_file(files: Collection[str], wanted: str) -> str:
    """The one of `files` that ends in the path `wanted`, or is it. Raises `UsageError`."""
    for path in (wanted, os.path.abspath(wanted)):
        if path in files:
            return path
    end = os.path.normpath(wanted)
    found = [file for file in files if file.endswith(f"/{end}")]
    if len(found) == 1:
        return found[0]
    if found:
        names = short_names(found)
        raise UsageError(f"{wanted} is {len(found)} files: {', '.join(sorted(names.values()))}")
    known = sorted(short_names(files).values())
    hints = did_you_mean(end, known) or ([f"it names {', '.join(known[:5])}"] if known else [])
    raise UsageError(f"the record names no file {wanted}", hints=hints)


def same_file(name: str, files: Collection[str]) -> str:
    """The only one of these that ends as the name does, in as many parts as possible."""
    if name in files or not name:
        return name
    parts = name.split("/")
    for count in range(len(parts), 0, -1):
        end: Sequence[str] = parts[-count:]
        same = [file for file in files if file.split("/")[-count:] == end]
        if len(same) == 1:
            return same[0]
        if same:
            break
    return name
