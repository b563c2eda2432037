"""Writing a report: whole or not at all, in the place of a report only, and the same bytes for the same record."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from report_pages import Page, check_sound

import cutecc
from cutecc.errors import RecordError, UsageError
from cutecc.record import Artifact, Compilation, Step, Versions, folder
from cutecc.record.counters import KeptCounters, LineCounts, keep_counters
from cutecc.record.folder import RecordFolder, read_folder
from cutecc.record.stages import StageWriter, UserLines, create
from cutecc.report import content
from cutecc.report.writing import encode_report, write_report
from cutecc.support.locations import Frame
from cutecc.support.open_folder import OpenFolder


def record(folder: Path) -> Compilation:
    """A small record in a folder."""
    stored = RecordFolder(folder)
    path = stored.reserve("k.stages")
    create(path, UserLines(sources={"k.py": "def k():\n    pass\n"}))
    writer = StageWriter(path)
    writer.add_stage(0, "module {\n}\n", [(Frame("k.py", 2, 1),), None])
    writer.add_stage(1, '!t = !cute.layout<"(4,2):(1,4)">\nmodule {\n}\n', [None, (Frame("k.py", 2, 5),), None])
    compilation = Compilation("k", "sm_80", "cse", Versions("0", "3", "4.8.1", "built in"), status="ok")
    compilation.steps = [Step(1, "cse", "cse", "wheel", changed=True)]
    compilation.artifacts = [Artifact("stages", "k.stages")]
    stored.save(compilation)
    stored.close()
    return read_folder(folder)


def test_a_record_becomes_a_page(tmp_path: Path) -> None:
    report = cutecc.write_report(record(tmp_path / "out"), tmp_path / "k.html")
    page = Page.at(tmp_path / "k.html")
    check_sound(page)
    assert page.title == "k for sm_80 – cutecc report"
    chunks = page.chunks
    assert [*chunks][:1] == ["manifest"]
    assert chunks["manifest"]["steps"][0]["name"] == "cse"
    assert chunks["places:0"] == [[["k.py", 2, 1]]]
    assert chunks["stage:0"] == {"index": 0, "text": "module {\n}\n", "places": [0, -1]}
    assert chunks["places:1"] == [[["k.py", 2, 5]]]
    assert chunks["stage:1"]["places"] == [-1, 1, -1]
    assert chunks["user-lines"]["sources"] == {"k.py": "def k():\n    pass\n"}
    assert "(4,2):(1,4)" in chunks["layouts"]["pictures"]
    assert report.bytes == (tmp_path / "k.html").stat().st_size
    assert page.all("h2") == ["Passes"], "there are no resources and no remarks"
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".partial")]


def test_the_command_is_in_the_page_as_a_shell_takes_it(tmp_path: Path) -> None:
    compilation = record(tmp_path / "out")
    compilation.command = ["cutecc", "compile", "my kernel.py"]
    assert "command: cutecc compile 'my kernel.py'" in Page(encode_report(compilation)).all("li")


def test_a_kernel_is_as_good_as_its_record(tmp_path: Path) -> None:
    @dataclass
    class Kernel:
        compilation: Compilation

    compilation = record(tmp_path / "out")
    assert encode_report(Kernel(compilation)) == encode_report(compilation)


def test_the_same_record_gives_the_same_bytes(tmp_path: Path) -> None:
    record(tmp_path / "out")
    pages = [encode_report(read_folder(tmp_path / "out")) for _ in range(2)]
    write_report(read_folder(tmp_path / "out"), tmp_path / "k.html")
    assert pages[0] == pages[1] == (tmp_path / "k.html").read_bytes()


def test_a_report_takes_the_place_of_a_report(tmp_path: Path) -> None:
    compilation = record(tmp_path / "out")
    path = tmp_path / "k.html"
    path.touch()
    write_report(compilation, path)
    compilation.name = "other"
    write_report(compilation, str(path))
    assert Page.at(path).title.startswith("other for")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "that is a folder"),
        ("folder/no/k.html", "there is no folder"),
        ("kernel.py", "the file there is not a report"),
        ("pipe", "that is not a plain file"),
        ("out/k.ptx", "a file of that name may be the record's own"),
        ("out/manifest.json", "a file of that name may be the record's own"),
        ("link.html", "the file there is not a report"),
    ],
)
def test_other_files_are_left_alone(tmp_path: Path, name: str, message: str) -> None:
    compilation = record(tmp_path / "out")
    (tmp_path / "folder").mkdir()
    (tmp_path / "kernel.py").write_text("x = 1\n")
    (tmp_path / "link.html").symlink_to("kernel.py")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=message):
        write_report(compilation, tmp_path / name)
    assert (tmp_path / "kernel.py").read_text() == "x = 1\n"


def test_a_report_may_lie_beside_the_record(tmp_path: Path) -> None:
    write_report(record(tmp_path / "out"), tmp_path / "out" / "k.html")
    assert Page.at(tmp_path / "out" / "k.html").chunks["manifest"]["name"] == "k"
    assert read_folder(tmp_path / "out").name == "k"


@pytest.mark.parametrize("call", ["write", "replace"])
def test_a_disk_that_is_full_leaves_the_earlier_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    compilation = record(tmp_path / "out")
    path = tmp_path / "k.html"
    write_report(compilation, path)
    before = path.read_bytes()

    def full(*_: object, **_folders: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if call == "replace":
        monkeypatch.setattr(os, "replace", full)
    else:
        monkeypatch.setattr(OpenFolder, "create", lambda *_: os.open("/dev/full", os.O_WRONLY))
    with pytest.raises(RecordError, match=r"cannot write the report .*k\.html: No space left on device"):
        write_report(compilation, path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [name for name in os.listdir(tmp_path) if "partial" in name] == []


def test_a_part_that_cannot_be_made_is_a_warning_in_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr(content, "layout_pictures", fail)
    compilation = record(tmp_path / "out")
    chunks = Page(encode_report(compilation)).chunks
    assert "layouts" not in chunks
    assert "stage:1" in chunks
    (warning,) = chunks["manifest"]["warnings"]
    assert warning["message"] == "the report shows no layouts: internal error: ValueError: a bug of ours"
    assert compilation.warnings == []


def test_damaged_stages_leave_a_page_that_says_so(tmp_path: Path) -> None:
    record(tmp_path / "out")
    (tmp_path / "out" / "k.stages").write_bytes(b"something else")
    chunks = Page(encode_report(read_folder(tmp_path / "out"))).chunks
    (warning,) = chunks["manifest"]["warnings"]
    assert warning["message"].startswith("the report shows no IR: the record's stages are of another version")


def test_stages_that_were_cut_off_show_what_is_whole(tmp_path: Path) -> None:
    record(tmp_path / "out")
    path = tmp_path / "out" / "k.stages"
    path.write_bytes(path.read_bytes()[:-5])
    chunks = Page(encode_report(read_folder(tmp_path / "out"))).chunks
    assert "stage:0" in chunks
    assert "stage:1" not in chunks


def test_counters_of_a_run_are_shown(tmp_path: Path) -> None:
    record(tmp_path / "out")
    for warps in (1, 2):
        counters = KeptCounters("k on the CPU emulator", [LineCounts("kernel", "k.py", 2, {"warps": warps})])
        keep_counters(tmp_path / "out", counters)
    compilation = read_folder(tmp_path / "out")
    assert [each.kind for each in compilation.artifacts] == ["stages", "counters"]
    chunks = Page(encode_report(compilation)).chunks
    titles = [each["title"] for each in chunks["measures"] if each["source"] == "k on the CPU emulator"]
    assert titles == ["warp instructions", "idle threads"]
    assert chunks["measure:0"] == [{"file": "k.py", "values": [2], "at": [2]}]
    RecordFolder(tmp_path / "out").close()
    left = {name for name in os.listdir(tmp_path / "out") if not name.startswith(".")}
    assert left == set(), "the next run takes them away"


def test_counters_leave_what_another_run_wrote_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path / "out")
    reopen = RecordFolder.reopen

    def later(path: Path) -> RecordFolder:
        folder = reopen(path)
        compilation = read_folder(path)
        compilation.command = ["another"]
        folder.save(compilation)
        return folder

    monkeypatch.setattr(RecordFolder, "reopen", later)
    keep_counters(tmp_path / "out", KeptCounters("k", []))
    assert read_folder(tmp_path / "out").command == ["another"]


def test_counters_wait_for_no_other_run_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path / "out")
    monkeypatch.setattr(folder, "_PATIENCE_SECONDS", 0.1)
    other = RecordFolder.reopen(tmp_path / "out")
    with pytest.raises(RecordError, match="another cutecc is writing"):
        keep_counters(tmp_path / "out", KeptCounters("k", []))
    other.close()
    keep_counters(tmp_path / "out", KeptCounters("k", []))
