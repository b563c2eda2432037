"""What is kept says what it was made for: under another name it is not taken, however whole its file is."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

import cutecc
from cutecc.cache import direct
from cutecc.cache.store import Store
from cutecc.compilation.request import CompileOptions

pytestmark = pytest.mark.slow

_PTX = CompileOptions(artifacts=("ptx",))


def put_under(folder: Path, source: str, name: str) -> None:
    """As the file `source`, hash and all, with another name."""
    store = Store(folder, 1 << 30)
    content = store.get(source)
    assert content is not None
    store.put(name, content)


def test_a_record_of_another_target_is_not_served(small_kernel, cache_dir: Path) -> None:
    def compiled(target: str) -> cutecc.Compilation:
        return cutecc.compile_module(small_kernel.bytecode, target=target, options=_PTX).compilation

    def names() -> set[str]:
        return {path.name for path in cache_dir.iterdir()}

    first = compiled("sm_80")
    (one,) = names()
    compiled("sm_90")
    (other,) = names() - {one}
    put_under(cache_dir, other, one)
    again = compiled("sm_80")
    assert not again.cached
    assert b".target sm_80" in again.artifact("ptx")
    (warning,) = again.warnings
    assert "another compilation under this one's key, which is not used" in warning.message
    assert other in warning.message
    mended = compiled("sm_80")
    assert mended.cached
    assert mended.warnings == first.warnings
    assert mended.artifact("ptx") == first.artifact("ptx")


@pytest.mark.parametrize("kind", ["record", "direct"])
def test_what_a_file_leads_to_is_not_taken_from_another(cutecc, tmp_path: Path, cache_dir: Path, kind: str) -> None:
    source = Path(__file__).parents[3] / "examples" / "softmax.py"
    shutil.copy(source, tmp_path / "softmax.py")
    # A file that has changed just before is not taken to be settled.
    time.sleep(2 * direct._CLOCK_TICK_NS / 1e9)

    def compiled(target: str) -> tuple[str, str]:
        done = cutecc("compile", "softmax.py", "--target", target, "-o", target)
        (ptx,) = (tmp_path / target).glob("*.ptx")
        return ptx.read_text(), done.stderr

    def names() -> set[str]:
        return {path.name for path in cache_dir.glob(f"*.{kind}")}

    first = compiled("sm_80")
    (one,) = names()
    compiled("sm_90")
    (other,) = names() - {one}
    put_under(cache_dir, other, one)
    assert f"removed {one}" in cutecc("cache", "verify", status=1).stdout
    put_under(cache_dir, other, one)
    again = compiled("sm_80")
    assert again[0] == first[0]
    assert again[1].count("another compilation under this one's key") == (1 if kind == "record" else 0)
    assert compiled("sm_80") == first
    cutecc("cache", "verify")


def test_the_text_of_another_file_is_not_taken(
    cache_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cutecc.cache import own_runs

    monkeypatch.chdir(tmp_path)
    names: list[str] = []
    for name in ("one.py", "other.py"):
        Path(name).write_text(f"# {name}")
        own_runs.remember(["compile", name], name, "kernel")
        names += {path.name for path in cache_dir.iterdir()} - {*names}
    assert own_runs.recall(["compile", "one.py"], "one.py") == b"# one.py"
    put_under(cache_dir, names[1], names[0])
    assert own_runs.recall(["compile", "one.py"], "one.py") is None


# Something else in the place of an entry.


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("filled", [False, True])
def test_a_folder_in_the_place_of_an_entry(small_kernel, cache_dir: Path, filled: bool) -> None:
    def compiled() -> cutecc.Compilation:
        return cutecc.compile_module(small_kernel.bytecode, target=small_kernel.target, options=_PTX).compilation

    first = compiled()
    (path,) = cache_dir.iterdir()
    before = descriptors()
    for _ in range(3):
        path.unlink()
        path.mkdir()
        if filled:
            (path / "deeper").mkdir()
            (path / "deeper" / "file").write_text("something")
        again = compiled()
        assert not again.cached
        assert again.warnings == first.warnings
        assert path.is_file()
    assert compiled().cached
    assert descriptors() == before


@pytest.mark.parametrize("action", ["get", "peek", "verify", "entries", "remove"])
def test_each_way_to_meet_a_folder(tmp_path: Path, action: str) -> None:
    store = Store(tmp_path / "v1", 1 << 20)
    name = f"{'0' * 64}.record"
    store.put(name, b"content")
    (store.folder / name).unlink()
    (store.folder / name / "deeper").mkdir(parents=True)
    before = descriptors()
    for _ in range(20):
        if action == "verify":
            assert store.verify() in ([name], [])
        elif action == "entries":
            assert [entry.name for entry in store.entries()] == [name]
        else:
            assert getattr(store, action)(name) is None
    assert descriptors() == before
    assert (store.folder / name).exists() == (action not in ("verify", "remove"))
