"""CONTRIBUTING.md: each change that it shows applies to this tree, and does what the page says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from following import BLOCK, ROOT, follow

RUFF = Path(sys.executable).with_name("ruff")
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
COPIED = ("cutecc", "examples", "test/kernels", "test/lit", "test/unit", "tools")
SECTIONS = {part.partition("\n")[0]: part for part in re.split(r"^##+ ", TEXT, flags=re.MULTILINE)[1:]}
QUICK = ("A subcommand", "A DSL version")
ADDITIONS = [name for name, part in SECTIONS.items() if "```diff\n" in part]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree, which its commands import in place of this one."""
    folder = tmp_path / "tree"
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("Output", "robustness", "*.npz"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    (tmp_path / "site").symlink_to(folder)
    return folder


def apply(page: str, tree: Path) -> None:
    """Make the changes of a page's diffs."""
    for language, block in BLOCK.findall(page):
        if language == "diff":
            done = subprocess.run(["git", "apply"], cwd=tree, input=block, capture_output=True, text=True)
            assert done.returncode == 0, f"{done.stderr}\n{block}"


def test_six_things_can_be_added() -> None:
    assert len(ADDITIONS) == 6


@pytest.mark.each_time
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in ADDITIONS]
)
def test_what_is_added_works(name: str, tree: Path) -> None:
    apply(SECTIONS[name], tree)
    follow(SECTIONS[name], tree)


@pytest.mark.slow
def test_the_loop_of_a_day(tree: Path) -> None:
    follow(SECTIONS["The loop of a day"], tree)


def test_what_it_shows_is_as_the_project_formats(tree: Path) -> None:
    apply(TEXT, tree)
    for check in (["check"], ["format", "--check"]):
        done = subprocess.run([RUFF, *check, "cutecc"], cwd=tree, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_a_commits_hooks_are_what_make_lint_runs() -> None:
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    commands = [line.strip().removesuffix(" .") for line in recipe[1].replace("$(BIN)", ".venv/bin").splitlines()]
    hooks = re.findall(r"^ +entry: (.+)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert [hook.removesuffix(" --force-exclude") for hook in hooks] == commands
