"""Each check of `cutecc doctor`, on facts that are made up: what is in order, and what is to be done otherwise."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from cutecc.doctor import checks
from cutecc.doctor.checks import examine
from cutecc.doctor.facts import Cache, Facts, Gpu, Tool
from cutecc.doctor.finding import Finding
from cutecc.ir.releases import RELEASES
from cutecc.support.distributions import OLDEST_PYTHON

ROOT = Path(__file__).parents[3]
DSL = "nvidia-cutlass-dsl"
SITE = "/env/lib/python3.11/site-packages"
MODULE = f"{SITE}/nvidia_cutlass_dsl/dsl_packages/cutlass/__init__.py"
NO_TRACE = "not installed, and not needed to launch what is compiled"


def wheel(version: str = "4.8.1", **libraries: str | None) -> dict[str, str]:
    """The wheel's distributions: `core`, `base` and `cu12` of its version unless given; `None` for one that is not."""
    parts = dict.fromkeys(("core", "base", "cu12"), version) | libraries
    return {DSL: version, **{f"{DSL}-libs-{name}": each for name, each in parts.items() if each}}


OTHERS = {"cuda-bindings": "13.5.0", "llvmlite": "0.50.0", "numpy": "2.4.6"}
SOUND = Facts(
    whole=True,
    cutecc="0.1.0",
    place=f"{SITE}/cutecc",
    python=(3, 11, 7),
    interpreter="/env/bin/python",
    system="Linux",
    machine="x86_64",
    cache=Cache("/home/me/.cache/cutecc/v1", used=True, bytes=3 << 20, limit=2 << 30),
    packages=wheel() | OTHERS,
    module=MODULE,
    flavours=("cu12",),
    trial="",
    driver=(13, 0),
    gpus=(Gpu("NVIDIA H200", (9, 0)),),
    tools={name: Tool("13.5.37") for name in checks.TOOLS},
    llvm="22.1.0",
)


def of(subject: str, **changes: object) -> Finding:
    """The one finding of that subject, where the facts are sound but for `changes`."""
    (found,) = (each for each in examine(replace(SOUND, **changes)) if each.subject == subject)  # type: ignore[arg-type]
    return found


def told(subject: str, **changes: object) -> tuple[str, str, str | None]:
    found = of(subject, **changes)
    return found.state, found.found, found.do


def test_all_is_in_order() -> None:
    found = examine(SOUND)
    assert {each.state for each in found} == {"ok"}
    assert not [each for each in found if each.do]
    subjects = [each.subject for each in found]
    assert subjects == [
        *("python", "cutecc", "wheel", "libraries", "cuda-bindings", "llvmlite", "numpy"),
        *("ptxas", "nvdisasm", "cuobjdump", "driver", "gpu", "cache", "compiling"),
    ]


def test_what_is_to_be_fixed_says_how() -> None:
    for each in (checks.fix("a", "b", "c"), of("wheel", packages=OTHERS), of("python", python=(3, 10, 1))):
        assert each.state == "fix" and each.do


def test_the_oldest_packages_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = dict(each.split(">=") for each in project["dependencies"] if "," not in each)
    assert checks.OLDEST.items() <= required.items()
    assert project["requires-python"] == f">={'.'.join(map(str, OLDEST_PYTHON))}"
    assert {package: required[package] for package, _ in checks.TOOLS.values()} == dict.fromkeys(
        [package for package, _ in checks.TOOLS.values()], "13.0"
    )
    assert project["requires-python"] == ">=3.11"


# Python, and cutecc.


@pytest.mark.parametrize(
    ("changes", "state", "says"),
    [
        ({"python": (3, 10, 9)}, "fix", "3.10.9"),
        ({"system": "Darwin"}, "fix", "3.11.7 on Darwin"),
        ({"machine": "aarch64"}, "note", "3.11.7 on Linux aarch64, where cutecc is not tested"),
        ({}, "ok", "3.11.7, /env/bin/python"),
    ],
)
def test_python(changes: dict[str, object], state: str, says: str) -> None:
    found = of("python", **changes)
    assert (found.state, found.found) == (state, says)


def test_the_runtime_alone() -> None:
    assert "runtime" not in of("cutecc").found
    assert "cutecc-runtime alone" in of("cutecc", whole=False).found


# The wheel.


def test_no_wheel() -> None:
    assert told("wheel", packages=OTHERS, flavours=(), module=None) == (
        *("fix", f"{DSL} is not installed", f"pip install '{DSL}=={RELEASES[-1].version}.*'"),
    )
    assert told("wheel", packages=OTHERS, flavours=(), module=None, whole=False) == ("ok", NO_TRACE, None)
    subjects = [each.subject for each in examine(replace(SOUND, packages=OTHERS, flavours=(), module=None))]
    assert not {"libraries", "import"} & set(subjects)


