"""Files that are called bundles: zip archives that cutecc does not write, and bundles of hostile records."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

from malformed_host_programs import HOST_PROGRAMS
from malformed_records import HOSTILE_NAME

from cutecc.record import Parameter, Signature
from cutecc.record.bundle import decode_bundle, encode_bundle

Make = Callable[[bytes], bytes]
"""The input, of a bundle that is fine."""


def _zip(
    entries: dict[str, bytes],
    method: int = zipfile.ZIP_STORED,
    mark: Callable[[zipfile.ZipInfo], object] = lambda _: None,
) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            mark(info)
            archive.writestr(info, data)
    return buffer.getvalue()


def _entries(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _zipped(change: Callable[[dict[str, bytes]], object] = lambda _: None, **settings: Any) -> Make:
    """The bundle's files, changed, in an archive of the usual kind."""

    def make(data: bytes) -> bytes:
        entries = _entries(data)
        change(entries)
        return _zip(entries, **settings)

    return make


def _link(info: zipfile.ZipInfo) -> None:
    info.external_attr = 0o120777 << 16


def _encrypted(info: zipfile.ZipInfo) -> None:
    info.flag_bits |= 1


def _bomb(data: bytes) -> bytes:
    """An archive of a few hundred kilobytes that expands to a thousand times as much."""
    return _zip(_entries(data) | {"sm_80/bomb": bytes(1 << 28)}, zipfile.ZIP_DEFLATED)


def _cut(share: float) -> Make:
    return lambda data: data[: int(len(data) * share)]


def _changed(at: float, bits: int = 0xFF) -> Make:
    def make(data: bytes) -> bytes:
        changed = bytearray(data)
        changed[int((len(data) - 1) * at)] ^= bits
        return bytes(changed)

    return make


_ARCHIVES: dict[str, Make] = {
    "empty": lambda _: b"",
    "text": lambda _: b"not a bundle\n",
    "elf": lambda _: b"\x7fELF" + bytes(100),
    "of-another-magic": lambda data: b"PK\x07\x08" + data[4:],
    "magic-alone": lambda _: b"PK\x03\x04",
    "empty-archive": lambda _: _zip({}),
    **{f"cut-at-{share}%": _cut(share / 100) for share in (1, 5, 25, 50, 75, 95, 99)},
    **{f"byte-changed-at-{at}%": _changed(at / 100) for at in (0, 1, 2, 10, 30, 60, 80, 97, 98, 99, 100)},
    "with-bytes-behind": lambda data: data + b"x",
    "with-bytes-before": lambda data: b"#!/bin/sh\n" + data,
    "twice": lambda data: data * 2,
    "zipped-again": _zipped(),
    "compressed": _zipped(method=zipfile.ZIP_DEFLATED),
    "of-bzip2": _zipped(method=zipfile.ZIP_BZIP2),
    "of-lzma": _zipped(method=zipfile.ZIP_LZMA),
    "of-links": _zipped(mark=_link),
    "encrypted": _zipped(mark=_encrypted),
    "bomb": _bomb,
    "bomb-in-the-index": lambda data: _zip({"bundle.json": b" " * (1 << 27)}, zipfile.ZIP_DEFLATED),
    "with-a-path-up": _zipped(lambda entries: entries.update({"../../../../tmp/owned": b"x"})),
    "with-an-absolute-path": _zipped(lambda entries: entries.update({"/tmp/owned": b"x"})),
    "with-a-hostile-name": _zipped(lambda entries: entries.update({HOSTILE_NAME: b"x"})),
    "with-a-null-name": _zipped(lambda entries: entries.update({"a\0b": b"x"})),
    "with-many-entries": _zipped(lambda entries: entries.update({f"sm_80/{i}": b"" for i in range(10_000)})),
    "without-an-index": _zipped(lambda entries: entries.pop("bundle.json")),
    "without-a-manifest": _zipped(lambda entries: entries.pop("sm_80/manifest.json")),
    "index-twice": lambda data: data.replace(b"sm_80/manifest.json", b"bundle.json\0\0\0\0\0\0\0\0"),
    "index-names-no-targets": lambda data: data.replace(b'"sm_80"', b'"sm_8:"', 1),
    "index-of-a-newer-version": lambda data: data.replace(b'"version": "1.0"', b'"version": "9.0"', 1),
    "index-of-no-json": lambda data: data.replace(b'"format"', b'"format:', 1),
    "of-another-format": lambda data: data.replace(b"cutecc/bundle", b"cutecc/tunnel", 1),
    "of-an-operation": lambda data: data.replace(b"bundle.json", b"operation.json"[:11], 1),
    "as-an-operation": lambda data: _zip({"operation.json": b"{}"} | _entries(data)),
}


