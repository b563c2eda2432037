"""The file of stages: what is written comes back, also when it was cut off or damaged."""

from __future__ import annotations

import errno
import io
import zlib
from pathlib import Path

import msgspec
import pytest
from compilations import small
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import RecordError
from cutecc.record import Artifact, Failure
from cutecc.record import stages as module
from cutecc.record.stages import CallFrame, Stages, StageWriter, UserLines, changed_by, create, stages_of
from cutecc.support.locations import Frame, Place, place_of

KERNEL, HELPER = Frame("/k/gemm.py", 12, 5), Frame("/lib/helper.py", 3, 1)
LINES = UserLines([[CallFrame(*HELPER, "help"), CallFrame(*KERNEL, "kernel")]], {"/k/gemm.py": "größe = 1\n"})
STAGES: list[tuple[int, str, list[Place | None]]] = [
    (0, "module {\n  a.one\n}\n", [(KERNEL,), (HELPER, KERNEL), None]),
    (3, "module {\n  a.two ☃\n  a.one\n}\n", [(KERNEL,), None, (Frame("/k/gemm.py", 13, 0),), None]),
    (4, "module {\n}\n", [(KERNEL,), None]),
]


@pytest.mark.parametrize(
    ("frames", "kept"),
    [
        ([KERNEL], [KERNEL]),
        ([HELPER, KERNEL], [HELPER, KERNEL]),
        # In a file that the kernel's calls; SASS has no columns at all.
        ([HELPER._replace(column=0), KERNEL], [HELPER._replace(column=0)]),
        ([HELPER._replace(column=0), KERNEL._replace(column=0)],) * 2,
        ([KERNEL, KERNEL], [KERNEL]),
        ([KERNEL._replace(line=14, column=0), KERNEL], [KERNEL]),
        ([KERNEL._replace(line=14), KERNEL], [KERNEL._replace(line=14), KERNEL]),
    ],
)
def test_the_lines_of_inline_assembly_are_no_frames(frames: list[Frame], kept: list[Frame]) -> None:
    assert place_of(frames) == tuple(kept)


def test_what_a_pass_changed_is_known_once_a_stage_of_it_or_later_is_there() -> None:
    assert [changed_by(index, [0, 3, 5]) for index in range(7)] == [True, False, False, True, False, True, None]
    assert changed_by(1, []) is None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "gemm.stages"
    create(path, LINES)
    writer = StageWriter(path)
    for stage in STAGES:
        writer.add_stage(*stage)
    return path


def read(stages: Stages) -> list[tuple[int, str, list[Place | None]]]:
    found = [stages.after(index) for index in stages.indices]
    return [
        (each.index, each.text, [stages.places[number] if number >= 0 else None for number in each.places])
        for each in found
    ]


def test_what_was_written_is_read(file: Path) -> None:
    stages = Stages(file.read_bytes())
    assert read(stages) == STAGES
    assert stages.user_lines == LINES
    assert stages.indices == [0, 3, 4]
    assert len(stages.places) == 3, "each is kept once"


def test_a_pass_that_changed_nothing_left_what_was_there_before(file: Path) -> None:
    stages = Stages(file.read_bytes())
    assert [stages.after(index).index for index in range(6)] == [0, 0, 0, 3, 4, 4]


def test_a_file_that_is_cut_off_anywhere_holds_all_that_came_before(file: Path) -> None:
    data = file.read_bytes()
    whole = Stages(data)
    ends = [16]
    for block in whole.blocks:
        ends.append(ends[-1] + 9 + len(block.data))
    assert ends[-1] == len(data)
    kinds = "".join(block.kind for block in whole.blocks)
    for size in range(16, len(data) + 1):
        blocks = sum(end <= size for end in ends) - 1
        stages = Stages(data[:size])
        assert "".join(block.kind for block in stages.blocks) == kinds[:blocks]
        assert read(stages) == STAGES[: kinds[:blocks].count("S")]
    for size in range(16):
        with pytest.raises(RecordError):
            Stages(data[:size])


def test_every_damaged_byte_is_an_error_or_changes_nothing_else(file: Path) -> None:
    data = file.read_bytes()
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0x55
        try:
            for stage in read(Stages(bytes(damaged))):
                # A block's number or length may be another; what is in a block is checked.
                assert stage[1:] in [each[1:] for each in STAGES]
        except RecordError as error:
            assert "stages" in error.message or "no module" in error.message


