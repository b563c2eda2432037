"""Bundles: round trips, the same bytes for the same record, and damage of every kind, which is found and named."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import struct
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from attacks import attacks
from bundles import record, sealed
from compilations import compilations, small
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutecc.errors import RecordError, UsageError
from cutecc.record import Artifact, Compilation, Step, archive
from cutecc.record.bundle import decode_bundle, encode_bundle, read_bundle, write_bundle

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}(\.[a-z]{1,4})?", fullmatch=True).filter(
    lambda name: name != "manifest.json"
)


BUNDLE = encode_bundle([record(), record("sm_90a", cubin=b"other")])


def refused(data: bytes, match: str = r"here\.cutecc") -> str:
    with pytest.raises(RecordError, match=match) as caught:
        decode_bundle(data, "here.cutecc")
    assert caught.value.message.startswith("here.cutecc")
    assert caught.value.hints or "/manifest.json" in caught.value.message
    return caught.value.message


def contents(data: bytes) -> list[tuple[str, bytes]]:
    """Names and contents after the index."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return [(name, file.read(name)) for name in file.namelist()[1:]]


# Round trips


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=attacks(10))
@given(st.lists(compilations(), min_size=1, max_size=3), st.data())
def test_round_trip(made: list[Compilation], data: st.DataObject) -> None:
    targets = ["sm_80", "sm_90a", "sm_100a"]
    for compilation, target in zip(made, targets, strict=False):
        compilation.name, compilation.target, compilation.status = made[0].name, target, "ok"
        names = iter(data.draw(st.lists(NAMES, min_size=40, max_size=40, unique=True)))
        compilation.artifacts = [
            msgspec.structs.replace(each, file=next(names), sha256=None, ptx_sha256=None)
            for each in compilation.artifacts[:5]
        ]
        compilation.artifacts.append(Artifact("cubin", next(names)))
        compilation.steps = [
            msgspec.structs.replace(step, dump=step.dump and next(names), dump_before=step.dump_before and next(names))
            for step in compilation.steps[:8]
        ]
        compilation.traced = compilation.traced and next(names)
        compilation.failure = None
        dumps = [name for step in compilation.steps for name in (step.dump, step.dump_before)]
        for name in [*(each.file for each in compilation.artifacts), *dumps, compilation.traced]:
            if name:
                compilation.files[name] = data.draw(st.binary(max_size=100))
    whole = encode_bundle(made, dumps=True)
    assert whole == encode_bundle(made, dumps=True), "the same records give the same bytes"
    read = decode_bundle(whole, "here")
    assert read == made
    assert [dict(each.files) for each in read] == [each.files for each in made]
    # The one that was read can be written again.
    assert encode_bundle(read, dumps=True) == whole

    lean = decode_bundle(encode_bundle(made), "here")
    for kept, full in zip(lean, made, strict=True):
        assert kept.artifact("cubin") == full.artifact("cubin")
        assert kept.signature == full.signature
        assert kept.workload == full.workload
        assert {each.kind for each in kept.artifacts} <= {"cubin", "ptx", "host-program"}
        assert {*kept.files} == {each.file for each in kept.artifacts}


def test_any_zip_program_can_read_one() -> None:
    with zipfile.ZipFile(io.BytesIO(BUNDLE)) as file:
        assert file.testzip() is None
        assert file.namelist() == [
            "bundle.json",
            *("sm_80/manifest.json", "sm_80/k.cubin", "sm_80/k.ptx"),
            *("sm_90a/manifest.json", "sm_90a/k.cubin"),
        ]
        index = json.loads(file.read("bundle.json"))
        assert list(index) == ["format", "version", "sha256", "kernel", "targets"]
        assert index["targets"] == ["sm_80", "sm_90a"]
        assert file.read("sm_90a/k.cubin") == b"other"


def test_data_is_aligned_for_readers_that_point_into_the_file() -> None:
    for entry in archive.unpack(BUNDLE, "here"):
        assert entry.offset % 16 == 0


