"""Saving a module that a rewriting failed on, as a reproducer."""

from __future__ import annotations

from cutecc.compilation import reproducing
from cutecc.compilation.versions import current_versions
from cutecc.errors import Error, PassError
from cutecc.opt.request import RewriteRequest
from cutecc.record.reproducer import Expected, Reproducer


def save(request: RewriteRequest, chunk: bytes, error: Error, expected: Expected) -> None:
    """Write `chunk`, a module of the file, with the command that fails on it, and put its path into `error`.

    Into the system's temporary folder. The command is that of the rewriting, with its whole pipeline.
    """
    options: dict[str, str | bool | int] = {"target": request.target}
    if request.pipeline:
        options["pipeline"] = reproducing.spelled(request.pipeline, request.target)
    if request.backend:
        options["backend"] = request.backend
    if request.verify_each:
        options["verify-each"] = True
    name = error.pass_name if isinstance(error, PassError) else ""
    message = error.message.partition("\n")[0]
    reproducer = Reproducer("opt", options, expected, name, message, current_versions())
    reproducing.save_whole(chunk, reproducer, error, load=reproducing.named_files())
