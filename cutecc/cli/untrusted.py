"""Kernels of unknown origin."""

from __future__ import annotations

from typing import Any

from cutecc.cli.files import is_record
from cutecc.errors import UsageError


def prepare_untrusted(text: str, values: dict[str, Any]) -> None:
    """Begin to start what an untrusted kernel runs in, if the input `text` is one; imports meanwhile cost nothing.

    Raises `UsageError` for a program, which compiling runs.
    """
    if not values["untrusted"]:
        return
    if not is_record(text):
        raise UsageError(
            f"--untrusted is for bundles, and compiling {text} runs it",
            hints=["read it first, or run all of cutecc in a container"],
        )
    from cutecc.emulator.untrusted.confinement import confinement

    confinement.start()
