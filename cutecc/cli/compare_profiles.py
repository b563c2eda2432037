"""`cutecc compare` of two profiles."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from cutecc.cli.paging import in_colour, show, width
from cutecc.cli.profile_pair_text import differs, profile_pair_lines
from cutecc.errors import UsageError
from cutecc.report.profile_file import read_profiles
from cutecc.report.profile_pair import ProfilePair, compare_profiles

_TOP = 12
"""Lines of each kernel that are told without being asked for more."""
_UNLIMITED = 1 << 16
_OF_RECORDS = {
    **{name: name for name in ("target", "stage", "function", "run", "device", "tolerance", "report", "profile")},
    **{"sizes": "size", "args": "arg", "no_time": "no-time"},
}
"""Options that are for records, by the names of their values."""


def are_profiles(a: Path, b: Path) -> bool:
    """Whether both are files that `cutecc profile --json` may have written. Raises `UsageError` where only one is."""
    found = [path.suffix == ".json" and not path.is_dir() for path in (a, b)]
    if any(found) and not all(found):
        raise UsageError(
            f"{a} and {b}: one is a profile, the other a record",
            hints=["two profiles are compared with each other; with --report, --profile adds them to two records"],
        )
    return all(found)


def compare_files(a: Path, b: Path, values: dict[str, Any]) -> bool:
    """Print two profiles side by side; whether a line costs something else. Raises `UsageError`."""
    for name, option in _OF_RECORDS.items():
        if values[name]:
            raise UsageError(f"--{option} is for two records, and these are profiles")
    profiles = read_profiles(a), read_profiles(b)
    for path, found in zip((a, b), profiles, strict=True):
        if not any(each.kernels for each in found):
            raise UsageError(f"{path} has no samples to compare: it is a timeline alone, or nothing was sampled")
    pair = compare_profiles(*profiles, (str(a), str(b)))
    if values["as_json"]:
        click.echo(msgspec.json.format(msgspec.json.encode({"differs": differs(pair), **_dict(pair)})).decode())
        return differs(pair)
    columns = width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else _UNLIMITED
    lines = profile_pair_lines(pair, top=None if values["verbose"] else _TOP, width=columns)
    show(lines, colour=in_colour(values["colour"]), pager=not values["no_pager"])
    return differs(pair)


def _dict(pair: ProfilePair) -> dict[str, Any]:
    return msgspec.structs.asdict(pair)
