"""Records that no run leaves: every field of the manifest damaged, files cut off, swapped, hostile, or not there."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cutecc.record.compilation import (
    Analysis,
    Artifact,
    Compilation,
    Failure,
    KernelResources,
    Occupancy,
    Parameter,
    Remark,
    Signature,
    Step,
    Versions,
    Workload,
)

Damage = Callable[[Path], object]
"""Changes the files in a record's folder."""

HOSTILE_NAME = "\x1b]0;owned\x07\nerror: [/bold][red]../../x"

_STAGES = "vector_copy.stages"

_VALUES: dict[str, str] = {
    "null": "null",
    "huge": "1" + "0" * 400,
    "infinite": "1e999",
    "nan": "NaN",
    "negative": "-9223372036854775809",
    "true": "true",
    "hostile": json.dumps(HOSTILE_NAME),
    "list": '[[], {}, "", null]',
    "object": '{"": {"": []}}',
    "deep": "[" * 5000 + "]" * 5000,
}
"""JSON to put where something else belongs."""

_PLACES: dict[tuple[str | int, ...], Any] = {
    (): Compilation,
    ("versions",): Versions,
    ("signature",): Signature,
    ("signature", "parameters", 0): Parameter,
    ("workload",): Workload,
    ("steps", 0): Step,
    ("steps", 0, "remarks", 0): Remark,
    ("analyses", 0): Analysis,
    ("artifacts", 0): Artifact,
    ("resources", 0): KernelResources,
    ("resources", 0, "occupancy"): Occupancy,
    ("failure",): Failure,
}
"""Where in a manifest there is what."""

_PLACEHOLDER = "\N{OBJECT REPLACEMENT CHARACTER}"
_BODIES: dict[tuple[str | int, ...], Any] = {
    ("failure",): {"stage": "cse", "message": "failed"},
    ("steps", 0, "remarks", 0): {"severity": "warning", "message": "slow"},
}
"""What is not in every record."""


def _set(path: tuple[str | int, ...], text: str) -> Damage:
    """Put the JSON `text` at `path` of the manifest."""

    def damage(folder: Path) -> None:
        file = folder / "manifest.json"
        body = json.loads(file.read_bytes())
        place = body
        for index, key in enumerate(path[:-1]):
            inner = _BODIES.get(path[: index + 1])
            if inner is not None:
                if isinstance(place, list):
                    place.append(dict(inner))
                else:
                    place[key] = dict(inner)
            place = place[key]
        place[path[-1]] = _PLACEHOLDER
        file.write_text(json.dumps(body).replace(json.dumps(_PLACEHOLDER), text))

    return damage


def _fields() -> list[tuple[str | int, ...]]:
    found: list[tuple[str | int, ...]] = [("schema",), ("version",)]
    for place, kind in _PLACES.items():
        names = (
            [each.name for each in dataclasses.fields(kind)]
            if dataclasses.is_dataclass(kind)
            else kind.__struct_fields__
        )
        found += [(*place, name) for name in names]
    return found


def _every_field() -> dict[str, Damage]:
    """Of every field one of the values, in turn."""
    names = [*_VALUES]
    values = [names[number * 3 % len(names)] for number in range(len(_fields()))]
    return {
        f"manifest-{'.'.join(map(str, path))}-{value}": _set(path, _VALUES[value])
        for path, value in zip(_fields(), values, strict=True)
    }


def _text(change: Callable[[str], str], name: str = "manifest.json") -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_text(change((folder / name).read_text()))

    return damage


def _bytes(name: str, change: Callable[[bytes], bytes]) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return damage


