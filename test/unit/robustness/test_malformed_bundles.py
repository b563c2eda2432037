"""Bundles that nobody means well with, through the commands that read one."""

from __future__ import annotations

from pathlib import Path

import pytest
from acceptable_ends import BEFORE, check, check_file
from chosen_pairs import Command, pairs
from limited_runs import run
from malformed_bundles import BUNDLES
from real_inputs import RUN_SIZE, RealInputs, make_inputs


@pytest.fixture(scope="session")
def real(shared_folder: Path, cutecc_in) -> RealInputs:
    return make_inputs(shared_folder, cutecc_in)


_WHOLE = [name for name in BUNDLES if name.startswith(("host-program", "of-", "ptx"))]
_CUT = [name for name in BUNDLES if name.startswith("cut-")]
COMMANDS = {
    "run": Command(["run", "input.cutecc", "--device=cpu", RUN_SIZE, "--json"], [*BUNDLES]),
    "report": Command(["report", "input.cutecc", "-o", "out.html"], [*BUNDLES], 3),
    "sanitize": Command(["sanitize", "input.cutecc", RUN_SIZE], _WHOLE, 7),
    "bench": Command(["bench", "input.cutecc", RUN_SIZE], _CUT, 3),
    "compare": Command(["compare", "input.cutecc", "input.cutecc", "--json"], [*BUNDLES], 9),
}


@pytest.mark.parametrize(("command", "name"), pairs(COMMANDS))
def test_a_bundle_gives_a_result_or_one_message(
    command: str, name: str, real: RealInputs, templates, tmp_path: Path
) -> None:
    (tmp_path / "input.cutecc").write_bytes(BUNDLES[name](real.bundle.read_bytes()))
    (tmp_path / "out.html").write_bytes(BEFORE)
    words = COMMANDS[command].line
    ok = check(run(words, tmp_path, templates), verdicts=command in ("run", "sanitize"), as_json="--json" in words)
    check_file(tmp_path / "out.html", written=ok and "out.html" in words)
