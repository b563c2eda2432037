"""A compilation as JSON: writing, reading, and the published schema."""

from __future__ import annotations

import json
from typing import Any, Final, cast, get_args

import msgspec

from cutecc.errors import RecordError
from cutecc.record.compilation import ArtifactKind, Compilation
from cutecc.support import forks

SCHEMA = "cutecc/compilation"
MAJOR, MINOR = 1, 8
"""A new optional key raises the minor version; readers refuse a newer major one and ignore keys they do not know."""

_REIMPLEMENTATION: Final = "stand-in"
"""What manifests call the provider `reimplementation`: readers of 1.x know this name, and no other."""

LONGEST = 1 << 26
"""Bytes of JSON that are read."""

_converting = forks.lock()
"""msgspec gathers what it knows of a type when that is first used; threads that do so at once can crash the process."""


def encode(compilation: Compilation, *, indent: int | None = 2) -> bytes:
    """The manifest of `compilation` as JSON; with `indent=None` on one line, which takes a tenth of the time."""
    body = cast(dict[str, Any], msgspec.to_builtins(compilation))
    _rename_provider(body, "reimplementation", _REIMPLEMENTATION)
    return json.dumps({"schema": SCHEMA, "version": f"{MAJOR}.{MINOR}", **body}, indent=indent).encode() + b"\n"


def decode(data: bytes, *, where: str = "manifest.json") -> Compilation:
    """The compilation that a manifest describes, without its files.

    Raises `RecordError`, which names `where`, for data that is no manifest, is damaged, or has a newer major version.
    """
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError) as failure:
        raise RecordError(f"{where} is not JSON: {failure}") from None
    if not isinstance(body, dict) or cast(dict[str, Any], body).get("schema") != SCHEMA:
        raise RecordError(f"{where} is not a manifest of cutecc", hints=[f'its "schema" has to be "{SCHEMA}"'])
    manifest = cast(dict[str, Any], body)
    check_version(str(manifest.get("version", "")), MAJOR, where, "record")
    _leave_out_unknown_artifacts(manifest)
    _rename_provider(manifest, _REIMPLEMENTATION, "reimplementation")
    try:
        with _converting:
            return msgspec.convert(manifest, Compilation)
    except msgspec.ValidationError as failure:
        raise RecordError(f"{where} is damaged: {failure}") from None


def check_version(version: str, newest: int, where: str, kind: str) -> None:
    """Raise `RecordError`, which names `where`, for the version of a `kind` of file with a major above `newest`."""
    major = version.partition(".")[0]
    if not (major.isascii() and major.isdecimal()) or len(major) > 9 or int(major) > newest:
        raise RecordError(
            f"{where} has version '{version[:40]}'; this cutecc reads versions up to {newest}.x",
            hints=[f"upgrade cutecc to read this {kind}"],
        )


def _leave_out_unknown_artifacts(manifest: dict[str, Any]) -> None:
    """A later minor version may have kinds of artifacts that are unknown here, as it may have keys."""
    minor = str(manifest["version"]).partition(".")[2]
    if not (minor.isdecimal() and int(minor[:9]) > MINOR) or not isinstance(manifest.get("artifacts"), list):
        return
    known: tuple[str, ...] = get_args(ArtifactKind)
    artifacts = cast(list[dict[str, Any] | None], manifest["artifacts"])
    manifest["artifacts"] = [each for each in artifacts if not isinstance(each, dict) or each.get("kind") in known]


def _rename_provider(manifest: dict[str, Any], old: str, new: str) -> None:
    steps = manifest.get("steps")
    for step in cast(list[Any], steps) if isinstance(steps, list) else ():
        if isinstance(step, dict) and cast(dict[str, Any], step).get("provider") == old:
            step["provider"] = new


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the manifest, for other readers."""
    schema = msgspec.json.schema(Compilation)
    definitions = schema["$defs"]
    body = definitions.pop("Compilation")
    providers = definitions["Step"]["properties"]["provider"]["enum"]
    providers[providers.index("reimplementation")] = _REIMPLEMENTATION
    body["properties"] = {
        "schema": {"const": SCHEMA},
        "version": {"type": "string", "pattern": rf"^{MAJOR}\.\d+$"},
        **body["properties"],
    }
    body["required"] = ["schema", "version", *body["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{SCHEMA}/{MAJOR}.{MINOR}",
        **body,
        "$defs": definitions,
    }
