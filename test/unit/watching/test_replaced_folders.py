"""A watched program puts links where it is recorded to: nothing is written, or read, where those lead."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from cutecc.errors import RecordError, UsageError
from cutecc.support.open_folder import OpenFolder
from cutecc.watching import folder as watch_folder
from cutecc.watching.index import index_data, write_index
from cutecc.watching.journal import MARK, Journal
from cutecc.watching.recording import Recording, is_recorded, read
from cutecc.watching.settings import FOLDER, HOOK
from cutecc.watching.settings import MARK as MARK_VARIABLE

_KEY = "0" * 32
_ROOT = Path(__file__).parents[3]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    path = tmp_path / "elsewhere"
    path.mkdir()
    (path / "file").write_text("mine")
    return path


def untouched(elsewhere: Path) -> bool:
    return [path.name for path in elsewhere.iterdir()] == ["file"] and (elsewhere / "file").read_text() == "mine"


def swap(path: Path, target: Path) -> Path:
    """Put a link in the place of `path`; returns where that is now."""
    aside = path.with_name(f"{path.name}-aside")
    path.rename(aside)
    path.symlink_to(target)
    return aside


@pytest.mark.parametrize("inner", [False, True])
def test_the_recorder_stays_in_the_folder_that_it_opened(tmp_path: Path, elsewhere: Path, inner: bool) -> None:
    seen = tmp_path / "seen"
    journal = Journal(str(seen), watch_folder.prepare(seen))
    journal.write("note", message="one")
    aside = swap(seen / "recorded" if inner else seen, elsewhere)
    journal.write("note", message="two")
    journal.keep(f"{_KEY}.mlirbc", b"module")
    assert untouched(elsewhere)
    recorded = aside if inner else aside / "recorded"
    assert (recorded / f"{_KEY}.mlirbc").read_bytes() == b"module"
    (lines,) = [path.read_text().splitlines() for path in recorded.glob("*.jsonl")]
    assert len(lines) == 3


def test_a_process_that_comes_later_does_not_begin_there(tmp_path: Path, elsewhere: Path) -> None:
    seen = tmp_path / "seen"
    mark = watch_folder.prepare(seen)
    swap(seen, elsewhere)
    with pytest.raises(OSError):
        Journal(str(seen), mark)
    seen.unlink()
    seen.mkdir()
    (seen / MARK).write_text("another")
    with pytest.raises(OSError, match="not the folder of the watch any more"):
        Journal(str(seen), mark)
    assert untouched(elsewhere)


@pytest.mark.parametrize("name", [f"{_KEY}.mlirbc", "recorded"])
def test_links_in_it_are_not_written_through(tmp_path: Path, elsewhere: Path, name: str) -> None:
    seen = tmp_path / "seen"
    mark = watch_folder.prepare(seen)
    if name == "recorded":
        (seen / name).symlink_to(elsewhere)
        with pytest.raises(OSError):
            Journal(str(seen), mark)
    else:
        journal = Journal(str(seen), mark)
        (seen / "recorded" / name).symlink_to(elsewhere / "file")
        journal.keep(name, b"module")
        assert (seen / "recorded" / name).read_bytes() == b"module"
    assert untouched(elsewhere)


def test_descriptors_that_the_program_closed_are_not_written_to(tmp_path: Path) -> None:
    """A daemon closes all that it has, and what it opens then gets their numbers."""
    code = f"""
        import os, sys
        from cutecc.watching.journal import Journal
        journal = Journal({str(tmp_path / "seen")!r})
        journal.write("note", message="one")
        os.closerange(3, 64)
        own = [os.open(f"{tmp_path}/own-{{number}}", os.O_RDWR | os.O_CREAT) for number in range(8)]
        journal.write("note", message="two")
        journal.keep("{_KEY}.mlirbc", b"module")
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, cwd=_ROOT)
    assert [path.read_bytes() for path in tmp_path.glob("own-*")] == [b""] * 8
    recording = read(tmp_path / "seen")
    assert recording.notes == ["one", "two"]
    assert recording.module(_KEY) == b"module"


