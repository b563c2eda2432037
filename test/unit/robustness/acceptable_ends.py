"""What is an acceptable end of a command that got an input which nobody means well with: a result, or one message."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from limited_runs import Run

LONGEST_MESSAGE = 20_000
"""Bytes of standard error."""
BEFORE = b"as it was before\n"
"""The content of an output file when a command begins."""

_HEAD = re.compile(r"^(?![ ]|note: |hint: |warning: |remark: )(?:[^\n]*?: )?[Ee]rror: ", re.MULTILINE)
_OURS = ("Traceback (most recent call last)", "internal error", "Fatal Python error", "Exception ignored")
_ABORTED = "aborted: the compiler process was ended by SIGABRT"
_REPRODUCER = re.compile(r"^reproducer: (.*)$", re.MULTILINE)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_AT_MOST_GONE = 5.0
"""Seconds within which what a command started is gone."""


def check(run: Run, *, verdicts: bool = False, as_json: bool = False, heads: int = 1) -> bool:
    """Assert that `run` ended acceptably; returns whether with a result.

    With `verdicts`, status 1 without a message is a result too: the command looks for something. `heads` is how many
    jobs may fail, each with a message of its own.
    """
    errors = run.errors
    assert run.status in (0, 1, 2), run
    # A process that aborts has its own last words, which may be a traceback.
    for sign in _OURS[1:] if _ABORTED in errors else _OURS:
        assert sign not in errors and sign.encode() not in run.stdout, run
    assert len(run.stderr) <= LONGEST_MESSAGE, run
    for stream in (run.stderr, run.stdout):
        assert not _CONTROLS.search(stream.decode()), run
    found = len(_HEAD.findall(errors))
    if run.status == 0:
        assert found == 0, run
    elif not (verdicts and run.status == 1 and found == 0):
        assert 1 <= found <= heads, run
    if as_json:
        answer = json.loads(run.stdout or b"null")
        assert run.status or answer is not None, run
    elif found and heads == 1 and not verdicts:
        assert run.stdout == b"", run
    _check_nothing_left(run)
    return found == 0


def _check_nothing_left(run: Run) -> None:
    # What failed in cutecc or aborts is kept, and the message says where.
    kept = {(run.folder / file).parent for file in _REPRODUCER.findall(run.errors)}
    # The DSL makes a folder when it is imported.
    kept |= {each.parent for each in (run.folder / "tmp").glob("*/cutlass_python_cache")}
    assert {*(run.folder / "tmp").iterdir()} <= kept, run
    assert not [*run.folder.rglob("*.partial")], run
    deadline = time.monotonic() + _AT_MOST_GONE
    while left := _processes_in(run.folder):
        assert time.monotonic() < deadline, f"processes {left} are left of {run}"
        time.sleep(0.01)


def _processes_in(folder: Path) -> list[int]:
    """The processes that work in `folder` or below, as all do that a command there starts."""
    found: list[int] = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                if Path(os.readlink(f"/proc/{entry.name}/cwd")).is_relative_to(folder):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def check_file(path: Path, *, written: bool) -> None:
    """Assert that an output file, which held `BEFORE`, is whole: the new one, or as it was."""
    if written:
        assert path.read_bytes() not in (b"", BEFORE)
    else:
        assert path.read_bytes() == BEFORE


def check_record(folder: Path, *, written: bool) -> None:
    """Assert that a folder for a record does not look finished unless the command succeeded."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        assert not written
        return
    body = json.loads(manifest.read_bytes())
    assert (body["status"] in ("ok", "stopped")) == written
    for artifact in body["artifacts"]:
        assert (folder / artifact["file"]).stat().st_size
