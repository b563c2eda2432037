"""Which PTX a cubin was assembled from: what a GPU runs, and what the emulator runs instead.

A record notes the hashes of both beside the cubin. They find files that were mixed up, and a cubin or PTX that was put
into a record later; they do not find malice, for whoever forges a record can note the hashes that fit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import msgspec

from cutecc.errors import RecordError
from cutecc.record.compilation import Artifact, Compilation

_HINT = "compile the kernel again: what was measured or checked of one does not hold for the other"


def tied(cubin: Artifact, content: bytes, ptx: bytes) -> Artifact:
    """A cubin's entry with the hashes of its content and of the PTX that it was assembled from."""
    return msgspec.structs.replace(cubin, sha256=_digest(content), ptx_sha256=_digest(ptx))


def check_assembly(compilation: Compilation, where: str) -> None:
    """Raise `RecordError`, which names `where`, for a cubin that is not the one, or not of the PTX, that is noted.

    A cubin without a note, as records of older versions have it, passes, and so does one without PTX beside it.
    """
    for cubin, ptx in _pairs(compilation):
        if cubin.sha256 is not None and _digest(compilation.content(cubin.file)) != cubin.sha256:
            raise RecordError(f"{where}: {cubin.file} is another cubin than the manifest notes", hints=[_HINT])
        noted = cubin.ptx_sha256
        if noted is not None and ptx is not None and _digest(compilation.content(ptx.file)) != noted:
            raise RecordError(f"{where}: {cubin.file} was assembled from other PTX than {ptx.file}", hints=[_HINT])


def is_tied(compilation: Compilation) -> bool:
    """Whether the record notes of every cubin which PTX it was assembled from, and has that; also without cubins."""
    return all(
        cubin.sha256 is not None and cubin.ptx_sha256 is not None and ptx is not None
        for cubin, ptx in _pairs(compilation)
    )


def _pairs(compilation: Compilation) -> Iterator[tuple[Artifact, Artifact | None]]:
    """Each cubin with the PTX of the same device module: artifacts of a kind are in the order of modules."""
    ptx = iter([each for each in compilation.artifacts if each.kind == "ptx"])
    for cubin in compilation.artifacts:
        if cubin.kind == "cubin":
            yield cubin, next(ptx, None)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
