"""What is not overwritten by what a command writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.cli.files import check_output
from cutecc.errors import UsageError


def test_a_program_and_a_folder_are_no_output(tmp_path: Path) -> None:
    program = tmp_path / "gemm.py"
    check_output(program)
    program.write_text("# a kernel\n")
    with pytest.raises(UsageError, match="it is a Python file, which would be lost"):
        check_output(program)
    with pytest.raises(UsageError, match="Is a directory"):
        check_output(tmp_path)
    with pytest.raises(UsageError, match="there is no folder"):
        check_output(tmp_path / "no" / "a.json")
    check_output(None)
