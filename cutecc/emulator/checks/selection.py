"""Which checks are asked for."""

from __future__ import annotations

from typing import Literal, get_args

from cutecc.errors import UsageError
from cutecc.support.spelling import did_you_mean

CheckName = Literal[
    "bounds", "initialisation", "races", "proxies", "barriers", "accumulators", "layouts", "tensor-fences"
]
CHECK_NAMES: tuple[CheckName, ...] = get_args(CheckName)
ALL: frozenset[CheckName] = frozenset(CHECK_NAMES) - {"tensor-fences"}
"""What `all` names. The other one finds what the manual asks for, and kernels that work leave out."""

ALWAYS: frozenset[CheckName] = frozenset({"bounds", "barriers"})
"""Made by the memory and the barriers themselves, whatever is asked for."""


def parse_checks(wanted: str | bool) -> frozenset[CheckName]:
    """The checks that a text (`all`, `races,proxies`) or a flag names; those that are always made come with any.

    Raises `UsageError` for a name that is none.
    """
    if isinstance(wanted, bool):
        return ALL if wanted else frozenset()
    names = {name.strip() for name in wanted.split(",") if name.strip()}
    unknown = sorted(names - {"all", *CHECK_NAMES})
    if unknown:
        known = ("all", *CHECK_NAMES)
        hints = [*did_you_mean(unknown[0], known), f"checks are: {', '.join(known)}"]
        raise UsageError(f"there is no check '{unknown[0]}'", hints=hints)
    chosen: frozenset[CheckName] = frozenset(name for name in CHECK_NAMES if name in names)
    if "all" in names:
        return ALL | chosen
    return ALWAYS | chosen if chosen else chosen
