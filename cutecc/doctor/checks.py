"""The checks of `cutecc doctor`, a short function each: from the facts to what is said of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from cutecc.config import size_text
from cutecc.doctor.facts import Facts
from cutecc.doctor.finding import Finding, fix, note, ok
from cutecc.doctor.variables import MEANINGS
from cutecc.ir.releases import RELEASES
from cutecc.ir.version import INSTALL, PACKAGE, UNKNOWN, is_unknown, known_release, version_numbers
from cutecc.support.distributions import OLDEST_PYTHON
from cutecc.support.flavours import chosen, cuda_major
from cutecc.target import known_targets, native_target

OLDEST: Mapping[str, str] = {"cuda-bindings": "13.0", "llvmlite": "0.50", "numpy": "1.26"}
"""The oldest version of packages that `cutecc doctor` itself does without, as pyproject.toml has them."""
TOOLS: Mapping[str, tuple[str, str]] = {
    "ptxas": ("nvidia-cuda-nvcc", "assembles what LLVM generates"),
    "nvdisasm": ("nvidia-cuda-nvdisasm", "prints machine code"),
    "cuobjdump": ("nvidia-cuda-cuobjdump", "tells what kernels take"),
}
"""Programs of the CUDA toolkit: their packages, and what they are for."""
_OLDEST_TOOLS = (13, 0)
_OLDEST_DRIVER = 12
"""The major version of CUDA whose driver can launch what cutecc compiles."""
_PARTS = (f"{PACKAGE}-libs-core", f"{PACKAGE}-libs-base")
"""What every release that cutecc knows consists of, besides a library for each flavour."""
_NOT_NEEDED = "not installed, and not needed to launch what is compiled"
_EMULATED = "kernels run on the emulator"
_LONGEST_VALUE = 60
"""Characters of a variable that are shown."""


def python(facts: Facts) -> Iterator[Finding]:
    """The interpreter and the machine."""
    version = _dotted(facts.python)
    if facts.python < OLDEST_PYTHON:
        yield fix("python", version, f"make an environment with Python {_dotted(OLDEST_PYTHON)} or newer")
    elif facts.system != "Linux":
        yield fix("python", f"{version} on {facts.system}", "use Linux, in WSL or a container too")
    elif facts.machine != "x86_64":
        yield note("python", f"{version} on {facts.system} {facts.machine}, where cutecc is not tested")
    else:
        yield ok("python", f"{version}, {facts.interpreter}")


def cutecc(facts: Facts) -> Iterator[Finding]:
    """Which cutecc this is."""
    alone = "" if facts.whole else "; cutecc-runtime alone, which loads, launches and emulates what is compiled"
    yield ok("cutecc", f"{facts.cutecc}, {facts.place}{alone}")


def wheel(facts: Facts) -> Iterator[Finding]:
    """The release of the wheel, and what is built into the flavour of it that is used."""
    version = facts.packages.get(PACKAGE)
    if version is None:
        yield fix("wheel", f"{PACKAGE} is not installed", INSTALL) if facts.whole else ok("wheel", _NOT_NEEDED)
        return
    name = chosen(facts.flavours, facts.driver)
    shown = f"{PACKAGE} {version} {name}".rstrip()
    oldest, newest = RELEASES[0].version, RELEASES[-1].version
    release = known_release(version)
    built = known_release(_parts(facts).get(f"{PACKAGE}-libs-{name}", version))
    if release is None:
        yield fix("wheel", f"{shown} is not supported: cutecc needs {oldest} to {newest}", INSTALL)
    elif is_unknown(version):
        yield note("wheel", f"{shown} {UNKNOWN}", f"where something fails, {INSTALL}")
    elif built and (flavour := built.flavour(name)):
        parts = f"libNVVM of CUDA {built.libnvvm}, ptxas of CUDA {flavour.toolkit}, PTX {flavour.ptx}"
        yield ok("wheel", f"{shown}: {parts}")
    else:
        yield ok("wheel", shown)


def module(facts: Facts) -> Iterator[Finding]:
    """That `import cutlass` finds the wheel's package, and no other of that name."""
    if PACKAGE not in facts.packages or facts.flavours:
        return
    if facts.module is None:
        yield fix("import", "'import cutlass' finds nothing, though the wheel is installed", _reinstall(facts))
    elif "nvidia_cutlass_dsl" not in facts.module:
        another = f"'import cutlass' finds {facts.module}, which is not {PACKAGE}'s"
        yield fix("import", another, "rename it, or put it behind the wheel's in PYTHONPATH and sys.path")


