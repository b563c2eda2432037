"""What goes to which standard stream, in a process of its own, as a user's shell sees it."""

from __future__ import annotations

import subprocess
import sys

PRINTS = """
import ctypes
from cutecc.cli.streams import output_to_stderr

library = ctypes.CDLL(None)
with output_to_stderr(WANTED):
    library.printf(b"of the C library\\n")
    print("of Python")
print("{}")
"""


def run(wanted: bool) -> subprocess.CompletedProcess[str]:
    # To a pipe, the C library writes when its buffer is full, or the process ends.
    program = PRINTS.replace("WANTED", str(wanted))
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)


def test_what_a_library_prints_is_not_between_json() -> None:
    done = run(True)
    assert done.stdout == "{}\n"
    assert sorted(done.stderr.splitlines()) == ["of Python", "of the C library"]


def test_without_json_all_goes_where_it_goes() -> None:
    done = run(False)
    assert sorted(done.stdout.splitlines()) == ["of Python", "of the C library", "{}"]
    assert done.stderr == ""
