"""What killed writers left: counted, shown and cleared, whatever clocks say, and nothing that is still written."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attacks import attacks

from cutecc.cache import eviction
from cutecc.cache.folder import CacheError
from cutecc.cache.partial import PARTIAL, partial_file
from cutecc.cache.store import Store
from cutecc.support import open_folder

_HOURS = 3600.0 * 30


def name(number: int = 0) -> str:
    return f"{hashlib.sha256(str(number).encode()).hexdigest()}.record"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache" / "v1", 1_000_000)


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.iterdir())


@pytest.mark.parametrize("age", [0.0, _HOURS, -_HOURS], ids=["new", "old", "in the future"])
def test_what_a_killed_writer_left_goes_with_the_next_file(store: Store, age: float) -> None:
    store.put(name(), b"content")
    left = store.folder / f"{PARTIAL}1-left"
    left.write_bytes(b"half")
    date = time.time() - age
    os.utime(left, (date, date))
    store.put(name(1), b"content")
    assert not left.exists()
    assert {path.name for path in store.folder.iterdir()} == {name(), name(1)}


@pytest.mark.parametrize("age", [0.0, _HOURS, -_HOURS], ids=["new", "old", "in the future"])
def test_what_is_still_written_stays(store: Store, age: float) -> None:
    store.put(name(), b"content")
    with partial_file(store.folder, 4) as (path, file):
        date = time.time() - age
        os.utime(path, (date, date))
        store.put(name(1), b"content")
        store.remove_unfinished()
        file.write(b"half")
        file.flush()
        os.replace(path, store.folder / name(2))
    assert (store.folder / name(2)).read_bytes() == b"half"


def test_a_file_that_is_not_finished_goes_when_its_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), partial_file(tmp_path, 1):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "pipe", "link"])
def test_what_nobody_can_have_begun_to_write_goes_too(store: Store, kind: str, tmp_path: Path) -> None:
    store.put(name(), b"content")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    path = store.folder / f"{PARTIAL}1-{kind}"
    if kind == "folder":
        (path / "deeper").mkdir(parents=True)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(elsewhere)
    store.put(name(1), b"content")
    assert not os.path.lexists(path)
    assert elsewhere.read_text() == "mine"


def test_they_count(store: Store) -> None:
    """What is being written takes room as what is there does."""
    for number in range(8):
        store.put(name(number), bytes(100_000))
    with partial_file(store.folder, 500_000):
        store.put(name(8), bytes(100_000))
        assert size_of(store.folder) <= store.limit
    assert store.get(name(8)) is not None


def test_they_are_shown_and_cleared(cache_dir: Path, cutecc) -> None:
    Store(cache_dir, 1 << 30).put(name(), b"content")
    (cache_dir / f"{PARTIAL}1-left").write_bytes(bytes(5000))
    done = cutecc("cache", "info")
    assert re.search(r"unfinished +1, 4.9 KiB", done.stdout), done.stdout
    done = cutecc("cache", "clear")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in cache_dir.iterdir()] == []
    assert "unfinished" not in cutecc("cache", "info").stdout


# Network file systems: locks may be missing, clocks differ, a rename may be refused.


@contextmanager
def without_locks(number: int) -> Iterator[None]:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        yield


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EBADF])
def test_without_locks_dates_decide(store: Store, number: int) -> None:
    now = time.time()
    ages = {"new": 0.0, "old": _HOURS, "future": -_HOURS}
    with without_locks(number):
        store.put(name(), b"content")
        assert store.get(name()) == b"content"
        for kind, age in ages.items():
            path = store.folder / f"{PARTIAL}1-{kind}"
            path.write_bytes(b"half")
            os.utime(path, (now - age, now - age))
        store.put(name(1), b"content")
    left = [path.name for path in store.folder.iterdir() if path.name.startswith(PARTIAL)]
    assert left == [f"{PARTIAL}1-new"], "it may still be written"


def test_without_locks_it_stays_within_its_limit(store: Store) -> None:
    with without_locks(errno.ENOLCK):
        for number in range(30):
            store.put(name(number), bytes(100_000))
    assert size_of(store.folder) <= store.limit
    assert store.get(name(29)) is not None


@pytest.mark.parametrize("hours", [30, -30])
def test_the_clock_is_that_of_the_files(store: Store, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """This host's clock is hours from that of the file server, whose locks others do not see."""
    store.put(name(), b"content")
    written_by_another = store.folder / f"{PARTIAL}1-another"
    written_by_another.write_bytes(b"half")
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + hours * 3600.0)
    with without_locks(errno.ENOLCK):
        store.put(name(1), b"content")
    assert written_by_another.exists()


