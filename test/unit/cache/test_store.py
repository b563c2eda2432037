"""The store: whole or not at all, whatever fails meanwhile, and only ever what this user has written."""

from __future__ import annotations

import errno
import hashlib
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cutecc.cache import eviction
from cutecc.cache import store as store_module
from cutecc.cache.folder import CacheError, cache_folder
from cutecc.cache.store import Store
from cutecc.config import Settings

GIB = 1 << 30


def name(number: int = 0, kind: str = "record") -> str:
    return f"{hashlib.sha256(str(number).encode()).hexdigest()}.{kind}"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache" / "v1", GIB)


def test_what_was_put_is_there(store: Store) -> None:
    assert store.get(name()) is None
    store.put(name(), b"content")
    assert store.get(name()) == b"content"
    store.put(name(), b"")
    assert store.get(name()) == b""
    assert store.get(name(kind="direct")) is None
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((store.folder / name()).stat().st_mode) == 0o600
    assert [path.name for path in store.folder.iterdir()] == [name()], "nothing else is left behind"


def test_every_byte_matters(store: Store) -> None:
    """A flipped bit anywhere, header included, is detected, and the file is gone."""
    path = store.folder / name()
    store.put(name(), b"some content")
    good = path.read_bytes()
    for position in range(len(good)):
        damaged = bytearray(good)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert store.get(name()) is None, f"byte {position}"
        assert not path.exists()
    for length in range(len(good)):
        path.write_bytes(good[:length])
        assert store.get(name()) is None, f"{length} bytes"
    path.write_bytes(good + b"x")
    assert store.get(name()) is None
    store.put(name(), b"anew")
    assert store.get(name()) == b"anew"


def test_a_file_under_another_name_is_damaged(store: Store) -> None:
    store.put(name(1), b"one")
    os.rename(store.folder / name(1), store.folder / name(2))
    assert store.get(name(2)) is None


def test_verify_removes_what_is_damaged(store: Store) -> None:
    for number in range(4):
        store.put(name(number), b"content")
    (store.folder / name(1)).write_bytes(b"junk")
    os.chmod(store.folder / name(2), 0o666)
    assert store.verify() == sorted([name(1), name(2)])
    assert store.verify() == []
    assert sorted(entry.name for entry in store.entries()) == sorted([name(0), name(3)])


# Who may have written it.


def test_files_that_others_can_write_are_ignored(store: Store) -> None:
    store.put(name(), b"content")
    os.chmod(store.folder / name(), 0o620)
    assert store.get(name()) is None


def test_files_of_other_owners_are_ignored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(name(), b"content")
    real = os.fstat

    def foreign(descriptor: int) -> os.stat_result:
        fields = list(real(descriptor))
        fields[4] += 1  # the owner
        return os.stat_result(fields)

    monkeypatch.setattr(store_module.os, "fstat", foreign)
    assert store.get(name()) is None


def test_a_folder_of_another_owner_is_not_used(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(name(), b"content")
    owner = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    with pytest.raises(CacheError, match="belongs to another user"):
        store.get(name())
    with pytest.raises(CacheError, match="belongs to another user"):
        store.put(name(), b"mine")


def test_an_open_folder_is_closed(store: Store) -> None:
    store.put(name(), b"content")
    os.chmod(store.folder, 0o777)
    assert store.get(name()) == b"content"
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700


def test_links_are_not_followed(store: Store, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    store.put(name(1), b"content")
    victim.write_bytes((store.folder / name(1)).read_bytes())
    (store.folder / name(1)).unlink()
    (store.folder / name(1)).symlink_to(victim)
    assert store.get(name(1)) is None
    before = victim.read_bytes()
    store.put(name(1), b"new")
    assert victim.read_bytes() == before
    assert not (store.folder / name(1)).is_symlink()
    assert store.get(name(1)) == b"new"


def test_a_folder_behind_a_link_is_not_used(store: Store, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    store.folder.parent.mkdir()
    store.folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheError, match="not a folder"):
        store.put(name(), b"content")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_pipe_does_not_block(store: Store) -> None:
    store.put(name(1), b"content")
    os.mkfifo(store.folder / name())
    assert store.get(name()) is None


def test_a_file_where_the_folder_should_be(store: Store) -> None:
    store.folder.parent.mkdir()
    store.folder.write_text("not a folder")
    for action in (lambda: store.get(name()), lambda: store.put(name(), b"x"), store.entries, store.verify):
        with pytest.raises(CacheError, match="not a folder"):
            action()


# Where it is.


def test_the_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder(Settings()) == Path("/home/user/.cache/cutecc/v1")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder(Settings()) == Path("/home/user/.cache/cutecc/v1")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder(Settings()) == Path("/xdg/cutecc/v1")
    assert cache_folder(Settings(cache_dir=Path("/mine"))) == Path("/mine/v1")


# Room.


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    store = Store(tmp_path / "v1", 10_000)
    now = time.time()
    for number in range(9):
        store.put(name(number), bytes(1000))
        os.utime(store.folder / name(number), (now - 1000 + number, now - 1000 + number))
    assert store.get(name(0)) is not None  # used again
    store.put(name(9), bytes(1000))
    kept = {number for number in range(10) if store.get(name(number)) is not None}
    assert {0, 9} <= kept
    assert 1 not in kept
    assert sum(entry.bytes for entry in store.entries()) <= 10_000


def test_more_than_the_limit_is_not_stored(tmp_path: Path) -> None:
    store = Store(tmp_path / "v1", 1000)
    store.put(name(), bytes(1000))
    assert store.get(name()) is None
    assert not store.folder.exists()
    Store(tmp_path / "v1", 0).put(name(), b"")
    assert not store.folder.exists()


# What fails.


def test_a_full_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(name(), b"before")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store_module.os, "fsync", full)
    with pytest.raises(CacheError, match=r"cannot be written: No space left on device"):
        store.put(name(), b"after")
    assert store.get(name()) == b"before"
    assert len(list(store.folder.iterdir())) == 1, "nothing half-written stays"


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True)


