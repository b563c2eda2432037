"""Which nvidia-cutlass-dsl is installed, and whether cutecc knows it."""

from __future__ import annotations

import functools
import warnings
from importlib import metadata

from cutecc.errors import UnsupportedVersionError

PACKAGE = "nvidia-cutlass-dsl"
SUPPORTED = "4.8"


@functools.cache
def installed_version() -> str:
    """The version of the installed nvidia-cutlass-dsl; `UnsupportedVersionError` when there is none."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        raise UnsupportedVersionError(
            f"{PACKAGE} is not installed", hints=[f"pip install '{PACKAGE}=={SUPPORTED}.*'"]
        ) from None


@functools.cache
def check_supported_version() -> None:
    """Accept `SUPPORTED`, warn about other 4.x, and refuse everything else with `UnsupportedVersionError`."""
    version = installed_version()
    if version.startswith(f"{SUPPORTED}."):
        return
    hints = [f"pip install '{PACKAGE}=={SUPPORTED}.*'"]
    if not version.startswith("4."):
        raise UnsupportedVersionError(f"{PACKAGE} {version} is not supported: cutecc needs {SUPPORTED}", hints=hints)
    warnings.warn(
        f"{PACKAGE} {version} is not the version that cutecc is tested with ({SUPPORTED}); "
        "passes may have changed their names and options",
        stacklevel=2,
    )
