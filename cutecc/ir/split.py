"""Several modules in one file, between lines that say `// -----`."""

from __future__ import annotations

MARK = "// -----"
"""Alone on a line, it separates two modules."""


def split_input(text: str) -> list[str]:
    """The modules of a file, each behind as many empty lines as the file has lines before it.

    So a line number in a chunk is the line number in the file.
    """
    chunks: list[str] = []
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.rstrip() == MARK:
            chunks.append("\n".join(lines))
            lines = [""] * number
        else:
            lines.append(line)
    chunks.append("\n".join(lines))
    return chunks
