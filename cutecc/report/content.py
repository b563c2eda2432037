"""Everything that a report page shows of a record, as chunks."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cutecc.errors import Error, describe
from cutecc.record import Compilation, Remark, manifest
from cutecc.record.counters import read_counters
from cutecc.record.stages import Stages, UserLines, stages_of
from cutecc.report.annotated_sass import annotated_code
from cutecc.report.chunks import Chunk, stage_chunks
from cutecc.report.code import Code
from cutecc.report.history import histories
from cutecc.report.listings import Listing
from cutecc.report.mapping import Mix, mix_of_record
from cutecc.report.pictures import layout_pictures
from cutecc.report.sass_table import sass_table
from cutecc.report.summary import reproducer

_LEVEL = 6


@dataclass(frozen=True)
class Content:
    """What a page holds."""

    chunks: list[Chunk]
    instructions: int | None = None
    """SASS instructions of all kernels, without the padding behind the last one; `None` when there are none, or the
    source is not known."""
    mapped: int = 0
    """Of these, those that belong to a statement of the user's."""

    @property
    def mapping(self) -> str | None:
        """How much of the code has a line, in words."""
        if not self.instructions:
            return None
        share = self.mapped / self.instructions
        return f"{share:.1%} of {self.instructions:,} SASS instructions belong to a line of the source"


def content_of(compilation: Compilation) -> Content:
    """The chunks of a record, its manifest first.

    A part that cannot be made is left out, and a warning in the page says why: there is a page of what failed, too.
    """
    return _Collector(compilation).content()


def manifest_chunk(compilation: Compilation) -> Chunk:
    """The record's manifest as it is."""
    return Chunk("manifest", zlib.compress(manifest.encode(compilation), _LEVEL))


class _Collector:
    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self._code = Code(compilation)
        self._troubles: list[Remark] = []
        self._stages: Stages | None = None
        self._listed: list[Listing] = []
        self._mix: Mix | None = None

    def content(self) -> Content:
        compilation = self._compilation
        chunks = [
            *self._part("reproducer", self._reproducer),
            *self._part("IR", self._stage_chunks),
            *self._part("code", self._listings),
            *self._part("columns of machine code", self._columns),
            *self._part("instruction mix", self._instruction_mix),
            *self._part("history of lines", self._history),
            *self._part("layouts", self._layouts),
            *self._part("counters", self._counters),
        ]
        resumed = [Remark("note", f"this was {compilation.resumed}")] if compilation.resumed else []
        shown = replace(compilation, warnings=[*resumed, *compilation.further_warnings, *self._troubles])
        return Content([manifest_chunk(shown), *chunks], *self._share())

    def _part(self, what: str, make: Callable[[], Iterator[Chunk]]) -> list[Chunk]:
        try:
            return list(make())
        except Error as error:
            why = error.message
        except Exception as failure:
            why = f"internal error: {describe(failure)}"
        self._troubles.append(Remark("warning", f"the report shows no {what}: {why}"))
        return []

    def _reproducer(self) -> Iterator[Chunk]:
        if found := reproducer(self._compilation):
            text, command = found
            assert self._compilation.failure is not None
            file = self._compilation.failure.reproducer
            yield Chunk.of("reproducer", {"file": file, "text": text, "command": command})

    def _stage_chunks(self) -> Iterator[Chunk]:
        if self._compilation.has_stages:
            self._stages = stages_of(self._compilation)
            yield from stage_chunks(self._stages.blocks)

    def _listings(self) -> Iterator[Chunk]:
        self._listed = [*self._code.listings()]
        for listing in self._listed:
            yield Chunk.of(f"listing:{listing.file}", listing)

    def _columns(self) -> Iterator[Chunk]:
        for listing in self._listed:
            if listing.kind == "sass":
                functions = annotated_code(self._compilation, self._code.functions_in(listing.file))
                yield Chunk.of(f"columns:{listing.file}", sass_table(functions))

    def _instruction_mix(self) -> Iterator[Chunk]:
        lines = self._stages.user_lines if self._stages else UserLines()
        self._mix = mix_of_record(self._compilation, lines, self._code)
        if self._mix:
            yield Chunk.of("mix", self._mix)

    def _share(self) -> tuple[int | None, int]:
        """How many instructions there are, and how many have a line; `None` where the source is not known."""
        sources = self._stages.user_lines.sources if self._stages else {}
        if self._mix is None or not sources:
            return None, 0
        kernels = self._mix.kernels
        # A dump names lines of Python, but the module's own text is all that a run from there has.
        files = {line.file for kernel in kernels for line in kernel.lines}
        if files and files.isdisjoint(sources):
            return None, 0
        return sum(each.instructions for each in kernels), sum(each.mapped for each in kernels)

    def _history(self) -> Iterator[Chunk]:
        if self._stages:
            yield Chunk.of("history", {"lines": histories(self._stages, self._listed)})

    def _layouts(self) -> Iterator[Chunk]:
        if self._stages:
            stages = self._stages
            yield Chunk.of("layouts", layout_pictures(stages.after(index).text for index in stages.indices))

    def _counters(self) -> Iterator[Chunk]:
        if counters := read_counters(self._compilation):
            yield Chunk.of("counters", counters)
