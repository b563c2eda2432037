"""With the variables that make the DSL trace as later releases will: all commands do what they do without them."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from conftest import KERNELS

EXTENSION = {"CUTE_DSL_USE_EXTENSION_COMPILER": "1"}
PYIR = {"CUTE_DSL_ENABLE_PYIR": "1"}
VARIABLES = {"extension": EXTENSION, "pyir": PYIR, "both": EXTENSION | PYIR}
PROBE = Path(__file__).with_name("coming_default_probe.py")

SOURCE = KERNELS / "control_flow.py"
"""A loop in a loop under conditions, each of which carries values: there PyIR has most to say."""


@functools.cache
def probed(which: str) -> dict[str, Any]:
    """What the probe says of `SOURCE`; without variables for the empty name."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, PROBE, SOURCE, "sm_80", folder],
            env={**os.environ, **VARIABLES.get(which, {})},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_each_variable_changes_the_trace() -> None:
    met = {which: {"lir", "pyir"} & {*probed(which)["dialects"]} for which in ("", *VARIABLES)}
    assert met == {"": set(), "extension": {"lir"}, "pyir": {"pyir"}, "both": {"lir", "pyir"}}


@pytest.mark.parametrize("which", VARIABLES)
def test_nvidia_gives_what_the_stock_compiler_gives(which: str) -> None:
    found = probed(which)
    assert found["nvidia"] == found["stock"]


@pytest.mark.parametrize("which", VARIABLES)
def test_what_is_traced_otherwise_is_lowered_first(which: str) -> None:
    plain, passes = (probed(each)["passes"] for each in ("", which))
    for name in ("nvidia", "open"):
        first = passes[name][: -len(plain[name])]
        assert passes[name][len(first) :] == plain[name]
        assert (first[:2] == ["convert-pyir-to-scf", "remove-dead-values"]) == (which != "extension")
        assert ("lir-to-cute-conversion" in first) == (which != "pyir")


@pytest.mark.parametrize("which", VARIABLES)
def test_open_computes_with_the_same_instructions(which: str) -> None:
    assert probed(which)["open"] == probed("")["open"]


def test_the_record_names_the_variables() -> None:
    assert {which: probed(which)["variables"] for which in ("", *VARIABLES)} == {
        "": None,
        "extension": "CUTE_DSL_USE_EXTENSION_COMPILER",
        "pyir": "CUTE_DSL_ENABLE_PYIR",
        "both": "CUTE_DSL_USE_EXTENSION_COMPILER CUTE_DSL_ENABLE_PYIR",
    }


def test_both_pipelines_give_the_same_results(cutecc) -> None:
    rows = json.loads(cutecc("diff-test", SOURCE, "--json", env=VARIABLES["both"]).stdout)
    assert rows


def test_a_dump_goes_on_without_the_variables(cutecc, tmp_path: Path) -> None:
    cutecc("compile", SOURCE, "-o", "whole", "--dump-after=all", env=VARIABLES["both"])
    for dump in ("*-traced.mlir", "*-lir-to-cute-conversion.mlir", "*-cute-desugar.mlir"):
        (file,) = (tmp_path / "whole").glob(dump)
        cutecc("compile", file, "-o", "rest")
        assert (tmp_path / "rest/control_flow.ptx").read_bytes() == (tmp_path / "whole/control_flow.ptx").read_bytes()


def test_the_cache_tells_them_apart(cutecc) -> None:
    for variables, cached in (({}, False), (PYIR, False), ({}, True), (PYIR, True)):
        env = {"CUTECC_CACHE": "1", "CUTECC_CACHE_DIR": "cache", **variables}
        record = json.loads(cutecc("compile", SOURCE, "--json", env=env).stdout)
        assert record["versions"]["dsl_variables"] == (" ".join(variables) or None)
        assert record["cached"] == cached