def test_a_block_that_belongs_to_nothing_is_refused(file: Path) -> None:
    for text, places in [("a\n", [7]), ("a\nb\n", [0]), ("a\n", [-2])]:
        data = zlib.compress(msgspec.json.encode({"index": 9, "text": text, "places": places}))
        bad = file.read_bytes() + b"S" + (9).to_bytes(4, "little") + len(data).to_bytes(4, "little") + data
        with pytest.raises(RecordError, match="stage 9"):
            Stages(bad).after(9)
        assert Stages(bad).after(8).index == 4


def _block(kind: bytes, content: object) -> bytes:
    data = zlib.compress(msgspec.json.encode(content))
    return kind + bytes(4) + len(data).to_bytes(4, "little") + data


@pytest.mark.parametrize("block", [_block(b"P", [[]]), _block(b"U", {"chains": [[]]})], ids=["place", "chain"])
def test_a_place_without_a_frame_is_refused(file: Path, block: bytes) -> None:
    with pytest.raises(RecordError, match="a place has no frame"):
        Stages(file.read_bytes() + block)


def test_what_would_fill_the_memory_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = _block(b"P", [[["/k.py", 1, 1]]] * 100)
    stage = _block(b"S", {"index": 0, "text": "a" * 3000, "places": []})
    monkeypatch.setattr("cutecc.record.stages._MOST_BYTES", 2500)
    Stages(file.read_bytes() + places)
    with pytest.raises(RecordError, match="too large"):
        Stages(file.read_bytes() + places + places)
    with pytest.raises(RecordError, match="too large"):
        Stages(file.read_bytes() + stage).after(0)


def test_blocks_of_a_later_version_are_passed_over(file: Path) -> None:
    data = zlib.compress(b"{}")
    later = file.read_bytes() + b"X" + bytes(4) + len(data).to_bytes(4, "little") + data
    assert read(Stages(later)) == STAGES


def test_a_full_disk_leaves_what_was_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = StageWriter(file)
    writer.add_stage(5, "a\n", [(Frame("/k/x.py", 1, 1),)])
    before = file.read_bytes()

    class Full(io.FileIO):
        def write(self, data: bytes) -> int:  # pyright: ignore[reportIncompatibleMethodOverride]
            super().write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "open", lambda descriptor, *_, **__: Full(descriptor, "ab"), raising=False)
        with pytest.raises(OSError, match="No space"):
            writer.add_stage(6, "b\n", [(Frame("/k/new.py", 2, 1),)])
    assert file.read_bytes() == before
    writer.add_stage(7, "c\n", [(Frame("/k/new.py", 2, 1),)])
    stages = Stages(file.read_bytes())
    assert [stages.places[number] for number in stages.after(7).places] == [(Frame("/k/new.py", 2, 1),)]


def test_another_version_says_so() -> None:
    with pytest.raises(RecordError, match="another version") as caught:
        Stages(b"cutecc stages 2\n")
    assert caught.value.hints == ["compile again"]


def test_a_record_without_stages_says_how_to_make_them() -> None:
    with pytest.raises(RecordError, match="holds no stages") as caught:
        stages_of(small())
    assert "--dump-after=all" in caught.value.hints[0]


def test_the_record_of_a_failed_trace_says_why_it_has_none() -> None:
    compilation = small()
    compilation.failure = Failure("trace", "copy does not trace: NameError")
    with pytest.raises(RecordError, match="has no module: copy does not trace: NameError"):
        stages_of(compilation)


def test_a_record_whose_file_is_gone_says_so() -> None:
    compilation = small()
    compilation.artifacts.append(Artifact("stages", "k.stages"))
    with pytest.raises(RecordError, match="lacks its file"):
        stages_of(compilation)


@given(
    st.lists(st.tuples(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), st.integers(0, 3)))
)
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, content: list[tuple[str, int]]) -> None:
    path = tmp_path_factory.mktemp("stages") / "x.stages"
    create(path)
    text = "".join(f"{line}\n" for line, _ in content)
    places: list[Place | None] = [(Frame("/ü.py", line, 0),) if line else None for _, line in content]
    StageWriter(path).add_stage(0, text, places)
    assert read(Stages(path.read_bytes())) == [(0, text, places)]
