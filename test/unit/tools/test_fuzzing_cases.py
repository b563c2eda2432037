"""What a fuzzer tells of inputs that are taken, refused, or get through."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import fuzz
import pytest

# A process of its own forks those that read the inputs.
_SCRIPT = """
    import json, os, signal, time
    from fuzzing.cases import Subject, replay, run, shrunk
    from cutecc.errors import InternalError, ParseError

    def check(data):
        match data.split()[0]:
            case b"refuse":
                raise ParseError("no")
            case b"mistake":
                raise InternalError("ours")
            case b"raise":
                raise KeyError("x")
            case b"exit":
                raise SystemExit(0)
            case b"abort":
                os.abort()
            case b"leave":
                os._exit(0)
            case b"fill":
                bytearray(1 << 30)
            case b"wait":
                time.sleep(60)
            case b"print":
                print("text", flush=True)

    words = b"take refuse mistake raise exit abort take leave fill wait print".split()
    subject = Subject("words", lambda random: random.choice(words[:2]), check, seconds=2)
    found = [(case.number, case.result) for case in replay(subject, words, 1 << 28)]
    made = [[case.result for case in run(subject, range(500), 1 << 28)] for _ in range(2)]
    data = b"take\\n" * 9 + b"take raise"
    lines = Subject("lines", lambda random: b"", lambda data: [check(each) for each in data.split(b"\\n")], seconds=2)
    (case,) = replay(lines, [b"take\\nraise\\ntake"], 1 << 28)
    print(json.dumps([found, made, shrunk(lines, b"take\\nraise\\ntake", case, 1 << 28).decode(), case.detail]))
"""


@pytest.mark.slow
def test_each_input_has_its_own_end() -> None:
    tools = Path(fuzz.__file__).parent
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(_SCRIPT)], capture_output=True, text=True, cwd=tools, timeout=60
    )
    assert run.returncode == 0, run.stderr
    found, (first, second), small, detail = json.loads(run.stdout)
    through = [
        "raw exception",
        "raw exception",
        "raw exception",
        "ended",
        "accepted",
        "ended",
        "over memory",
        "over time",
    ]
    assert found == [[number, result] for number, result in enumerate(["accepted", "refused", *through, "accepted"])]
    assert first == second and {*first} == {"accepted", "refused"}
    assert small == "raise"
    assert "KeyError: 'x'" in detail
