"""A record as a folder: what a run may write, what it may remove, and what a crash leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from compilations import small
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import RecordError, UsageError
from cutecc.record import Artifact, manifest
from cutecc.record.folder import RecordFolder, file_name, read_folder
from cutecc.support.open_folder import OpenFolder

HOSTILE = ["../escape", "/etc/passwd", "a/b", "..", ".", ".hidden", "a\0b", "a\nb", "-rf", "", "a b", "é", "x" * 300]


def visible(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir() if not entry.name.startswith("."))


def write_record(path: Path, *names: str) -> None:
    folder = RecordFolder(path)
    compilation = small()
    for name in names:
        folder.write(name, name.encode())
        compilation.artifacts.append(Artifact("ptx", name))
    folder.save(compilation)
    folder.close()


@given(st.text(max_size=120))
def test_any_text_becomes_one_plain_file_name(text: str) -> None:
    name = file_name(text)
    assert 1 <= len(name) <= 80
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert name[0] not in ".-"
    assert file_name(name) == name


def test_good_names_stay_as_they_are() -> None:
    assert file_name("Gemm.__call__") == "Gemm.__call__"
    assert file_name("convert-cute-to-core") == "convert-cute-to-core"
    assert file_name("composite:a..b") == "composite-a..b"


def test_write_save_and_read(tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path / "deep" / "out")
    compilation = small()
    compilation.files["k.ptx"] = b"text"
    compilation.artifacts.append(Artifact("ptx", "k.ptx"))
    folder.write("00-traced.mlir", b"module {}")
    folder.save(compilation)
    folder.close()
    assert visible(folder.path) == ["00-traced.mlir", "k.ptx", "manifest.json"]
    record = read_folder(folder.path)
    assert record == compilation
    assert record.artifact("ptx") == b"text"
    assert record.artifact("cubin") is None
    assert list(record.files) == visible(folder.path)
    assert len(record.files) == 3


def test_a_second_run_removes_the_first_ones_files(tmp_path: Path) -> None:
    write_record(tmp_path, "00-traced.mlir", "01-cse.mlir", "k.ptx")
    write_record(tmp_path, "00-traced.mlir", "k.cubin")
    assert visible(tmp_path) == ["00-traced.mlir", "k.cubin", "manifest.json"]


def test_the_users_own_files_beside_them_stay(tmp_path: Path) -> None:
    write_record(tmp_path, "01-cse.mlir")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "sub").mkdir()
    write_record(tmp_path, "02-dce.mlir")
    assert visible(tmp_path) == ["02-dce.mlir", "manifest.json", "notes.txt", "sub"]


def test_a_folder_with_anything_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds files that are not cutecc's"):
        RecordFolder(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["precious.txt"]


@pytest.mark.parametrize("name", [".hidden", "manifest.json", ".git"])
def test_also_when_it_looks_almost_like_a_record(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(UsageError, match="holds files that are not cutecc's"):
        RecordFolder(tmp_path)


def test_a_file_in_the_way_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UsageError, match="cannot create the output folder"):
        RecordFolder(tmp_path / "out")
    with pytest.raises(UsageError, match="cannot create the output folder"):
        RecordFolder(tmp_path / "out" / "below")


def test_a_folder_that_is_being_written_is_refused(tmp_path: Path) -> None:
    first = RecordFolder(tmp_path)
    first.write("k.ptx", b"x")
    code = """
    import sys
    from pathlib import Path
    from cutecc.errors import UsageError
    from cutecc.record.folder import RecordFolder
    try:
        RecordFolder(Path(sys.argv[1]))
    except UsageError as error:
        print(error)
    """
    other = subprocess.run([sys.executable, "-c", textwrap.dedent(code), tmp_path], capture_output=True, text=True)
    assert f"another cutecc is writing to {tmp_path}" in other.stdout
    assert visible(tmp_path) == ["k.ptx"], "the refused run removed nothing"
    first.close()
    RecordFolder(tmp_path).close()


@pytest.mark.parametrize("name", HOSTILE)
def test_only_plain_names_are_written(tmp_path: Path, name: str) -> None:
    folder = RecordFolder(tmp_path / "out")
    for use in (lambda: folder.write(name, b""), lambda: folder.reserve(name)):
        with pytest.raises(RecordError, match="not a plain file name"):
            use()
    folder.close()
    assert visible(tmp_path) == ["out"]
    assert visible(tmp_path / "out") == []


@pytest.mark.parametrize("name", HOSTILE)
def test_names_in_a_manifest_lead_nowhere_else(tmp_path: Path, name: str) -> None:
    (tmp_path / "escape").write_text("secret")
    write_record(tmp_path / "out")
    record = read_folder(tmp_path / "out")
    record.artifacts.append(Artifact("ptx", name))
    with pytest.raises(RecordError, match="names a file outside"):
        record.artifact("ptx")


@pytest.mark.parametrize("name", [*HOSTILE, "kept/../../escape"])
def test_names_in_the_list_of_files_remove_nothing_else(tmp_path: Path, name: str) -> None:
    (tmp_path / "escape").write_text("mine")
    out = tmp_path / "out"
    write_record(out, "k.ptx")
    (out / "kept").write_text("mine")
    with (out / ".cutecc-files").open("a") as journal:
        journal.write(f"{name}\n")
    RecordFolder(out).close()
    assert (tmp_path / "escape").exists()
    assert visible(out) == ["kept"]
    assert (tmp_path / "out").is_dir()


def test_a_symbolic_link_is_removed_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    write_record(tmp_path / "out", "k.ptx")
    (tmp_path / "out" / "k.ptx").unlink()
    (tmp_path / "out" / "k.ptx").symlink_to(tmp_path / "precious")
    write_record(tmp_path / "out", "k.ptx")
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "out" / "k.ptx").is_symlink()


def test_a_missing_file_is_a_key_error_and_records_are_read_only(tmp_path: Path) -> None:
    write_record(tmp_path, "k.ptx")
    record = read_folder(tmp_path)
    with pytest.raises(KeyError):
        record.files["missing"]
    assert "missing" not in record.files
    with pytest.raises(RecordError, match="cannot be written"):
        record.files["k.ptx"] = b""
    with pytest.raises(RecordError, match="cannot be written"):
        del record.files["k.ptx"]


def test_no_record(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no record in"):
        read_folder(tmp_path)
    with pytest.raises(RecordError, match="no record in"):
        read_folder(tmp_path / "missing")


def test_a_write_that_fails_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RecordFolder(tmp_path)
    folder.write("manifest.json", b"whole")

    monkeypatch.setattr(OpenFolder, "create", lambda *_: os.open("/dev/full", os.O_WRONLY))
    with pytest.raises(RecordError, match="No space left"):
        folder.write("manifest.json", b"a longer second version")
    monkeypatch.undo()
    assert (tmp_path / "manifest.json").read_bytes() == b"whole"
    folder.close()
    RecordFolder(tmp_path).close()
    assert sorted(os.listdir(tmp_path)) == [".cutecc-files", ".cutecc-lock"], "the next run takes the pieces away"


KILLED_AT = """
import os, signal, sys
from pathlib import Path
from cutecc.record import folder as module
from cutecc.record.folder import RecordFolder
from cutecc.record import Compilation, Versions
point, path = int(sys.argv[1]), Path(sys.argv[2])
calls = 0

