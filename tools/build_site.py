"""Build the documentation as a site: one folder a version, with search, an API reference and a live report.

    python tools/build_site.py build/site            # adds build/site/VERSION, and makes it the latest
    python tools/build_site.py --pages build/pages   # only the pages, as zensical gets them; needs no zensical

The pages are those that GitHub shows: docs/, README.md, CHANGELOG.md and CONTRIBUTING.md. A link from them to a file or
folder of the repository becomes a link to a page with its text, so that a site of an older version shows what was then.
What is published is the folder: to publish a release, build into a copy of it, and upload that.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "docs" / "site"
TOP = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
"""Pages that stand beside docs/, and what they are called in the site."""
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s#]*)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^(`{3,}).*?^\1`*$", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".pyi": "python", ".toml": "toml", ".json": "json", ".mlir": "text", ".ts": "typescript"}
UNSEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
LIVE_REPORT = "examples/gemm.py"
API = {
    "cutecc": "All that a program needs: compile, load, launch, benchmark, observe.",
    "cutecc.passes": "What a pass is written with. [Writing a pass](../writing-passes.md) is the guide.",
    "cutecc.lowering": "What a row of an atom is written with. [Writing an atom](../writing-atoms.md) is the guide.",
    "cutecc.layout": "CuTe's layout algebra. [Reading cute](../reading-cute.md) shows it in pictures.",
    "cutecc.ir": "MLIR modules, and typed views of CuTe's types.",
    "cutecc.record": "What a compilation leaves behind. [The record](../manifest.md) is the guide.",
    "cutecc.operations": "Ready matrix products. [Operations](../operations.md) is the guide.",
    "cutecc.errors": "Every error that cutecc raises.",
}
MODULES = {"cutecc.ir": [f"cutecc.ir.{name}" for name in ("modules", "walking", "building", "editing", "types")]}
"""The modules of an API page, where it is not the package alone."""


@dataclass
class Pages:
    """The pages of the site: text by path, and files that are copied."""

    texts: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, Path] = field(default_factory=dict[str, Path])

    def write(self, folder: Path) -> None:
        """Write all of them below `folder`."""
        for name, text in self.texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        for name, source in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, path)


def version() -> str:
    """Of the cutecc in this tree."""
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "cutecc" / "__init__.py").read_text(), re.MULTILINE)
    assert found
    return found[1]


def pages() -> Pages:
    """All pages, with every link of theirs a link within the site. Raises `ValueError` for one that leads nowhere."""
    made = Pages(files={"site.css": SITE / "site.css"})
    for path in [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / name for name in TOP)]:
        _add(made, path)
    for package, summary in API.items():
        modules = "\n".join(f"::: {module}\n" for module in MODULES.get(package, [package]))
        made.texts[f"api/{package.removeprefix('cutecc.')}.md"] = f"# `{package}`\n\n{summary}\n\n{modules}"
    made.texts["live-report.md"] = (
        "---\nhide: [toc]\n---\n\n# A live report\n\n"
        f"The page that `cutecc compile {LIVE_REPORT} --report` writes, with this version. Click on a line of it.\n"
        '[Open it alone](live-report/report.html){target="_blank"}; [what it shows](report.md).\n\n'
        '<iframe class="report" title="A report" src="live-report/report.html"></iframe>\n'
    )
    return made


def page_of(path: Path) -> str:
    """What a file of the repository, or a folder, is called in the site."""
    name = path.relative_to(ROOT).as_posix()
    if name in TOP:
        return TOP[name]
    if path.parent == ROOT / "docs" and path.suffix == ".md":
        return path.name
    if path.is_relative_to(ROOT / "docs") and path.suffix in (".svg", ".png"):
        return path.relative_to(ROOT / "docs").as_posix()
    # Folders whose names begin with a dot are no pages.
    return f"source/{name.removeprefix('.')}.md"


def _add(made: Pages, path: Path) -> str:
    """Make the page of a file, and those that it links to; its name."""
    name = page_of(path)
    if name in made.texts or name in made.files:
        return name
    if not name.endswith(".md"):
        made.files[name] = path
    elif not name.startswith("source/"):
        made.texts[name] = ""  # Pages link to one another.
        made.texts[name] = _rewritten(made, path, name)
    elif path.is_dir():
        entries = sorted(each.name + "/" * each.is_dir() for each in path.iterdir() if each.name[0] not in "._")
        listed = "\n".join(f"- `{each}`" for each in entries)
        made.texts[name] = f"{UNSEARCHED}# `{path.relative_to(ROOT)}/`\n\n{listed}\n"
    else:
        text = path.read_text()
        fence = "`" * (max(map(len, re.findall(r"`{3,}", text)), default=2) + 1)
        language = LANGUAGES.get(path.suffix, "text")
        made.texts[name] = f"{UNSEARCHED}# `{path.relative_to(ROOT)}`\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"
    return name


def _rewritten(made: Pages, path: Path, name: str) -> str:
    """A page's text with its links as they are in the site; code is left alone."""

    def link(found: re.Match[str]) -> str:
        before, target, anchor, after = found[1], found[2], found[3] or "", found[4]
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        aim = Path(os.path.normpath(path.parent / target))
        if not aim.exists() or not aim.is_relative_to(ROOT):
            raise ValueError(f"{path.relative_to(ROOT)}: there is no {target}")
        there = posixpath.relpath(_add(made, aim), PurePosixPath(name).parent)
        return f"{before}{there}{anchor}{after}"

    text, rewritten, end = path.read_text(), "", 0
    for fence in FENCE.finditer(text):
        rewritten += LINK.sub(link, text[end : fence.start()]) + fence[0]
        end = fence.end()
    return rewritten + LINK.sub(link, text[end:])


def make_report(folder: Path) -> None:
    """The report of the example, as report.html in `folder`."""
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "report.html"
        command = [sys.executable, "-m", "cutecc", "compile", LIVE_REPORT, "--report", page, "--quiet"]
        subprocess.run([*command, "-o", Path(scratch) / "record"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, folder / "report.html")


def build(site: Path) -> Path:
    """Build this version into `site`, and make it the latest one there; its folder.

    Raises `CalledProcessError` when zensical finds a link or an anchor that leads nowhere.
    """
    made = site / version()
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        pages().write(work / "pages")
        config = (SITE / "zensical.toml").read_text().replace("{root}", str(ROOT)).replace("{version}", version())
        (work / "zensical.toml").write_text(config)
        zensical = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", work / "zensical.toml"]
        subprocess.run(zensical, cwd=work, check=True)
        make_report(work / "site" / "live-report")
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(work / "site", made)
    publish(site)
    return made


def publish(site: Path) -> None:
    """Name the versions in `site`: in the list behind the site's menu, and the latest in the page that leads there."""
    found = [path.name for path in site.iterdir() if (path / "index.html").is_file()]
    versions = sorted(found, key=lambda name: [int(part) for part in re.findall(r"\d+", name)], reverse=True)
    listed = [{"version": name, "title": name, "aliases": []} for name in versions]
    (site / "versions.json").write_text(json.dumps(listed, indent=2) + "\n")
    (site / "index.html").write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={versions[0]}/">\n')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", action="store_true", help="write the pages alone")
    given = parser.parse_args()
    if given.pages:
        pages().write(given.folder)
    else:
        print(build(given.folder))


if __name__ == "__main__":
    main()
