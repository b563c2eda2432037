"""Files that the user names, written by a command, or by a call."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutecc.support.output_file import write_output


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o666, 0o400])
def test_who_may_read_a_file_stays_as_it_was(tmp_path: Path, permissions: int) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"old")
    path.chmod(permissions)
    seen: list[int] = []

    def fill(file: object) -> None:
        (partial,) = (each for each in tmp_path.iterdir() if each != path)
        seen.append(mode(partial))

    write_output(path, fill)
    assert path.read_bytes() == b""
    assert [mode(path), *seen] == [permissions] * 2


def test_a_new_file_is_as_the_umask_has_it(tmp_path: Path) -> None:
    write_output(tmp_path / "out", lambda file: file.write(b"new"))
    assert mode(tmp_path / "out") == 0o644


def test_a_link_stays_and_leads_to_what_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "link").symlink_to("file")
    write_output(tmp_path / "link", lambda file: file.write(b"new"))
    assert (tmp_path / "link").is_symlink()
    assert ((tmp_path / "file").read_bytes(), mode(tmp_path / "file")) == (b"new", 0o600)