def test_a_file_dated_in_the_future_goes_first(store: Store) -> None:
    """A clock that was wrong once would keep it for ever."""
    for number in range(9):
        store.put(name(number), bytes(100_000))
    later = time.time() + _HOURS
    os.utime(store.folder / name(8), (later, later))
    store.put(name(9), bytes(100_000))
    store.put(name(10), bytes(100_000))
    assert store.get(name(8)) is None
    assert store.get(name(9)) is not None


@pytest.mark.parametrize("number", [errno.EXDEV, errno.ESTALE, errno.EIO, errno.EDQUOT])
def test_a_rename_that_is_refused(store: Store, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(name(), b"before")

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(CacheError, match=re.escape(f"cannot be written: {os.strerror(number)}")):
        store.put(name(), b"after")
    assert store.get(name()) == b"before"
    assert [path.name for path in store.folder.iterdir()] == [name()]


def test_no_hard_links_are_needed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", None)
    store.put(name(), b"content")
    assert store.get(name()) == b"content"


def test_a_file_that_another_host_takes_away_while_it_is_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees no lock, or has a clock that is hours off: nothing is kept, and nothing wrong."""
    real = os.fsync

    def take_away(descriptor: int) -> None:
        real(descriptor)
        for path, _ in eviction.unfinished(store.folder):
            path.unlink()

    monkeypatch.setattr(os, "fsync", take_away)
    with pytest.raises(CacheError, match="cannot be written: No such file or directory"):
        store.put(name(), b"content")
    assert list(store.folder.iterdir()) == []


def test_a_lock_that_is_taken_before_the_writer_has_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who clears comes between the making of a file and its lock."""
    real = open_folder.lock
    seen: list[Path] = []

    def late(descriptor: int) -> bool:
        if not seen:
            seen.extend(path for path, _ in eviction.unfinished(store.folder))
            for path in seen:
                path.unlink()
        return real(descriptor)

    monkeypatch.setattr(open_folder, "lock", late)
    store.put(name(), b"content")
    assert len(seen) == 1
    assert store.get(name()) == b"content"


def test_a_name_that_is_another_files_by_now_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who clears has opened a file that its writer has given up since: the name was used again."""
    path = tmp_path / f"{PARTIAL}1-again"
    path.write_bytes(b"abandoned")
    real = open_folder.lock

    def late(descriptor: int) -> bool:
        path.unlink()
        path.write_bytes(b"alive")
        return real(descriptor)

    monkeypatch.setattr(open_folder, "lock", late)
    eviction.remove_unfinished(tmp_path, time.time())
    assert path.read_bytes() == b"alive"


_WRITER = """
import hashlib, itertools, sys
from pathlib import Path
from cutecc.cache.store import Store
store = Store(Path(sys.argv[1]), int(sys.argv[2]))
print("ready", flush=True)
for number in itertools.count(int(sys.argv[3]) * 1000):
    key = hashlib.sha256(str(number).encode()).hexdigest()
    store.put(f"{key}.record", key.encode() * 3000)
"""


def test_kills_leave_a_folder_within_its_limit(store: Store) -> None:
    """Eight writers, each killed again and again: nothing wrong is read, and nothing of them stays."""
    chance = random.Random(28)
    writers: list[subprocess.Popen[bytes]] = []

    def start(number: int) -> subprocess.Popen[bytes]:
        arguments = [str(store.folder), str(store.limit), str(number)]
        return subprocess.Popen([sys.executable, "-c", _WRITER, *arguments], stdout=subprocess.PIPE)

    def kill(writer: subprocess.Popen[bytes]) -> None:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0.0, 0.03))
        writer.kill()
        assert writer.wait() == -signal.SIGKILL
        writer.stdout.close()

    kills = attacks(10)
    for number in range(kills):
        writers.append(start(number))
        if len(writers) == 8:
            kill(writers.pop(chance.randrange(8)))
    for writer in writers:
        kill(writer)
    for entry in store.entries():
        content = store.get(entry.name)
        assert content == entry.key.encode() * 3000
    store.put(name(-1), b"content")
    assert size_of(store.folder) <= store.limit
    assert store.unfinished() == (0, 0)
