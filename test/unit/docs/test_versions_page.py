"""docs/versions.md: the workflow that it shows is one, and its commands are commands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from following import BLOCK, ROOT

from cutecc.cli.versions import versions
from cutecc.versions.columns import parse_columns
from cutecc.versions.conditions import parse_conditions

PAGE = (ROOT / "docs" / "versions.md").read_text()
WORKFLOW = next(block for language, block in BLOCK.findall(PAGE) if language == "yaml")
COMMANDS = re.findall(r"^ +- run: >-\n((?: {10}.*\n)+)", WORKFLOW, re.MULTILINE)


def is_valid(workflow: str, folder: Path) -> bool:
    """By the schema of GitHub's workflows that check-jsonschema brings along."""
    file = folder / "kernels.yml"
    file.write_text(workflow)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(file)]
    return subprocess.run(command, capture_output=True, text=True).returncode == 0


def test_the_workflow_is_one(tmp_path: Path) -> None:
    assert is_valid(WORKFLOW, tmp_path)
    assert not is_valid(WORKFLOW.replace("runs-on", "run-on"), tmp_path)


@pytest.mark.parametrize("text", COMMANDS)
def test_its_commands_are_commands(text: str) -> None:
    words = shlex.split(text.replace("${{ github.base_ref }}", "main"))
    assert words[:2] == ["cutecc", "versions"]
    values = versions.make_context("versions", words[2:]).params
    assert values["kernels"] == ("kernels/*.py",)
    assert len(parse_columns(values["across"], {})) == 2
    assert [each.name for each in parse_conditions(values["fail_on"])] == ["registers", "spills", "width", "results"]


def test_there_are_two() -> None:
    assert len(COMMANDS) == 2


def test_the_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads((ROOT / "docs" / "versions.schema.json").read_text()))
