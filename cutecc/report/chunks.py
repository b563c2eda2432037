"""The data of a report page: pieces of JSON, compressed, each in a `<script>` element that browsers do not run.

Names and contents are those of `web/src/data.ts`. A later chunk takes the place of an earlier one of its name, so that
a page can grow while a compilation runs.
"""

from __future__ import annotations

import base64
import html
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import msgspec

from cutecc.record.stages import Block

_LEVEL = 6

_NAMES = {"U": "user-lines", "P": "places:{index}", "S": "stage:{index}"}
"""The chunks that blocks of a record's stages become, by their kind."""


@dataclass(frozen=True)
class Chunk:
    """One piece of a page's data."""

    name: str
    data: bytes
    """JSON, compressed with zlib."""

    @classmethod
    def of(cls, name: str, content: object) -> Chunk:
        """A chunk of plain data, structs or dataclasses."""
        try:
            encoded = msgspec.json.encode(content)
        except UnicodeEncodeError:
            # A file's name need not be text: JSON escapes what is not.
            encoded = json.dumps(msgspec.to_builtins(content)).encode()
        return cls(name, zlib.compress(encoded, _LEVEL))

    def element(self) -> bytes:
        """The chunk as a line of a page. Whatever it holds, nothing in it ends the element."""
        name = html.escape(self.name).encode(errors="xmlcharrefreplace")
        data = base64.b64encode(self.data)
        return b'<script type="application/octet-stream" data-chunk="' + name + b'">' + data + b"</script>\n"


def stage_chunks(blocks: Iterable[Block]) -> Iterator[Chunk]:
    """The stages of a record as chunks; blocks stay as they are, without being expanded."""
    for block in blocks:
        # A record of a later version may hold blocks of other kinds.
        if block.kind in _NAMES:
            yield Chunk(_NAMES[block.kind].format(index=block.index), block.data)
