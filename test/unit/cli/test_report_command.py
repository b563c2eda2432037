"""`cutecc report`, and `cutecc run --keep`, whose counters a report shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from report_pages import Page, check_sound

import cutecc as package
from cutecc.compilation.request import CompileOptions
from cutecc.record import Compilation, Versions
from cutecc.record.bundle import write_bundle
from cutecc.record.compilation import Artifact
from cutecc.record.folder import RecordFolder, read_folder

ROOT = Path(__file__).parents[3]
COPY = ROOT / "test" / "kernels" / "vector_copy.py"


def save(folder: Path, name: str = "k", target: str = "sm_80") -> Compilation:
    """A record that was never compiled."""
    record = Compilation(name, target, "cse", Versions("0", "3", "4.8.1", "built in"), status="ok")
    record.files[f"{name}.ptx"] = b".version 8.0\n"
    record.artifacts = [Artifact("ptx", f"{name}.ptx")]
    stored = RecordFolder(folder)
    stored.save(record)
    stored.close()
    return record


def test_the_default_name_says_kernel_and_target(cutecc, tmp_path: Path) -> None:
    save(tmp_path / "out")
    assert cutecc("report", "out").stdout == "k-sm_80.html\n"
    page = Page.at(tmp_path / "k-sm_80.html")
    check_sound(page)
    assert page.chunks["listing:k.ptx"]["text"] == ".version 8.0\n"
    assert cutecc("report", "out", "-q").stdout == ""
    (entry,) = json.loads(cutecc("report", "out/manifest.json", "-o", "p.html", "--json").stdout)
    size = (tmp_path / "p.html").stat().st_size
    assert entry == {"kernel": "k", "target": "sm_80", "report": "p.html", "bytes": size}


def test_several_targets_and_kernels(cutecc, tmp_path: Path) -> None:
    records = [save(tmp_path / "out" / target, target=target) for target in ("sm_80", "sm_90a")]
    assert cutecc("report", "out").stdout.split() == ["k-sm_80.html", "k-sm_90a.html"]
    assert cutecc("report", "out", "-o", "x.html").stdout.split() == ["x-sm_80.html", "x-sm_90a.html"]
    write_bundle(tmp_path / "k.cutecc", records)
    assert cutecc("report", "k.cutecc", "--target=sm_90a", "-o", "b.html").stdout.split() == ["b.html"]
    assert Page.at(tmp_path / "b.html").chunks["manifest"]["target"] == "sm_90a"
    save(tmp_path / "out" / "other", name="other")
    assert cutecc("report", "out", "-o", "x.html", "--target=sm_80").stdout.split() == [
        "x-other-sm_80.html",
        "x-k-sm_80.html",
    ]
    save(tmp_path / "out" / "again")
    done = cutecc("report", "out", status=2)
    assert "two records are of k for sm_80, and both would be written to k-sm_80.html" in done.stderr


@pytest.mark.parametrize("status", ["running", "failed", "interrupted"])
def test_a_record_that_is_not_whole(cutecc, tmp_path: Path, status: str) -> None:
    save(tmp_path / "out")
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"ok"', f'"{status}"'))
    cutecc("report", "out")
    assert Page.at(tmp_path / "k-sm_80.html").chunks["manifest"]["status"] == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "error: there is no folder and no bundle nothing"),
        (["empty"], "error: empty is a folder without a record: it has no manifest.json"),
        (["k.py"], "hint: compile it first: cutecc compile k.py --report k.html"),
        (["out", "--target=sm_90"], "error: out holds no record for sm_90; it has sm_80"),
        (["out", "-o", "empty"], "error: cannot write the report to empty: that is a folder"),
        (["out", "-o", "k.py"], "error: cannot write the report k.py: the file there is not a report"),
        (["out", "-o", "out/k.ptx"], "error: cannot write the report out/k.ptx: a file of that name may be the record"),
    ],
)
def test_what_cannot_be(cutecc, tmp_path: Path, arguments: list[str], message: str) -> None:
    save(tmp_path / "out")
    (tmp_path / "empty").mkdir()
    (tmp_path / "k.py").write_text("x = 1\n")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert message in cutecc("report", *arguments, status=2).stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_library_call_writes_one_too(small_kernel, tmp_path: Path) -> None:
    kernel = package.compile_module(
        small_kernel.bytecode, target="sm_80", name="copy", options=CompileOptions(report=True)
    )
    report = package.write_report(kernel, tmp_path / "copy.html")
    chunks = Page.at(report.path).chunks
    assert {"stage:0", "listing:copy.ptx", "listing:copy.sass", "mix", "history", "layouts"} <= {*chunks}
    assert chunks["manifest"]["warnings"] == []


@pytest.mark.slow
def test_a_run_keeps_what_it_counted(cutecc, tmp_path: Path) -> None:
    options = ["--device=cpu", "--counters", "-q"]
    cutecc("run", COPY, *options, "--keep=kept")
    cutecc("report", "kept", "-o", "kept.html")
    chunks = Page.at(tmp_path / "kept.html").chunks
    assert "stage:0" in chunks
    measured = {each["title"]: (number, each) for number, each in enumerate(chunks["measures"])}
    number, read = measured["global bytes"]
    assert "on the CPU emulator" in read["source"]
    assert read["level"] == "ptx"
    (points,) = chunks[f"measure:{number}"]
    text = chunks[f"listing:{points['file']}"]["text"].split("\n")
    assert sum(points["values"]) > 0
    assert all("global" in text[line] for line in points["at"])
    # Into the record that ran, and into a copy of it.
    cutecc("run", "kept", *options, "--keep=kept", "--seed=3")
    assert b"seed 3" in read_folder(tmp_path / "kept").artifact("counters")
    cutecc("run", "kept", *options, "--keep=copy", "--seed=4")
    assert b"seed 4" in read_folder(tmp_path / "copy").artifact("counters")
    assert b"seed 3" in read_folder(tmp_path / "kept").artifact("counters")
    assert read_folder(tmp_path / "copy").artifact("ptx") == read_folder(tmp_path / "kept").artifact("ptx")
    for options, message in (
        (["--device=cpu", "--keep=kept"], "--keep keeps what was counted"),
        (["--device=cpu", "--counters", "--keep=kept.html"], "--keep: kept.html is a file"),
    ):
        assert message in cutecc("run", "kept", *options, status=2).stderr
