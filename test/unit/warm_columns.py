"""Columns of `cutecc versions` that this interpreter compiles, in processes that begin with their imports done."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from warm_client import WarmProcess, same_start

Column = Callable[[Path, Sequence[str], Any], "subprocess.CompletedProcess[str]"]
"""`cutecc` with these words, run by an interpreter, with a tree of sources."""


def warm_columns(folder: str, environment: Mapping[str, str], cold: Column) -> Column:
    """As `cold`, by the template in `folder` that was started with `environment` where that is the interpreter's own.

    Another interpreter, and a program that is watched, are started as ever.
    """

    def run(python: Path, words: Sequence[str], tree: Any) -> subprocess.CompletedProcess[str]:
        if python != Path(sys.executable) or words[0] != "compile" or not same_start(os.environ, environment):
            return cold(python, words, tree)
        with (
            open(os.devnull, "rb") as nothing,
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
        ):
            status = WarmProcess(
                f"{folder}/command",
                "cutecc.__main__:main",
                ["cutecc", *words],
                streams=(nothing.fileno(), output.fileno(), errors.fileno()),
                environment=os.environ,
                folder=str(tree.folder),
                path=[*map(str, tree.import_folders), *sys.path],
            ).wait(timeout=300)
            texts = [_text_of(each) for each in (output, errors)]
        return subprocess.CompletedProcess([*words], status, *texts)

    return run


def _text_of(stream: Any) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace")
