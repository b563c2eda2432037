"""A whole compilation, with its record and the cache, whose changes of files fail one after the other."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from file_operations import Operation, operations_below

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.errors import Error, RecordError, UsageError
from cutecc.record.folder import read_folder

pytestmark = pytest.mark.slow

_OPTIONS = CompileOptions(artifacts=("ptx",))
_CHANGES = ("open", "write", "truncate", "fsync", "replace", "unlink", "mkdir")


def _compile(kernel, root: Path) -> cutecc.Compilation:
    return cutecc.compile_module(
        kernel.bytecode, target=kernel.target, options=_OPTIONS, output=root / "out"
    ).compilation


@pytest.mark.parametrize("is_cached", [False, True])
def test_a_full_disk_at_each_operation(
    small_kernel, tmp_path: Path, is_cached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record fails with one error, the cache with a warning; what is there in the end is whole."""
    wanted = _compile(small_kernel, tmp_path).artifact("ptx")
    ends: set[str] = set()
    number, left = 0, 0
    while left <= 0:
        number += 1
        left = number
        root = tmp_path / str(number)
        monkeypatch.setenv("CUTECC_CACHE", "1")
        monkeypatch.setenv("CUTECC_CACHE_DIR", str(root / "cache"))
        root.mkdir()
        if is_cached:
            _compile(small_kernel, root)

        def fail(operation: Operation) -> None:
            nonlocal left
            left -= operation.kind in _CHANGES
            if left == 0 and operation.kind in _CHANGES:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), operation.path)

        before = len(os.listdir("/proc/self/fd"))
        try:
            with operations_below(root, fail):
                made = _compile(small_kernel, root)
        except (RecordError, UsageError) as error:
            assert "No space left on device" in error.message
            assert error.hints == ["free some space, or name another folder"]
            if isinstance(error, RecordError):
                assert error.notes == [
                    f"what is in {root / 'out'} may be half a record: the next run that writes there removes it"
                ]
            ends.add("error")
        else:
            assert made.artifact("ptx") == wanted
            ends |= {"warning" for each in made.warnings if "the cache" in each.message}
            assert read_folder(root / "out").artifact("ptx") == wanted
        assert len(os.listdir("/proc/self/fd")) == before
        try:
            record = read_folder(root / "out")
        except Error:
            pass
        else:
            assert record.status != "ok" or record.artifact("ptx") == wanted
        assert _compile(small_kernel, root).artifact("ptx") == wanted
        assert read_folder(root / "out").artifact("ptx") == wanted
        assert [path.name for path in root.rglob("*partial*")] == []
    assert number > 20
    assert ends == ({"error"} if is_cached else {"error", "warning"})
