"""What `cutecc prove --json` wrote, as far as the page shows it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from cutecc.errors import RecordError, UsageError
from cutecc.record import Analysis, Compilation, Remark
from cutecc.record.naming import short_kernel_name
from cutecc.record.plain_file import read_plain
from cutecc.report.paths import same_file
from cutecc.report.skeleton import Skeleton
from cutecc.report.skeleton_picture import Drawing, drawing
from cutecc.report.timeline_picture import Picture, chunk_name
from cutecc.support.harmless import one_line
from cutecc.support.malformed import MALFORMED

_LONGEST = 1 << 26
"""Bytes of a file that is read."""
ANALYSIS = "cutecc prove"
"""Who says what is wrong, among the remarks of a page."""

Count = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
"""What a page can show exactly."""
Severity = Literal["error", "warning", "note"]


class FilePlace(msgspec.Struct):
    """A line of the user's Python."""

    file: str
    line: Count | None = None


class FileProblem(msgspec.Struct):
    """A condition that does not hold."""

    kind: str
    text: str
    location: FilePlace | None = None
    other: FilePlace | None = None


class FileWitness(msgspec.Struct):
    """The run that shows what is wrong."""

    sizes: dict[str, Count] = {}


class FileProof(msgspec.Struct):
    """The proof of one kernel."""

    kernel: str
    """Its symbol."""
    answer: Literal["proved", "refuted", "suspicious", "cannot tell"]
    reason: str = ""
    location: FilePlace | None = None
    problems: list[FileProblem] = []
    sizes: dict[str, Count] = {}
    least: dict[str, Count] = {}
    preconditions: dict[str, str] = {}
    """Of the numbers of `least`, the same in the user's names."""
    below: dict[str, list[FileProblem]] = {}
    tried: list[str] = []
    reproduce: str | None = None
    """The command of a run that shows what is wrong."""
    timeline: str | None = None
    """The one that makes a profile with the timeline of that run."""
    witness: FileWitness | None = None
    states: Count = 0
    events: Count = 0
    skeleton: list[Skeleton] = []

    @property
    def given(self) -> list[str]:
        """Its preconditions, in words."""
        return [self.preconditions.get(name, f"{name} at least {least}") for name, least in self.least.items()]


class Part(msgspec.Struct):
    """The proof of one kernel, as the page shows it."""

    name: str
    answer: str
    reason: str
    place: FilePlace | None
    given: list[str]
    problems: list[FileProblem]
    sizes: list[str]
    below: dict[str, list[FileProblem]]
    tried: list[str]
    reproduce: str | None
    timeline: str | None
    timelines: list[str]
    """The page's own of that run: the names of their chunks."""
    effort: str
    drawings: list[Drawing]


def read_proofs(path: Path) -> list[FileProof]:
    """The proofs of a file. Raises `UsageError` where it cannot be read, or is no such file."""
    try:
        results = msgspec.json.decode(read_plain(path, _LONGEST), type=list[dict[str, Any]])
        # Of a file that could not be looked at there is an error.
        proofs = msgspec.convert([each for each in results if "error" not in each], list[FileProof])
        for skeleton in (skeleton for proof in proofs for skeleton in proof.skeleton):
            skeleton.check()
        return proofs
    except OSError as failure:
        raise UsageError(f"cannot read {path}: {failure.strerror}") from None
    except (RecordError, ValueError, *MALFORMED) as failure:
        raise UsageError(f"{path} is no proof: {failure}", hints=["cutecc prove … --json > FILE writes one"]) from None


def proofs_of(compilation: Compilation, proofs: Sequence[FileProof], path: Path) -> list[FileProof]:
    """The proofs, read from `path`, of the record's kernels. Raises `UsageError` where there are none."""
    own = {short_kernel_name(each.kernel) for each in compilation.resources}
    found = [each for each in proofs if not own or short_kernel_name(each.kernel) in own]
    if not found:
        seen = ", ".join(dict.fromkeys(short_kernel_name(each.kernel) for each in proofs)) or "none"
        raise UsageError(f"{path} has no proof of this record's kernels", notes=[one_line(f"it has {seen}")[:1000]])
    return found


def parts_of(proofs: Sequence[FileProof], files: Collection[str], timelines: Sequence[Picture] = ()) -> list[Part]:
    """What the page, which has these timelines, shows of proofs, with the names that the record has for its files."""
    return [_Part(each, files).part(timelines) for each in proofs]


def analysis_of(proofs: Sequence[FileProof], files: Collection[str]) -> Analysis:
    """What is wrong, as remarks at their lines."""
    return Analysis(ANALYSIS, 0, remarks=[each for proof in proofs for each in _remarks(proof, files)])


class _Part:
    def __init__(self, proof: FileProof, files: Collection[str]) -> None:
        self._proof = proof
        self._files = files

    def part(self, timelines: Sequence[Picture]) -> Part:
        proof, name = self._proof, short_kernel_name(self._proof.kernel)
        drawings = [drawing(each, name) for each in proof.skeleton]
        for box in (box for each in drawings for box in each.boxes):
            box.file = same_file(box.file, self._files)
        return Part(
            name,
            proof.answer,
            proof.reason,
            _known(proof.location, self._files),
            proof.given,
            self._problems(proof.problems),
            [f"{number} = {value}" for number, value in proof.sizes.items()],
            {number: self._problems(problems) for number, problems in proof.below.items() if proof.least},
            proof.tried,
            proof.reproduce,
            proof.timeline,
            [chunk_name(number) for number, each in enumerate(timelines) if _is_of_witness(each, proof)],
            f"{proof.states:,} states, {proof.events:,} events",
            drawings,
        )

    def _problems(self, problems: Sequence[FileProblem]) -> list[FileProblem]:
        return [
            FileProblem(each.kind, each.text, _known(each.location, self._files), _known(each.other, self._files))
            for each in problems
        ]


def _is_of_witness(timeline: Picture, proof: FileProof) -> bool:
    """Whether a timeline is of the run that shows what is wrong, as far as it says: of its kernel, at its sizes."""
    if proof.witness is None or timeline.unit != "instructions":
        return False
    sizes = {f"{name}={size}" for name, size in proof.witness.sizes.items()}
    kernels = {short_kernel_name(block.kernel) for block in timeline.blocks}
    return short_kernel_name(proof.kernel) in kernels and sizes <= set(timeline.title.split(", "))


def _known(place: FilePlace | None, files: Collection[str]) -> FilePlace | None:
    return place and FilePlace(same_file(place.file, files), place.line)


def _remarks(proof: FileProof, files: Collection[str]) -> Iterator[Remark]:
    worst: Severity = "error" if proof.answer == "refuted" else "warning"
    for each in proof.problems:
        yield _remark(worst, f"{each.kind}: {each.text}", each.location, files, dict(proof.sizes))
    if proof.answer == "cannot tell" and proof.location is not None:
        yield _remark("note", f"no proof: {proof.reason}", proof.location, files, {})
    for number, problems in proof.below.items() if proof.least else ():
        for each in problems:
            yield _remark("note", f"with less of {number}: {each.kind}: {each.text}", each.location, files, {})


def _remark(
    severity: Severity, text: str, place: FilePlace | None, files: Collection[str], numbers: dict[str, Any]
) -> Remark:
    known = _known(place, files)
    location = f"{known.file}:{known.line}:1" if known and known.line else known and known.file
    return Remark(severity, text, location, ANALYSIS, numbers)