def test_only_what_running_needs_unless_dumps_are_asked_for() -> None:
    compilation = record(cubin=b"c", ptx=b"p", sass=b"s")
    compilation.traced = "00-traced.mlir"
    compilation.steps.append(Step(1, "cse", "cse", "wheel", changed=True, dump="01-cse.mlir"))
    compilation.files |= {"00-traced.mlir": b"module {}", "01-cse.mlir": b"module {}", "notes.txt": b"not the record's"}
    (lean,) = decode_bundle(encode_bundle([compilation]), "here")
    assert {*lean.files} == {"k.cubin", "k.ptx"}
    assert (lean.traced, lean.steps[0].dump, lean.artifact("sass")) == (None, None, None)
    assert lean.steps[0].changed
    (full,) = decode_bundle(encode_bundle([compilation], dumps=True), "here")
    assert full == compilation
    assert {*full.files} == {"k.cubin", "k.ptx", "k.sass", "00-traced.mlir", "01-cse.mlir"}


def test_files_of_a_bundle_are_read_only_and_a_missing_one_is_a_key_error() -> None:
    files = decode_bundle(BUNDLE, "here")[0].files
    assert len(files) == 2
    with pytest.raises(KeyError):
        files["missing"]
    with pytest.raises(RecordError, match="cannot be written"):
        files["k.ptx"] = b""
    with pytest.raises(RecordError, match="cannot be written"):
        del files["k.ptx"]


# What cannot be put into one


@pytest.mark.parametrize("status", ["running", "stopped", "failed", "interrupted"])
def test_only_a_compilation_that_succeeded(status: str) -> None:
    with pytest.raises(RecordError, match="k for sm_80 cannot be put into a bundle"):
        encode_bundle([replace(record(), status=status)])  # type: ignore[arg-type]


def test_no_code_no_bundle() -> None:
    with pytest.raises(RecordError, match="has neither a cubin nor PTX"):
        encode_bundle([record(sass=b"x")])
    with pytest.raises(RecordError, match="at least one target"):
        encode_bundle([])


def test_one_kernel_and_each_target_once() -> None:
    with pytest.raises(RecordError, match="comes twice for sm_80"):
        encode_bundle([record(), record()])
    other = record("sm_90")
    other.name = "other"
    with pytest.raises(RecordError, match="one kernel, not k and other"):
        encode_bundle([record(), other])


@pytest.mark.parametrize("name", ["../x", "/x", "a/b", ".x", "", "a\0", "manifest.json", "é", "a\\b"])
def test_names_that_are_not_plain_are_not_written(name: str) -> None:
    compilation = record()
    compilation.artifacts.append(Artifact("ptx", name))
    compilation.files[name] = b""
    with pytest.raises(RecordError, match="names a file"):
        encode_bundle([compilation])
    if name != "manifest.json":
        with pytest.raises(RecordError, match="not the name of a target"):
            encode_bundle([replace(small(), target=name, status="ok")])


def test_a_record_that_lacks_a_file() -> None:
    compilation = record()
    del compilation.files["k.ptx"]
    with pytest.raises(RecordError, match=r"lacks its file k\.ptx"):
        encode_bundle([compilation])


def test_more_than_a_bundle_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LONGEST", 5000)
    encode_bundle([record()])
    with pytest.raises(RecordError, match="holds at most"):
        encode_bundle([record(cubin=bytes(5000))])


# Damage


def test_every_truncation_is_found() -> None:
    for length in range(len(BUNDLE)):
        refused(BUNDLE[:length])


def test_every_flipped_byte_is_found() -> None:
    for position in range(len(BUNDLE)):
        flipped = bytearray(BUNDLE)
        flipped[position] ^= 1 << position % 8
        refused(bytes(flipped))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_edit_is_found(data: st.DataObject) -> None:
    edited = bytearray(BUNDLE)
    start = data.draw(st.integers(0, len(BUNDLE)))
    stop = data.draw(st.integers(start, min(len(BUNDLE), start + 200)))
    edited[start:stop] = data.draw(st.binary(max_size=60))
    if bytes(edited) != BUNDLE:
        refused(bytes(edited))


