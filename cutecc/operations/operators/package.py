"""The boundary to nvidia-cutlass-operators, which is untyped: the one place that imports it, and what is used of it."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Generator
from importlib import metadata
from typing import Any

from cutecc.errors import UsageError
from cutecc.frontend import dsl

PACKAGE = "nvidia-cutlass-operators"
OLDEST = (0, 3)
"""The oldest version whose operators are known here."""
_INSTALL = "pip install 'cutecc[operators]'"


def installed_version() -> str:
    """The version of the package; `UsageError` when there is none, or an older one than `OLDEST`."""
    try:
        version = metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        raise UsageError(f"{PACKAGE} is not installed", hints=[_INSTALL]) from None
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        raise UsageError(f"{PACKAGE} {version} is too old: cutecc needs {'.'.join(map(str, OLDEST))}", hints=[_INSTALL])
    return version


@contextlib.contextmanager
def _explained() -> Generator[None]:
    """`UsageError` where the package cannot be imported, by the first failure: the package tells only the last."""
    try:
        yield
    except ImportError as error:
        first: BaseException = error
        while cause := first.__cause__ or first.__context__:
            first = cause
        package = f"{PACKAGE} {metadata.version(PACKAGE)}"
        if isinstance(first, ModuleNotFoundError) and first.name:
            message = f"{package} needs {first.name.partition('.')[0]}, which is not installed"
        else:
            message = f"{package} cannot be imported: {type(first).__name__}: {first}"
        raise UsageError(message, hints=[_INSTALL]) from error


installed_version()
cutlass: Any = dsl.cutlass()
with dsl.keep_excepthook(), _explained():
    ops: Any = importlib.import_module("cutlass.operators")
    _metadata: Any = importlib.import_module("cutlass.operators.metadata")
    mma: Any = importlib.import_module("cutlass.operators.mma")
    CuteDslOperator: Any = importlib.import_module("cutlass.operators.providers.cutedsl.operator").CuteDslOperator
    TensorWrapper: Any = importlib.import_module("cutlass.operators.utils.tensor").TensorWrapper
    HardwareInfo: Any = importlib.import_module("cutlass.utils").HardwareInfo

BLASDesignMetadata: Any = _metadata.BLASDesignMetadata
DenseTensorConstraints: Any = _metadata.DenseTensorConstraints
GemmOperandsMetadata: Any = _metadata.GemmOperandsMetadata
