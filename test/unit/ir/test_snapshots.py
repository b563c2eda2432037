"""The second process that reads, counts and prints snapshots."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cutecc.ir import snapshots
from cutecc.ir.modules import fresh_context, parse, to_bytecode, to_text
from cutecc.ir.snapshots import Request, SnapshotReader
from cutecc.record.folder import RecordFolder
from cutecc.record.stages import Stages, create

SOURCES = [
    b"func.func @f() { return }",
    b"func.func @f() { return }",
    b"func.func @f(%a: i32) { %0 = arith.addi %a, %a : i32 return }",
]


@pytest.fixture
def bytecodes(tmp_path: Path) -> list[str]:
    paths: list[str] = []
    for number, source in enumerate(SOURCES):
        with fresh_context():
            path = tmp_path / f"{number}.mlirbc"
            path.write_bytes(to_bytecode(parse(source)))
        paths.append(str(path))
    return paths


def test_readings_come_in_order_and_say_what_changed(bytecodes, tmp_path: Path) -> None:
    reader = SnapshotReader()
    for key, path in enumerate(bytecodes):
        reader.submit(Request(key, path, str(tmp_path / f"{key}.mlir"), header="// first line\n"))
    readings = reader.poll()
    readings += reader.finish()
    assert [reading.key for reading in readings] == [0, 1, 2]
    assert [reading.changed for reading in readings] == [True, False, True]
    assert readings[2].operations == {"func": 2, "builtin": 1, "arith": 1}
    assert [Path(reading.text).name if reading.text else None for reading in readings] == ["0.mlir", None, "2.mlir"]
    assert (tmp_path / "2.mlir").read_text().startswith("// first line\nmodule {")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.mlir", "2.mlir"], "the bytecode is removed"


def test_stages_are_kept_of_what_changed_and_go_on_after_one_that_cannot_be_read(bytecodes, tmp_path: Path) -> None:
    stages = tmp_path / "k.stages"
    create(stages)
    (tmp_path / "bad.mlirbc").write_bytes(Path(bytecodes[0]).read_bytes()[:40])
    reader = SnapshotReader()
    for key, path in enumerate([bytecodes[0], bytecodes[1], str(tmp_path / "bad.mlirbc"), bytecodes[2]]):
        reader.submit(Request(key, path, stages=str(stages), stage=10 * key, own_file="k.mlir"))
    reader.finish()
    found = Stages(stages.read_bytes())
    assert found.indices == [0, 30]
    assert "arith.addi" in found.after(30).text
    line = found.after(30).text.split("\n").index("    %0 = arith.addi %arg0, %arg0 : i32")
    assert found.places[found.after(30).places[line]] == (("k.mlir", 1, 30),)


@pytest.mark.parametrize("stages", [False, True])
@pytest.mark.parametrize("locations", [False, True])
def test_dumps_are_the_same_with_and_without_stages(stages: bool, locations: bool, tmp_path: Path) -> None:
    path, dump = tmp_path / "0.mlirbc", tmp_path / "0.mlir"
    with fresh_context():
        module = parse(b"func.func @f(%a: i32) { nvvm.barrier id = %a number_of_threads = %a return }")
        path.write_bytes(to_bytecode(module))
        expected = to_text(module, locations=locations)
    create(tmp_path / "k.stages")
    request = Request(0, str(path), str(dump), locations=locations)
    snapshots.Snapshots().read(replace(request, stages=str(tmp_path / "k.stages")) if stages else request)
    assert dump.read_text() == expected
    with fresh_context():
        assert parse(dump.read_bytes())


def test_one_that_cannot_be_read_does_not_stop_the_others(bytecodes, tmp_path: Path) -> None:
    (tmp_path / "bad.mlirbc").write_bytes(Path(bytecodes[0]).read_bytes()[:40])
    reader = SnapshotReader()
    for key, path in enumerate([bytecodes[0], str(tmp_path / "bad.mlirbc"), bytecodes[2]]):
        reader.submit(Request(key, path))
    readings = reader.finish()
    assert [(reading.key, bool(reading.error)) for reading in readings] == [(0, False), (1, True), (2, False)]


def test_a_reader_that_dies_is_not_waited_for(bytecodes) -> None:
    reader = SnapshotReader()
    reader._process.kill()
    reader._process.wait()
    for key, path in enumerate(bytecodes):
        reader.submit(Request(key, path))
    assert reader.finish() == []


def test_what_is_half_written_is_the_next_runs_to_remove(
    bytecodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    folder = RecordFolder(out)
    request = Request(0, bytecodes[0], str(folder.reserve("00-traced.mlir")))

    def killed(*paths: object, **folders: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        snapshots.Snapshots().read(request)
    monkeypatch.undo()
    assert not (out / "00-traced.mlir").exists()
    folder.close()
    RecordFolder(out).close()
    assert sorted(os.listdir(out)) == [".cutecc-files", ".cutecc-lock"]