@pytest.mark.parametrize(
    ("version", "flavours", "driver", "says"),
    [
        ("4.8.1", ("cu12",), None, "4.8.1 cu12: libNVVM of CUDA 13.4, ptxas of CUDA 12.9, PTX 8.8"),
        ("4.8.1", ("cu12", "cu13"), None, "4.8.1 cu13: libNVVM of CUDA 13.4, ptxas of CUDA 13.4, PTX 9.4"),
        ("4.8.0", ("cu12", "cu13"), (12, 8), "4.8.0 cu12: libNVVM of CUDA 13.4, ptxas of CUDA 12.9, PTX 8.8"),
        ("4.6.0", ("cu12", "cu13"), None, "4.6.0 cu13: libNVVM of CUDA 13.3, ptxas of CUDA 13.3, PTX 9.3"),
        ("4.8.1", ("cu12", "cu14"), None, "4.8.1 cu14"),
    ],
)
def test_what_is_built_into_the_wheel(
    version: str, flavours: tuple[str, ...], driver: tuple[int, int] | None, says: str
) -> None:
    libraries = dict.fromkeys(flavours, version)
    found = of("wheel", packages=wheel(version, **libraries), flavours=flavours, driver=driver)
    assert (found.state, found.found) == ("ok", f"{DSL} {says}")


@pytest.mark.parametrize("version", ["4.5.2", "3.9", "5.0.0", "nonsense"])
def test_an_unsupported_wheel(version: str) -> None:
    state, says, do = told("wheel", packages=wheel(version))
    assert (state, do) == ("fix", f"pip install '{DSL}=={RELEASES[-1].version}.*'")
    assert (
        says == f"{DSL} {version} cu12 is not supported: cutecc needs {RELEASES[0].version} to {RELEASES[-1].version}"
    )


@pytest.mark.parametrize("version", ["4.9.0", "4.10.0rc1"])
def test_a_wheel_that_is_newer_than_cutecc_knows(version: str) -> None:
    state, says, do = told("wheel", packages=wheel(version))
    assert state == "note"
    assert says.startswith(f"{DSL} {version} cu12 is newer than all that cutecc knows ({RELEASES[-1].version})")
    assert do and RELEASES[-1].version in do


def test_what_a_newer_wheel_consists_of_is_not_known() -> None:
    assert told("libraries", packages=wheel("4.9.0", base=None))[:2] == ("ok", "cu12, all of 4.9.0")


def test_another_module_of_that_name() -> None:
    state, says, do = told("import", module="/elsewhere/cutlass/__init__.py", flavours=())
    assert (state, says) == ("fix", f"'import cutlass' finds /elsewhere/cutlass/__init__.py, which is not {DSL}'s")
    assert do and "PYTHONPATH" in do
    assert told("import", module=None, flavours=())[2] == f"pip install --force-reinstall '{DSL}==4.8.1'"


# Its libraries. What people have come to is in docs/doctor.md.


def test_both_flavours_of_one_version() -> None:
    packages = wheel(cu13="4.8.1") | OTHERS
    assert told("libraries", packages=packages, flavours=("cu12", "cu13")) == (
        "ok",
        "cu12 and cu13, all of 4.8.1",
        None,
    )


def test_an_upgrade_without_the_extra_leaves_the_other_flavour_behind() -> None:
    packages = wheel(cu13="4.7.1")
    assert told("libraries", packages=packages, flavours=("cu12", "cu13")) == (
        "fix",
        f"{DSL}-libs-cu13 4.7.1 beside {DSL} 4.8.1: 4.7.1 compiles what 4.8.1 traces",
        f"pip install --force-reinstall '{DSL}[cu13]==4.8.1'",
    )
    # It is that compiler that the line of the wheel tells of.
    says = of("wheel", packages=packages, flavours=("cu12", "cu13")).found
    assert says.endswith("libNVVM of CUDA 13.3, ptxas of CUDA 13.3, PTX 9.3")


def test_a_flavour_that_is_not_used_is_of_another_version() -> None:
    expected = f"{DSL}-libs-cu13 4.7.1 beside {DSL} 4.8.1"
    of_an_old_driver = told("libraries", packages=wheel(cu13="4.7.1"), flavours=("cu12", "cu13"), driver=(12, 8))
    assert of_an_old_driver[:2] == ("fix", expected)
    # Before 4.6 the libraries were elsewhere: what is left of them nobody loads.
    state, says, do = told("libraries", packages=wheel(cu13="4.5.2"), flavours=("cu12",))
    assert (state, says) == ("fix", f"{DSL}-libs-cu13 4.5.2 beside {DSL} 4.8.1")
    assert do == f"pip install --force-reinstall '{DSL}[cu13]==4.8.1'"


