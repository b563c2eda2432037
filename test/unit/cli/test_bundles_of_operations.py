"""The bundle of an operation where a command takes a kernel: all say who reads it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cutecc.cli.inputs import choose
from cutecc.cli.records import read_records
from cutecc.cli.subject import check_input
from cutecc.config import Settings
from cutecc.errors import Error
from cutecc.record import archive
from cutecc.record.bundle import OPERATION_HINT, OPERATION_INDEX, is_operation


def compiled(text: str) -> None:
    """As `compile` and `check` take files."""
    choose(text, (), None, "sm_80", Settings())


def read(text: str) -> None:
    """As `show`, `diff`, `explain` and `report` take them."""
    read_records(Path(text))


@pytest.mark.parametrize("taken", [check_input, compiled, read])
def test_who_reads_it(taken: Callable[[str], object], tmp_path: Path) -> None:
    path = tmp_path / "linear.operation"
    path.write_bytes(archive.pack([(OPERATION_INDEX, b"{}")]))
    with pytest.raises(Error) as caught:
        taken(str(path))
    assert caught.value.hints == [OPERATION_HINT]
    assert "cutecc.operations.load" in OPERATION_HINT


@pytest.mark.parametrize("taken", [check_input, compiled])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"x" * 100, archive.pack([("bundle.json", b"{}")])])
def test_other_files(taken: Callable[[str], object], content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "linear.operation"
    path.write_bytes(content)
    with pytest.raises(Error, match="neither a Python file") as caught:
        taken(str(path))
    assert OPERATION_HINT not in caught.value.hints


def test_a_bundle_of_an_operation_is_not_for_run(tmp_path: Path) -> None:
    path = tmp_path / "linear.cutecc"
    path.write_bytes(archive.pack([(OPERATION_INDEX, b"{}")]))
    with pytest.raises(Error) as caught:
        compiled(str(path))
    assert caught.value.hints == [OPERATION_HINT]


def test_what_cannot_be_read(tmp_path: Path) -> None:
    assert not is_operation(tmp_path)
    assert not is_operation(tmp_path / "nothing")
