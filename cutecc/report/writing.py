"""Writing the report of a record: one HTML file, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cutecc.record import Compilation
from cutecc.record.whole_file import write_whole
from cutecc.report import page
from cutecc.report.content import Content, content_of
from cutecc.report.destination import check_destination
from cutecc.report.measures import Measure
from cutecc.report.proof_file import FileProof
from cutecc.report.reading_along import ReadingAlong
from cutecc.report.roofline import Roofline
from cutecc.report.summary import summary, title
from cutecc.report.timeline_picture import Picture


class Compiled(Protocol):
    """What has a record: a `cutecc.Kernel`."""

    @property
    def compilation(self) -> Compilation:
        """The record."""
        ...


@dataclass(frozen=True)
class Report:
    """A report that was written."""

    path: Path
    bytes: int
    mapping: str | None
    """How much of the code belongs to a line of the user's, in words; `None` without code."""

    def __str__(self) -> str:
        size = f"{self.bytes / 1e6:.1f} MB" if self.bytes >= 1e6 else f"{self.bytes / 1e3:.0f} kB"
        return f"{self.path}: a report, {size}{f'; {self.mapping}' if self.mapping else ''}"


def write_report(
    kernel: Compiled | Compilation,
    path: str | Path,
    measures: Sequence[Measure] = (),
    timelines: Sequence[Picture] = (),
    roofline: Roofline | None = None,
    proofs: Sequence[FileProof] = (),
) -> Report:
    """Write the report of a compiled kernel, or of a record, to the HTML file `path`.

    It shows what the record holds: for all of it, compile with `CompileOptions(report=True)`, or with `--report` or
    `--dump-after=all` on the command line. `measures` come on top, as those of `cutecc.report.ncu.ncu_measures`,
    `timelines`, as those of `cutecc.report.profile_file.timelines_of`, a `roofline`, and `proofs`, as those of
    `cutecc.report.proof_file.proofs_of`. The same record gives the same bytes. An earlier report at `path` is replaced.
    Raises `UsageError` when something else is there, and `RecordError` when the file cannot be written.
    """
    compilation = kernel if isinstance(kernel, Compilation) else kernel.compilation

    def content() -> Content:
        return content_of(compilation, measures, timelines, roofline, proofs=proofs)

    return _write(compilation, Path(path), content)


def write_rest(compilation: Compilation, path: Path, along: ReadingAlong) -> Report:
    """As `write_report`, of a record that was read `along` with its compilation: the page is the same."""
    return _write(compilation, path, lambda: content_of(compilation, along=along))


def _write(compilation: Compilation, path: Path, make: Callable[[], Content]) -> Report:
    check_destination(path)
    content = make()
    size = write_whole(path, _pieces(compilation, content), "the report")
    return Report(path, size, content.mapping)


def encode_report(kernel: Compiled | Compilation) -> bytes:
    """The page that `write_report` writes."""
    compilation = kernel if isinstance(kernel, Compilation) else kernel.compilation
    return b"".join(_pieces(compilation, content_of(compilation)))


def _pieces(compilation: Compilation, content: Content) -> Iterator[bytes]:
    yield page.head(title(compilation), summary(compilation, content.mapping))
    for chunk in content.chunks:
        yield chunk.element()
    yield b"</body>\n</html>\n"
