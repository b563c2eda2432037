"""Every console block in the README and the docs is run, and its output excerpt has to be what comes out.

In a block, a line that begins with `$ ` is a command; the lines below it are its output. `…` stands for any text within
a line, and alone on a line for any number of lines; spaces count as one. Python blocks that begin with `# name.py` are
files that the commands find; the others have to compile.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass
class Command:
    """A command of a document and the excerpt below it."""

    line: str
    excerpt: list[str] = field(default_factory=list)


def blocks(document: Path, language: str) -> Iterator[str]:
    """The fenced blocks of one language."""
    for match in BLOCK.finditer(document.read_text()):
        if match[1] == language:
            yield match[2]


def commands(document: Path) -> list[Command]:
    """All commands of a document, in order."""
    found: list[Command] = []
    for block in blocks(document, "console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Command(line[2:]))
            elif found:
                found[-1].excerpt.append(line)
    return found


def matches(excerpt: list[str], output: list[str]) -> bool:
    """Whether `excerpt` describes the whole of `output`."""
    if not excerpt:
        return not output
    if excerpt[0] == "…":
        return any(matches(excerpt[1:], output[skipped:]) for skipped in range(len(output) + 1))
    pattern = ".*".join(re.escape(" ".join(part.split())) for part in excerpt[0].split("…"))
    line = " ".join(output[0].split()) if output else None
    return line is not None and re.fullmatch(pattern, line) is not None and matches(excerpt[1:], output[1:])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_do_what_the_document_shows(document: Path, tmp_path: Path) -> None:
    for name in ("examples", "test/kernels"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for block in blocks(document, "python"):
        if name := re.match(r"# (\w+\.py)\n", block):
            (tmp_path / name[1]).write_text(block)
        else:
            compile(block, str(document), "exec")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}
    for command in commands(document):
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        output = done.stdout.splitlines()
        assert matches(command.excerpt, output), f"{command.line}\n" + "\n".join(output)


def test_an_excerpt_that_is_not_there_is_found_out() -> None:
    assert matches(["a … c", "…", "z"], ["a b c", "d", "z"])
    assert not matches(["a", "z"], ["a", "d", "z"])
    assert not matches(["a"], ["a", "b"])