def libraries(facts: Facts) -> Iterator[Finding]:
    """The distributions that the wheel consists of: all there, of its version, whole, and none with another's files."""
    version, parts = facts.packages.get(PACKAGE), _parts(facts)
    if version is None:
        if parts:
            yield fix("libraries", f"{_listed(parts)} without {PACKAGE}", f"pip uninstall {' '.join(parts)}")
        return
    if others := {name: each for name, each in parts.items() if each != version}:
        mixed = f"{_listed(others)} beside {PACKAGE} {version}"
        newest = f"{PACKAGE}-libs-{chosen(facts.flavours, facts.driver)}"
        compiles = f": {parts[newest]} compiles what {version} traces" if newest in others else ""
        yield fix("libraries", mixed + compiles, _reinstall(facts))
    elif lacking := [] if is_unknown(version) else [name for name in _PARTS if name not in parts]:
        yield fix("libraries", f"{' and '.join(lacking)} missing", _reinstall(facts))
    elif facts.contested_files:
        yield fix("libraries", f"two packages have installed {_some(facts.contested_files)}", _reinstall(facts))
    elif facts.missing_files:
        yield fix("libraries", f"no longer there: {_some(facts.missing_files)}", _reinstall(facts))
    else:
        yield _flavours(facts, version)


def _flavours(facts: Facts, version: str) -> Finding:
    """That libraries are there for one CUDA at least, and what the wheel asks for."""
    if not facts.flavours:
        return fix("libraries", f"no {PACKAGE}-libs-cu12 and no {PACKAGE}-libs-cu13", _reinstall(facts))
    if "cu12" not in facts.flavours:
        alone = f"{' and '.join(facts.flavours)} of {version} without cu12, which the wheel asks for"
        return note("libraries", alone, f"where pip check shall pass: {_reinstall(facts)}")
    return ok("libraries", f"{' and '.join(facts.flavours)}, all of {version}")


def packages(facts: Facts) -> Iterator[Finding]:
    """What else Python needs: the driver's bindings, LLVM, arrays."""
    for name, oldest in OLDEST.items():
        version = facts.packages.get(name)
        do = f"pip install '{name}>={oldest}'"
        if version is None and not facts.whole and name != "cuda-bindings":
            for_it = "pip install 'cutecc-runtime[emulator]', for kernels on the CPU"
            yield note(name, _NOT_NEEDED, for_it)
        elif version is None:
            yield fix(name, "not installed", do)
        elif version_numbers(version) < version_numbers(oldest):
            yield fix(name, f"{version} is older than {oldest}", do)
        elif name != "llvmlite":
            yield ok(name, version)
        elif facts.llvm:
            yield ok(name, f"{version}, LLVM {facts.llvm}")
        else:
            yield fix(name, f"{version} does not load", f"pip install --force-reinstall '{name}>={oldest}'")


def tools(facts: Facts) -> Iterator[Finding]:
    """The programs of the CUDA toolkit."""
    if not facts.whole:
        yield ok("tools", f"{', '.join(TOOLS)} are not needed to launch what is compiled")
        return
    oldest = _dotted(_OLDEST_TOOLS)
    for name, (package, purpose) in TOOLS.items():
        tool = facts.tools[name]
        found = f"{tool.version}, {tool.path or package}"
        if tool.problem:
            do = f"pip install --force-reinstall '{package}>={oldest}'"
            yield fix(name, f"{tool.problem}; it {purpose}", do)
        elif version_numbers(tool.version) < _OLDEST_TOOLS:
            yield note(name, f"{found}, is older than {oldest}", f"pip install '{package}>={oldest}'")
        else:
            yield ok(name, found)


