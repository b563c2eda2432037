"""docs/architecture.md: its picture and tables are those of the source, its paths exist, its examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import architecture_page
import architecture_picture
import pytest
from following import BLOCK, FILE, ROOT
from import_directions import MAY_IMPORT

from cutecc.passes.builtin import load_builtin_passes
from cutecc.passes.registry import passes_so_far

TEXT = architecture_page.PAGE.read_text()
QUESTIONS = re.compile(r"^\| (.+\?) \| (.+) \|$", re.MULTILINE)


def test_the_page_and_its_picture_are_up_to_date() -> None:
    assert architecture_page.stale() == []


def test_a_stale_table_is_found_out_and_rewritten() -> None:
    stale = TEXT.replace("| place | what it is |", "| place | what it was |")
    assert stale != TEXT
    assert architecture_page.refreshed(stale) == TEXT


def test_twenty_questions_are_answered_by_paths_that_exist() -> None:
    answers = [re.findall(r"\[`(\S+)`\]\(\.\./(\S+)\)", answer) for _, answer in QUESTIONS.findall(TEXT)]
    assert len(answers) == 20 and all(answers)
    for shown, path in (each for answer in answers for each in answer):
        assert shown.rstrip("/") == path and (ROOT / path).exists()


def test_what_is_imported_from_above_is_said() -> None:
    exceptions = {name for allowed in MAY_IMPORT.values() for name in allowed if "." in name}
    beside_the_picture = TEXT.partition("\n## ")[0]
    assert set(re.findall(r"`cutecc/(\w+/\w+)\.py`", beside_the_picture)) == {
        name.replace(".", "/") for name in exceptions
    }


def test_a_pass_is_in_the_file_that_the_page_says() -> None:
    load_builtin_passes()
    own = [kind for kind in passes_so_far().values() if kind.__module__.startswith("cutecc.")]
    files = {kind.name: kind.__module__.rpartition(".")[2].replace("_", "-") for kind in own}
    elsewhere = {name: file for name, file in files.items() if name != file}
    checks = {name for name, file in elsewhere.items() if name == f"check-{file}"}
    composites = {name for name in elsewhere if name.startswith("composite:")}
    assert checks and composites and checks | composites == elsewhere.keys()
    rule = " ".join(TEXT.partition("Three rules")[2].partition("\n\n")[0].split())
    assert "a check, `check-coalescing`, in that of the rest of it, `coalescing.py`" in rule
    assert "the composites of `lir_composite.py`" in rule


def test_the_five_ideas_run_as_shown(tmp_path: Path) -> None:
    blocks = [block for language, block in BLOCK.findall(TEXT) if language == "python"]
    assert len(blocks) == 5
    script = "\n\n".join(block for block in blocks if not FILE.match(block))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "canonicalize,cse,count-constants",
        "0 constants",
        "[('canonicalize', 'ok'), ('cse', 'ok'), ('count-constants', 'ok')]",
        *("1 canonicalize", "2 cse", "0 constants", "3 count-constants"),
    ]


@pytest.mark.parametrize("block", [block for _, block in BLOCK.findall(TEXT) if FILE.match(block)])
def test_what_is_shown_of_a_file_is_in_it(block: str) -> None:
    header, _, shown = block.partition("\n")
    assert shown in (ROOT / header.removeprefix("# ")).read_text()


# The picture, of packages that are made up.


def boxes(folder: Path, **imports: str) -> Path:
    """A package with these modules in folders of their names, each importing one other."""
    root = folder / "cutecc"
    for name, imported in imports.items():
        (root / name).mkdir(parents=True)
        (root / name / "__init__.py").write_text(f"import cutecc.{imported}\n" if imported else "")
    (root / "__init__.py").touch()
    return root


def test_a_package_stands_above_what_it_imports(tmp_path: Path) -> None:
    graph = architecture_picture.edges(boxes(tmp_path, cli="driver", driver="passes", passes="ir", ir=""))
    assert architecture_picture.heights(graph) == {"ir": 0, "passes": 1, "driver": 2, "cli": 3}


def test_arrows_that_follow_from_others_are_left_out() -> None:
    graph = {("cli", "driver"), ("driver", "ir"), ("cli", "ir")}
    assert architecture_picture.without_implied(graph) == {("cli", "driver"), ("driver", "ir")}


def test_imports_in_a_circle_have_no_picture(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="imports go in a circle"):
        architecture_picture.svg(boxes(tmp_path, ir="record", record="ir"))


def test_a_package_without_a_box_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give novelty a box"):
        architecture_picture.svg(boxes(tmp_path, novelty="ir", ir=""))
