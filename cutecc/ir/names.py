"""Names of operations, and of all operations of a dialect: `arith.addi`, `cute.*`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from cutecc.errors import UsageError

_NAME = re.compile(r"[^.*\s]+\.(?:\*|[^*\s]+)")


def check_names(names: Iterable[str], *, dialects: bool = True) -> None:
    """Raise `UsageError` for a name that no operation can have, such as `arith` or `*`, and where no whole `dialects`
    can be named, for `cute.*`."""
    for name in names:
        if not _NAME.fullmatch(name) or (name.endswith("*") and not dialects):
            whole = ", or dialect.* for a whole dialect" if dialects else ""
            raise UsageError(f"no operation is called '{name}'", hints=[f"say dialect.operation{whole}"])


def matcher(names: tuple[str, ...]) -> Callable[[str], bool]:
    """A test for operation names: one of `names`, where `cute.*` is every operation of a dialect; without any, all."""
    exact = {name for name in names if not name.endswith(".*")}
    dialects = tuple(name[:-1] for name in names if name.endswith(".*"))
    if exact and not dialects:
        # Asked of every operation of a module, by most passes: without a call of Python's.
        return exact.__contains__
    return lambda name: not names or name in exact or (bool(dialects) and name.startswith(dialects))
