"""A record as one entry of the cache, and back into the record of a later request."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import replace

import msgspec

from cutecc.cache.fingerprint import own_fingerprint
from cutecc.errors import RecordError
from cutecc.record import ArtifactKind, Compilation, manifest
from cutecc.record.naming import file_name, is_plain
from cutecc.support.malformed import MALFORMED

_FAST = 1
"""The level of compression: entries are read more often than disks are full."""
_LONGEST = 1 << 28
"""Bytes that an entry may become when it is decompressed."""


class _Content(msgspec.Struct):
    """What an entry holds."""

    kept_as: str
    """Its own name in the store."""
    manifest: bytes
    files: dict[str, bytes]
    module: str
    """The hash of the traced module as it was, with its source lines."""
    asked: list[str]
    """The kinds of artifacts that were asked for; not every kernel has each."""
    about: str = ""
    """Who asked for it first, for people."""
    cutecc: str = ""
    """The fingerprint of the cutecc that made it."""


class Stored(msgspec.Struct):
    """A record that was read from the cache."""

    record: Compilation
    kept_as: str
    """The name in the store that it was made for."""
    module: str
    """The hash of the bytes of the traced module that it was made from."""
    asked: list[str]
    """The kinds of artifacts that were asked for."""
    about: str = ""
    """Who asked for it first, for people: file, entry, argument specs, options."""
    cutecc: str = ""
    """The fingerprint of the cutecc that made it (`own_fingerprint`)."""


def encode(
    compilation: Compilation,
    kept_as: str,
    module: str,
    asked: Collection[ArtifactKind],
    *,
    own_warnings: int,
    entry: str | None = None,
) -> bytes:
    """The entry of a compilation that succeeded; its first `own_warnings` warnings are about that request alone.

    `kept_as` is its name in the store. What says who asked is one line for people, with `entry`, what was asked for of
    the file. The texts of dumps and stages are left out, also of LLVM's passes.
    """
    kept = replace(
        compilation,
        command=[],
        source=None,
        signature=None,
        workload=None,
        warnings=compilation.warnings[own_warnings:],
        traced=None,
        steps=[msgspec.structs.replace(step, dump=None, dump_before=None) for step in compilation.steps],
        artifacts=[each for each in compilation.artifacts if each.kind not in ("stages", "llvm-passes")],
        cached=False,
    )
    files = {artifact.file: compilation.files[artifact.file] for artifact in kept.artifacts}
    about = _about(compilation, entry)
    content = _Content(kept_as, manifest.encode(kept), files, module, [*asked], about, own_fingerprint())
    return zlib.compress(msgspec.msgpack.encode(content), _FAST)


def _about(compilation: Compilation, entry: str | None) -> str:
    words: list[str] = []
    source = compilation.source if compilation.source not in (None, "-") else None
    if source and entry and entry.isidentifier():
        words.append(f"{source}:{entry}")
    else:
        words += [each for each in (source, entry) if each]
    if compilation.signature is not None:
        words += [f"{each.name}={each.spec}" for each in compilation.signature.parameters]
    words += [f"{name}={value}" for name, value in compilation.options.items()]
    return " ".join(" ".join(words).encode(errors="replace").decode().split())


def decode(data: bytes) -> Stored:
    """The record that `encode` wrote; `RecordError` for anything else: it may come from elsewhere."""
    try:
        content = msgspec.msgpack.decode(_decompressed(data), type=_Content)
    except (zlib.error, *MALFORMED) as failure:
        raise RecordError(f"an entry of the cache is damaged: {failure}") from None
    record = manifest.decode(content.manifest, where="an entry of the cache")
    record.files = content.files
    if any(artifact.file not in content.files for artifact in record.artifacts):
        raise RecordError("an entry of the cache is incomplete")
    if not all(map(is_plain, content.files)):
        raise RecordError("an entry of the cache names a file that none can be")
    if record.status != "ok" or record.traced or any(step.dump or step.dump_before for step in record.steps):
        raise RecordError("an entry of the cache is of no compilation that succeeded, or has dumps")
    return Stored(record, content.kept_as, content.module, content.asked, content.about, content.cutecc)


def _decompressed(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    found = stream.decompress(data, _LONGEST)
    if not stream.eof:
        raise RecordError("an entry of the cache is cut short, or too large")
    return found


def serves(stored: Stored, module: str, wanted: Collection[ArtifactKind], *, observe: bool) -> bool:
    """Whether the record holds all that is asked for: artifacts, what each pass changed, and lines that still hold."""
    record = stored.record
    if not {*stored.asked}.issuperset(wanted) or (observe and record.traced_operations is None):
        return False
    located = bool(record.variables) or any(remark.location for step in record.steps for remark in step.remarks)
    return not located or stored.module == module


def restore(stored: Stored, base: Compilation, wanted: Collection[ArtifactKind], *, optional: Collection[str]) -> None:
    """Complete `base`, the record of a new request as it begins, with what was stored.

    Of the artifact kinds in `optional`, the `wanted` ones. Files carry the new request's kernel name; inside, symbols
    keep the names that they were compiled with, and the host program launches by those.
    """
    record = stored.record
    old, new = file_name(record.name), file_name(base.name)
    for artifact in record.artifacts:
        if artifact.kind in optional and artifact.kind not in wanted:
            continue
        name = artifact.file
        if name.startswith(old):
            name = f"{new}{name.removeprefix(old)}"
        base.artifacts.append(msgspec.structs.replace(artifact, file=name))
        base.files[name] = record.files[artifact.file]
    base.traced_operations = record.traced_operations
    base.variables = record.variables
    base.steps = record.steps
    base.resources = record.resources
    base.warnings = [*base.warnings, *record.warnings]
    base.versions = record.versions
    base.status = record.status
    base.cached = True
