"""Gathering the facts. Nothing that is missing, broken or unsupported ends it: it is a fact too."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from cutecc import __version__
from cutecc.cache.folder import CacheError, cache_folder, make_folder
from cutecc.cache.store import Store
from cutecc.config import Settings
from cutecc.doctor.checks import OLDEST, TOOLS
from cutecc.doctor.facts import Cache, Facts, Gpu, Tool
from cutecc.doctor.variables import is_of_interest
from cutecc.errors import Error, LaunchError
from cutecc.ir.version import PACKAGE, known_release
from cutecc.support.distributions import is_here
from cutecc.support.flavours import driver_version, installed_flavours

_FOLDER = Path(__file__).parents[1]
_REPORTED = (*OLDEST, "cutecc", "cutecc-runtime", "msgspec", "torch", *(package for package, _ in TOOLS.values()))
_REPORTED_PREFIXES = (PACKAGE, "nvidia-cutlass", "cuda-")
_LOADED = (".py", ".so")
"""How files end that are missed: images may do without bytecode, static libraries and licences."""
_NO_GPU = "CUDA_ERROR_NO_DEVICE"


def look(*, trial: bool = True) -> Facts:
    """The facts of this machine; `trial` compiles a kernel too, which takes some seconds."""
    whole = is_here("cutecc.driver")
    distributions = _distributions()
    packages = {name: each.version for name, each in distributions.items()}
    missing, contested = _files_of([each for name, each in distributions.items() if name.startswith(PACKAGE)])
    gpus, gpu_problem, gpu_hint = _gpus() if driver_version() else ((), None, None)
    supported = PACKAGE in packages and known_release(packages[PACKAGE]) is not None
    return Facts(
        whole=whole,
        cutecc=__version__,
        place=str(_FOLDER),
        python=sys.version_info[:3],
        interpreter=sys.executable,
        system=platform.system(),
        machine=platform.machine(),
        cache=_cache(),
        packages=packages,
        missing_files=missing,
        contested_files=contested,
        module=_module(),
        flavours=installed_flavours(),
        trial=_trial() if whole and trial and supported else None,
        driver=driver_version(),
        gpus=gpus,
        gpu_problem=gpu_problem,
        gpu_hint=gpu_hint,
        tools=_tools() if whole else {},
        llvm=_llvm() if "llvmlite" in packages else None,
        variables={name: value for name, value in sorted(os.environ.items()) if is_of_interest(name)},
    )


def _distributions() -> dict[str, metadata.Distribution]:
    """What is installed of interest, by name; of two of one name, the first in `sys.path`."""
    found: dict[str, metadata.Distribution] = {}
    for each in metadata.distributions():
        name, version = _name_and_version(each)
        if version and (name in _REPORTED or name.startswith(_REPORTED_PREFIXES)):
            found.setdefault(name, each)
    return dict(sorted(found.items()))


def _name_and_version(distribution: metadata.Distribution) -> tuple[str, str]:
    try:
        told: Any = distribution.metadata
        return str(told["Name"] or "").lower().replace("_", "-"), str(told["Version"] or "")
    except (TypeError, KeyError, AttributeError, OSError, UnicodeDecodeError):  # it is damaged
        return "", ""


def _files_of(distributions: list[metadata.Distribution]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Files of these that are not there, and those that two of them have installed with different contents."""
    contents: dict[str, set[str]] = {}
    missing: list[str] = []
    for each in distributions:
        for file in each.files or ():
            path = str(file)
            if not path.endswith(_LOADED):
                continue
            if not os.path.exists(str(file.locate())):
                missing.append(path)
            elif file.hash:
                contents.setdefault(path, set()).add(file.hash.value)
    return tuple(missing), tuple(path for path, hashes in contents.items() if len(hashes) > 1)


def _module() -> str | None:
    try:
        spec = importlib.util.find_spec("cutlass")
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    return spec.origin or next(iter(spec.submodule_search_locations or ()), None)


def _trial() -> str:
    """Why a kernel does not compile; empty where it does."""
    from cutecc.doctor.trial import compile_one

    return compile_one()


def _gpus() -> tuple[tuple[Gpu, ...], str | None, str | None]:
    """The GPUs that the driver sees, or why they cannot be used and what to do."""
    from cutecc.runtime.cuda_bindings import cuda_driver
    from cutecc.runtime.device import CudaDevice

    try:
        driver = cuda_driver()
        devices = [CudaDevice(driver, ordinal) for ordinal in range(driver.device_count())]
        return tuple(Gpu(driver.device_name(each.ordinal), each.capability) for each in devices), None, None
    except LaunchError as error:
        hint = error.hints[0] if error.hints else None
        return (), None if _NO_GPU in error.message else error.message, hint


def _tools() -> dict[str, Tool]:
    from cutecc.backend.tools import ToolName, find_tool, tool_version

    def found(name: ToolName) -> Tool:
        try:
            tool = find_tool(name)
            return Tool(tool_version(tool), None if tool.origin == "package" else str(tool.path))
        except Error as error:
            return Tool(problem=error.message)

    names: tuple[ToolName, ...] = ("ptxas", "nvdisasm", "cuobjdump")
    return {name: found(name) for name in names}


def _llvm() -> str:
    try:
        binding: Any = importlib.import_module("llvmlite.binding")
    except Exception:  # a library that is not there, or of another LLVM
        return ""
    return ".".join(map(str, binding.llvm_version_info))


def _cache() -> Cache:
    settings = Settings.from_environment()
    try:
        folder = cache_folder(settings)
    except CacheError as error:
        return Cache("", settings.cache, problem=error.message)
    if not settings.cache:
        return Cache(str(folder), used=False)
    try:
        make_folder(folder)
        size = sum(each.bytes for each in Store.of(settings).entries())
    except CacheError as error:
        return Cache(str(folder), used=True, problem=error.message)
    problem = None if os.access(folder, os.W_OK) else f"the cache {folder} cannot be written"
    with contextlib.suppress(OSError):
        status = os.statvfs(folder)
        if status.f_flag & os.ST_RDONLY:
            problem = f"the cache {folder} is on a file system that can only be read"
    return Cache(str(folder), True, size, settings.cache_size, problem)