def test_a_python_that_starts_later_leaves_nothing_there(tmp_path: Path, elsewhere: Path) -> None:
    seen = tmp_path / "seen"
    mark = watch_folder.prepare(seen)

    def start() -> None:
        variables = {FOLDER: str(seen), MARK_VARIABLE: mark, "PYTHONPATH": f"{HOOK}{os.pathsep}{_ROOT}"}
        subprocess.run([sys.executable, "-c", ""], check=True, env={**os.environ, **variables})

    start()
    assert (seen / watch_folder.STARTED).exists()
    (seen / watch_folder.STARTED).unlink()
    (seen / watch_folder.STARTED).symlink_to(elsewhere / "new")
    start()
    swap(seen, elsewhere)
    start()
    assert untouched(elsewhere)


# What cutecc itself writes when the program has ended.


def test_a_folder_that_was_replaced_is_not_finished(tmp_path: Path, elsewhere: Path) -> None:
    seen = tmp_path / "seen"
    mark = watch_folder.prepare(seen)
    watch_folder.check(seen, mark)
    swap(seen, elsewhere)
    with pytest.raises(RecordError, match="has removed or replaced the folder"):
        watch_folder.check(seen, mark)
    (elsewhere / MARK).symlink_to(tmp_path / "seen-aside" / MARK)
    with pytest.raises(RecordError, match="has removed or replaced the folder"):
        watch_folder.check(seen, mark)


def test_a_program_that_replaces_it(cutecc, tmp_path: Path, elsewhere: Path) -> None:
    code = "import os; os.rename('seen', 'aside'); os.symlink('elsewhere', 'seen'); print('done')"
    done = cutecc("watch", "-o", "seen", "--", sys.executable, "-c", code)
    assert done.stdout == "done\n"
    assert "the program has removed or replaced the folder seen; nothing is written there" in done.stderr
    assert untouched(elsewhere)


@pytest.mark.parametrize("name", ["kernels", "kernels/gemm"])
def test_records_do_not_go_through_links(tmp_path: Path, elsewhere: Path, name: str) -> None:
    (tmp_path / "seen" / name).parent.mkdir(parents=True)
    (tmp_path / "seen" / name).symlink_to(elsewhere)
    with OpenFolder(tmp_path / "seen") as folder, pytest.raises(RecordError, match=r"cannot write to kernels/gemm"):
        watch_folder.kernel_folder(folder, "gemm")
    assert untouched(elsewhere)


@pytest.mark.parametrize("name", ["index.html", "index.json"])
def test_nor_does_the_list_of_kernels(tmp_path: Path, elsewhere: Path, name: str) -> None:
    (tmp_path / name).symlink_to(elsewhere / "file")
    write_index(tmp_path, index_data(Recording(tmp_path), []))
    assert untouched(elsewhere)
    assert not (tmp_path / name).is_symlink()


@pytest.mark.parametrize("dangling", [False, True])
def test_nor_does_the_mark(tmp_path: Path, elsewhere: Path, dangling: bool) -> None:
    seen = tmp_path / "seen"
    seen.mkdir()
    (seen / MARK).symlink_to(elsewhere / ("new" if dangling else "file"))
    mark = watch_folder.prepare(seen)
    assert untouched(elsewhere)
    assert (seen / MARK).read_text() == mark


def test_what_was_recorded_is_not_read_through_links(tmp_path: Path, elsewhere: Path) -> None:
    seen = tmp_path / "seen"
    journal = Journal(str(seen))
    journal.write("note", message="one")
    for name in (f"{_KEY}.mlirbc", f"{_KEY}.lines", "1-a.jsonl"):
        (seen / "recorded" / name).symlink_to(elsewhere / "file")
    recording = read(seen)
    assert recording.notes[0].startswith("1-a.jsonl cannot be read: ")
    for look in (recording.module, recording.lines):
        with pytest.raises(RecordError, match="is a link"):
            look(_KEY)
    swap(seen / "recorded", elsewhere)
    assert not is_recorded(seen)
    with pytest.raises(RecordError, match="no watch was recorded"):
        read(seen)


def test_the_folder_of_the_users_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to("real")
    mark = watch_folder.prepare(tmp_path / "named")
    Journal(str(tmp_path / "named"), mark).write("note", message="one")
    watch_folder.check(tmp_path / "named", mark)
    assert read(tmp_path / "named").notes == ["one"]
    (tmp_path / "real" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="not of a watch"):
        watch_folder.prepare(tmp_path / "named")
