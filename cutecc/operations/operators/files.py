"""Python files that register operators of the user's, for the command line."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.frontend.kernel_file import run_file


def run_files(paths: Sequence[str]) -> None:
    """Run files that register operators, as a script's imports do. Raises `UsageError` and `TraceError`."""
    for path in paths:
        run_file(path)
