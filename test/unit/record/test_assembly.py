"""A cubin belongs to the PTX beside it: the emulator runs one, and a GPU the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from attacks import attacks
from bundles import record, sealed

import cutecc
from cutecc.errors import RecordError
from cutecc.record import Artifact, Compilation, manifest
from cutecc.record.assembly import check_assembly, is_tied, tied
from cutecc.record.bundle import decode_bundle, encode_bundle
from cutecc.record.folder import RecordFolder

CUBIN, PTX = b"\x7fELF cubin", b".version 8.0\n"


def tied_record(cubin: bytes = CUBIN, ptx: bytes = PTX) -> Compilation:
    """A record of a cubin and its PTX, with the note."""
    made = record(ptx=ptx, cubin=cubin)
    made.artifacts = [tied(each, cubin, ptx) if each.kind == "cubin" else each for each in made.artifacts]
    return made


def bundle_of(made: Compilation) -> bytes:
    """What somebody makes of a record who writes every hash that is not asked after."""
    files = [(f"sm_80/{artifact.file}", made.files[artifact.file]) for artifact in made.artifacts]
    entries = [("sm_80/manifest.json", manifest.encode(made)), *files]
    return sealed({"kernel": made.name, "targets": ["sm_80"]}, entries)


def test_a_record_notes_what_its_cubin_is_of() -> None:
    (loaded,) = decode_bundle(encode_bundle([tied_record()]), "k.cutecc")
    assert is_tied(loaded)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("k.ptx", b".version 8.1\n", "k.cubin was assembled from other PTX than k.ptx"),
        ("k.cubin", b"\x7fELF other", "k.cubin is another cubin than the manifest notes"),
    ],
)
def test_one_that_was_exchanged_is_refused(tmp_path: Path, file: str, content: bytes, message: str) -> None:
    made = tied_record()
    made.files[file] = content
    with pytest.raises(RecordError, match=f"mixed.cutecc: sm_80/manifest.json: {message}"):
        decode_bundle(bundle_of(made), "mixed.cutecc")
    folder = RecordFolder(tmp_path / "record")
    folder.save(made)
    folder.close()
    with pytest.raises(RecordError, match=message):
        cutecc.load(tmp_path / "record")


def test_no_flipped_bit_of_either_passes() -> None:
    random = np.random.default_rng(28)
    for number in range(attacks(100)):
        made = tied_record()
        file = ("k.cubin", "k.ptx")[number % 2]
        content = bytearray(made.files[file])
        content[random.integers(len(content))] ^= 1 << int(random.integers(8))
        made.files[file] = bytes(content)
        with pytest.raises(RecordError, match=r"k\.cubin (is another|was assembled from other)"):
            decode_bundle(bundle_of(made), "k.cutecc")


def test_the_second_cubin_is_of_the_second_ptx() -> None:
    """The emulator runs the first PTX and a GPU the first cubin."""
    made = tied_record()
    made.files |= {"k-2.cubin": b"\x7fELF second", "k-2.ptx": b".version 8.2\n"}
    cubins = [each for each in made.artifacts if each.kind == "cubin"]
    cubins.append(tied(Artifact("cubin", "k-2.cubin"), b"\x7fELF second", b".version 8.2\n"))
    first, second = (Artifact("ptx", name) for name in ("k.ptx", "k-2.ptx"))
    made.artifacts = [first, second, *cubins]
    check_assembly(made, "k")
    assert is_tied(made)
    made.artifacts = [second, first, *cubins]
    with pytest.raises(RecordError, match=r"k\.cubin was assembled from other PTX than k-2\.ptx"):
        check_assembly(made, "k")


def test_older_records_load_and_are_not_tied() -> None:
    (loaded,) = decode_bundle(bundle_of(record(cubin=CUBIN, ptx=PTX)), "old.cutecc")
    assert not is_tied(loaded)


@pytest.mark.parametrize("half", ["sha256", "ptx_sha256"])
def test_half_a_note_ties_nothing(half: str) -> None:
    made = tied_record()
    made.artifacts = [msgspec.structs.replace(each, **{half: None}) for each in made.artifacts]
    (loaded,) = decode_bundle(bundle_of(made), "k.cutecc")
    assert not is_tied(loaded)


def test_without_ptx_nothing_is_tied_and_without_a_cubin_nothing_has_to_be() -> None:
    made = tied_record()
    alone = replace(made, artifacts=[each for each in made.artifacts if each.kind == "cubin"])
    alone.files = made.files
    check_assembly(alone, "k")
    assert not is_tied(alone) and is_tied(record(ptx=PTX))