def driver(facts: Facts) -> Iterator[Finding]:
    """The CUDA driver, and whether it supports the wheel's flavours."""
    if facts.driver is None:
        yield note("driver", "no CUDA driver")
        return
    found = f"for CUDA {_dotted(facts.driver)}"
    unsupported = [each for each in facts.flavours if cuda_major(each) > facts.driver[0]]
    if facts.driver[0] < _OLDEST_DRIVER:
        yield fix("driver", f"{found}; launching needs CUDA 12", "update NVIDIA's driver: 525.60 is the oldest for it")
    elif not unsupported:
        yield ok("driver", found)
    elif len(unsupported) < len(facts.flavours):
        used, newest = chosen(facts.flavours, facts.driver), unsupported[-1]
        ignored = f"{found}: the wheel takes {used}, and not {newest}"
        yield note("driver", ignored, f"for {newest}, update NVIDIA's driver: 580 is the oldest for CUDA 13")
    else:
        both = f"{found}, and the wheel is for CUDA {cuda_major(unsupported[0])} alone"
        yield fix("driver", both, f"{_reinstall(facts)}, or update NVIDIA's driver")


def gpus(facts: Facts) -> Iterator[Finding]:
    """The GPUs, and what cutecc does for each. That there is none is no failure."""
    if facts.gpu_problem:
        yield fix("gpu", facts.gpu_problem, facts.gpu_hint or f"until then, {_EMULATED}")
    elif not facts.gpus:
        yield note("gpu", f"no GPU: {_EMULATED}", facts.gpu_hint)
    known = {target.name for target in known_targets()}
    for ordinal, gpu in enumerate(facts.gpus):
        target = native_target(gpu.capability)
        name = f"cuda:{ordinal}, {gpu.name}, {target}"
        if target not in known:
            yield note("gpu", f"{name}: cutecc does not compile for it", "cutecc compile --help lists the targets")
        else:
            yield ok("gpu", f"{name}: cutecc compiles for it, and emulates it")


def cache(facts: Facts) -> Iterator[Finding]:
    """Where compilations are kept."""
    found = facts.cache
    if not found.used:
        yield note("cache", "off: everything is compiled anew", "unset CUTECC_CACHE")
    elif found.problem:
        yield fix("cache", found.problem, "name a folder of your own with CUTECC_CACHE_DIR")
    else:
        yield ok("cache", f"{found.folder}, {size_text(found.bytes)} of {size_text(found.limit)}")


def trial(facts: Facts) -> Iterator[Finding]:
    """Whether a kernel compiles."""
    if facts.trial:
        yield fix("compiling", facts.trial, "mend what is above; where all else is in order, report this")
    elif facts.trial is not None:
        yield ok("compiling", "a kernel compiles, down to machine code")


def variables(facts: Facts) -> Iterator[Finding]:
    """What is set in the environment."""
    used = chosen(facts.flavours, facts.driver)
    for name, value in facts.variables.items():
        of_another = re.search(r"/(cu\d+)(?:/|$)", value)
        if name == "CUTE_DSL_LIBS" and used and of_another and of_another[1] != used:
            mixed = f"{name}={value}: the runtime library of {of_another[1]}, and the wheel compiles as {used}"
            yield fix("variable", mixed, f"unset {name}")
            continue
        shown = value if len(value) <= _LONGEST_VALUE else f"{value[:_LONGEST_VALUE]}…"
        yield note("variable", f"{name}={shown}: {MEANINGS.get(name, 'the DSL may read it')}")


CHECKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    *(python, cutecc, wheel, module, libraries, packages, tools),
    *(driver, gpus, cache, trial, variables),
)
"""In the order of their lines."""


def examine(facts: Facts) -> list[Finding]:
    """What all checks find."""
    return [finding for check in CHECKS for finding in check(facts)]


def _parts(facts: Facts) -> dict[str, str]:
    """The wheel's own distributions, by name."""
    return {name: each for name, each in facts.packages.items() if name.startswith(f"{PACKAGE}-libs-")}


def _reinstall(facts: Facts) -> str:
    extra = "[cu13]" if f"{PACKAGE}-libs-cu13" in facts.packages else ""
    return f"pip install --force-reinstall '{PACKAGE}{extra}=={facts.packages[PACKAGE]}'"


def _listed(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in found.items())


def _some(files: tuple[str, ...]) -> str:
    first, *others = files
    return f"{first} and {len(others)} more" if others else first


def _dotted(numbers: Iterable[int]) -> str:
    return ".".join(map(str, numbers))