def _with_files(change: Callable[[dict[str, bytes]], object]) -> Make:
    """A bundle that is whole, of a record with other files."""

    def make(data: bytes) -> bytes:
        (compilation,) = decode_bundle(data, "kernel.cutecc")
        files = dict(compilation.files)
        change(files)
        compilation.files = files
        return encode_bundle([compilation])

    return make


def _program(change: Make) -> Make:
    return _with_files(lambda files: files.update({"vector_copy.host.json": change(files["vector_copy.host.json"])}))


def _with_manifest(**changes: object) -> Make:
    """A bundle that is whole, of a record that says other things."""

    def make(data: bytes) -> bytes:
        (compilation,) = decode_bundle(data, "kernel.cutecc")
        for name, value in changes.items():
            setattr(compilation, name, value)
        return encode_bundle([compilation])

    return make


def _with_specs(*specs: str) -> Make:
    """A bundle that is whole, of a kernel with other parameters."""

    def make(data: bytes) -> bytes:
        (compilation,) = decode_bundle(data, "kernel.cutecc")
        names = ["src", "dst", *(f"more{index}" for index in range(len(specs)))]
        parameters = [Parameter(name, spec) for name, spec in zip(names, specs, strict=False)]
        compilation.signature = Signature("vector_copy", parameters)
        return encode_bundle([compilation])

    return make


_SPEC = "f16[?M=3,?N{div=8}=16]:(?LDS{i64 div=8}=16,1) align=16"

_WHOLE: dict[str, Make] = {
    **{f"host-program-{name}": _program(change) for name, change in HOST_PROGRAMS.items()},
    "cubin-of-noise": _with_files(lambda files: files.update({"vector_copy.cubin": b"\xaa" * 5000})),
    "cubin-empty": _with_files(lambda files: files.update({"vector_copy.cubin": b""})),
    "ptx-empty": _with_files(lambda files: files.update({"vector_copy.ptx": b""})),
    "ptx-of-another-kernel": _with_files(
        lambda files: files.update(
            {"vector_copy.ptx": files["vector_copy.ptx"].replace(b"copy_kernel", b"move_kernel")}
        )
    ),
    "ptx-of-another-target": _with_files(
        lambda files: files.update(
            {"vector_copy.ptx": files["vector_copy.ptx"].replace(b".target sm_80", b".target sm_999")}
        )
    ),
    "of-another-name": _with_manifest(name=HOSTILE_NAME),
    "without-a-signature": _with_manifest(signature=None),
    "without-a-workload": _with_manifest(workload=None),
    "of-hostile-source": _with_manifest(source=HOSTILE_NAME),
    "of-too-few-parameters": _with_specs(_SPEC),
    "of-too-many-parameters": _with_specs(*[_SPEC] * 9),
    "of-scalars": _with_specs("f32", "i32=3"),
    "of-huge-shapes": _with_specs("f16[?M=2147483647,?N{div=8}=2147483640]:(?LDS{i64 div=8}=2147483640,1)", _SPEC),
    "of-hostile-specs": _with_specs(HOSTILE_NAME, _SPEC),
    "of-deep-specs": _with_specs("f16[" + "(" * 10_000, _SPEC),
    "of-other-types": _with_specs(_SPEC.replace("f16", "f64"), _SPEC.replace("f16", "f8e4m3")),
}

BUNDLES: dict[str, Make] = {**_ARCHIVES, **_WHOLE}
