"""An operation in one file: its descriptions and compiled kernels, for machines without the DSL.

The file is an archive as bundles of kernels are (`cutecc.record.archive`): `operation.json` first, then one bundle of a
kernel for each form of each target.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from cutecc.errors import RecordError, UsageError
from cutecc.kernel import Kernel
from cutecc.operations.any_description import Description, from_json
from cutecc.operations.words import path_of
from cutecc.record import archive
from cutecc.record.archive_index import read_index
from cutecc.record.bundle import OPERATION_INDEX, check_destination, decode_bundle, encode_bundle
from cutecc.record.whole_file import write_whole

FORMAT = "cutecc/operation"
MAJOR, MINOR = 1, 0
INDEX = OPERATION_INDEX


class Form(msgspec.Struct):
    """One description and its kernel."""

    file: str
    description: msgspec.Raw
    """As its `to_json` writes it."""


class Member(msgspec.Struct):
    """An operation for one target."""

    target: str
    forms: list[Form]
    """The first is the operation itself; a second one reads no source."""


class _Index(msgspec.Struct):
    format: str
    version: str
    name: str
    members: list[Member]


def write(path: str | Path, operations: Sequence[Sequence[tuple[Description, Kernel]]]) -> None:
    """Write operations, each for another target and with its forms, to the file `path`, whole or not at all.

    Raises `RecordError` for kernels that cannot be put into a bundle and a file that cannot be written, `UsageError`
    when something else is there.
    """
    path = path_of(path)
    check_destination(path, INDEX, "bundle of an operation")
    members: list[Member] = []
    files: list[tuple[str, bytes]] = []
    for forms in operations:
        target = forms[0][0].target
        if any(each.target == target for each in members):
            raise RecordError(f"the operation comes twice for {target}")
        listed: list[Form] = []
        for number, (description, kernel) in enumerate(forms):
            name = f"{target}-{number}.cutecc"
            files.append((name, encode_bundle([kernel.compilation])))
            listed.append(Form(name, msgspec.Raw(description.to_json())))
        members.append(Member(target, listed))
    index = _Index(FORMAT, f"{MAJOR}.{MINOR}", operations[0][0][0].name, members)
    data = archive.pack([(INDEX, msgspec.json.format(msgspec.json.encode(index))), *files])
    write_whole(path, [data], "the operation")


def read(path: str | Path) -> dict[str, list[tuple[Description, Kernel]]]:
    """The forms of each target in the file `path`, in its order. The whole file is read and checked.

    Raises `RecordError` for one that cannot be read, is damaged, is none, or has a newer major version.
    """
    path = path_of(path)
    try:
        data = path.read_bytes()
    except OSError as failure:
        raise RecordError(f"cannot read {path}: {failure.strerror}") from None
    how = "op.bundle(path) writes one"
    index = read_index(data, str(path), INDEX, _Index, f"{FORMAT} {MAJOR}", "bundle of an operation", how)
    entries = {each.name: each for each in archive.unpack(data, str(path))}
    found: dict[str, list[tuple[Description, Kernel]]] = {}
    for member in index.members:
        for form in member.forms:
            entry = entries.get(form.file)
            if entry is None:
                raise RecordError(f"{path} is damaged: it lacks {form.file}")
            content = data[entry.offset : entry.offset + entry.size]
            (compilation,) = decode_bundle(content, f"{path}: {form.file}")
            try:
                description = from_json(bytes(form.description))
            except UsageError as error:
                raise RecordError(f"{path} is damaged: {form.file} is of no operation: {error.message}") from None
            found.setdefault(member.target, []).append((description, Kernel(compilation)))
    if not found:
        raise RecordError(f"{path} is damaged: it holds nothing")
    return found
