"""The boundary to the CuTe DSL: the one place that imports it. The DSL is untyped, so what comes from here is `Any`."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Generator
from typing import Any

from cutecc.arguments.dtypes import NumericType
from cutecc.ir.interrupts import held
from cutecc.ir.version import installed_release
from cutecc.target import Target

_ARCH_VARIABLES = ("CUTE_DSL_ARCH", "CUTE_EXPERIMENTAL_DSL_ARCH")


@functools.cache
def cutlass() -> Any:
    """The package `cutlass`, with `cute` and `compiler` in it. Takes a second or two the first time.

    Raises `UnsupportedVersionError` when nvidia-cutlass-dsl is missing or of an unknown version.
    """
    installed_release()
    # Half of an import cannot be done again: dialects are registered once.
    with held(), keep_excepthook():
        package: Any = importlib.import_module("cutlass")
        importlib.import_module("cutlass.cute")
        importlib.import_module("cutlass.compiler")
        importlib.import_module("cutlass.runtime")
    return package


def cute() -> Any:
    """The package `cutlass.cute`."""
    return cutlass().cute


def numeric_class(dtype: NumericType) -> Any:
    """The DSL's class for `dtype`."""
    package = cutlass()
    # The packed types are only in `cute.typing`.
    return getattr(package, dtype.dsl_name, None) or getattr(package.cute.typing, dtype.dsl_name)


@contextlib.contextmanager
def keep_excepthook() -> Generator[None]:
    """Importing the DSL replaces `sys.excepthook`, which prints uncaught errors: put it back."""
    hook = sys.excepthook
    try:
        yield
    finally:
        sys.excepthook = hook


@contextlib.contextmanager
def targeting(target: Target) -> Generator[None]:
    """Makes the DSL trace for `target`, and puts everything back.

    Each singleton of the DSL reads an environment variable when it is made and keeps the answer, so both change.
    """
    singletons = _singletons()
    before: dict[Any, Any] = {
        key: vars(singleton.envar)[_arch_field(singleton)] for key, singleton in singletons.items()
    }
    with _environment(dict.fromkeys(_ARCH_VARIABLES, target.name)):
        for singleton in singletons.values():
            singleton.envar.arch = target.name
        try:
            yield
        finally:
            for key, arch in before.items():
                setattr(singletons[key].envar, _arch_field(singletons[key]), arch)
    for key, singleton in singletons.items():
        if key not in before:
            _read_arch_again(singleton.envar)


def _arch_field(singleton: Any) -> str:
    # In 4.6.0 a plain attribute; later a property, which finds the chip when it is first asked, and keeps it here.
    return "_arch" if "_arch" in vars(singleton.envar) else "arch"


def _read_arch_again(envar: Any) -> None:
    if "_arch" in vars(envar):
        del envar.arch
    else:
        envar.arch = type(envar)(envar.prefix).arch


@contextlib.contextmanager
def _environment(variables: dict[str, str]) -> Generator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def reset_after_failure() -> None:
    """Clears what a trace that failed early leaves in the DSL: compile options and the decorator's location."""
    for singleton in _singletons().values():
        singleton.post_compilation_cleanup()


def _singletons() -> dict[Any, Any]:
    """The DSL's compilers made so far, `CuTeDSL` and the experimental one."""
    return importlib.import_module("cutlass.base_dsl.dsl").DSLSingletonMeta._instances
