"""Which analyses there are, and which of them are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cutecc.errors import UsageError
from cutecc.passes import lookup
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.of_records import RECORD_ANALYSES, RecordAnalysis
from cutecc.support.spelling import did_you_mean

ALL = "all"


@dataclass(frozen=True)
class Selection:
    """Analyses to run."""

    passes: tuple[AnalysisPass, ...] = ()
    """Those that look at the module."""
    of_records: tuple[RecordAnalysis, ...] = ()
    """Those that look at the finished code."""
    named: frozenset[str] = frozenset()
    """Of those, which were asked for by name."""

    def __bool__(self) -> bool:
        return bool(self.passes) or bool(self.of_records)

    @property
    def names(self) -> list[str]:
        """The names, in the order of the analyses' runs."""
        return [each.name for each in (*self.passes, *self.of_records)]


def select(texts: Sequence[str]) -> Selection:
    """The analyses that `texts` spell, each once: names, with options in braces as in a pipeline, or `all`.

    Raises `UsageError` for a name that no analysis has.
    """
    passes: dict[str, AnalysisPass] = {}
    of_records: dict[str, RecordAnalysis] = {}
    for text in texts:
        if text == ALL:
            for kind in analysis_passes().values():
                passes.setdefault(kind.name, kind())
            of_records |= RECORD_ANALYSES
        elif text in RECORD_ANALYSES:
            of_records[text] = RECORD_ANALYSES[text]
        else:
            parsed = _parse(text)
            passes[parsed.name] = parsed
    return Selection(tuple(passes.values()), tuple(of_records.values()), frozenset(texts) & of_records.keys())


def analysis_passes() -> dict[str, type[AnalysisPass]]:
    """The analyses that look at modules, by name: cutecc's own, those of files that the user named, and plugins'."""
    return {name: kind for name, kind in lookup.registered_passes().items() if issubclass(kind, AnalysisPass)}


def summaries() -> dict[str, str]:
    """Every analysis with one line."""
    found = {name: kind.summary() for name, kind in analysis_passes().items()}
    return dict(sorted((found | {name: each.summary for name, each in RECORD_ANALYSES.items()}).items()))


def check_names(names: Iterable[str], among: Iterable[str]) -> None:
    """Raise `UsageError` for the first of `names` that is no analysis."""
    known = sorted(among)
    for name in names:
        if name not in known:
            hints = [*did_you_mean(name, known), f"there are {', '.join(known)}"]
            raise UsageError(f"there is no analysis '{name}'", hints=hints)


def _parse(text: str) -> AnalysisPass:
    from cutecc.passes.pipeline import parse_pass

    name = text.partition("{")[0].strip()
    if not (kind := lookup.find_pass(name)) or not issubclass(kind, AnalysisPass):
        check_names([name], summaries())
    parsed = parse_pass(text)
    assert isinstance(parsed, AnalysisPass)
    return parsed
