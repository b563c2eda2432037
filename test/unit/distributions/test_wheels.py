"""The two wheels: what is in which, that both together are everything, and that the same tree gives the same bytes."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

import pytest
import wheels
from environments import Environment, built
from import_graph import imports, modules

from cutecc.ir.releases import RELEASES
from cutecc.ir.version import PACKAGE
from cutecc.support.distributions import OF_EXTRAS

CROSSINGS = {
    ("cutecc.cli.bench", "cutecc.compilation.request"),
    ("cutecc.cli.loading", "cutecc.cli.compiled_subject"),
    ("cutecc.cli.options", "cutecc.cli.compile_options"),
    ("cutecc.doctor.looking", "cutecc.backend.tools"),
    ("cutecc.doctor.looking", "cutecc.doctor.trial"),
    ("cutecc.kernel", "cutecc.backend.nvdisasm"),
}
"""Late imports of the runtime that need the distribution cutecc, as `NotInstalledError` then says; `doctor` looks
first whether it is there."""

WHEEL = re.compile(rf"{PACKAGE}[^\w-]")
WORKED = re.compile(r'"(cutecc(?:\.\w+)+):\w+"')


@pytest.fixture(scope="module")
def runtime() -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(built()[0]) as archive:
        yield archive


@pytest.fixture(scope="module")
def full() -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(built()[1]) as archive:
        yield archive


def ours(archive: zipfile.ZipFile) -> set[str]:
    return {name for name in archive.namelist() if name.startswith("cutecc/")}


def metadata(archive: zipfile.ZipFile, name: str) -> str:
    (found,) = (each for each in archive.namelist() if each.endswith(f".dist-info/{name}"))
    return archive.read(found).decode()


def test_both_together_are_the_package_and_no_file_is_in_both(runtime: zipfile.ZipFile, full: zipfile.ZipFile) -> None:
    assert not ours(runtime) & ours(full)
    files = (path for path in (wheels.ROOT / "cutecc").rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert ours(runtime) | ours(full) == {path.relative_to(wheels.ROOT).as_posix() for path in files}
    assert {"cutecc/__init__.py", "cutecc/py.typed", "cutecc/runtime/include/cutecc_bundle.h"} <= ours(runtime)


def test_every_path_of_the_table_is_there() -> None:
    missing = [path for path in wheels.runtime_paths(wheels.read_project()) if not (wheels.ROOT / path).exists()]
    assert not missing


def test_the_runtime_imports_the_runtime_alone(runtime: zipfile.ZipFile) -> None:
    files = {f"{wheels.ROOT}/{name}" for name in ours(runtime)}
    known = modules()
    here = {name for name, path in known.items() if str(path) in files}
    elsewhere = known.keys() - here
    leaving = [
        each for each in imports() if each.importer in here and each.imported in elsewhere and not each.typing_only
    ]
    assert not [str(each) for each in leaving if not each.late], "only late imports can say what is missing"
    assert {(each.importer, each.imported) for each in leaving} == CROSSINGS
    # What a worker process imports is named in a string.
    in_workers = {(name, module) for name in here for module in WORKED.findall(known[name].read_text())}
    assert {module for _, module in in_workers} >= {"cutecc.frontend.companions", "cutecc.support.isolation"}
    assert not {(name, module) for name, module in in_workers if module in elsewhere}


def test_dependencies(runtime: zipfile.ZipFile, full: zipfile.ZipFile) -> None:
    of_runtime, of_full = (HeaderParser().parsestr(metadata(each, "METADATA")) for each in (runtime, full))
    assert (of_runtime["Name"], of_full["Name"]) == ("cutecc-runtime", "cutecc")
    version = of_full["Version"]
    assert f"cutecc-runtime=={version}" in of_full.get_all("Requires-Dist", [])
    always = {each for each in of_runtime.get_all("Requires-Dist", []) if "extra ==" not in each}
    assert always == {"cuda-bindings>=13.0", "msgspec>=0.19"}
    assert always < set(of_full.get_all("Requires-Dist", []))


def test_the_packages_of_extras_are_those_that_errors_name() -> None:
    extras = wheels.read_project()["tool"][wheels.RUNTIME]["extras"]
    assert {name for names in extras.values() for name in names} == OF_EXTRAS


def test_every_release_that_is_known_and_newer_ones_may_be_installed(full: zipfile.ZipFile) -> None:
    required = HeaderParser().parsestr(metadata(full, "METADATA")).get_all("Requires-Dist", [])
    oldest, newest = RELEASES[0].version, RELEASES[-1].version
    allowed = f"<{int(newest.partition('.')[0]) + 1},>={oldest}"
    wheel = {each.partition(";")[2].strip(): each.partition(";")[0] for each in required if WHEEL.match(each)}
    assert wheel == {
        "": f"{PACKAGE}{allowed}",
        "extra == 'cu12'": f"{PACKAGE}{allowed}",
        "extra == 'cu13'": f"{PACKAGE}[cu13]{allowed}",
    }
    assert {each.name for release in RELEASES for each in release.flavours} == {"cu12", "cu13"}


def test_each_entry_point_is_in_one_of_them(runtime: zipfile.ZipFile, full: zipfile.ZipFile) -> None:
    found: list[dict[str, dict[str, str]]] = []
    for archive in (runtime, full):
        parser = configparser.ConfigParser()
        parser.read_string(metadata(archive, "entry_points.txt"))
        found.append({section: dict(parser[section]) for section in parser.sections()})
    assert found[0] == {"console_scripts": {"cutecc": "cutecc.__main__:main"}}
    assert found[1] == {"pytest11": {"cutecc": "cutecc.pytest_plugin"}}


def copy_of_tree(folder: Path) -> Path:
    """The tree as somebody else has it: other times, another umask, bytecode of their own."""
    folder.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copyfile(wheels.ROOT / name, folder / name)
    shutil.copytree(wheels.ROOT / "cutecc", folder / "cutecc", copy_function=shutil.copyfile)
    for path in (folder / "cutecc").rglob("*.py"):
        path.chmod(0o664)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    return folder


@pytest.mark.slow
def test_the_same_tree_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first = wheels.build(tmp_path / "first")
    second = wheels.build(tmp_path / "second", copy_of_tree(tmp_path / "tree"))
    assert [path.name for path in first] == [path.name for path in second]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with zipfile.ZipFile(first[0]) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


@pytest.mark.slow
def test_another_version_of_the_runtime_is_refused(tmp_path: Path) -> None:
    tree = copy_of_tree(tmp_path / "tree")
    init = tree / "cutecc" / "__init__.py"
    init.write_text(init.read_text().replace('__version__ = "0', '__version__ = "7'))
    newer, newer_full = wheels.build(tmp_path / "newer", tree)
    newer_full.unlink()
    shutil.copy(built()[1], newer.parent)
    environment = Environment.create(tmp_path / "environment", wheels.read_project()["project"]["dependencies"])
    done = environment.pip("install", "--no-index", "--find-links", newer.parent, "cutecc")
    assert done.returncode != 0
    assert "cutecc-runtime==" in done.stdout
    assert not (environment.folder / "bin" / "cutecc").exists()
