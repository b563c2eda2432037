"""Starts cutecc's recorder in a watched program once that loads the CuTe DSL, and its sampler in a profiled one once it
loads what runs kernels; is otherwise not there.

This folder is on PYTHONPATH when a program is watched or profiled, and Python imports this file as it starts: it has to
be quick, and to work in any version of Python.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # `typing` itself takes time
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_BASE = "cutlass.base_dsl.dsl"
_RUNNERS = ("torch", "cuda.bindings.driver", "cupy", "jaxlib", "triton.runtime.driver")
"""Modules that kernels are run with."""
_HERE = os.path.dirname(os.path.abspath(__file__))
_OFF = ("", "0", "false", "no", "off")
_ON = ("1", "true", "yes", "on")


def _chain() -> None:
    """Run the `sitecustomize` that Python would have found without this one."""
    # What `importlib` is made of is there already, and the rest of it takes milliseconds to import.
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _start() -> None:
    """Wait for what the environment asks for."""
    _start_watch()
    folder = os.environ.get("CUTECC_PROFILE", "").strip()
    if folder.lower() not in _OFF:
        sys.meta_path.insert(0, _Finder(_RUNNERS, lambda: _profile(folder), lambda: None))


def _start_watch() -> None:
    """Wait for the DSL, if the environment asks for it."""
    folder = os.environ.get("CUTECC_WATCH", "").strip()
    if folder.lower() in _OFF:
        return
    # Other processes of the program may run in other folders.
    folder = os.path.abspath("cutecc-watch" if folder.lower() in _ON else folder)
    os.environ["CUTECC_WATCH"] = folder
    unknown = "the CuTe DSL is loaded in an unknown way"
    sys.meta_path.insert(0, _Finder((_BASE,), lambda: _record(folder), lambda: _warn(folder, unknown)))
    if _is_of_the_watch(folder):
        # So that `cutecc watch` can tell a program without kernels from one that does not read PYTHONPATH.
        _touch(folder, ".started", os.O_CREAT)


def _is_of_the_watch(folder: str) -> bool:
    """Whether `folder` is there, and the one that `cutecc watch` has made, if it was that: no other is written to."""
    mark = os.environ.get("CUTECC_WATCH_MARK", "")
    if not mark:
        return os.path.isdir(folder)
    try:
        descriptor = os.open(os.path.join(folder, ".cutecc-watch"), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return os.read(descriptor, 1024) == mark.encode()
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _touch(folder: str, name: str, flags: int, text: str = "") -> bool:
    """Make a file with this text, if it can be; whether it was there already, where `flags` ask for a new one."""
    try:
        descriptor = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NOFOLLOW | flags, 0o644)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except FileExistsError:
        return True
    except OSError:
        pass
    return False


class _Finder:
    """Finds nothing itself; calls `begin` when the first of some modules has been loaded, or `lost` where it cannot."""

    def __init__(self, names: tuple[str, ...], begin: Callable[[], None], lost: Callable[[], None]) -> None:
        self._names = names
        self._begin = begin
        self._lost = lost
        self._finding = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._names or self._finding:
            return None
        import importlib.util

        self._finding = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._finding = False
        if spec is None or spec.loader is None:
            return spec
        if self not in sys.meta_path:  # another thread was faster
            return spec
        sys.meta_path.remove(self)
        loader = spec.loader
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            load(module)
            self._begin()

        try:
            loader.exec_module = exec_module
        except AttributeError:
            self._lost()
        return spec


def _record(folder: str) -> None:
    try:
        _import_cutecc()
        from cutecc.watching.recorder import begin

        begin(folder)
    except Exception as error:
        _warn(folder, f"{type(error).__name__}: {error}")


def _profile(folder: str) -> None:
    try:
        _import_cutecc()
        from cutecc.profiling.program import begin

        begin(folder)
    except Exception as error:
        _say(f"cutecc profile: process {os.getpid()} is not sampled: {error}")


def _import_cutecc() -> None:
    """Make `cutecc` importable, also where it is not installed, with nothing else beside it."""
    import importlib
    import importlib.util

    try:
        importlib.import_module("cutecc.watching")
    except ImportError:
        for name in [name for name in sys.modules if name == "cutecc" or name.startswith("cutecc.")]:
            del sys.modules[name]
        package = os.path.dirname(os.path.dirname(_HERE))
        spec = importlib.util.spec_from_file_location(
            "cutecc", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["cutecc"] = module
        spec.loader.exec_module(module)


def _warn(folder: str, message: str) -> None:
    """Say once for all processes of the program that nothing is recorded, and why."""
    if not os.environ.get("CUTECC_WATCH_MARK"):
        try:  # noqa: SIM105 - contextlib takes time
            os.makedirs(folder, exist_ok=True)
        except OSError:
            pass
    if _is_of_the_watch(folder) and _touch(folder, ".warned", os.O_CREAT | os.O_EXCL, message):
        return
    _say(f"cutecc watch: kernels are not recorded: {message}")


def _say(message: str) -> None:
    # A program may have no stderr, or a closed one; that is no reason to end it.
    try:  # noqa: SIM105
        sys.stderr.write(f"{message}\n")
    except (AttributeError, OSError, ValueError):
        pass


# The program sees its own path. Processes that it starts find this folder in the environment.
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
_start()
_chain()