def test_a_limit_on_files(store: Store) -> None:
    script = """
import resource, sys
from pathlib import Path
from cutecc.cache.store import Store, CacheError
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    Store(Path(sys.argv[1]), 1 << 30).put(sys.argv[2], bytes(100_000))
except CacheError as error:
    print(error.message)
"""
    done = run(script, store.folder, name())
    assert "cannot be written: File too large" in done.stdout, done.stderr
    assert store.get(name()) is None
    assert list(store.folder.iterdir()) == []


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_killed_before_the_rename(store: Store, where: str) -> None:
    """SIGKILL at the two worst moments: everything that was there stays as it was."""
    store.put(name(), b"before")
    script = f"""
import os, signal, sys
from pathlib import Path
from cutecc.cache.store import Store
os.{where} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Store(Path(sys.argv[1]), 1 << 30).put(sys.argv[2], b"after")
"""
    assert run(script, store.folder, name()).returncode == -signal.SIGKILL
    assert store.get(name()) == b"before"
    assert store.verify() == []
    assert len(store.entries()) == 1


_WRITER = """
import hashlib, sys
from pathlib import Path
from cutecc.cache.store import Store
store = Store(Path(sys.argv[1]), int(sys.argv[3]))
print("ready", flush=True)
for round in range(int(sys.argv[4])):
    for number in (0, 1, int(sys.argv[2]) + 2):
        key = hashlib.sha256(str(number).encode()).hexdigest()
        store.put(f"{key}.record", key.encode() * 3000)
"""


def _is_whole(store: Store, number: int) -> bool:
    content = store.get(name(number))
    return content is None or content == name(number).partition(".")[0].encode() * 3000


def test_killed_at_any_moment(store: Store) -> None:
    """Writers killed after random times leave only whole files."""
    chance = random.Random(4)
    for _ in range(6):
        with subprocess.Popen(
            [sys.executable, "-c", _WRITER, store.folder, "0", str(GIB), "100000"], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
            time.sleep(chance.uniform(0.001, 0.03))
            writer.kill()
        for number in range(3):
            existed = (store.folder / name(number)).exists()
            assert _is_whole(store, number)
            assert (store.get(name(number)) is not None) == existed, "no damaged file was there to remove"
    assert store.verify() == []


def test_eight_writers_and_a_reader(tmp_path: Path) -> None:
    """The same keys and different ones, with too little room for all: nobody ever reads a part of a file."""
    store = Store(tmp_path / "v1", 1_000_000)
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, store.folder, str(number), str(store.limit), "4"])
        for number in range(8)
    ]
    reads = 0
    while any(writer.poll() is None for writer in writers):
        assert all(_is_whole(store, number) for number in range(10))
        reads += 1
    assert [writer.wait() for writer in writers] == [0] * 8
    assert reads > 1
    assert store.verify() == []
    assert store.entries()
    assert sum(entry.bytes for entry in store.entries()) <= store.limit


def test_room_for_who_came_while_room_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that finds room being made leaves it at that: its file counts all the same."""
    store, other = (Store(tmp_path / "v1", 1_000_000) for _ in range(2))
    remove = eviction._remove_oldest
    late = iter((7, 8))

    def while_others_write(folder: Path, kept: int, now: float) -> bool:
        removed = remove(folder, kept, now)
        for number in late:
            other.put(name(number), b"late" * 100_000)
        return removed

    monkeypatch.setattr(eviction, "_remove_oldest", while_others_write)
    for number in range(3):
        store.put(name(number), b"some" * 100_000)
    assert next(late, None) is None, "others wrote while room was made"
    assert 0 < sum(entry.bytes for entry in store.entries()) <= store.limit


def test_what_cannot_be_removed_ends_the_making_of_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(path)

    store.put(name(1), b"some")
    monkeypatch.setattr(Path, "unlink", refuse)
    eviction.make_room(store.folder, 1, time.time())
    assert store.get(name(1)) == b"some"
