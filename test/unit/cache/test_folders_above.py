"""Whose the folders are that lead to the cache: entries are code, so nobody else may put others in their place."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from cutecc.cache import folder as folder_module
from cutecc.cache.folder import CacheError
from cutecc.cache.store import Store

_NAME = f"{'0' * 64}.record"


@pytest.fixture
def above(tmp_path: Path) -> Path:
    """A folder of this user's, in which the cache's is."""
    path = tmp_path / "above"
    path.mkdir()
    return path


def store_in(above: Path) -> Store:
    return Store(above / "cutecc" / "v1", 1 << 20)


def owned_by(monkeypatch: pytest.MonkeyPatch, path: Path, owner: int) -> None:
    """Have `path` seem to belong to `owner`."""
    real = os.lstat

    def lstat(each: str | Path) -> os.stat_result:
        fields = list(real(each))
        if str(each) == str(path):
            fields[4] = owner
        return os.stat_result(fields)

    monkeypatch.setattr(folder_module.os, "lstat", lstat)


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
@pytest.mark.parametrize("exists", [False, True])
def test_one_that_others_may_write_is_refused(above: Path, mode: int, exists: bool) -> None:
    store = store_in(above)
    if exists:
        store.put(_NAME, b"content")
    os.chmod(above, mode)
    message = re.escape(f"others may write to {above}; 'chmod go-w {above}', or")
    with pytest.raises(CacheError, match=message):
        store.put(_NAME, b"content")
    if exists:
        with pytest.raises(CacheError, match=message):
            store.get(_NAME)
        with pytest.raises(CacheError, match=message):
            store.entries()
    else:
        assert list(above.iterdir()) == [], "nothing is made there"
    os.chmod(above, 0o755)
    store.put(_NAME, b"content")
    assert store.get(_NAME) == b"content"


def test_one_like_tmp_is_not(above: Path) -> None:
    os.chmod(above, 0o1777)
    store_in(above).put(_NAME, b"content")
    assert store_in(above).get(_NAME) == b"content"


def test_one_of_another_user_is_refused(above: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_in(above)
    store.put(_NAME, b"content")
    owned_by(monkeypatch, above, 4242)
    for action in (lambda: store.get(_NAME), lambda: store.put(_NAME, b"x"), store.entries, store.verify):
        with pytest.raises(CacheError, match=re.escape(f"{above} belongs to another user; name a folder of your own")):
            action()


def test_those_of_root_are_used(above: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owned_by(monkeypatch, above, 0)
    store_in(above).put(_NAME, b"content")
    assert store_in(above).get(_NAME) == b"content"


def test_root_may_have_another_number(above: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a user namespace that does not know root, what is root's belongs to 65534."""
    real = os.lstat

    def lstat(each: str | Path) -> os.stat_result:
        fields = list(real(each))
        if str(each) in ("/", str(above)):
            fields[4] = 65534
        return os.stat_result(fields)

    monkeypatch.setattr(folder_module.os, "lstat", lstat)
    store_in(above).put(_NAME, b"content")
    assert store_in(above).get(_NAME) == b"content"


def test_a_link_on_the_way_is_followed_and_checked(above: Path, tmp_path: Path) -> None:
    """Who may write where a link is, or where it leads, decides where the cache is."""
    target = tmp_path / "target"
    target.mkdir()
    (above / "link").symlink_to("../target")
    store = store_in(above / "link")
    store.put(_NAME, b"content")
    assert store.get(_NAME) == b"content"
    for open_one in (target, above):
        os.chmod(open_one, 0o777)
        with pytest.raises(CacheError, match=re.escape(f"others may write to {open_one};")):
            store.get(_NAME)
        os.chmod(open_one, 0o755)
    assert store.get(_NAME) == b"content"


def test_a_link_of_another_user_is_refused(above: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder like /tmp anybody makes links."""
    os.chmod(above, 0o1777)
    (tmp_path / "target").mkdir()
    (above / "link").symlink_to(tmp_path / "target")
    owned_by(monkeypatch, above / "link", 4242)
    with pytest.raises(CacheError, match=re.escape(f"{above / 'link'} belongs to another user")):
        store_in(above / "link").put(_NAME, b"content")


def test_links_that_lead_in_a_circle(above: Path) -> None:
    (above / "one").symlink_to("two")
    (above / "two").symlink_to("one")
    with pytest.raises(CacheError, match="Too many levels of symbolic links"):
        store_in(above / "one").put(_NAME, b"content")


def test_a_link_that_leads_nowhere(above: Path) -> None:
    (above / "link").symlink_to("missing")
    store = store_in(above / "link")
    with pytest.raises(CacheError, match="cannot be made"):
        store.put(_NAME, b"content")
    assert store.get(_NAME) is None


def test_what_is_made_is_this_users_alone(above: Path) -> None:
    """Also where the user's files are open to a group."""
    mask = os.umask(0o002)
    try:
        store = Store(above / "deep" / "cutecc" / "v1", 1 << 20)
        store.put(_NAME, b"content")
    finally:
        os.umask(mask)
    made = [store.folder, store.folder.parent, store.folder.parents[1]]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 3
    assert store.get(_NAME) == b"content"


def test_a_file_system_without_modes(above: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_in(above)
    store.put(_NAME, b"content")
    os.chmod(store.folder, 0o777)
    monkeypatch.setattr(os, "chmod", lambda *_: None)
    with pytest.raises(CacheError, match="others may write to it; name a folder of your own"):
        store.get(_NAME)


def test_a_compilation_goes_on_without_it_and_says_so(small_kernel, cache_dir: Path, cutecc, tmp_path: Path) -> None:
    cache_dir.parent.mkdir()
    os.chmod(cache_dir.parent, 0o777)
    done = cutecc("compile", small_kernel.module, "-o", tmp_path / "out", "--target", small_kernel.target)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("others may write to") == 1
    assert f"chmod go-w {cache_dir.parent}" in done.stderr
    assert "CUTECC_CACHE_DIR" in done.stderr
    assert list(cache_dir.parent.iterdir()) == []
