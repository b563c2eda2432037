"""Fill docs/architecture.md from the source: its picture, and its tables of packages.

python tools/architecture_page.py            # rewrite them
python tools/architecture_page.py --check    # say what is out of date; status 1 if anything is
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from pathlib import Path

import architecture_picture
from import_directions import FOUNDATIONS, FRONT_DOORS, MAY_IMPORT, place
from import_graph import PACKAGE, modules

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = ROOT / "docs" / "pictures" / "packages.svg"
TABLE = re.compile(r"^<!-- packages: (places|inside) -->\n((?:\|.*\n)*)", re.MULTILINE)


def summary(path: Path) -> str:
    """The first paragraph of a file's docstring, as one line."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def source_of(name: str) -> Path:
    """The file that says what a place is."""
    folder = PACKAGE / name
    return folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")


def places() -> str:
    """Each place, what it is, and what it may import: those on top first, the foundations last."""
    rows = architecture_picture.heights(architecture_picture.edges())
    found = {place(name) for name in modules()} - {"", "__main__"}

    def order(name: str) -> tuple[bool, int, str]:
        return name in FOUNDATIONS, -rows.get(architecture_picture.PARTS.get(name, name), 0), name

    lines = ["| place | what it is | may import |", "|---|---|---|"]
    for name in sorted(found, key=order):
        path = source_of(name)
        target = path.parent if path.name == "__init__.py" else path
        allowed = ", ".join(f"`{each}`" for each in sorted(MAY_IMPORT.get(name, ())))
        if name in FRONT_DOORS:
            allowed = "everything"
        elif name in FOUNDATIONS:
            allowed = ", ".join(filter(None, [allowed, "other foundations"]))
        lines.append(f"| [`{name}`](../{target.relative_to(ROOT)}) | {summary(path)} | {allowed} |")
    return "\n".join(lines) + "\n"


def inside() -> str:
    """Each package within a package, and what it is."""
    lines = ["| package | what it is |", "|---|---|"]
    for path in sorted(PACKAGE.rglob("__init__.py")):
        name = path.parent.relative_to(PACKAGE)
        if len(name.parts) > 1:
            lines.append(f"| [`{name}`](../{path.parent.relative_to(ROOT)}) | {summary(path)} |")
    return "\n".join(lines) + "\n"


def refreshed(page: str) -> str:
    """The page with its tables as they are now."""
    tables = {"places": places, "inside": inside}
    return TABLE.sub(lambda found: f"<!-- packages: {found[1]} -->\n{tables[found[1]]()}", page)


def stale() -> list[str]:
    """What is out of date, by name."""
    found = [] if PICTURE.read_text() == architecture_picture.svg() else [PICTURE.name]
    return found + ([] if PAGE.read_text() == refreshed(PAGE.read_text()) else [PAGE.name])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        sys.exit("\n".join(f"{name} is out of date: run tools/architecture_page.py" for name in stale()))
    PICTURE.write_text(architecture_picture.svg())
    PAGE.write_text(refreshed(PAGE.read_text()))


if __name__ == "__main__":
    main()
