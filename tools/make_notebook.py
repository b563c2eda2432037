"""Make a notebook, outputs included, of a Python file in cells: `python tools/make_notebook.py FILE.py [--check]`.

A cell begins with `# %%`, one of text with `# %% [markdown]`. In the notebook, what the file guards by
`if __name__ == "__main__":` stands without the guard. Cells run in this process, in order, in a namespace of their own.
`--check` writes nothing, and ends with status 1 when the notebook beside the file is not what would be written.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import linecache
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?\n", re.MULTILINE)
GUARD = 'if __name__ == "__main__":\n'


def cells(text: str) -> list[tuple[str, str]]:
    """The kind, `markdown` or `code`, and the source of each cell of a file."""
    found: list[tuple[str, str]] = []
    marks = list(CELL.finditer(text))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        source = text[mark.end() : following.start() if following else len(text)].strip("\n")
        if mark["markdown"]:
            found.append(("markdown", re.sub(r"^# ?", "", source, flags=re.MULTILINE)))
        else:
            guarded = source.startswith(GUARD)
            found.append(("code", textwrap.dedent(source.removeprefix(GUARD)) if guarded else source))
    return found


def run(source: str, number: int, namespace: dict[str, Any]) -> str:
    """What a cell prints. Its source is where tools look for that of a notebook: in `linecache`, not in a file."""
    file = f"/ipykernel/cell_{number}.py"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, file, "exec"), namespace)
    return printed.getvalue()


def notebook(path: Path) -> str:
    """The notebook of a file, as JSON (nbformat 4.5)."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    made: list[dict[str, Any]] = []
    count = 0
    for number, (kind, source) in enumerate(cells(path.read_text()), 1):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        if kind == "code":
            count += 1
            text = run(source, number, namespace)
            stream = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
            cell |= {"execution_count": count, "outputs": [stream] if text else []}
        made.append({**cell, "source": source.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    data = {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the notebook is out of step")
    options = parser.parse_args()
    made, beside = notebook(options.file), options.file.with_suffix(".ipynb")
    if not options.check:
        beside.write_text(made)
    elif not beside.is_file() or beside.read_text() != made:
        sys.exit(f"{beside} is out of step: python tools/make_notebook.py {options.file}")


if __name__ == "__main__":
    main()
