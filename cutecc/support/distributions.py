"""What to install for what is missing: `cutecc-runtime` launches what is compiled, `cutecc` has everything.

pyproject.toml says which module is in which of the two, and what the extras of `cutecc-runtime` install.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from cutecc.errors import NotInstalledError

OLDEST_PYTHON = (3, 11)
"""That both need."""
OF_EXTRAS = frozenset({"click", "numpy", "rich", "llvmlite"})
"""The packages that `cutecc-runtime` does without, unless an extra of it is installed."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ALONE = "only cutecc-runtime is installed here"


def is_here(module: str) -> bool:
    """Whether a module of cutecc's is installed. Imports nothing."""
    path = os.path.join(_PACKAGE, *module.split(".")[1:])
    return os.path.isfile(f"{path}.py") or os.path.isdir(path)


def refuse_module(name: str) -> NoReturn:
    """Raise the `NotInstalledError` for a module of cutecc's that nobody finds, where the distribution is missing."""
    raise _error(f"{name} is in the distribution cutecc, and {_ALONE}", "pip install cutecc", name)


@contextmanager
def needed_by(what: str, extra: str) -> Generator[None]:
    """Has a module that is not installed be missed by `what`: raises `NotInstalledError`, which says how to install it.

    `extra` is that of `cutecc-runtime` with all that `what` needs. Another missing module is a `ModuleNotFoundError`.
    """
    try:
        yield
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if isinstance(missing, NotInstalledError) and package == "cutecc":
            raise _error(f"{what} needs the distribution cutecc, and {_ALONE}", "pip install cutecc") from None
        if package in OF_EXTRAS:
            message = f"{what} needs {package}, which is not installed here"
            raise _error(message, f"pip install 'cutecc-runtime[{extra}]'") from None
        raise


def _error(message: str, hint: str, module: str | None = None) -> NotInstalledError:
    error = NotInstalledError(message, hints=[hint])
    error.name = module
    return error
