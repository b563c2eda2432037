"""Timelines of a profile on the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from click.testing import CliRunner
from report_pages import Page

from cutecc.cli.report import report
from cutecc.errors import UsageError
from cutecc.record import Artifact, Compilation, Versions
from cutecc.record.folder import RecordFolder
from cutecc.report import profile_file
from cutecc.report.profile_file import ProfileFile, read_profiles, timelines_of
from cutecc.report.profile_measures import profile_measures
from cutecc.timelines.document import timeline_dict
from cutecc.timelines.roles import with_roles
from cutecc.timelines.sites import Site
from cutecc.timelines.timeline import BlockTimeline, Lane, Slowdown, Timeline

SITES = [
    Site("wait", "mbarrier wait", "mbarrier 0", "/srv/a/kernel.py", 3),
    Site("copy", "TMA load", "mbarrier 0", "/srv/a/kernel.py", 4),
]


def lane(warp: int, site: int, starts: list[float], length: float) -> Lane:
    begins = np.array(starts, np.float64)
    return Lane(warp, "warp", 0.0, 1000.0, np.full(len(starts), site, np.int32), begins, begins + length)


def timeline() -> Timeline:
    turns = [100.0 * turn for turn in range(9)]
    lanes = [lane(0, 0, turns, 90.0), lane(1, 1, [turn + 5 for turn in turns], 0.0)]
    blocks = [BlockTimeline("kernel", 0, number, number, lanes) for number in range(6)]
    return with_roles(Timeline("ns", "NVIDIA H200", SITES, blocks, lost=3, slowdown=Slowdown(11.0, 10.2, 10.0)))


def profile(**more: Any) -> dict[str, Any]:
    found = {"title": "N=4096", "device": "NVIDIA H200", "period_cycles": 2048, "kernels": []}
    return {**found, "timeline": timeline_dict(timeline()), **more}


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(content))
    return path


def record() -> Compilation:
    made = Compilation("k", "sm_90a", "", Versions("0", "3", "4.8.1", "built in"), status="ok")
    made.artifacts = [Artifact("ptx", "k.ptx")]
    made.files["k.ptx"] = b".version 8.0\n"
    return made


def test_what_the_document_has() -> None:
    found = timeline_dict(timeline())
    # All are equally long: one is all that stands out, and the ends.
    assert {why for block in found["blocks"] for why in block["why"]} == {"median", "slowest", "first", "last"}
    assert found["blocks"][0]["groups"] == [
        {"role": "warp", "warps": (0,), "title": "warp 0"},
        {"role": "producer", "warps": (1,), "title": "warp 1 producer"},
    ]
    assert found["steady"]["period"] == 100
    assert found["lines"] == [
        {"file": "/srv/a/kernel.py", "line": 3, "share": 0.405},
        {"file": "/srv/a/kernel.py", "line": 4, "share": 0.0},
    ]
    waits = found["blocks"][0]["lanes"][0]
    # Of the copy of its own turn.
    assert waits["ended"][0] == 1
    assert waits["ended_by"][0] == [1, 1]


def test_of_long_blocks_the_ends_are_kept() -> None:
    turns = [10.0 * turn for turn in range(5000)]
    long = Lane(0, "warp", 0.0, 50_000.0, np.zeros(5000, np.int32), np.array(turns), np.array(turns) + 5)
    found = timeline_dict(Timeline("ns", "GPU", SITES[:1], [BlockTimeline("k", 0, 0, 0, [long])]))
    (lane,) = found["blocks"][0]["lanes"]
    first, last = lane["kept"]
    assert first[0] == 0
    assert last[1] == 50_000
    assert len(lane["spans"]["starts"]) == pytest.approx(1000, abs=4)


def test_a_page_has_it_beside_samples_or_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = Mock(wraps=profile_file.read_plain)
    monkeypatch.setattr(profile_file, "read_plain", read)
    stored = RecordFolder(tmp_path / "record")
    stored.save(record())
    stored.close()
    path = written(tmp_path, [profile()])
    page = tmp_path / "k.html"
    ran = CliRunner().invoke(report, [str(tmp_path / "record"), "--profile", str(path), "-o", str(page)])
    assert ran.exit_code == 0, ran.output
    read.assert_called_once()
    found = Page.at(page).chunks["timeline:0"]
    assert found["title"] == "N=4096"
    assert found["slowdown"] == {"recorded": 11.0, "idle": 10.2, "plain": 10.0}
    assert found["lost"] == 3


def test_samples_alone_are_no_timeline(tmp_path: Path) -> None:
    def read(content: Any) -> tuple[list[ProfileFile], Path]:
        path = written(tmp_path, content)
        return read_profiles(path), path

    samples = {**profile(), "timeline": None}
    assert timelines_of(read([samples])[0]) == []
    del samples["timeline"]
    assert timelines_of(read([samples])[0]) == []
    with pytest.raises(UsageError, match="no SASS"):
        profile_measures(record(), *read([samples]))
    assert profile_measures(record(), *read([profile()])) == []


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (["/home/me/a/kernel.py", "/home/me/b/kernel.py"], "/home/me/a/kernel.py"),
        (["/home/me/kernel.py"], "/home/me/kernel.py"),
        (["/home/me/b/kernel.py", "/home/me/c/kernel.py"], "/srv/a/kernel.py"),
        (["/home/me/other.py"], "/srv/a/kernel.py"),
    ],
)
def test_files_of_another_machine(tmp_path: Path, files: list[str], name: str) -> None:
    (picture,) = timelines_of(read_profiles(written(tmp_path, [profile()])))
    picture.in_files(files)
    assert {site.file for site in picture.sites} == {name}
    assert picture.steady is not None
    assert {share.file for share in picture.steady.shares if share.line} == {name}


@pytest.mark.parametrize(
    "content",
    [{}, [profile(title=3)], [profile(timeline={"unit": "days"})], [profile(timeline=[1])]],
)
def test_what_is_none(tmp_path: Path, content: Any) -> None:
    with pytest.raises(UsageError, match="is no profile"):
        read_profiles(written(tmp_path, content))
