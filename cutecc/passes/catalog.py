"""Everything there is to say about the passes that can be run here."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import textwrap
from dataclasses import dataclass

from cutecc.errors import Error
from cutecc.passes import plugins
from cutecc.passes.base import Pass
from cutecc.passes.lookup import registered_passes
from cutecc.passes.nesting import described_operations, nested_in
from cutecc.passes.nvidia.descriptions import OPTION_DOCS, OTHER_REGISTERED
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.passes.options import option_text
from cutecc.passes.registrations import origin
from cutecc.passes.summaries import summary_of
from cutecc.passes.wheel import WheelPass
from cutecc.record import Provider


@dataclass(frozen=True)
class OptionEntry:
    """One option of a pass."""

    name: str
    default: str
    summary: str


@dataclass(frozen=True)
class PassEntry:
    """One pass."""

    name: str
    provider: Provider
    summary: str
    options: tuple[OptionEntry, ...]
    runs_on: str = ""
    """Which operations, where that is known."""
    pipelines: tuple[str, ...] = ()
    """The named pipelines that run it."""
    origin: str = ""
    """Of a plugin's: the file or package that it comes from."""
    atoms: tuple[tuple[str, str], ...] = ()
    """Of the pass that goes by rows: sort and kind of each atom that has one, with the origin of a row from outside."""


def catalog_and_failures() -> tuple[list[PassEntry], list[Error]]:
    """All passes, and why plugins could not be loaded."""
    return catalog(), plugins.failures()


def catalog() -> list[PassEntry]:
    """All passes, by name. Needs the wheel, for the passes of its pipeline and their options."""
    entries: dict[str, PassEntry] = {
        name: PassEntry(name, "wheel", summary, ()) for name, summary in OTHER_REGISTERED.items()
    }
    for pass_ in _pipeline_passes():
        if isinstance(pass_, WheelPass) and not entries.get(pass_.name, PassEntry("", "wheel", "", ())).pipelines:
            docs = OPTION_DOCS.get(pass_.name, {})
            options = tuple(OptionEntry(name, value, docs.get(name, "")) for name, value in pass_.options)
            runs_on = nested_in(pass_.anchors)
            entries[pass_.name] = PassEntry(pass_.name, "wheel", summary_of(pass_), options, runs_on, ("nvidia",))
    in_pipeline = {pass_.name for pass_ in _pipeline_passes()}
    for name, pass_class in registered_passes().items():
        pipelines = ("nvidia",) if name in in_pipeline else ()
        entries[name] = PassEntry(
            name,
            pass_class.provider,
            pass_class.summary(),
            _options(pass_class),
            described_operations(pass_class),
            pipelines,
            origin(pass_class) if pass_class.provider == "plugin" else "",
            _atoms() if name == "lower-atoms" else (),
        )
    return [entries[name] for name in sorted(entries)]


def _atoms() -> tuple[tuple[str, str], ...]:
    from cutecc.passes.lowering.atoms.registry import all_rows

    rows = ((what, kind, row.origin) for what, kind, row in all_rows())
    return tuple((what, kind if origin == "cutecc" else f"{kind} (plugin: {origin})") for what, kind, origin in rows)


@functools.cache
def _pipeline_passes() -> tuple[Pass, ...]:
    # Plain passes first: where a pass occurs several times, the ordinary pipeline's is the one to show.
    plain = nvidia_pipeline("sm_90a").passes
    return (*plain, *nvidia_pipeline("sm_90a", WheelOptions(preserve_line_info=True), lir=True, pyir=True).passes)


def _options(pass_class: type[Pass]) -> tuple[OptionEntry, ...]:
    summaries = _field_docstrings(pass_class)
    return tuple(
        OptionEntry(
            field.name.replace("_", "-"),
            "" if field.default is dataclasses.MISSING else option_text(field.default),
            summaries.get(field.name, ""),
        )
        for field in dataclasses.fields(pass_class)
    )


def _field_docstrings(pass_class: type[Pass]) -> dict[str, str]:
    """The docstring below each field, which Python itself throws away."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(pass_class)))
    except (OSError, TypeError, SyntaxError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    found: dict[str, str] = {}
    for field, after in itertools.pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and isinstance(after.value.value, str)
        ):
            found[field.target.id] = " ".join(after.value.value.split())
    return found
