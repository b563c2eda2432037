"""Records that nobody means well with, through the commands that read one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from acceptable_ends import BEFORE, check, check_file, check_record
from chosen_pairs import Command, pairs
from limited_runs import run
from malformed_records import OF_CODE, OF_STAGES, RECORDS
from real_inputs import RUN_SIZE, RealInputs, make_inputs
from report_pages import Page


@pytest.fixture(scope="session")
def real(shared_folder: Path, cutecc_in) -> RealInputs:
    return make_inputs(shared_folder, cutecc_in)


_CODE = [name for name in RECORDS if name.startswith(("ptx", "sass"))]
_ANALYSES = [name for name in RECORDS if name.startswith("manifest-analyses")]
COMMANDS = {
    "report": Command(["report", "record", "-o", "out.html"], [*RECORDS]),
    "run": Command(["run", "record", "--device=cpu", RUN_SIZE], OF_CODE, 4),
    "show": Command(["show", "record"], OF_STAGES),
    "show-code": Command(["show", "record", "--ptx"], _CODE, 2),
    "show-sass": Command(["show", "record", "--sass"], _CODE, 2),
    "diff": Command(["diff", "record", "traced", "last"], OF_STAGES, 2),
    "explain": Command(["explain", "record", "vector_copy.py:49"], OF_STAGES, 3),
    "compare": Command(["compare", "record", "REAL"], [*RECORDS], 15),
    "resume": Command(["resume", "record", "--from=cse#1", "-o", "resumed", "--quiet"], [*RECORDS], 8),
    "check": Command(["check", "record", "--json"], _ANALYSES, 2),
}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), pairs(COMMANDS))
def test_a_record_gives_a_result_or_one_message(
    command: str, name: str, real: RealInputs, templates, tmp_path: Path
) -> None:
    shutil.copytree(real.record, tmp_path / "record")
    RECORDS[name](tmp_path / "record")
    (tmp_path / "out.html").write_bytes(BEFORE)
    words = [str(real.record) if word == "REAL" else word for word in COMMANDS[command].line]
    ok = check(run(words, tmp_path, templates), verdicts=command in ("run", "check"), as_json="--json" in words)
    check_file(tmp_path / "out.html", written=ok and "out.html" in words)
    if ok and command == "report":
        # What a page cannot show, it says so.
        said = Page.at(tmp_path / "out.html").chunks["manifest"]["warnings"]
        assert not [each for each in said if "internal error" in each["message"]]
    check_record(tmp_path / "resumed", written=ok and "resumed" in words)
