"""What stands in the text of an option: names separated by commas, and `NAME=SPEC`."""

from __future__ import annotations

from cutecc.errors import UsageError


def split_names(values: tuple[str, ...]) -> tuple[str, ...]:
    """The names of an option that takes a comma-separated list and may be given several times."""
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def split_arg(text: str) -> tuple[str, str]:
    """The parameter and the spec in `NAME=SPEC`; `UsageError` for anything else."""
    name, equals, spec = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise UsageError(f"--arg takes NAME=SPEC, not '{text}'", hints=["for example --arg a='f16[?,?{div=8}]'"])
    return name.strip(), spec.strip()
