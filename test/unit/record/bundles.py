"""Bundles for tests: records that can be run, and bundles with anything in them whose hash is right."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import replace

from compilations import small

from cutecc.record import Artifact, Compilation, archive

_SUFFIXES = {"host-program": ".host.json"}


def record(target: str = "sm_80", **files: bytes) -> Compilation:
    """A record that can be run: `cubin=b"…"`, `host_program=b"…"` and so on make an artifact each."""
    compilation = replace(small(), target=target, status="ok")
    for name, data in (files or {"cubin": b"\x7fELF cubin", "ptx": b".version 8.0\n"}).items():
        kind = name.replace("_", "-")
        file = "k" + _SUFFIXES.get(kind, f".{kind}")
        compilation.artifacts.append(Artifact(kind, file))  # type: ignore[arg-type]
        compilation.files[file] = data
    return compilation


def sealed(index: dict[str, object], entries: Iterable[tuple[str, bytes]]) -> bytes:
    """A bundle with any index and entries, and the hash that fits them."""
    entries = [*entries]
    raw = json.dumps({"format": "cutecc/bundle", "version": "1.0", "sha256": "0" * 64, **index}).encode()
    state = hashlib.sha256()
    for name, data in [("bundle.json", raw), *entries]:
        state.update(name.encode() + b"\0" + struct.pack("<Q", len(data)) + data)
    return archive.pack([("bundle.json", raw.replace(b"0" * 64, state.hexdigest().encode())), *entries])
