"""Which nvidia-cutlass-dsl is installed, and whether cutecc knows it."""

from __future__ import annotations

import functools
import re
import warnings
from importlib import metadata

from cutecc.errors import UnsupportedVersionError
from cutecc.ir.releases import RELEASES, Release
from cutecc.support.flavours import flavour

PACKAGE = "nvidia-cutlass-dsl"
_OLDEST, _NEWEST = RELEASES[0], RELEASES[-1]


@functools.cache
def installed_version() -> str:
    """The version of the installed nvidia-cutlass-dsl; `UnsupportedVersionError` when there is none."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        raise UnsupportedVersionError(f"{PACKAGE} is not installed", hints=[INSTALL]) from None


def installed_wheel() -> str:
    """The installed nvidia-cutlass-dsl by version and flavour, `4.8.1 cu12`; `UnsupportedVersionError` without one."""
    return f"{installed_version()} {flavour()}".rstrip()


@functools.cache
def installed_release() -> Release:
    """The release that is installed; of one newer than all that cutecc knows, the newest.

    Warns of a newer one. Raises `UnsupportedVersionError` for those older than all that it knows, and for another major
    version.
    """
    version = installed_version()
    release = known_release(version)
    if release is None:
        message = f"{PACKAGE} {version} is not supported: cutecc needs {_OLDEST.version} to {_NEWEST.version}"
        raise UnsupportedVersionError(message, hints=[INSTALL])
    if is_unknown(version):
        warnings.warn(f"{PACKAGE} {version} {UNKNOWN}", stacklevel=2)
    return release


INSTALL = f"pip install '{PACKAGE}=={_NEWEST.version}.*'"
"""The command that installs the newest release that cutecc knows."""
UNKNOWN = f"is newer than all that cutecc knows ({_NEWEST.version}): passes may have changed their names and options"
"""What is said of such a version."""


def is_unknown(version: str) -> bool:
    """Whether a version is newer than all that cutecc knows."""
    return version_numbers(version) > version_numbers(_NEWEST.version)


def known_release(version: str) -> Release | None:
    """The release that a version is of, the newest for one newer than all that cutecc knows.

    `None` for what it does not support: older ones, and another major version.
    """
    numbers = version_numbers(version)
    if numbers < version_numbers(_OLDEST.version) or numbers[:1] != version_numbers(_NEWEST.version)[:1]:
        return None
    return next((each for each in RELEASES if version_numbers(each.version) == numbers), _NEWEST)


def version_numbers(version: str) -> tuple[int, ...]:
    """Major and minor, also of a candidate such as `4.9rc1`; nothing where the text does not begin with them."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return tuple(map(int, found.groups())) if found else ()