def test_the_python_part_is_of_another_version() -> None:
    state, says, do = told("libraries", packages=wheel(base="4.7.1", core="4.7.1"))
    assert (state, says) == ("fix", f"{DSL}-libs-core 4.7.1, {DSL}-libs-base 4.7.1 beside {DSL} 4.8.1")
    assert do == f"pip install --force-reinstall '{DSL}==4.8.1'"


@pytest.mark.parametrize(
    ("changes", "state", "says"),
    [
        ({"packages": wheel(base=None)}, "fix", f"{DSL}-libs-base missing"),
        ({"packages": wheel(base=None, core=None)}, "fix", f"{DSL}-libs-core and {DSL}-libs-base missing"),
        ({"packages": wheel(cu12=None), "flavours": ()}, "fix", f"no {DSL}-libs-cu12 and no {DSL}-libs-cu13"),
        (
            {"packages": wheel(cu12=None, cu13="4.8.1"), "flavours": ("cu13",)},
            "note",
            "cu13 of 4.8.1 without cu12, which the wheel asks for",
        ),
        (
            {"contested_files": ("cutlass/a.py", "cutlass/b.py")},
            "fix",
            "two packages have installed cutlass/a.py and 1 more",
        ),
        ({"missing_files": ("cutlass/a.py",)}, "fix", "no longer there: cutlass/a.py"),
    ],
)
def test_libraries_that_do_not_fit(changes: dict[str, object], state: str, says: str) -> None:
    found = of("libraries", **changes)
    assert (found.state, found.found) == (state, says)
    assert found.do and f"pip install --force-reinstall '{DSL}" in found.do


def test_libraries_that_the_wheel_has_left_behind() -> None:
    packages = {name: each for name, each in wheel().items() if name != DSL}
    state, says, do = told("libraries", packages=packages, flavours=("cu12",))
    assert state == "fix" and says.endswith(f"without {DSL}")
    assert do == f"pip uninstall {DSL}-libs-core {DSL}-libs-base {DSL}-libs-cu12"


# Packages and programs.


@pytest.mark.parametrize("name", [*checks.OLDEST])
def test_a_package_that_is_missing_or_old(name: str) -> None:
    oldest = checks.OLDEST[name]
    without = {each: version for each, version in SOUND.packages.items() if each != name}
    assert told(name, packages=without, llvm=None) == ("fix", "not installed", f"pip install '{name}>={oldest}'")
    old = dict(SOUND.packages) | {name: "0.9.9"}
    assert told(name, packages=old) == ("fix", f"0.9.9 is older than {oldest}", f"pip install '{name}>={oldest}'")
    runtime = of(name, packages=without, llvm=None, whole=False)
    if name == "cuda-bindings":
        assert runtime.state == "fix"
    else:
        assert (runtime.state, runtime.found) == ("note", NO_TRACE)
        assert runtime.do and "cutecc-runtime[emulator]" in runtime.do


def test_llvm() -> None:
    assert of("llvmlite").found == "0.50.0, LLVM 22.1.0"
    assert told("llvmlite", llvm="")[:2] == ("fix", "0.50.0 does not load")


def test_programs() -> None:
    tools = dict(SOUND.tools)
    assert of("ptxas").found == "13.5.37, nvidia-cuda-nvcc"
    tools["ptxas"] = Tool("12.4.131", "/usr/local/cuda/bin/ptxas")
    assert told("ptxas", tools=tools) == (
        "note",
        "12.4.131, /usr/local/cuda/bin/ptxas, is older than 13.0",
        "pip install 'nvidia-cuda-nvcc>=13.0'",
    )
    tools["ptxas"] = Tool(problem="ptxas is not installed")
    state, says, do = told("ptxas", tools=tools)
    assert (state, says) == ("fix", "ptxas is not installed; it assembles what LLVM generates")
    assert do == "pip install --force-reinstall 'nvidia-cuda-nvcc>=13.0'"
    of_the_runtime = told("tools", tools={}, whole=False)
    assert of_the_runtime == ("ok", "ptxas, nvdisasm, cuobjdump are not needed to launch what is compiled", None)


# The driver and GPUs.


