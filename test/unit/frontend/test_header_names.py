"""Names in a header: where they have to be defined."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.errors import UsageError
from cutecc.frontend.header import read_header
from cutecc.frontend.header_names import check_functions

HEADER = '# cutecc: reference = "expected"\n'


def check(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(HEADER + text)
    check_functions(read_header(file), str(file))


@pytest.mark.parametrize(
    "text",
    [
        "def expected(): pass",
        "async def expected(): pass",
        "class expected: pass",
        "from elsewhere import expected",
        "from elsewhere import other as expected",
        "import expected.inner",
        "from elsewhere import *",
        "expected = print",
        "expected: object = print",
        "one, (expected, two) = values",
        "if torch:\n    def expected(): pass",
        "try:\n    from a import expected\nexcept ImportError:\n    pass",
        "with context:\n    for expected in functions: pass",
        "no Python: running it says so",
    ],
)
def test_what_defines_a_name(tmp_path: Path, text: str) -> None:
    check(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "expected",
        "import elsewhere.expected",
        "def other():\n    def expected(): pass",
        "class Other:\n    def expected(self): pass",
        "def expect(): pass",
    ],
)
def test_what_does_not(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"reference: .* defines no 'expected'") as caught:
        check(tmp_path, text)
    assert caught.value.location
    assert (caught.value.location.line, caught.value.location.column) == (1, 24)
    assert caught.value.hints == (["did you mean expect?"] if "expect(" in text else [])
