"""Reading a report page as a browser does: its elements, and the chunks that its program would read."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

RAW = ("script", "style")
VOID = ("meta", "link", "br", "img", "hr", "input")


class Page(HTMLParser):
    """A page as parsed: what a browser makes elements of, and nothing of what their text says."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        """Of each element, in the order of `elements`, what stands directly in it."""
        self._open: list[int] = []
        self.feed(data.decode())
        self.close()

    @classmethod
    def at(cls, path: Path) -> Page:
        return cls(path.read_bytes())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag not in VOID:
            self._open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag, f"</{tag}> ends another element"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[self._open[-1]] += data

    def all(self, tag: str) -> list[str]:
        """The texts of the elements of one kind."""
        return [text for (name, _), text in zip(self.elements, self.texts, strict=True) if name == tag]

    @property
    def raw_chunks(self) -> list[tuple[str, str]]:
        """Each chunk's name and base64, in order."""
        pairs = zip(self.elements, self.texts, strict=True)
        return [(attributes["data-chunk"] or "", text) for (_, attributes), text in pairs if "data-chunk" in attributes]

    @property
    def chunks(self) -> dict[str, Any]:
        """By name what the last one that can be read holds."""
        found: dict[str, Any] = {}
        for name, text in self.raw_chunks:
            try:
                found[name] = json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
            except (ValueError, zlib.error):
                continue
        return found

    @property
    def title(self) -> str:
        (title,) = self.all("title")
        return title

    @property
    def programs(self) -> list[str]:
        """The scripts that a browser would run."""
        pairs = zip(self.elements, self.texts, strict=True)
        return [text for (tag, attributes), text in pairs if tag == "script" and "data-chunk" not in attributes]

    @property
    def policy(self) -> str:
        (policy,) = [
            attributes["content"] or ""
            for tag, attributes in self.elements
            if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        return policy


def check_sound(page: Page) -> None:
    """What holds for every page: one program, which the policy names, and nothing else that runs or loads."""
    (program,) = page.programs
    digest = base64.b64encode(hashlib.sha256(program.encode()).digest()).decode()
    assert page.policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}';")
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "iframe", "object", "embed", "link", "base", "form", "svg", "a", "input"}
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "href", "style")], tag
        if "data-chunk" in attributes:
            assert attributes["type"] == "application/octet-stream"
