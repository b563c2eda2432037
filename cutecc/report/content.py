"""Everything that a report page shows of a record, as chunks."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from cutecc.errors import Error, describe
from cutecc.record import Compilation, Remark, manifest
from cutecc.record.counters import read_counters
from cutecc.record.stages import Stages, UserLines, stages_of
from cutecc.report.annotated_sass import annotated_code
from cutecc.report.chunks import Chunk, stage_chunks
from cutecc.report.code import Code
from cutecc.report.emulator_measures import emulator_measures
from cutecc.report.grades import cost_of, grade_of
from cutecc.report.history import histories
from cutecc.report.listings import Listing
from cutecc.report.llvm_code import llvm_chunks
from cutecc.report.mapping import Mix, mix_of_record, share_text
from cutecc.report.measures import Measure, static_measures
from cutecc.report.pass_effects import effects_of
from cutecc.report.pictures import layout_pictures
from cutecc.report.proof_file import FileProof, analysis_of, parts_of
from cutecc.report.reading_along import ReadingAlong
from cutecc.report.roofline import Roofline
from cutecc.report.sass_table import sass_table
from cutecc.report.summary import reproducer
from cutecc.report.timeline_picture import Picture, chunk_name
from cutecc.report.verdict import verdict_of
from cutecc.support.garbage import without_collection

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
        return share_text(self.mapped, self.instructions) if self.instructions else None


def content_of(
    compilation: Compilation,
    measures: Sequence[Measure] = (),
    timelines: Sequence[Picture] = (),
    roofline: Roofline | None = None,
    along: ReadingAlong | None = None,
    proofs: Sequence[FileProof] = (),
) -> Content:
    """The chunks of a record, first its manifest and what to know of it first, with what it does not hold itself.

    What was read `along` with the compilation is not read again.

    A part that cannot be made is left out, and a warning in the page says why: there is a page of what failed, too.
    """
    with without_collection():
        content = _Collector(compilation, measures, timelines, along, proofs).content()
    return content if roofline is None else replace(content, chunks=[*content.chunks, Chunk.of("roofline", roofline)])


def manifest_chunk(compilation: Compilation) -> Chunk:
    """The record's manifest, its remarks with how bad they are."""
    body = json.loads(manifest.encode(compilation, indent=None))
    for said in (body, *body["steps"], *body["analyses"]):
        for remark in said["warnings" if said is body else "remarks"]:
            found = msgspec.convert(remark, Remark)
            remark |= {"grade": grade_of(found), "cost": cost_of(found)}
    return Chunk("manifest", zlib.compress(json.dumps(body).encode(), _LEVEL))


class _Collector:
    def __init__(
        self,
        compilation: Compilation,
        measures: Sequence[Measure],
        timelines: Sequence[Picture],
        along: ReadingAlong | None,
        proofs: Sequence[FileProof],
    ) -> None:
        self._proofs = proofs
        self._compilation = compilation
        self._along = along
        self._measured = measures
        self._recorded = timelines
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
            *self._part("passes of LLVM", lambda: llvm_chunks(compilation)),
            *self._part("instruction mix", self._instruction_mix),
            *self._part("history of lines", self._history),
            *self._part("layouts", self._layouts),
            *self._part("measures", self._measures),
            *self._part("timeline", self._timelines),
            *self._part("proof", self._proved),
        ]
        first = self._part("verdict", self._verdict)
        resumed = [Remark("note", f"this was {compilation.resumed}")] if compilation.resumed else []
        shown = replace(self._compilation, warnings=[*resumed, *compilation.further_warnings, *self._troubles])
        return Content([manifest_chunk(shown), *first, *chunks], *self._share())

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
                functions = annotated_code(self._compilation, self._code.functions_by_file[listing.file])
                yield Chunk.of(f"columns:{listing.file}", sass_table(functions))

    def _instruction_mix(self) -> Iterator[Chunk]:
        self._mix = mix_of_record(self._compilation, self._lines, self._code)
        if self._mix:
            yield Chunk.of("mix", self._mix)

    def _verdict(self) -> Iterator[Chunk]:
        yield Chunk.of("verdict", verdict_of(self._compilation, self._mix, self._lines))

    @property
    def _lines(self) -> UserLines:
        return self._stages.user_lines if self._stages else UserLines()

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
            stages = self._stages
            effects = self._along.effects(stages) if self._along else None
            if effects is None:
                effects = [*effects_of(map(stages.after, stages.indices), stages.places)]
            yield Chunk.of("history", {"lines": histories(stages, self._listed, effects)})
            for effect in effects[1:]:
                yield Chunk.of(f"links:{effect.step}", effect.links)

    def _layouts(self) -> Iterator[Chunk]:
        if self._stages:
            stages = self._stages
            yield Chunk.of("layouts", layout_pictures(stages.after(index).text for index in stages.indices))

    def _measures(self) -> Iterator[Chunk]:
        counters = read_counters(self._compilation)
        measures = [
            *self._measured,
            *(emulator_measures(counters, self._listed) if counters else []),
            *static_measures(self._code.functions_by_file, self._listed),
        ]
        if measures:
            yield Chunk.of("measures", [each.description for each in measures])
        for number, each in enumerate(measures):
            yield Chunk.of(f"measure:{number}", each.points)

    def _timelines(self) -> Iterator[Chunk]:
        for number, picture in enumerate(self._recorded):
            yield Chunk.of(chunk_name(number), picture.in_files(self._lines.sources))

    def _proved(self) -> Iterator[Chunk]:
        if self._proofs:
            files = self._lines.sources
            yield Chunk.of("proof", parts_of(self._proofs, files, self._recorded))
            # What is wrong stands beside the lines, as what other analyses found.
            analyses = [*self._compilation.analyses, analysis_of(self._proofs, files)]
            self._compilation = replace(self._compilation, analyses=analyses)
