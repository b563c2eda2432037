"""`cutecc versions` on the real command line: pipelines, revisions and environments, and what it says of requests."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import KERNELS

from cutecc.cli.versions_table import show
from cutecc.versions.comparison import read_comparison

pytestmark = pytest.mark.slow

_SMALL = ("--target", "sm_80", "--device", "cpu", "--size", "M=5,N=24,LDS=24,LDD=24")
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kernel, `k.py`, and a cache of its own."""
    folder = tmp_path_factory.mktemp("versions")
    (folder / "k.py").write_text((KERNELS / "vector_copy.py").read_text())
    return folder


@pytest.fixture(scope="module")
def versions(place: Path, cutecc_in: Command) -> Command:
    """Runs the command there. What is compiled once comes from the cache."""
    cache = {"CUTECC_CACHE": "1", "CUTECC_CACHE_DIR": str(place / "cache"), "COLUMNS": "120"}
    return functools.partial(cutecc_in, place, "versions", env=cache)


@pytest.fixture(scope="module")
def pipelines(place: Path, versions: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Everything that it can write of two pipelines, and nothing else."""
    words = ("k.py", "--across", "nvidia,open", *_SMALL, "--output", "records", "--report", "pages")
    scratch = tmp_path_factory.mktemp("scratch")
    environment = {**versions.keywords["env"], "TMPDIR": str(scratch)}  # type: ignore[attr-defined]
    done = versions(*words, "--json", "--fail-on", "registers>200, results", "--quiet", env=environment)
    assert {each.name for each in place.iterdir()} == {"k.py", "cache", "records", "pages"}
    assert not [path for path in scratch.rglob("*") if path.name.startswith("cutecc-")]
    (place / "both.json").write_text(done.stdout)
    return json.loads(done.stdout)


# pipelines


def test_the_json_has_every_column_and_number(pipelines: dict[str, Any]) -> None:
    assert [each["name"] for each in pipelines["columns"]] == ["nvidia", "open"]
    assert pipelines["columns"][1]["options"] == ["--pipeline", "open"]
    assert pipelines["breaches"] == []
    (row,) = pipelines["rows"]
    assert (row["kernel"], row["target"], row["source"]) == ("vector_copy", "sm_80", "k.py")
    assert [cell["results"] for cell in row["cells"]] == ["reference", "same bits"]
    for cell in row["cells"]:
        (measures,) = cell["functions"].values()
        assert 0 < measures["registers"] < 200
        assert measures["spill_bytes"] == 0
        assert measures["widths"]["global load"].keys() == {"128"}
        assert cell["compile_seconds"] > 0
        assert cell["checksums"]


def test_the_json_says_where_they_part(pipelines: dict[str, Any]) -> None:
    (change,) = pipelines["rows"][0]["changes"]
    assert change["column"] == "open"
    assert change["first"]["selector"]
    assert change["since"]["function"] in (None, "copy_kernel")
    assert change["since"]["location"]
    assert change["same_code"] is False
    files = {Path(each["file"]).name for each in change["lines"]}
    assert files <= {"k.py", ""}
    assert all(each["removed"] or each["added"] for each in change["lines"])


def test_the_json_keeps_its_schema(pipelines: dict[str, Any]) -> None:
    import msgspec

    from cutecc.versions.conditions import Checked

    assert msgspec.convert(pipelines, Checked).rows


def test_records_stay_where_they_are_asked_for(pipelines: dict[str, Any], place: Path, cutecc_in: Command) -> None:
    assert pipelines
    records = sorted((place / "records" / "records").iterdir())
    assert [each.name.partition("-")[2] for each in records] == ["nvidia", "open"]
    assert "registers" in cutecc_in(place, "compare", *records).stdout


def test_the_pages_hold_the_table_and_both_sides(pipelines: dict[str, Any], place: Path) -> None:
    assert pipelines
    index = (place / "pages" / "index.html").read_text()
    (link,) = re.findall(r'href="([^"]+)"', index)
    assert (place / "pages" / link).is_file()
    assert "vector_copy sm_80" in index
    assert "side by side" in index
    assert "<script" not in index


def test_the_table(place: Path, pipelines: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    show(read_comparison(place / "both.json"), verbose=False)
    text = capsys.readouterr().out
    registers = [
        measures["registers"] for cell in pipelines["rows"][0]["cells"] for measures in cell["functions"].values()
    ]
    line = next(line for line in text.splitlines() if line.startswith("registers"))
    assert [int(each) for each in re.findall(r"(?<![-+\d(])\d+", line)] == registers
    assert re.search(r"results +reference +same bits", text)
    assert "vector_copy sm_80: open beside nvidia" in text
    assert "✗ worse than in the first column, ✓ better, ● different" in text
    assert "\x1b" not in text


# a baseline and its conditions, in an environment that exists


def test_what_got_worse_than_the_baseline_is_status_1(
    versions: Command, place: Path, pipelines: dict[str, Any]
) -> None:
    for measures in pipelines["rows"][0]["cells"][1]["functions"].values():
        measures["registers"] = 4
    (place / "better.json").write_text(json.dumps(pipelines))
    words = ("k.py", "--across", "mine open", "--env", f"mine={sys.executable}", *_SMALL, "--baseline", "better.json")
    done = versions(*words, "--fail-on", "registers>+200, registers>+3, spills>0, results", status=1)
    head, row = done.stdout.splitlines()[2:4]
    assert head.split()[:2] == ["baseline", "(open)"]
    assert row.split()[:2] == ["mine", "open"]
    assert re.search(r"results +reference +same bits|results +same bits +same bits", done.stdout)
    broken = [line for line in done.stdout.splitlines() if line.startswith("✗")]
    assert re.fullmatch(r"✗ registers>\+3: vector_copy sm_80, mine open: copy_kernel: registers \d+, was 4", broken[0])
    assert len([line for line in broken if "copy_kernel: " in line]) == 1


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "no comparison"),
        ('{"columns": [], "rows": [], "format": 99}', "its format is 99, not 1"),
        ('{"columns": [], "rows": []}', "it has no columns"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_baseline_that_is_none(versions: Command, place: Path, text: str | None, message: str) -> None:
    if text is not None:
        (place / "none.json").write_text(text)
    name = "missing.json" if text is None else "none.json"
    done = versions("k.py", "--across", "nvidia", "--no-run", "--baseline", name, status=2)
    assert message in done.stderr


# revisions and environments


@pytest.fixture(scope="module")
def repository(place: Path) -> Path:
    """One whose kernel has narrower copies since the last revision."""
    repository = place / "repository"
    repository.mkdir()
    text = (place / "k.py").read_text()
    for source in (
        text,
        text.replace("import cutlass\n", "import cutlass\n\n# Half as wide.\n", 1)
        .replace("(1, 8)", "(1, 4)")
        .replace("=128)", "=64)"),
    ):
        (repository / "k.py").write_text(source)
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        for words in (["init", "--quiet"], ["add", "."], [*who, "commit", "--quiet", "--message", "x"]):
            subprocess.run(["git", *words], cwd=repository, check=True, capture_output=True)
    return repository


def test_a_revision_beside_the_working_tree(repository: Path, versions: Command, cutecc_in: Command) -> None:
    environment = versions.keywords["env"]  # type: ignore[attr-defined]
    words = ("versions", "k.py", "--across", "git:HEAD~1,.", "--no-run", "--target", "sm_80")
    done = cutecc_in(repository, *words, "--fail-on", "width<", "--json", "--quiet", env=environment, status=1)
    found = json.loads(done.stdout)
    before, now = found["columns"]
    assert len(before["commit"]) == 40
    assert now["commit"] is None
    assert {each["condition"] for each in found["breaches"]} == {"width<"}
    (change,) = found["rows"][0]["changes"]
    assert change["since"]["selector"] == "traced"
    assert change["since"]["location"].startswith((f"{repository}/k.py:", "git:HEAD~1:k.py:"))
    assert {each["file"] for each in change["lines"]} <= {f"{repository}/k.py", "git:HEAD~1:k.py", ""}
    copies = [each for each in change["lines"] if each["text"].startswith("cute.copy(")]
    assert any("LDG.E.128" in name for each in copies for name in each["removed"])
    assert any("LDG.E.64" in name for each in copies for name in each["added"])
    assert (repository / "k.py").read_text().count("(1, 4)") == 1


def test_environments_that_cannot_be_made_are_status_2(versions: Command, tmp_path: Path) -> None:
    (tmp_path / "python").write_text("#!/bin/sh\necho offline; exit 1\n")
    (tmp_path / "uv").symlink_to("python")
    (tmp_path / "python").chmod(0o755)
    environment = {**versions.keywords["env"], "PATH": str(tmp_path)}  # type: ignore[attr-defined]
    done = versions("k.py", "--across", "4.99.9,installed", "--no-run", status=2, env=environment)
    assert "error: nvidia-cutlass-dsl 4.99.9 cannot be installed" in done.stderr
    assert "--env '4.99.9=PATH/TO/bin/python'" in done.stderr


# what does not compile


def test_kernels_that_do_not_compile_are_status_1(versions: Command, place: Path) -> None:
    (place / "broken.py").write_text("import nothing_here\n")
    done = versions("broken.py", "--across", "nvidia,open", "--target", "sm_80", "--no-run", status=1)
    assert "✗ broken sm_80, nvidia: trace" in done.stdout
    assert done.stdout.count("✗ compiles: broken sm_80, nvidia: ") == 1
    assert "compiles: broken sm_80, open" not in done.stdout


# programs


def test_what_a_program_compiles(versions: Command, place: Path) -> None:
    (place / "program.py").write_text(
        "import cutlass, k\nfrom cutlass import cute\n"
        "from cutlass.cute.runtime import make_fake_compact_tensor as fake\n"
        "x = fake(cutlass.Float16, (16, 256), stride_order=(1, 0), assumed_align=16)\n"
        "cute.compile(k.vector_copy, x, x)\n"
    )
    words = (
        "--watch",
        "--across",
        "installed",
        "--target",
        "sm_80",
        "--no-run",
        "--json",
        "--",
        "python",
        "program.py",
    )
    (row,) = json.loads(versions(*words).stdout)["rows"]
    assert (row["kernel"], row["target"]) == ("vector_copy", "sm_80")
    assert row["cells"][0]["functions"]["copy_kernel"]["registers"] > 0


# requests


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "name the kernels"),
        (["k.py"], "name what to compare"),
        (["k.py", "--across", "open"], "--across open is one column: there is nothing to compare it with"),
        (["k.py", "--across", "open", "--json", "--fail-on", "spills>0"], "there is nothing to compare it with"),
        (["k.py", "--across", "opem,nvidia"], "did you mean open?"),
        (["k.py", "--across", "4.8,nvidia"], "a version has three numbers"),
        (["k.py", "--across", "open,nvidia", "--fail-on", "warmth>1"], "there is no 'warmth'"),
        (["k.py", "--across", "open,nvidia", "--from", "x"], "--across names no version"),
        (["k.py", "--across", "open,nvidia", "--no-run", "--size", "M=3"], "--size is for runs, beside --no-run"),
        (["k.py", "--across", "open,nvidia", "--no-run", "--no-time"], "--no-time is for runs, beside --no-run"),
        (
            ["k.py", "--across", "open,nvidia", "--no-run", "--fail-on", "results"],
            "results needs runs, beside --no-run",
        ),
        (["k.py", "--across", "open,nvidia", "--no-run", "--fail-on", "time>1"], "time needs runs, beside --no-run"),
        (["k.py", "--across", "open,nvidia", "--no-time", "--fail-on", "time>1"], "time needs times, beside --no-time"),
        (["k.py", "--across", "open,nvidia", "--device", "cpu", "--fail-on", "time>1"], "time needs a GPU"),
        (["k.py", "--across", "open,nvidia", "--env", "x"], "--env x: no NAME=PYTHON"),
        (["k.py", "--across", "open,nvidia", "--env", "a b=x"], "a name has no blanks, commas or quotes"),
        (["k.py", "--across", "open,nvidia", "--env", "x=a", "--env", "x=b"], "--env names x twice"),
        (["k.py", "--across", "open,nvidia", "--env", "x=a"], "--env x: no column of --across is called so"),
        (["k.py", "--across", "open,x", "--env", "x=nowhere/python"], "cannot be started: No such file"),
        (["k.py", "--across", "open,nvidia", "--device", "cuda:x"], "cuda:x"),
        (["k.py", "--across", "git:HEAD,.", "--no-run"], "is in no git repository"),
        (["--watch", "python", "--across", "open,nvidia", "--entry", "x"], "--arg and --entry are for kernel files"),
        (["--watch", "python", "--across", "open,nvidia"], "options are for kernel files, not for a program"),
        (["nothing.py", "--across", "open,nvidia", "--no-run"], "nothing.py"),
        (["k.py", "--across", "installed,. open", "--no-run", "--target", "sm_1"], "unknown target 'sm_1'"),
        (["k.py", "--across", "open --oops,nvidia --oops", "--no-run"], "--across 'open --oops': No such option"),
        (["k.py", "--across", "open,nvidia", "--output", "k.py"], "--output k.py: it is there already"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_requests_that_are_wrong_are_status_2(
    versions: Command, monkeypatch: pytest.MonkeyPatch, place: Path, words: list[str], message: str
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(place.parent))
    done = versions(*words, status=2)
    assert done.stdout == ""
    assert message in done.stderr
    assert "internal error" not in done.stderr