@given(st.binary(max_size=300))
def test_what_is_not_a_bundle(data: bytes) -> None:
    refused(data, "is not a bundle|damaged|cut short")
    if data:
        refused(data + BUNDLE)
        refused(BUNDLE + data, "cut short, or something was added|damaged")


def test_a_changed_content_with_the_right_checksums() -> None:
    entries = contents(BUNDLE)
    index = zipfile.ZipFile(io.BytesIO(BUNDLE)).read("bundle.json")
    assert archive.pack([("bundle.json", index), *entries]) == BUNDLE
    for changed in (
        [(name, b"x" + data[1:]) for name, data in entries],
        entries[:-1],
        [*entries, ("sm_80/more", b"")],
        [entries[1], entries[0], *entries[2:]],
        [(name.replace("k.ptx", "l.ptx"), data) for name, data in entries],
        # The border between two files moved.
        [*entries[:1], (entries[1][0], entries[1][1] + entries[2][1][:1]), (entries[2][0], entries[2][1][1:])],
    ):
        refused(archive.pack([("bundle.json", index), *changed]), "its content hash differs")
    kernel = index.replace(b'"kernel": "k"', b'"kernel": "j"')
    refused(archive.pack([("bundle.json", kernel), *entries]), "its content hash differs")
    refused(archive.pack([("bundle.json", index.replace(b"sha", b"shb")), *entries]), "lacks the content hash")


def test_a_file_that_comes_twice() -> None:
    entries = contents(BUNDLE)
    refused(sealed({"targets": ["sm_80", "sm_90a"]}, [*entries, entries[1]]), "holds a file twice")


@pytest.mark.parametrize(
    "name",
    [
        *("../escape", "sm_80/../../escape", "/etc/passwd", "sm_80/", "sm_80", "sm_80/a/b", "sm_80/.hidden", "", "/"),
        *("sm_80\\x", "C:\\x", "sm_80/a\0b", "sm_75/k.cubin", "bundle.json/x", "sm_80/-x", "sm_80/" + "x" * 300),
    ],
)
def test_names_that_lead_elsewhere(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = sealed({"targets": ["sm_80", "sm_90a"]}, [*contents(BUNDLE), (name, b"x")])
    assert "is not a file of one of its targets" in refused(data)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "index",
    [
        {},
        {"targets": []},
        {"targets": "sm_80"},
        {"targets": ["sm_80", "sm_80"]},
        {"targets": ["../x"]},
        {"targets": [3]},
        {"targets": ["sm_80", "sm_90a"], "sha256": 3},
        {"targets": ["sm_80", "sm_90a"], "sha256": "x"},
        {"targets": ["sm_80", "sm_90a", "sm_100a"]},
    ],
)
def test_an_index_that_says_nothing_useful(index: dict[str, object]) -> None:
    refused(sealed(index, contents(BUNDLE)), "damaged")


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"3", b"[" * 100_000, b"\xff", b'{"format": "else"}', b" " * 2**21])
def test_an_index_that_is_none(raw: bytes) -> None:
    refused(archive.pack([("bundle.json", raw), *contents(BUNDLE)]))


def test_a_manifest_that_is_missing_wrong_or_of_another_target() -> None:
    entries = contents(BUNDLE)
    index: dict[str, object] = {"targets": ["sm_80", "sm_90a"]}
    refused(sealed(index, entries[1:]), "has no manifest for sm_80")
    refused(sealed(index, [(entries[0][0], b"{"), *entries[1:]]), r"here\.cutecc: sm_80/manifest\.json is not JSON")
    swapped = [(entries[0][0], entries[3][1]), *entries[1:3], (entries[3][0], entries[0][1]), entries[4]]
    refused(sealed(index, swapped), r"sm_80/manifest\.json is for 'sm_90a'")
    refused(sealed(index, [entries[0], *entries[2:]]), r"names 'k\.cubin', which the bundle lacks")
    newer = json.loads(entries[0][1]) | {"version": "2.0"}
    refused(sealed(index, [(entries[0][0], json.dumps(newer).encode()), *entries[1:]]), "has version '2.0'")


