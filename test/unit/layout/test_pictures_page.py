"""`docs/layouts.md` shows what the command prints and draws today.

Each command on the page runs in a folder of its own; to refresh a picture, run the command above it in `docs/`.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from cutecc.cli.layout import layout
from cutecc.errors import Error

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGE = (DOCS / "layouts.md").read_text(encoding="utf-8")
DRAWN = re.findall(r"<!-- drawn by: cutecc layout (.*) -->\n!\[.*\]\((.*)\)", PAGE)
PRINTED = re.findall(r"^\$ cutecc layout (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)


def test_the_page_has_pictures() -> None:
    assert len(DRAWN) >= 5 and len(PRINTED) == 4


@pytest.mark.parametrize(("arguments", "path"), DRAWN)
def test_a_picture(arguments: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    assert CliRunner().invoke(layout, shlex.split(arguments)).exit_code == 0
    assert (tmp_path / path).read_bytes() == (DOCS / path).read_bytes()


@pytest.mark.parametrize(("arguments", "printed"), PRINTED)
def test_what_is_printed(arguments: str, printed: str) -> None:
    result = CliRunner().invoke(layout, shlex.split(arguments))
    if isinstance(result.exception, Error):
        location, _, rest = str(result.exception).partition(": ")
        assert f"{location}: error: {rest}\n" == printed
    else:
        assert result.output == printed


def test_the_example_in_python() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(code, {})
    assert output.getvalue().count("│") > 8
