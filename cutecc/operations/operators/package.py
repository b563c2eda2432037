"""The boundary to nvidia-cutlass-operators, which is untyped: the one place that imports it, and what is used of it."""

from __future__ import annotations

import importlib
import re
from importlib import metadata
from typing import Any

from cutecc.errors import UsageError
from cutecc.frontend import dsl

PACKAGE = "nvidia-cutlass-operators"
OLDEST = (0, 3)
"""The oldest version whose operators are known here."""


def installed_version() -> str:
    """The version of the package; `UsageError` when there is none, or an older one than `OLDEST`."""
    hints = ["pip install 'cutecc[operators]'"]
    try:
        version = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        raise UsageError(f"{PACKAGE} is not installed", hints=hints) from None
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        raise UsageError(f"{PACKAGE} {version} is too old: cutecc needs {'.'.join(map(str, OLDEST))}", hints=hints)
    return version


installed_version()
cutlass: Any = dsl.cutlass()
with dsl.keep_excepthook():
    ops: Any = importlib.import_module("cutlass.operators")
    _metadata: Any = importlib.import_module("cutlass.operators.metadata")
    mma: Any = importlib.import_module("cutlass.operators.mma")
    CuteDslOperator: Any = importlib.import_module("cutlass.operators.providers.cutedsl.operator").CuteDslOperator
    TensorWrapper: Any = importlib.import_module("cutlass.operators.utils.tensor").TensorWrapper
    HardwareInfo: Any = importlib.import_module("cutlass.utils").HardwareInfo

BLASDesignMetadata: Any = _metadata.BLASDesignMetadata
DenseTensorConstraints: Any = _metadata.DenseTensorConstraints
GemmOperandsMetadata: Any = _metadata.GemmOperandsMetadata
