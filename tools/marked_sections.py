"""The parts of documents that tools write, between two marks."""

from __future__ import annotations

from pathlib import Path


def write_section(document: Path, marks: tuple[str, str], text: str) -> None:
    """Put a text, which ends with a line, between the marks of a document, in the place of what is there."""
    whole = document.read_text()
    before, after = whole.index(marks[0]) + len(marks[0]), whole.index(marks[1])
    document.write_text(f"{whole[:before]}\n{text}{whole[after:]}")
