"""A bundle: the record of one kernel, for one or several targets, in one file.

The file is a zip archive in the form of `cutecc.record.archive`. Its first entry is `bundle.json`; then comes a
folder for each target, `sm_90a/manifest.json` and the files that it names. `docs/bundles.md` describes the format.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import msgspec

from cutecc.errors import RecordError, UsageError
from cutecc.record import archive, manifest
from cutecc.record.archive import Entry
from cutecc.record.assembly import check_assembly
from cutecc.record.compilation import ArtifactKind, Compilation
from cutecc.record.naming import is_plain
from cutecc.record.plain_file import opened
from cutecc.record.whole_file import write_whole
from cutecc.support.harmless import one_line
from cutecc.support.output_file import reason

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = "cutecc/bundle"
MAJOR, MINOR = 1, 0
"""A new optional key raises the minor version; readers refuse a newer major one and ignore keys they do not know."""

INDEX = "bundle.json"
OPERATION_INDEX = "operation.json"
"""What the archive of an operation begins with, `cutecc.operations.bundles`."""
OPERATION_HINT = "it is the bundle of an operation: cutecc.operations.load reads it"
_MANIFEST = "manifest.json"
_TO_RUN: tuple[ArtifactKind, ...] = ("cubin", "ptx", "host-program")
"""What running needs: machine code, PTX for GPUs that come later, and what computes the launches."""
_NO_DIGEST = b"0" * 64
"""What stands for the hash in `bundle.json` while the hash is computed."""
_SHA256 = re.compile("[0-9a-fA-F]{64}")
_LONGEST_INDEX = 1 << 20
"""Bytes of JSON that are parsed."""


def write_bundle(path: str | Path, compilations: Sequence[Compilation], *, dumps: bool = False) -> None:
    """Write the records of one kernel, each for another target, to the file `path`, whole or not at all.

    Without `dumps` only what running needs: cubins, PTX, host programs and manifests. Raises `RecordError` for a
    record that cannot be run and a file that cannot be written, and `UsageError` when `path` is something else already.
    """
    from pathlib import Path

    path = Path(path)
    check_destination(path)
    data = encode_bundle(compilations, dumps=dumps)
    write_whole(path, [data], "the bundle")


def check_destination(path: Path, index: str = INDEX, what: str = "bundle") -> None:
    """Raise `UsageError` when an archive cannot become the file `path`: something else is there, or it has no folder.

    `index` is the first entry of such archives, which the message calls `what`.
    """
    try:
        with opened(path) as file:
            start = file.read(4096)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise UsageError(f"cannot write the {what} {path}: there is no folder {path.parent}") from None
        return
    except RecordError as error:
        raise UsageError(f"cannot write the {what}: {error.message}", hints=["name another file"]) from None
    except (OSError, ValueError) as failure:
        raise UsageError(f"cannot write the {what} {path}: {reason(failure)}", hints=["name another file"]) from None
    if start and f"\0{index}".encode() not in start[:64]:
        raise UsageError(
            f"cannot write the {what} {path}: the file there is not a {what}",
            hints=["name another file, or remove that one first"],
        )


def encode_bundle(compilations: Sequence[Compilation], *, dumps: bool = False) -> bytes:
    """The bundle of `compilations`, as `write_bundle` writes it: the same records give the same bytes."""
    if not compilations:
        raise RecordError("a bundle holds at least one target")
    folders: dict[str, list[tuple[str, bytes]]] = {}
    for compilation in compilations:
        if compilation.name != compilations[0].name:
            raise RecordError(
                f"a bundle holds one kernel, not {compilations[0].name} and {compilation.name}",
                hints=["write a bundle for each"],
            )
        if compilation.target in folders:
            raise RecordError(f"{compilation.name} comes twice for {compilation.target}")
        if not is_plain(compilation.target):
            raise RecordError(f"'{compilation.target}' is not the name of a target")
        folders[compilation.target] = _folder(compilation, dumps)
    entries = [(f"{target}/{name}", data) for target, files in folders.items() for name, data in files]
    head = {"format": FORMAT, "version": f"{MAJOR}.{MINOR}", "sha256": _NO_DIGEST.decode()}
    index = json.dumps({**head, "kernel": compilations[0].name, "targets": [*folders]}, indent=2).encode() + b"\n"
    digest = _digest([(INDEX, index), *entries])
    return archive.pack([(INDEX, index.replace(_NO_DIGEST, digest, 1)), *entries])


def read_bundle(path: str | Path, *, sha256: str | None = None) -> list[Compilation]:
    """The records in the bundle `path`, in its order, their files taken out when they are asked for.

    The whole file is read and checked first, with `sha256` also that it is the file with this digest. Raises
    `RecordError` for one that cannot be read, is damaged, is another file, is no bundle, or has a newer major version,
    and `UsageError` for a digest that is none.
    """
    if sha256 is not None and not (isinstance(cast(object, sha256), str) and _SHA256.fullmatch(sha256)):
        raise UsageError(f"sha256={sha256!r:.90} is no digest", hints=[f"sha256sum {path} prints it: 64 hex digits"])
    try:
        with opened(path) as file:
            if (size := os.fstat(file.fileno()).st_size) > archive.LONGEST:
                raise RecordError(f"{path} has {size} bytes; a bundle has at most {archive.LONGEST}")
            data = file.read(archive.LONGEST + 1)
    except (OSError, ValueError) as failure:
        raise RecordError(f"cannot read the bundle {one_line(str(path))}: {reason(failure)}") from None
    if sha256 is not None and (found := hashlib.sha256(data).hexdigest()) != sha256.lower():
        raise RecordError(f"{path} is not the bundle that was asked for", notes=[f"its SHA-256 is {found}"])
    return decode_bundle(data, str(path))


def decode_bundle(data: bytes, where: str) -> list[Compilation]:
    """The records in the bundle `data`; raises as `read_bundle` does, and names `where`."""
    first = archive.first_entry(data)
    if first is None or first[0] != INDEX.encode():
        hints = ["cutecc compile --bundle FILE writes one"]
        if first is not None and first[0] == OPERATION_INDEX.encode():
            hints = [OPERATION_HINT]
        elif data[:4] == b"PK\x03\x04":
            hints.append("a bundle that another program has unpacked and zipped is refused: keep the file as it is")
        raise RecordError(f"{where} is not a bundle of cutecc", hints=hints)
    digest, targets = _decode_index(first[1], where)
    found = archive.unpack(data, where)
    if len({entry.name for entry in found}) != len(found):
        raise _damaged(where, "it holds a file twice")
    raw_digest = digest.encode()
    view = memoryview(data)
    contents = [(entry.name, view[entry.offset : entry.offset + entry.size]) for entry in found[1:]]
    if _digest([(INDEX, first[1].replace(raw_digest, _NO_DIGEST, 1)), *contents]) != raw_digest:
        raise _damaged(where, "its content hash differs")
    folders: dict[str, dict[str, Entry]] = {target: {} for target in targets}
    for entry in found[1:]:
        target, _, name = entry.name.partition("/")
        if target not in folders or not is_plain(name):
            raise _damaged(where, f"'{entry.name}' is not a file of one of its targets")
        folders[target][name] = entry
    return [_decode_folder(data, target, files, where) for target, files in folders.items()]


def is_operation(path: str | Path) -> bool:
    """Whether the file `path` begins as the bundle of an operation; false for one that cannot be read."""
    try:
        with opened(path) as file:
            first = archive.first_entry(file.read(_LONGEST_INDEX))
    except (OSError, ValueError, RecordError):
        return False
    return first is not None and first[0] == OPERATION_INDEX.encode()


def _damaged(where: str, why: str) -> RecordError:
    return RecordError(f"{where} is damaged: {why}", hints=[*archive.REMEDIES])


def _folder(compilation: Compilation, dumps: bool) -> list[tuple[str, bytes]]:
    """The manifest and files of one target."""
    if compilation.status != "ok":
        raise RecordError(
            f"{compilation.name} for {compilation.target} cannot be put into a bundle: its compilation "
            f"{'was stopped early' if compilation.status == 'stopped' else 'did not succeed'}"
        )
    kept = compilation if dumps else _without_dumps(compilation)
    names = [artifact.file for artifact in kept.artifacts]
    names += sorted(_dumps(kept) - {*names})
    if not any(artifact.kind in ("cubin", "ptx") for artifact in kept.artifacts):
        raise RecordError(
            f"{kept.name} for {kept.target} has neither a cubin nor PTX",
            hints=["compile with artifacts=('ptx', 'cubin', 'host-program')"],
        )
    files: dict[str, bytes] = {}
    for name in names:
        if not is_plain(name) or name == _MANIFEST:
            raise RecordError(f"the record of {kept.name} for {kept.target} names a file '{name}', which none can be")
        files[name] = compilation.content(name)
    return [(_MANIFEST, manifest.encode(kept)), *files.items()]


def _without_dumps(compilation: Compilation) -> Compilation:
    """`compilation` with what running needs, and no mention of other files."""
    return replace(
        compilation,
        artifacts=[artifact for artifact in compilation.artifacts if artifact.kind in _TO_RUN],
        traced=None,
        steps=[msgspec.structs.replace(step, dump=None, dump_before=None) for step in compilation.steps],
        failure=compilation.failure and msgspec.structs.replace(compilation.failure, reproducer=None),
    )


def _dumps(compilation: Compilation) -> set[str]:
    named = [
        compilation.traced,
        compilation.failure and compilation.failure.reproducer,
        *(name for step in compilation.steps for name in (step.dump_before, step.dump)),
    ]
    return {name for name in named if name}


def _decode_index(data: bytes, where: str) -> tuple[str, list[str]]:
    """The content hash and the targets that `bundle.json` names."""
    try:
        body = json.loads(data) if len(data) <= _LONGEST_INDEX else None
    except (ValueError, RecursionError) as failure:
        raise _damaged(where, f"its {INDEX} is not JSON: {failure}") from None
    if not isinstance(body, dict) or cast(dict[str, Any], body).get("format") != FORMAT:
        raise RecordError(f"{where} is not a bundle of cutecc: its {INDEX} does not say so", hints=[*archive.REMEDIES])
    index = cast(dict[str, Any], body)
    manifest.check_version(str(index.get("version", "")), MAJOR, where, "bundle")
    digest, targets = index.get("sha256"), index.get("targets")
    is_digest = isinstance(digest, str) and len(digest) == len(_NO_DIGEST) and data.count(digest.encode()) == 1
    if not is_digest or not isinstance(targets, list) or not targets:
        raise _damaged(where, f"its {INDEX} lacks the content hash or the targets")
    names = cast(list[object], targets)
    if not all(isinstance(name, str) and is_plain(name) for name in names) or len({*names}) != len(names):
        raise _damaged(where, f"its {INDEX} names a target twice, or one that cannot be")
    return cast(str, digest), cast(list[str], names)


def _decode_folder(data: bytes, target: str, files: dict[str, Entry], where: str) -> Compilation:
    place = f"{where}: {target}/{_MANIFEST}"
    entry = files.pop(_MANIFEST, None)
    if entry is None or entry.size > manifest.LONGEST:
        raise _damaged(where, f"it has no manifest for {target}, or one that is too large")
    compilation = manifest.decode(data[entry.offset : entry.offset + entry.size], where=place)
    if compilation.target != target:
        raise RecordError(f"{place} is for '{compilation.target}'")
    if missing := {*_dumps(compilation), *(artifact.file for artifact in compilation.artifacts)} - {*files}:
        raise RecordError(f"{place} names '{min(missing)}', which the bundle lacks")
    compilation.files = _BundleFiles(data, files)
    compilation.read_from = where
    check_assembly(compilation, place)
    return compilation


class _BundleFiles(MutableMapping[str, bytes]):
    """The files of one target, each taken out of the bundle when it is asked for."""

    def __init__(self, data: bytes, entries: dict[str, Entry]) -> None:
        self._data = data
        self._entries = entries

    def __getitem__(self, name: str) -> bytes:
        entry = self._entries[name]
        return self._data[entry.offset : entry.offset + entry.size]

    def __setitem__(self, name: str, data: bytes) -> None:
        raise RecordError("a record that was read cannot be written")

    def __delitem__(self, name: str) -> None:
        raise RecordError("a record that was read cannot be written")

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _digest(entries: Sequence[tuple[str, bytes | memoryview]]) -> bytes:
    """The SHA-256 over names, sizes and contents in order, in hexadecimal digits."""
    state = hashlib.sha256()
    for name, data in entries:
        state.update(name.encode() + b"\0" + len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest().encode()
