"""Links, pipes and devices in the folder of a record: nothing that they lead to is read, shown, bundled or written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from compilations import small
from report_pages import Page

import cutecc
from cutecc.errors import RecordError, UsageError
from cutecc.record import Artifact
from cutecc.record.bundle import write_bundle
from cutecc.record.folder import MANIFEST, RecordFolder, folders_of_records, is_being_written, read_folder
from cutecc.record.stages import StageWriter, create

SECRET = b"the secret of somebody\n"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_bytes(SECRET)
    return path


def write_record(path: Path) -> Path:
    folder = RecordFolder(path)
    compilation = small()
    for name in ("k.ptx", "k.host.json"):
        folder.write(name, name.encode())
    compilation.artifacts = [Artifact("ptx", "k.ptx")]
    compilation.status = "ok"
    folder.save(compilation)
    folder.close()
    return path


def instead(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


@pytest.mark.parametrize("name", ["k.ptx", MANIFEST])
def test_a_file_that_is_a_link_is_refused(tmp_path: Path, secret: Path, name: str) -> None:
    record = write_record(tmp_path / "record")
    instead(record / name, lambda path: path.symlink_to(secret))
    with pytest.raises(RecordError, match=f"{name} is a link, which a record does not have"):
        read_folder(record).artifact("ptx")
    with pytest.raises(RecordError, match="is a link"):
        cutecc.load(record).compilation.artifact("ptx")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "is not a plain file"),
        (Path.mkdir, "is not a plain file|Is a directory"),
        (lambda path: path.symlink_to("/dev/zero"), "is a link"),
        (lambda path: path.symlink_to("nowhere"), "is a link"),
        (lambda path: path.symlink_to(path.name), "is a link"),
    ],
    ids=["pipe", "folder", "device", "nowhere", "itself"],
)
@pytest.mark.parametrize("name", ["k.ptx", MANIFEST])
def test_so_is_anything_else(tmp_path: Path, make: Callable[[Path], object], message: str, name: str) -> None:
    record = write_record(tmp_path / "record")
    instead(record / name, make)
    with pytest.raises(RecordError, match=message):
        read_folder(record).artifact("ptx")


def test_nothing_of_it_comes_into_a_bundle(tmp_path: Path, secret: Path) -> None:
    record = write_record(tmp_path / "record")
    instead(record / "k.ptx", lambda path: path.symlink_to(secret))
    with pytest.raises(RecordError, match="is a link"):
        write_bundle(tmp_path / "k.cutecc", [read_folder(record)])
    assert not (tmp_path / "k.cutecc").exists()


@pytest.mark.parametrize("words", [["show", "record", "--ptx"], ["report", "record", "-o", "out.html"]])
def test_no_command_shows_it(cutecc, tmp_path: Path, secret: Path, words: list[str]) -> None:
    record = write_record(tmp_path / "record")
    instead(record / "k.ptx", lambda path: path.symlink_to(secret))
    done = cutecc(*words, status=(0, 1, 2))
    shown = f"{done.stdout}{done.stderr}"
    if "out.html" in words:
        shown += str({**Page.at(tmp_path / "out.html").chunks})
    assert "secret of" not in shown
    assert "is a link" in shown


def test_a_record_that_a_link_leads_to_is_read_when_the_user_names_it(tmp_path: Path) -> None:
    write_record(tmp_path / "record")
    (tmp_path / "named").symlink_to("record")
    assert read_folder(tmp_path / "named").artifact("ptx") == b"k.ptx"


@pytest.mark.parametrize("place", ["sm_90", "kernels", "kernels/one"])
def test_a_folder_in_it_that_is_a_link_is_refused(tmp_path: Path, place: str) -> None:
    """A record of others is not one of these."""
    elsewhere = tmp_path / "elsewhere"
    write_record(elsewhere / "one" if place == "kernels" else elsewhere)
    named = tmp_path / "named"
    (named / place).parent.mkdir(parents=True)
    (named / place).symlink_to(elsewhere)
    with pytest.raises(RecordError, match="is a link, which is not followed"):
        folders_of_records(named, "*", "kernels/*")


# Writing.


def test_a_folder_that_a_link_takes_the_place_of_is_still_the_one_written_to(tmp_path: Path) -> None:
    out, aside, elsewhere = tmp_path / "out", tmp_path / "aside", tmp_path / "elsewhere"
    elsewhere.mkdir()
    folder = RecordFolder(out)
    compilation = small()
    folder.save(compilation)
    stages = folder.reserve("k.stages")
    create(stages)
    writer = StageWriter(stages)
    out.rename(aside)
    out.symlink_to(elsewhere)
    folder.write("k.ptx", b"text")
    writer.add_stage(1, "module {\n}\n", [None, None])
    compilation.status = "ok"
    folder.save(compilation)
    folder.close()
    assert list(elsewhere.iterdir()) == []
    assert (aside / "k.ptx").read_bytes() == b"text"
    assert read_folder(aside).status == "ok"


@pytest.mark.parametrize("name", ["k.ptx", ".k.ptx.partial", MANIFEST, ".manifest.json.partial", ".cutecc-files"])
def test_a_link_in_the_place_of_a_file_is_not_written_through(tmp_path: Path, secret: Path, name: str) -> None:
    folder = RecordFolder(tmp_path / "out")
    (tmp_path / "out" / name).unlink(missing_ok=True)
    (tmp_path / "out" / name).symlink_to(secret)
    compilation = small()
    try:
        folder.write("k.ptx", b"text")
        folder.save(compilation)
    except RecordError as error:
        assert name == ".cutecc-files"
        assert "Too many levels of symbolic links" in error.message
    folder.close()
    assert secret.read_bytes() == SECRET
    assert name == ".cutecc-files" or not (tmp_path / "out" / name).is_symlink()


@pytest.mark.parametrize("place", ["file", "nothing"])
def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path, place: str) -> None:
    """Also in a folder that holds nothing else."""
    (tmp_path / "file").write_bytes(SECRET)
    out = tmp_path / "out"
    out.mkdir()
    (out / ".cutecc-lock").symlink_to(tmp_path / place)
    assert not is_being_written(out)
    with pytest.raises(UsageError, match="holds files that are not cutecc's"):
        RecordFolder(out)
    with pytest.raises(OSError, match="symbolic links"):
        RecordFolder.reopen(out)
    assert (tmp_path / "file").read_bytes() == SECRET
    assert not (tmp_path / "nothing").exists()


def test_a_child_that_was_forked_meanwhile_holds_no_lock(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path / "out")
    again, awake = os.pipe()
    child = os.fork()
    if not child:
        os.close(awake)
        os.read(again, 1)
        os._exit(0)
    folder.close()
    assert not is_being_written(tmp_path / "out")
    RecordFolder(tmp_path / "out").close()
    os.close(awake)
    os.close(again)
    os.waitpid(child, 0)


@pytest.mark.parametrize("name", [".cutecc-files", ".cutecc-lock"])
def test_a_folder_whose_own_files_are_links_is_not_ours(tmp_path: Path, secret: Path, name: str) -> None:
    out = write_record(tmp_path / "out")
    instead(out / name, lambda path: path.symlink_to(secret))
    with pytest.raises(UsageError, match="holds files that are not cutecc's"):
        RecordFolder(out)
    assert secret.read_bytes() == SECRET
    assert (out / "k.ptx").exists()
