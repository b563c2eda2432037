"""Loading the MLIR bindings that ship in the nvidia-cutlass-dsl wheel, without the DSL around them.

The whole DSL takes a second to import; the bindings alone, `cutlass._mlir`, a tenth. They live inside the package
`cutlass`, whose import is the import of the DSL, and the native code looks up `cutlass._mlir` modules by name as it
goes. So a deferred package stands in for `cutlass`: it lets the bindings find each other, and becomes the real package,
in place, the moment anybody asks it for something of its own.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from typing import Any

from cutecc.errors import UnsupportedVersionError
from cutecc.ir.interrupts import held
from cutecc.support.flavours import LIBRARY
from cutecc.support.forks import SettledLock

_PACKAGE = "cutlass"
_POPULATED = "_cutecc_populated"
_OF_THE_PACKAGE = ("__path__", "__all__", "__version__")
"""Names of this form that the import system and users ask a package for. Debuggers and test tools ask all
modules for others, and the DSL that would then be imported has its casters, which corrupt memory while IR is walked."""
_lock = SettledLock("importing the MLIR bindings")


def load() -> Any:
    """The native module behind the bindings, with its dialects registered.

    Raises `UnsupportedVersionError` when nvidia-cutlass-dsl is missing or of an unknown version, or does not load.
    """
    loaded = sys.modules.get(LIBRARY)
    if loaded is not None and hasattr(loaded, _POPULATED):
        return loaded
    # Half of an import cannot be done again: dialects are registered once.
    with _lock, held():
        loaded = sys.modules.get(LIBRARY)
        if loaded is not None and hasattr(loaded, _POPULATED):
            return loaded
        deferred = None
        if _PACKAGE not in sys.modules:
            deferred = sys.modules[_PACKAGE] = _DeferredPackage(_package_spec())
        try:
            library: Any = importlib.import_module(LIBRARY)
            # Until `populate` has run, every access to a type goes through a search that is about 100 times slower.
            library.populate(library)
            setattr(library, _POPULATED, True)
            importlib.import_module("cutlass._mlir.ir")
        except ModuleNotFoundError as failure:
            if deferred is not None:
                del sys.modules[_PACKAGE]
            if not (failure.name or "").startswith(_PACKAGE):
                raise
            raise _another_package(sys.modules.get(_PACKAGE, deferred)) from None
        except (ImportError, AttributeError, RuntimeError) as failure:
            if deferred is not None:
                del sys.modules[_PACKAGE]
            message = f"the MLIR bindings of nvidia-cutlass-dsl do not load: {failure}"
            raise UnsupportedVersionError(message) from failure
        finally:
            if deferred is not None and sys.modules.get(_PACKAGE) is deferred:
                _detach_namespaces()
                deferred.defer()
        return library


def load_submodule(name: str) -> Any:
    """The bindings' module `cutlass._mlir.<name>`, such as `ir` or `dialects.nvvm`."""
    load()
    return importlib.import_module(f"cutlass._mlir.{name}")


def dsl_is_imported() -> bool:
    """Whether this process has imported the DSL, by whoever's hand."""
    package = sys.modules.get(_PACKAGE)
    return package is not None and type(package) is not _DeferredPackage


class _DeferredPackage(types.ModuleType):
    """A package that is imported at the first look at anything inside it."""

    def __init__(self, spec: importlib.machinery.ModuleSpec) -> None:
        super().__init__(spec.name)
        self.__spec__, self.__loader__, self.__package__ = spec, spec.loader, spec.name
        self.__file__ = spec.origin
        self.__path__ = list(spec.submodule_search_locations or [])

    def defer(self) -> None:
        # Without a `__path__` of its own, the import of any submodule asks `__getattr__` for it.
        del self.__path__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in _OF_THE_PACKAGE:
            raise AttributeError(f"module '{_PACKAGE}' has no attribute '{name}'")
        with _lock, held():
            if type(self) is _DeferredPackage:
                spec = self.__spec__
                assert spec is not None
                assert spec.loader is not None
                real = importlib.util.module_from_spec(spec)
                self.__class__ = types.ModuleType  # pyright: ignore[reportAttributeAccessIssue]
                self.__dict__.update(real.__dict__)
                try:
                    spec.loader.exec_module(self)
                except BaseException:
                    # As with any failed import: the next attempt starts over.
                    if sys.modules.get(_PACKAGE) is self:
                        del sys.modules[_PACKAGE]
                    raise
                if name == "__path__":
                    sys.meta_path.insert(0, _OnceImported())
        return getattr(self, name)


class _OnceImported(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a submodule that the deferred package has brought with it to the import statement that asked for it first.

    The statement looks at `sys.modules` before it asks the package for its path, and not again: it would run the
    submodule a second time. It is asked once, by that statement.
    """

    def find_spec(
        self, name: str, path: object = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        sys.meta_path.remove(self)
        # With a target it is a reload.
        if target is not None or not name.startswith(f"{_PACKAGE}.") or name not in sys.modules:
            return None
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        found = sys.modules[spec.name]
        spec.loader_state = found.__spec__
        return found

    def exec_module(self, module: types.ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def _detach_namespaces() -> None:
    # `cutlass._mlir` and its folders are namespace packages, whose `__path__` is worked out from the parent's at each
    # import; a plain list of folders leaves the parent alone.
    for name, module in list(sys.modules.items()):
        if name.startswith("cutlass._mlir") and hasattr(module, "__path__"):
            module.__path__ = list(module.__path__)


def _package_spec() -> importlib.machinery.ModuleSpec:
    from cutecc.ir.version import installed_release

    installed_release()
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None:
        raise UnsupportedVersionError(
            "nvidia-cutlass-dsl is installed, but its package 'cutlass' cannot be found",
            hints=["reinstall it: pip install --force-reinstall nvidia-cutlass-dsl"],
        )
    return spec


def _another_package(found: types.ModuleType | None) -> UnsupportedVersionError:
    place = getattr(getattr(found, "__spec__", None), "origin", None) or "somebody else's"
    return UnsupportedVersionError(
        f"the module 'cutlass' here is {place}, not that of nvidia-cutlass-dsl, which has the MLIR bindings",
        hints=["give the other one another name, or put it behind the wheel's in sys.path"],
    )
