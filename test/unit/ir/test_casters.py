"""Once the DSL is imported, values come wrapped in its objects; passes see plain ones, and everything is put back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PLAIN = ("BlockArgument", "Value")


@pytest.fixture(scope="module")
def probe() -> dict[str, Any]:
    """What a process that imported the DSL sees; see `caster_probe.py`."""
    script = Path(__file__).with_name("caster_probe.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_table_has_every_caster_of_the_installed_dsl(probe) -> None:
    missing = set(probe["registered"]) - set(probe["table"])
    assert not missing, f"the DSL registers value casters that cutecc/ir/casters.py does not know: {sorted(missing)}"
    gone = set(probe["table"]) - set(probe["registered"])
    assert not gone, f"cutecc/ir/casters.py has casters that the DSL does not register: {sorted(gone)}"


def test_every_type_of_the_table_is_tried(probe) -> None:
    assert {name.rpartition(".")[2] for name in probe["table"]} == set(probe["before"])


def test_outside_passes_the_dsl_wraps_values(probe) -> None:
    wrapped = {name: kind for name, kind in probe["before"].items() if kind.rpartition(".")[2] in PLAIN}
    assert not wrapped, "these types have no caster, so that the tests below would prove nothing"


@pytest.mark.parametrize("when", ["inside", "inside_failing"])
def test_passes_see_plain_values(probe, when: str) -> None:
    wrapped = {name: kind for name, kind in probe[when].items() if kind.rpartition(".")[2] not in PLAIN}
    assert not wrapped


@pytest.mark.parametrize("when", ["after", "after_exception"])
def test_afterwards_the_casters_are_back(probe, when: str) -> None:
    assert probe[when] == probe["before"]
