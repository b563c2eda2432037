"""What passes did, read while a file of stages grows."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_history import LINES, stages

from cutecc.record import Artifact, Compilation, Versions
from cutecc.record.stages import Block, Stages, StageWriter, create
from cutecc.report import content
from cutecc.report.live import LiveReport
from cutecc.report.pass_effects import PassEffect, effects_of
from cutecc.report.reading_along import ReadingAlong

TEXTS = ("%0 = a.one @ 1\na.use %0 @ 2", "%0 = b.one @ 1\na.use %0 @ 2", "%0 = b.one @ 1\na.use %0 @ 3")


def read(blocks: list[Block]) -> ReadingAlong:
    along = ReadingAlong()
    along.start()
    for block in blocks:
        along.add([block])
    along.end()
    return along


def all_at_once(record: Stages) -> list[PassEffect]:
    return [*effects_of(map(record.after, record.indices), record.places)]


def test_it_is_what_the_finished_file_says(tmp_path: Path) -> None:
    record = stages(tmp_path, *TEXTS)
    found = read(record.blocks).effects(record)
    assert found == all_at_once(record)
    assert found is not None
    assert [len(each.changes) for each in found] == [0, 1, 2]


def test_of_other_stages_it_says_nothing(tmp_path: Path) -> None:
    record = stages(tmp_path, *TEXTS)
    along = read(record.blocks)
    for texts in (TEXTS[:2], (*TEXTS, "a.two @ 1"), (TEXTS[0], "%0 = c.one @ 1\na.use %0 @ 2", TEXTS[2])):
        assert along.effects(stages(tmp_path, *texts)) is None


@pytest.mark.parametrize("kind", ["P", "S"])
def test_of_damaged_stages_it_says_nothing(tmp_path: Path, kind: str) -> None:
    record = stages(tmp_path, *TEXTS)
    damaged = [Block(each.kind, each.index, each.data[:-1]) if each.kind == kind else each for each in record.blocks]
    assert read(damaged).effects(record) is None


def test_whatever_goes_wrong_at_the_end_it_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = Compilation("k", "sm_80", "a,b", Versions("0", "3", "4.8.1", "built in"))
    report = LiveReport(tmp_path / "k.html", running, tmp_path / "k.stages")

    def fail_at_the_end() -> list[Block]:
        if report._ended.is_set():
            raise MemoryError
        return []

    monkeypatch.setattr(report._reader, "read", fail_at_the_end)
    with pytest.raises(MemoryError), report:
        pass
    assert not report.along._thread.is_alive()


def test_a_page_that_grew_has_the_histories_of_one_that_is_made_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = stages(tmp_path, *TEXTS)
    path = tmp_path / "grows.stages"
    running = Compilation("k", "sm_80", "a,b", Versions("0", "3", "4.8.1", "built in"))
    with LiveReport(tmp_path / "k.html", running, path) as report:
        create(path, LINES)
        writer = StageWriter(path)
        for index in record.indices:
            stage = record.after(index)
            writer.add_stage(index, stage.text, [record.places[place] for place in stage.places])
    running.artifacts = [Artifact("stages", path.name)]
    running.files[path.name] = path.read_bytes()
    expected = content.content_of(running).chunks
    monkeypatch.delattr(content, "effects_of")
    assert content.content_of(running, along=report.along).chunks == expected
    assert any(chunk.name == "links:2" for chunk in expected)
