"""Chunks of a page: whatever they hold comes back, and ends nothing early."""

from __future__ import annotations

import json
import zlib

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from report_pages import Page

from cutecc.record.stages import BlockReader, Stages, StageWriter, create
from cutecc.report.chunks import Chunk, stage_chunks

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
# NUL and line ends are what HTML itself changes in an attribute; a name is a file's, as records allow them.
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), min_size=1)


@given(NAMES, JSON)
def test_any_content_under_any_name_comes_back(name: str, content: object) -> None:
    page = Page(Chunk.of(name, content).element())
    assert page.chunks == {name: content}
    assert len(page.elements) == 1


def test_a_file_whose_name_is_no_text() -> None:
    chunk = Chunk.of("listing:\udc80.ptx", {"file": "\udc80.ptx"})
    assert json.loads(zlib.decompress(chunk.data)) == {"file": "\udc80.ptx"}
    assert len(Page(chunk.element()).elements) == 1


class Point(msgspec.Struct):
    x: int


def test_structs_are_objects() -> None:
    assert Page(Chunk.of("points", [Point(1)]).element()).chunks == {"points": [{"x": 1}]}


def test_stages_are_taken_as_they_are(tmp_path) -> None:
    path = tmp_path / "k.stages"
    create(path)
    writer = StageWriter(path)
    for index in (0, 3):
        writer.add_stage(index, f"module {index}\n", [None, None])
    stages = Stages(path.read_bytes())
    chunks = [*stage_chunks(stages.blocks)]
    assert [each.data for each in chunks] == [block.data for block in stages.blocks]
    found = Page(b"".join(each.element() for each in chunks)).chunks
    assert found["stage:3"]["text"] == "module 3\n"
    assert [*found] == ["stage:0", "stage:3"]


def test_a_growing_file_is_read_once_and_only_whole_blocks(tmp_path) -> None:
    path, whole = tmp_path / "growing.stages", tmp_path / "whole.stages"
    reader = BlockReader(path)
    assert reader.read() == []
    create(whole)
    writer = StageWriter(whole)
    for index in range(3):
        writer.add_stage(index, f"module {index}\n", [None, None])
    data = whole.read_bytes()
    found = []
    for end in range(len(data) + 1):
        path.write_bytes(data[:end])
        found += reader.read()
    assert found == Stages(data).blocks
    assert reader.read() == []
