"""The cache in a file that can be copied: what travels, what is refused, and that nothing half-written is taken."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from attacks import attacks

from cutecc.cache import cache_file, direct, entries, made_with
from cutecc.cache.direct import DirectEntry, Snapshot
from cutecc.cache.folder import CacheError
from cutecc.cache.made_with import why_not_here
from cutecc.cache.store import Store, sealed
from cutecc.errors import RecordError, UsageError
from cutecc.record import Artifact, Compilation, Signature, Versions, archive

KEYS = [f"{number:064x}" for number in range(3)]
NOTHING = Snapshot({}, [], {}, [], {})


def compilation(name: str = "scale") -> Compilation:
    made = Compilation(name, "sm_80", "open", Versions("0", "3", "4.8.1", "built in", flavour="cu12"), status="ok")
    made.artifacts = [Artifact("ptx", f"{name}.ptx"), Artifact("cubin", f"{name}.cubin")]
    made.files = {each.file: random.Random(name).randbytes(3000) for each in made.artifacts}
    return made


def entry(key: str, made: Compilation | None = None, kept_as: str | None = None) -> bytes:
    made = made or compilation()
    return entries.encode(made, kept_as or f"{key}.record", key, ("ptx", "cubin"), own_warnings=0, entry="it")


def leading(key: str, *, to: str | None = None, snapshot: Snapshot = NOTHING) -> bytes:
    return direct.encode(DirectEntry(f"{key}.direct", to or key, key, "scale", Signature("scale", []), [], snapshot))


def fill(store: Store) -> Store:
    """Two compilations, one of them found by a description, and what a store has of a kernel file and a command."""
    for key in KEYS[:2]:
        store.put(f"{key}.record", entry(key))
    store.put(f"{KEYS[0]}.direct", leading(KEYS[0]))
    store.put(f"{KEYS[2]}.direct", leading(KEYS[2], to=KEYS[1], snapshot=Snapshot({"/kernel.py": ""}, [], {}, [], {})))
    store.put(f"{KEYS[2]}.run", b"a command")
    return store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return fill(Store(tmp_path / "here" / "v1", 1 << 24))


@pytest.fixture
def other(tmp_path: Path) -> Store:
    return Store(tmp_path / "there" / "v1", 1 << 24)


@pytest.fixture
def file(store: Store, tmp_path: Path) -> Path:
    path = tmp_path / "kernels.cache"
    cache_file.write(path, [each for key in KEYS if (each := cache_file.portable(store, key))])
    return path


def names(store: Store) -> set[str]:
    return {each.name for each in store.entries()}


def archive_of(*files: tuple[str, bytes], index: bytes = b'{"format": "cutecc/cache", "version": "1.0"}') -> bytes:
    return archive.pack([("cache.json", index), *files])


def test_kernels_travel_and_what_is_of_one_machine_stays(store: Store, other: Store, file: Path) -> None:
    kernels, refused = cache_file.read(file)
    assert [each.described for each in kernels] == [True, False] and refused == []
    assert cache_file.keep(other, kernels) == 2
    assert names(other) == {f"{KEYS[0]}.record", f"{KEYS[0]}.direct", f"{KEYS[1]}.record"}
    assert all(other.peek(name) == store.peek(name) for name in names(other))
    assert cache_file.keep(other, kernels) == 0
    other.remove(f"{KEYS[0]}.direct")
    assert cache_file.keep(other, kernels) == 1, "what leads to a kernel is part of it"
    assert b"/kernel.py" not in file.read_bytes()


def test_the_same_kernels_give_the_same_file(store: Store, file: Path) -> None:
    before = file.read_bytes()
    cache_file.write(file, [each for key in KEYS if (each := cache_file.portable(store, key))])
    assert file.read_bytes() == before


def test_what_is_there_stays_and_what_is_damaged_is_mended(other: Store, file: Path) -> None:
    own = entry(KEYS[1], compilation("own"))
    other.put(f"{KEYS[1]}.record", own)
    other.put(f"{KEYS[0]}.record", b"")
    path = other.folder / f"{KEYS[0]}.record"
    path.write_bytes(path.read_bytes()[:-1])
    assert cache_file.keep(other, cache_file.read(file)[0]) == 1
    assert other.peek(f"{KEYS[1]}.record") == own
    assert other.verify() == []


def test_another_file_is_not_replaced(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("mine")
    with pytest.raises(UsageError, match="the file there is not a cache file"):
        cache_file.write(path, [])
    with pytest.raises(UsageError, match="there is no folder"):
        cache_file.write(tmp_path / "no" / "file", [])
    assert path.read_text() == "mine"


# What is no such file.


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not a cache file"),
        (b"text", "is not a cache file"),
        (archive.pack([("bundle.json", b"{}")]), "is not a cache file"),
        (archive_of(index=b"{"), "is damaged"),
        (archive_of(index=b'{"format": "cutecc/bundle", "version": "1.0"}'), "is not a cache file"),
        (archive_of(index=b'{"format": "cutecc/cache", "version": "2.0"}'), "has version '2.0'"),
        (archive_of() + b"x", "is cut short, or something was added"),
        (archive_of((f"{KEYS[0]}.record", b""), (f"{KEYS[0]}.record", b"")), "holds .* twice"),
    ],
)
def test_what_is_no_cache_file_is_one_error(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(RecordError, match=message):
        cache_file.read(path)


def test_a_file_that_is_not_there_or_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("none", "No such file"), (".", "is not a plain file"), ("pipe", "is not a plain file")):
        with pytest.raises(RecordError, match=message):
            cache_file.read(tmp_path / name)


def test_damage_anywhere_is_found(file: Path, other: Store) -> None:
    data = file.read_bytes()
    chance = random.Random(31)
    places = [*range(0, 200), *range(len(data) - 700, len(data)), *chance.sample(range(len(data)), 200 * attacks(1))]
    for at in places:
        file.write_bytes(data[:at])
        with pytest.raises(RecordError):
            cache_file.read(file)
        changed = bytearray(data)
        changed[at] ^= 1 << chance.randrange(8)
        file.write_bytes(changed)
        with pytest.raises(RecordError):
            cache_file.read(file)


# What is one, of kernels that nobody takes.


def hostile(**changes: Any) -> bytes:
    """An entry of a record that says other things."""
    made = compilation()
    for name, value in changes.items():
        setattr(made, name, value)
    return entry(KEYS[0], made)


def packed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """An entry whose content was changed."""
    content = msgspec.msgpack.decode(zlib.decompress(entry(KEYS[0])))
    change(content)
    return zlib.compress(msgspec.msgpack.encode(content))


UP = "../../../owned"
REFUSED: dict[str, tuple[str, bytes, str]] = {
    "a command": (f"{KEYS[0]}.run", b"a command", "no kernel of a cache"),
    "a path up": ("../../owned.record", b"x", "no kernel of a cache"),
    "an absolute path": ("/tmp/owned", b"x", "no kernel of a cache"),
    "a longer name": (f"{KEYS[0]}.record.record", b"x", "no kernel of a cache"),
    "noise": ("record", b"\xaa" * 1000, "damaged"),
    "nothing": ("record", b"", "damaged"),
    "of another key": ("record", entry(KEYS[0], kept_as=f"{KEYS[1]}.record"), "another key"),
    "failed": ("record", hostile(status="failed"), "no compilation that succeeded"),
    "of a file above": (
        "record",
        packed(lambda content: content["files"].update({UP: b"x"})),
        "names a file that none can be",
    ),
    "of another cubin": (
        "record",
        hostile(artifacts=[Artifact("cubin", "scale.cubin", sha256="0" * 64)]),
        "another cubin than the manifest notes",
    ),
    "of a missing file": ("record", packed(lambda content: content["files"].clear()), "incomplete"),
    "a bomb": ("record", b"a bomb", "too large"),  # which takes a second to make
    "cut short": ("record", entry(KEYS[0])[:-20], "cut short"),
    "of a newer manifest": (
        "record",
        packed(lambda content: content.update(manifest=b'{"schema": "cutecc/compilation", "version": "9.0"}')),
        "has version '9.0'",
    ),
    "what leads nowhere": ("direct", leading(KEYS[0]), "its compilation is missing"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_one_that_is_refused_leaves_the_others(case: str, tmp_path: Path) -> None:
    name, content, message = REFUSED[case]
    if case == "a bomb":
        content = zlib.compress(bytes(1 << 29))
    if name in ("record", "direct"):
        name = f"{KEYS[0]}.{name}"
        content = sealed(name, content) if content and content[0] != 0xAA else content
    good = f"{KEYS[1]}.record"
    path = tmp_path / "file"
    path.write_bytes(archive_of((name, content), (good, sealed(good, entry(KEYS[1])))))
    kernels, (refused,) = cache_file.read(path)
    assert message in refused.why
    assert [each.key for each in kernels] == [KEYS[1]]


@pytest.mark.parametrize(
    "led",
    [
        leading(KEYS[0], to=KEYS[1]),
        leading(KEYS[0], snapshot=Snapshot({"/etc/passwd": ""}, [], {}, [], {})),
        leading(KEYS[1]),
        b"{}",
    ],
)
def test_what_a_kernel_file_leads_to_is_not_taken(led: bytes, tmp_path: Path) -> None:
    files = {f"{KEYS[0]}.record": entry(KEYS[0]), f"{KEYS[0]}.direct": led}
    path = tmp_path / "file"
    path.write_bytes(archive_of(*((name, sealed(name, content)) for name, content in files.items())))
    kernels, (refused,) = cache_file.read(path)
    assert kernels == [] and "is not a description" in refused.why


# What fails.


def test_a_full_disk_says_how_far_it_came(other: Store, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, _ = cache_file.read(file)
    left = 3

    def full(_: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(CacheError, match="No space left on device") as caught:
        patched.setattr(os, "fsync", full)
        cache_file.keep(other, kernels)
    assert caught.value.notes == ["1 of 2 kernels were kept; the next import goes on from there"]
    assert other.verify() == []
    assert cache_file.keep(other, kernels) == 1


def test_what_does_not_fit_pushes_nothing_out(tmp_path: Path, file: Path) -> None:
    small = Store(tmp_path / "there" / "v1", 8000)
    small.put(f"{KEYS[2]}.run", b"own")
    with pytest.raises(UsageError, match=r"the cache keeps at most 7\.0 KiB"):
        cache_file.keep(small, cache_file.read(file)[0])
    assert names(small) == {f"{KEYS[2]}.run"}


_IMPORT = """
import sys
from pathlib import Path
from cutecc.cache import cache_file
from cutecc.cache.store import Store
kernels, _ = cache_file.read(Path(sys.argv[1]))
print(cache_file.keep(Store(Path(sys.argv[2]), 1 << 24), kernels))
"""


def test_two_imports_and_a_reader_at_once(store: Store, other: Store, file: Path) -> None:
    importers = [
        subprocess.Popen([sys.executable, "-c", _IMPORT, file, other.folder], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    while any(each.poll() is None for each in importers):
        for key in KEYS[:2]:
            found = other.peek(f"{key}.record")
            assert found is None or found == store.peek(f"{key}.record")
    kept = sum(int(each.communicate()[0]) for each in importers)
    assert [each.returncode for each in importers] == [0, 0]
    assert 2 <= kept <= 4
    assert other.verify() == [] and len(names(other)) == 3


# What cannot answer here.


def test_other_versions_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def said(described: bool = True, **versions: str) -> str | None:
        made = compilation()
        made.versions = msgspec.structs.replace(made.versions, **versions)
        return why_not_here(entries.decode(entry(KEYS[0], made)), described=described)

    monkeypatch.setattr(made_with, "_wheel", lambda: "4.8.1 cu12")
    assert said() is None
    assert said(described=False) == f"of Python 3; this is {sys.version.split()[0]}"
    assert said(nvidia_cutlass_dsl="4.7.0") == "of nvidia-cutlass-dsl 4.7.0 cu12; here is 4.8.1 cu12"
    assert said(flavour="cu13") == "of nvidia-cutlass-dsl 4.8.1 cu13; here is 4.8.1 cu12"
    monkeypatch.setattr(made_with, "_wheel", lambda: None)
    assert said() == "of nvidia-cutlass-dsl 4.8.1 cu12; here is none"
    monkeypatch.setattr(made_with, "own_fingerprint", lambda: "1-x")
    monkeypatch.setattr(made_with, "__version__", "1")
    assert said(cutecc="0.1") == "of cutecc 0.1; this is 1"
    assert said(cutecc="1") == "of other files of cutecc 1"