@pytest.mark.parametrize(
    ("driver", "flavours", "state", "says"),
    [
        (None, ("cu12",), "note", "no CUDA driver"),
        ((11, 8), ("cu12",), "fix", "for CUDA 11.8; launching needs CUDA 12"),
        ((12, 4), ("cu12",), "ok", "for CUDA 12.4"),
        ((12, 4), ("cu12", "cu13"), "note", "for CUDA 12.4: the wheel takes cu12, and not cu13"),
        ((12, 4), ("cu13",), "fix", "for CUDA 12.4, and the wheel is for CUDA 13 alone"),
        ((13, 0), ("cu12", "cu13"), "ok", "for CUDA 13.0"),
        ((13, 0), (), "ok", "for CUDA 13.0"),
    ],
)
def test_drivers(driver: tuple[int, int] | None, flavours: tuple[str, ...], state: str, says: str) -> None:
    found = of("driver", driver=driver, flavours=flavours)
    assert (found.state, found.found) == (state, says)
    assert (found.do is None) == (state == "ok" or driver is None)


def test_no_gpu_is_no_failure() -> None:
    nowhere = replace(SOUND, driver=None, gpus=())
    assert of("gpu", driver=None, gpus=()).found == "no GPU: kernels run on the emulator"
    assert not [each for each in examine(nowhere) if each.state == "fix"]
    assert told("gpu", gpus=(), gpu_hint="compare CUDA_VISIBLE_DEVICES with nvidia-smi -L")[2]


def test_gpus_that_cannot_be_used() -> None:
    problem = "the CUDA driver does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803): …"
    assert told("gpu", gpus=(), gpu_problem=problem, gpu_hint="reboot") == ("fix", problem, "reboot")
    assert told("gpu", gpus=(), gpu_problem=problem)[2] == "until then, kernels run on the emulator"


@pytest.mark.parametrize(
    ("capability", "state", "says"),
    [
        ((9, 0), "ok", "sm_90a: cutecc compiles for it, and emulates it"),
        ((8, 6), "ok", "sm_86: cutecc compiles for it, and emulates it"),
        ((10, 0), "ok", "sm_100a: cutecc compiles for it, and emulates it"),
        ((7, 5), "note", "sm_75: cutecc does not compile for it"),
    ],
)
def test_a_gpu_is_told_with_its_target(capability: tuple[int, int], state: str, says: str) -> None:
    found = of("gpu", gpus=(Gpu("A GPU", capability),))
    assert (found.state, found.found) == (state, f"cuda:0, A GPU, {says}")


def test_each_gpu_has_a_line() -> None:
    two = (Gpu("one", (9, 0)), Gpu("two", (8, 0)))
    lines = [each.found for each in examine(replace(SOUND, gpus=two)) if each.subject == "gpu"]
    assert [line.partition(", sm")[0] for line in lines] == ["cuda:0, one", "cuda:1, two"]


# The cache, the trial, variables.


def test_the_cache() -> None:
    assert of("cache").found == "/home/me/.cache/cutecc/v1, 3.0 MiB of 2.0 GiB"
    assert of("cache", cache=Cache("/c", used=False)).state == "note"
    state, says, do = told("cache", cache=Cache("/c", used=True, problem="the cache /c is not used: not yours"))
    assert (state, says) == ("fix", "the cache /c is not used: not yours")
    assert do and "CUTECC_CACHE_DIR" in do


def test_the_trial() -> None:
    assert of("compiling").state == "ok"
    assert told("compiling", trial="compiling a kernel ends with status 1: no")[:2] == (
        "fix",
        "compiling a kernel ends with status 1: no",
    )
    assert "compiling" not in [each.subject for each in examine(replace(SOUND, trial=None))]


@pytest.mark.parametrize(
    ("folder", "state"), [("/env/nvidia_cutlass_dsl/cu13/lib", "fix"), ("/env/cu12/lib", "note"), ("/opt/lib", "note")]
)
def test_a_runtime_library_of_another_flavour(folder: str, state: str) -> None:
    found = of("variable", variables={"CUTE_DSL_LIBS": folder})
    assert found.state == state and found.found.startswith(f"CUTE_DSL_LIBS={folder}: ")
    if state == "fix":
        assert found.found.endswith("the runtime library of cu13, and the wheel compiles as cu12")
        assert found.do == "unset CUTE_DSL_LIBS"


def test_variables() -> None:
    set_ = {"CUTE_DSL_ARCH": "sm_80", "CUTE_DSL_NOVELTY": "x" * 1000}
    first, second = (each for each in examine(replace(SOUND, variables=set_)) if each.subject == "variable")
    assert first.state == second.state == "note"
    assert first.found.startswith("CUTE_DSL_ARCH=sm_80: the GPU that the DSL compiles for")
    assert re.fullmatch(r"CUTE_DSL_NOVELTY=x{60}…: the DSL may read it", second.found)
