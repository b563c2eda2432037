"""Files of JSON that are nested too deeply, or not UTF-8 within a string, are refused as any other damage is."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from cutecc.cache import direct, entries
from cutecc.errors import EpilogueError, RecordError, UsageError
from cutecc.operations import bundles
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.record import archive
from cutecc.versions.comparison import read_comparison
from cutecc.workbench.plan import FILE, read_plan

DEEP = b'{"x":' + b"[" * 5000 + b"]" * 5000 + b"}"


def no_text(key: str) -> bytes:
    return f'{{"{key}":"'.encode() + b'\xaf"}'


@pytest.mark.parametrize("data", [DEEP, no_text("kept_as")])
def test_a_direct_entry(data: bytes) -> None:
    assert direct.decode(data) is None


def test_an_entry_of_the_cache() -> None:
    for data in (b"\x81\xa1x" + b"\x91" * 5000 + b"\x01", b"\x81\xa7kept_as\xa1\xaf"):
        with pytest.raises(RecordError, match="an entry of the cache is damaged"):
            entries.decode(zlib.compress(data))


@pytest.mark.parametrize("data", [DEEP, no_text("operation")])
def test_a_description(data: bytes) -> None:
    with pytest.raises(UsageError, match="this is no description"):
        GemmDescription.from_json(data)


@pytest.mark.parametrize("data", [DEEP, no_text("name")])
def test_an_epilogue(data: bytes) -> None:
    with pytest.raises(EpilogueError, match="this is no epilogue"):
        Epilogue.from_json(data)


@pytest.mark.parametrize("data", [DEEP, no_text("name")])
def test_the_bundle_of_an_operation(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.operation"
    path.write_bytes(archive.pack([(bundles.INDEX, data)]))
    with pytest.raises(RecordError, match=r"is damaged: its operation\.json is not as it should be"):
        bundles.read(path)


@pytest.mark.parametrize("data", [DEEP, no_text("format")])
def test_a_comparison_and_a_plan(data: bytes, tmp_path: Path) -> None:
    for name in ("versions.json", FILE):
        (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match="is no comparison"):
        read_comparison(tmp_path / "versions.json")
    with pytest.raises(RecordError):
        read_plan(tmp_path)