@pytest.mark.parametrize("version", ["2.0", "2", "10.3", "", "x", "-1", "٢.0", None, 3])
def test_newer_and_unreadable_versions(version: object) -> None:
    message = refused(sealed({"targets": ["sm_80", "sm_90a"], "version": version}, contents(BUNDLE)), "has version")
    assert "reads versions up to 1.x" in message


def test_a_newer_version_is_told_before_anything_else_of_the_file() -> None:
    """A later form of the archive may compress the entries after the first."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("bundle.json", json.dumps({"format": "cutecc/bundle", "version": "2.0"}))
        file.writestr("sm_80/k.cubin", bytes(1000), zipfile.ZIP_DEFLATED)
    refused(stream.getvalue(), r"has version '2\.0'")


def test_a_newer_minor_version_and_unknown_keys_are_read() -> None:
    index: dict[str, object] = {"targets": ["sm_80", "sm_90a"], "version": "1.7", "novelty": {"a": [1]}}
    assert decode_bundle(sealed(index, contents(BUNDLE)), "here") == decode_bundle(BUNDLE, "here")


@pytest.mark.parametrize("how", ["stored", "deflated", "bomb", "comment", "zip64", "extra"])
def test_archives_of_other_programs_are_refused(how: str) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as file:
        index = zipfile.ZipFile(io.BytesIO(BUNDLE)).read("bundle.json")
        if how == "zip64":
            with file.open("bundle.json", "w", force_zip64=True) as entry:
                entry.write(index)
        else:
            file.writestr("bundle.json", index)
        for name, data in contents(BUNDLE):
            kind = zipfile.ZIP_DEFLATED if how in ("deflated", "bomb") else zipfile.ZIP_STORED
            file.writestr(name, bytes(50_000_000) if how == "bomb" and name.endswith("cubin") else data, kind)
        if how == "comment":
            file.comment = b"hello"
    refused(stream.getvalue())
    with pytest.raises(RecordError) as caught:
        decode_bundle(stream.getvalue(), "here.cutecc")
    assert "another program has unpacked and zipped" in caught.value.hints[-1]


def test_an_archive_that_was_compressed_throughout() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bundle.json", zipfile.ZipFile(io.BytesIO(BUNDLE)).read("bundle.json"))
    with pytest.raises(RecordError, match="not a bundle") as caught:
        decode_bundle(stream.getvalue(), "here.cutecc")
    assert "another program has unpacked and zipped" in caught.value.hints[-1]


@pytest.mark.parametrize("size", [0xFFFFFFFF, 0x7FFFFFFF, 1 << 20])
def test_sizes_that_are_not_there_allocate_nothing(size: int) -> None:
    """The size of the last file, in its header and in the directory."""
    position = BUNDLE.rindex(b"PK\x03\x04")
    directory = BUNDLE.rindex(b"PK\x01\x02")
    damaged = bytearray(BUNDLE)
    damaged[position + 18 : position + 26] = struct.pack("<2L", size, size)
    damaged[directory + 20 : directory + 28] = struct.pack("<2L", size, size)
    refused(bytes(damaged), "damaged")


def test_flags_and_disks_of_other_archives() -> None:
    directory = BUNDLE.rindex(b"PK\x01\x02")
    end = len(BUNDLE) - 22
    for position, value in ((directory + 8, 1), (directory + 10, 8), (directory + 34, 1), (end + 4, 1), (end + 6, 1)):
        damaged = bytearray(BUNDLE)
        damaged[position] = value
        refused(bytes(damaged), "damaged")


# Files


def test_write_and_read(tmp_path: Path) -> None:
    path = tmp_path / "k.cutecc"
    write_bundle(path, [record()])
    write_bundle(str(path), [record(), record("sm_90a", cubin=b"other")])
    assert path.read_bytes() == BUNDLE
    assert [each.target for each in read_bundle(str(path))] == ["sm_80", "sm_90a"]
    assert [entry.name for entry in tmp_path.iterdir()] == ["k.cutecc"]


def test_what_was_read_stays_when_the_file_goes(tmp_path: Path) -> None:
    path = tmp_path / "k.cutecc"
    write_bundle(path, [record()])
    (read,) = read_bundle(path)
    path.write_bytes(b"else")
    path.unlink()
    assert read.artifact("cubin") == b"\x7fELF cubin"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").touch()
    (tmp_path / "loop").symlink_to("loop")
    for name in ("missing", "pipe", "empty", "loop", ".", "a\0b", "x" * 300):
        with pytest.raises(RecordError):
            read_bundle(tmp_path / name)
    with pytest.raises(RecordError, match="is not a plain file"):
        read_bundle("/dev/zero")


def test_a_file_too_large_for_a_bundle_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate(archive.LONGEST + 1)
    with pytest.raises(RecordError, match="a bundle has at most"):
        read_bundle(tmp_path / "large")


def test_a_file_that_is_not_a_bundle_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("import cutlass\n")
    (tmp_path / "other.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    (tmp_path / "empty").touch()
    for name in ("kernel.py", "other.zip"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(UsageError, match="the file there is not a bundle"):
            write_bundle(tmp_path / name, [record()])
        assert (tmp_path / name).read_bytes() == before
    for path in (tmp_path, Path("/dev/null"), tmp_path / "kernel.py" / "k", tmp_path / "no" / "k"):
        with pytest.raises(UsageError, match="cannot write the bundle"):
            write_bundle(path, [record()])
    write_bundle(tmp_path / "empty", [record()])
    assert len(read_bundle(tmp_path / "empty")) == 1


def test_a_record_that_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    write_bundle(tmp_path / "k.cutecc", [record()])
    before = (tmp_path / "k.cutecc").read_bytes()
    with pytest.raises(RecordError):
        write_bundle(tmp_path / "k.cutecc", [replace(record(), status="failed")])
    assert (tmp_path / "k.cutecc").read_bytes() == before


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_no_pieces(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_bundle(tmp_path / "k.cutecc", [record()])
    before = (tmp_path / "k.cutecc").read_bytes()

    def full(*_: object, **_folders: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(RecordError, match=r"cannot write the bundle .*k\.cutecc: No space left on device"):
        write_bundle(tmp_path / "k.cutecc", [record("sm_90a")])
    monkeypatch.undo()
    assert (tmp_path / "k.cutecc").read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["k.cutecc"]


KILLED_AT = """
import os, signal, sys
from cutecc.record import Artifact, Compilation, Versions
from cutecc.record.bundle import write_bundle

point, path = int(sys.argv[1]), sys.argv[2]
calls = 0

def step(real):
    def counted(*arguments, **keywords):
        global calls
        calls += 1
        if calls == point:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **keywords)
    return counted

os.fsync, os.replace, os.open = step(os.fsync), step(os.replace), step(os.open)
compilation = Compilation("k", "sm_90a", "cse", Versions("0", "3", "4", "x"), status="ok")
compilation.artifacts.append(Artifact("cubin", "k.cubin"))
compilation.files["k.cubin"] = bytes(100_000)
write_bundle(path, [compilation])
print("end")
"""


def test_killed_anywhere_the_file_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "k.cutecc"
    seen: set[str] = set()
    for point in range(1, 20):
        write_bundle(path, [record()])
        command = [sys.executable, "-c", textwrap.dedent(KILLED_AT), str(point), path]
        done = subprocess.run(command, capture_output=True, text=True)
        seen.add(read_bundle(path)[0].target)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert done.stdout == "end\n"
    assert point > 4
    assert seen == {"sm_80", "sm_90a"}
