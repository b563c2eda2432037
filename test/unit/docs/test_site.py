"""The pages of the documentation's site: all are in its menu, and every link leads somewhere, as on GitHub."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath
from typing import Any

import build_site
import pytest

PAGES = build_site.pages()
GENERATED = ("source/", "api/")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def without_code(text: str) -> str:
    return build_site.FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """Of a page's headings, as GitHub and the site make them."""
    plain = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in HEADING.findall(without_code(text)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def menu(entries: list[Any]) -> Iterator[str]:
    """The pages of a `nav`, in order."""
    for entry in entries:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from menu(below) if isinstance(below, list) else [below]


def test_every_page_is_in_the_menu_once() -> None:
    config = tomllib.loads((build_site.SITE / "zensical.toml").read_text())
    expected = sorted(name for name in PAGES.texts if not name.startswith("source/"))
    assert sorted(menu(config["project"]["nav"])) == expected


@pytest.mark.parametrize("page", [name for name in PAGES.texts if not name.startswith(GENERATED)])
def test_every_link_leads_to_a_page_and_every_anchor_to_a_heading(page: str) -> None:
    wrong: list[str] = []
    for _, target, anchor, _ in build_site.LINK.findall(without_code(PAGES.texts[page])):
        if re.match(r"[a-z]+:", target) or target == "live-report/report.html":
            continue
        name = normpath(f"{dirname(page)}/{target}".lstrip("/")) if target else page
        if name not in PAGES.texts and name not in PAGES.files:
            wrong.append(f"there is no {target}")
        elif anchor and anchor[1:] not in anchors(PAGES.texts[name]):
            wrong.append(f"{name} has no {anchor}")
    assert wrong == []


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of a few files."""
    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    for name, text in {
        "README.md": "[guide](docs/guide.md#use) [code](src/a.py) [web](https://example.org)",
        "CHANGELOG.md": "",
        "CONTRIBUTING.md": "",
        "docs/guide.md": "# Guide\n\n## Use\n\n![a](pictures/a.svg) [home](../README.md) [all](../src)\n"
        "\n```\n[x](y)\n```\n",
        "docs/pictures/a.svg": "<svg/>",
        "src/a.py": 'FENCE = "```"\n',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_links_are_those_of_the_site(tree: Path) -> None:
    made = build_site.pages()
    assert made.texts["index.md"] == "[guide](guide.md#use) [code](source/src/a.py.md) [web](https://example.org)"
    assert "![a](pictures/a.svg) [home](index.md) [all](source/src.md)" in made.texts["guide.md"]
    assert "[x](y)" in made.texts["guide.md"]
    assert made.files["pictures/a.svg"] == tree / "docs/pictures/a.svg"


def test_files_that_pages_link_to_are_shown(tree: Path) -> None:
    made = build_site.pages()
    assert '````python\nFENCE = "```"\n````' in made.texts["source/src/a.py.md"]
    assert "- `a.py`" in made.texts["source/src.md"]


@pytest.mark.parametrize("target", ["nowhere.md", "../../outside"])
def test_a_link_that_leads_nowhere_is_an_error(tree: Path, target: str) -> None:
    (tree / "docs/guide.md").write_text(f"[x]({target})")
    with pytest.raises(ValueError, match=f"guide.md: there is no {re.escape(target)}"):
        build_site.pages()


def test_the_newest_version_is_the_one_that_opens(tmp_path: Path) -> None:
    for name in ("0.9.0", "0.10.0", "assets"):
        (tmp_path / name).mkdir()
        if name != "assets":
            (tmp_path / name / "index.html").touch()
    build_site.publish(tmp_path)
    assert [each["version"] for each in json.loads((tmp_path / "versions.json").read_text())] == ["0.10.0", "0.9.0"]
    assert "url=0.10.0/" in (tmp_path / "index.html").read_text()
