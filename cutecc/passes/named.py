"""The names of the named pipelines."""

from __future__ import annotations

from collections.abc import Collection

from cutecc.errors import UsageError
from cutecc.support.spelling import did_you_mean

NAMED = {
    "nvidia": "the installed wheel's own pipeline, each pass on its own",
    "open": "an open lowering, in Python, and code by LLVM",
}
"""Each named pipeline and what it is."""


def unknown_pipeline(name: str, known: Collection[str]) -> UsageError:
    """The error that none of the `known` pipelines is called `name`."""
    hints = [*did_you_mean(name, known), f"named pipelines: {', '.join(known)}"]
    return UsageError(f"no pipeline is called '{name}'", hints=hints)
