"""A page that grows: at any moment it holds what there is so far."""

from __future__ import annotations

import errno
import time
from pathlib import Path

import pytest
from report_pages import Page, check_sound

from cutecc.record import Compilation, Step, Versions
from cutecc.record.stages import StageWriter, UserLines, create
from cutecc.report import live
from cutecc.report.live import LiveReport


@pytest.fixture
def running() -> Compilation:
    return Compilation("k", "sm_80", "a,b,c", Versions("0", "3", "4.8.1", "built in"))


def step(index: int) -> Step:
    return Step(index, f"pass-{index}", f"pass-{index}", "wheel", seconds=0.25)


def wait_until(condition) -> None:
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it does not get there")


def test_what_there_is_so_far_is_in_the_page(tmp_path: Path, running: Compilation) -> None:
    page, stages = tmp_path / "k.html", tmp_path / "k.stages"
    page.write_bytes(b"what was there before")
    with LiveReport(page, running, stages) as report:
        first = Page.at(page)
        check_sound(first)
        assert first.chunks["manifest"]["status"] == "running"
        create(stages, UserLines(sources={"k.py": "x"}))
        writer = StageWriter(stages)
        writer.add_stage(0, "zero\n", [None])
        report.passed(step(1))
        report.passed(step(2))
        writer.add_stage(2, "two\n", [None])
        report.passed(step(3))
        wait_until(lambda: len(Page.at(page).chunks["manifest"]["steps"]) == 3)
        found = Page.at(page)
        check_sound(found)
        assert {"user-lines", "stage:0", "stage:2"} <= {*found.chunks}
        changed = [each["changed"] for each in found.chunks["manifest"]["steps"]]
        assert changed == [False, True, None], "of the last one nothing is known yet"
        assert "3 pass-3: done, 250.0 ms" in found.all("p")
    assert running.steps == []


def test_stages_arrive_while_no_pass_ends(tmp_path: Path, running: Compilation) -> None:
    """The last ones are printed while code is generated."""
    page, stages = tmp_path / "k.html", tmp_path / "k.stages"
    create(stages)
    with LiveReport(page, running, stages):
        StageWriter(stages).add_stage(7, "seven\n", [None])
        wait_until(lambda: "stage:7" in Page.at(page).chunks)
        assert Page.at(page).chunks["stage:7"]["text"] == "seven\n"


def test_wherever_a_page_is_cut_off_what_comes_before_is_readable(tmp_path: Path, running: Compilation) -> None:
    page, stages = tmp_path / "k.html", tmp_path / "k.stages"
    create(stages)
    writer = StageWriter(stages)
    with LiveReport(page, running, stages) as report:
        for index in range(1, 4):
            writer.add_stage(index, f"module {index}\n", [None])
            report.passed(step(index))
        wait_until(lambda: len(Page.at(page).chunks["manifest"]["steps"]) == 3)
    data = page.read_bytes()
    start = data.index(b"</script>", data.index(b'<script type="application/octet-stream"')) + len("</script>")
    known = 0
    for end in range(start, len(data), 7):
        try:
            text = data[:end].decode()
        except UnicodeDecodeError:
            continue
        chunks = Page(text.encode()).chunks
        assert chunks["manifest"]["name"] == "k"
        found = sum(name.startswith("stage:") for name in chunks)
        assert found >= known
        known = found
    assert known == 3


def test_thousands_of_passes_do_not_make_a_page_of_manifests(tmp_path: Path, running: Compilation) -> None:
    page = tmp_path / "k.html"
    with LiveReport(page, running, tmp_path / "k.stages") as report:
        start = time.perf_counter()
        for index in range(1, 2000):
            report.passed(step(index))
        seconds = time.perf_counter() - start
    names = [name for name, _ in Page.at(page).raw_chunks]
    assert len(names) < 3 + seconds / live._POLL_SECONDS + 200


def test_a_disk_that_is_full_does_not_end_the_compilation(
    tmp_path: Path, running: Compilation, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "k.html"
    with LiveReport(page, running, tmp_path / "k.stages") as report:
        before = page.read_bytes()

        def full(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(Path, "open", full)
        report.passed(step(1))
        monkeypatch.undo()
        report.passed(step(2))
    assert page.read_bytes() == before, "after a write that failed there is no telling what a further one adds to"