def _instead(name: str, make: Callable[[Path], None]) -> Damage:
    """Have something else be where a file was."""

    def damage(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return damage


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _files(folder: Path) -> list[Path]:
    """What the folder holds beside the manifest."""
    return [each for each in folder.iterdir() if each.name != "manifest.json"]


def _artifact(name: str) -> Damage:
    """Have the manifest name another file for the first artifact, its stages."""
    return _set(("artifacts", 0, "file"), json.dumps(name))


_MANIFESTS: dict[str, Damage] = {
    **_every_field(),
    "manifest-missing": lambda folder: (folder / "manifest.json").unlink(),
    "manifest-empty": _text(lambda _: ""),
    "manifest-cut": _text(lambda text: text[: len(text) // 2]),
    "manifest-in-utf-16": _bytes("manifest.json", lambda data: data.decode().encode("utf-16")),
    "manifest-not-utf-8": _bytes("manifest.json", lambda data: data.replace(b"vector", b"v\xffctor")),
    "manifest-with-bom": _bytes("manifest.json", lambda data: b"\xef\xbb\xbf" + data),
    "manifest-of-a-list": _text(lambda text: f"[{text}]"),
    "manifest-of-a-number": _text(lambda _: "1"),
    "manifest-of-deep-lists": _text(lambda _: "[" * 100_000),
    "manifest-of-deep-objects": _text(lambda _: '{"a":' * 100_000),
    "manifest-with-keys-twice": _text(lambda text: text.replace('"name":', '"name": 3, "name":')),
    "manifest-of-a-newer-version": _set(("version",), '"2.0"'),
    "manifest-of-a-version-of-many-digits": _set(("version",), json.dumps("1" * 5000)),
    "manifest-of-a-version-in-other-digits": _set(("version",), '"\u00b2.\u00b2"'),
    "manifest-of-a-later-minor-version": _set(("version",), '"1.999999999999999999999"'),
    "manifest-of-another-status": _set(("status",), '"running"'),
    "manifest-that-failed": _set(("status",), '"failed"'),
    "manifest-of-another-target": _set(("target",), '"sm_9999"'),
    "manifest-is-a-folder": _instead("manifest.json", Path.mkdir),
    "manifest-is-a-pipe": _instead("manifest.json", os.mkfifo),
    "manifest-is-a-device": _instead("manifest.json", lambda path: path.symlink_to("/dev/zero")),
    "manifest-of-a-run-with-a-pipe": lambda folder: (
        _set(("status",), '"running"')(folder),
        _instead(_STAGES, os.mkfifo)(folder),
    ),
    "manifest-leads-nowhere": _instead("manifest.json", lambda path: path.symlink_to("nowhere")),
    "manifest-leads-to-itself": _instead("manifest.json", lambda path: path.symlink_to(path.name)),
    "manifest-of-a-terabyte": _instead("manifest.json", _huge),
    **{
        f"artifact-named-{label}": _artifact(name)
        for label, name in {
            "up": "../../../../../../etc/passwd",
            "absolute": "/etc/passwd",
            "dots": "..",
            "empty": "",
            "null": "a\0b",
            "hostile": HOSTILE_NAME,
            "long": "x" * 100_000,
            "manifest": "manifest.json",
            "folder": "x/y",
            "missing": "missing.stages",
        }.items()
    },
}

_MAGIC = b"cutecc stages 1\n"


def _block(kind: bytes, index: int, content: bytes) -> bytes:
    data = zlib.compress(content, 9)
    return struct.pack("<cII", kind, index, len(data)) + data


def _bomb(kind: bytes) -> bytes:
    """A block of a few hundred kilobytes that expands to more than is read."""
    compressor = zlib.compressobj(1)
    start = b'{"index": 0, "places": [], "text": "' if kind == b"S" else b'["'
    data = compressor.compress(start) + compressor.flush(zlib.Z_FULL_FLUSH)
    # Each time the same bytes come of the same million, as nothing before them counts.
    data += (compressor.compress(b"x" * (1 << 20)) + compressor.flush(zlib.Z_FULL_FLUSH)) * 270
    return struct.pack("<cII", kind, 0, len(data)) + data


def _stage(text: str, places: object = None, index: object = 0) -> bytes:
    numbers = [-1] * text.count("\n") if places is None else places
    return _block(b"S", 0, json.dumps({"index": index, "text": text, "places": numbers}).encode())


_OF_STAGES: dict[str, Damage] = {
    f"stages-{name}": _bytes(_STAGES, change)
    for name, change in {
        "empty": lambda _: b"",
        "magic-alone": lambda _: _MAGIC,
        "of-another-version": lambda data: data.replace(b"stages 1", b"stages 2"),
        **{f"cut-at-{share}%": lambda data, share=share: data[: len(data) * share // 100] for share in (1, 20, 50, 99)},
        **{
            f"bytes-changed-{seed}": lambda data, seed=seed: bytes(
                each ^ 0xFF if index > 20 and index % 997 == seed else each for index, each in enumerate(data)
            )
            for seed in (1, 5, 25, 26, 30, 31)
        },
        "of-noise": lambda _: _MAGIC + bytes(range(256)) * 100,
        "length-huge": lambda _: _MAGIC + struct.pack("<cII", b"S", 0, 0xFFFFFFFF) + b"x",
        "index-huge": lambda _: _MAGIC + _block(b"S", 0xFFFFFFFF, b'{"index": 4294967295, "text": "", "places": []}'),
        "of-no-json": lambda _: _MAGIC + _block(b"S", 0, b"{") + _block(b"P", 0, b"\xff"),
        "of-deep-json": lambda _: _MAGIC + _block(b"P", 0, b"[" * 1_000_000) + _block(b"U", 0, b"[" * 1_000_000),
        "places-without-frames": lambda _: _MAGIC + _block(b"P", 0, b"[[]]") + _stage("module {}\n", [0]),
        "places-unknown": lambda _: _MAGIC + _stage("module {}\n", [7]),
        "places-too-few": lambda _: _MAGIC + _stage("module {\n}\n", [-1]),
        "places-huge": lambda _: _MAGIC + _block(b"P", 0, b'[[["f", 1e30, 1, "g"]]]'),
        "places-of-negative-lines": lambda _: (
            _MAGIC + _block(b"P", 0, b'[[["f", -5, -1]]]') + _stage("module {}\n", [0])
        ),
        "text-hostile": lambda _: _MAGIC + _stage(f"module @{HOSTILE_NAME} {{}}\n"),
        "text-no-module": lambda _: _MAGIC + _stage("nonsense {{{ ]]] >>>\n" * 1000),
        "text-deep": lambda _: _MAGIC + _stage("module {\n" * 20_000),
        "text-of-deep-types": lambda _: _MAGIC + _stage(f"%0 = a : {'!t<' * 50_000}\n"),
        "text-in-one-line": lambda _: _MAGIC + _stage("%0 = arith.addi %1, %2 : i32 " * 50_000 + "\n"),
        "index-differs": lambda _: _MAGIC + _stage("module {}\n", index=-3),
        "bomb": lambda _: _MAGIC + _bomb(b"S"),
        "bomb-of-places": lambda _: _MAGIC + _bomb(b"P"),
    }.items()
}
_OF_STAGES |= {
    "stages-are-a-pipe": _instead(_STAGES, os.mkfifo),
    "stages-are-a-device": _instead(_STAGES, lambda path: path.symlink_to("/dev/zero")),
    "stages-are-a-folder": _instead(_STAGES, Path.mkdir),
    "stages-of-a-terabyte": _instead(_STAGES, _huge),
}

_CODE: dict[str, Damage] = {
    "ptx-empty": _text(lambda _: "", "vector_copy.ptx"),
    "ptx-cut": _text(lambda text: text[: len(text) // 2], "vector_copy.ptx"),
    "ptx-not-utf-8": _bytes("vector_copy.ptx", lambda data: data.replace(b".reg", b".r\xffg")),
    "ptx-hostile": _text(lambda text: text.replace("ret;", f"// {HOSTILE_NAME}\nret;"), "vector_copy.ptx"),
    "ptx-of-unknown-instructions": _text(lambda text: text.replace("ld.global", "ld.moon"), "vector_copy.ptx"),
    "ptx-of-undeclared-registers": _text(lambda text: text.replace(".reg", "//"), "vector_copy.ptx"),
    "ptx-of-many-registers": _text(lambda text: text.replace("<", "<9999999999"), "vector_copy.ptx"),
    "ptx-of-deep-braces": _text(lambda text: text.replace("ret;", "{" * 50_000 + "ret;"), "vector_copy.ptx"),
    "ptx-of-huge-lines": _text(lambda text: text.replace("ret;", "//" + "x" * 5_000_000 + "\nret;"), "vector_copy.ptx"),
    "ptx-of-a-huge-constant": _text(lambda text: text.replace(", 1;", f", {'9' * 100_000};"), "vector_copy.ptx"),
    "ptx-with-locations-of-nothing": _text(lambda text: text.replace(".loc\t1", ".loc\t99"), "vector_copy.ptx"),
    "cubin-empty": _bytes("vector_copy.cubin", lambda _: b""),
    "cubin-cut": _bytes("vector_copy.cubin", lambda data: data[: len(data) // 3]),
    "cubin-of-noise": _bytes("vector_copy.cubin", lambda data: b"\x7fELF" + bytes(range(256)) * 40),
    "cubin-with-huge-headers": _bytes("vector_copy.cubin", lambda data: data[:32] + b"\xff" * 32 + data[64:]),
    "sass-empty": _text(lambda _: "", "vector_copy.sass"),
    "sass-hostile": _text(lambda text: f"{HOSTILE_NAME}\n{text}", "vector_copy.sass"),
    "sass-of-noise": _bytes("vector_copy.sass", lambda _: bytes(range(256)) * 100),
    "llvm-not-utf-8": _bytes("vector_copy.ll", lambda data: b"\xff" + data),
    "counters-empty": _text(lambda _: "", "vector_copy.counters.json"),
    "counters-of-other-types": _text(lambda _: '{"title": 3, "lines": {}}', "vector_copy.counters.json"),
    "counters-hostile": _text(
        lambda text: text.replace('"title": "', f'"title": "{json.dumps(HOSTILE_NAME)[1:-1]}'),
        "vector_copy.counters.json",
    ),
    "counters-infinite": _text(lambda text: text.replace(": 3,", ": 1e999,"), "vector_copy.counters.json"),
    "counters-huge": _text(lambda text: text.replace(": 3,", f": {'9' * 300},"), "vector_copy.counters.json"),
    "counters-negative": _text(lambda text: text.replace('"line": ', '"line": -'), "vector_copy.counters.json"),
    "counters-deep": _text(lambda _: '{"title": "", "lines": ' + "[" * 1_000_000, "vector_copy.counters.json"),
    "all-files-missing": lambda folder: [each.unlink() for each in _files(folder)],
    "all-files-empty": lambda folder: [each.write_bytes(b"") for each in _files(folder)],
    "all-files-manifests": lambda folder: [shutil.copy(folder / "manifest.json", each) for each in _files(folder)],
    "no-files": lambda folder: [each.unlink() for each in [*folder.iterdir()]],
}

RECORDS: dict[str, Damage] = {**_MANIFESTS, **_OF_STAGES, **_CODE}
OF_STAGES = [*_OF_STAGES]
"""The inputs that commands see which print stages."""
OF_CODE = [
    name for name in RECORDS if not name.startswith(("stages-", "counters-", "manifest-steps", "manifest-analyses"))
]
"""The inputs that running sees."""