def step(real):
    def counted(*arguments, **keywords):
        global calls
        calls += 1
        if calls == point:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **keywords)
    return counted

for name in ("open", "replace", "unlink", "fsync"):
    setattr(os, name, step(getattr(os, name)))
folder = RecordFolder(path)
compilation = Compilation("k", "sm_80", "cse", Versions("0", "3", "4", "x"))
folder.save(compilation)
for name in ("00-traced.mlir", "01-cse.mlir", "k.ptx"):
    folder.write(name, name.encode() * 100)
compilation.status = "ok"
folder.save(compilation)
folder.close()
print("end")
"""


@pytest.mark.slow
def test_killed_anywhere_the_folder_is_readable_and_the_next_run_cleans_it(tmp_path: Path) -> None:
    """A run writes over an earlier record and is killed before each of its file operations in turn."""
    for point in range(1, 100):
        out = tmp_path / str(point)
        write_record(out, "old.ptx", "old.cubin")
        done = subprocess.run([sys.executable, "-c", KILLED_AT, str(point), out], capture_output=True, text=True)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        for name in visible(out):
            data = (out / name).read_bytes()
            if name == "manifest.json":
                assert manifest.decode(data).status in ("running", "ok")
            else:
                assert data in (name.encode(), name.encode() * 100), f"killed at {point}: {name} is not whole"
        RecordFolder(out).close()
        assert sorted(os.listdir(out)) == [".cutecc-files", ".cutecc-lock"], f"killed at {point}"
    assert done.stdout == "end\n"
    assert point > 20
