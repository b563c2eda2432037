"""What the checks look at: plain data about this machine, gathered in `cutecc.doctor.looking`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Tool:
    """A program of the CUDA toolkit."""

    version: str = ""
    path: str | None = None
    """Where it is; `None` for the one in the Python package that ships it."""
    problem: str | None = None
    """Why it cannot be used, when the rest is empty."""


@dataclass(frozen=True)
class Gpu:
    """A GPU that the driver sees."""

    name: str
    capability: tuple[int, int]


@dataclass(frozen=True)
class Cache:
    """The cache of compilations."""

    folder: str
    used: bool
    bytes: int = 0
    limit: int = 0
    """Bytes."""
    problem: str | None = None
    """Why nothing can be kept in it."""


@dataclass(frozen=True)
class Facts:
    """This machine and what is installed in this environment."""

    whole: bool
    """Whether the distribution cutecc is here, or `cutecc-runtime` alone."""
    cutecc: str
    """Its version."""
    place: str
    """The folder that it was imported from."""
    python: tuple[int, int, int]
    interpreter: str
    system: str
    """`Linux`."""
    machine: str
    """`x86_64`."""
    cache: Cache
    packages: Mapping[str, str] = field(default_factory=dict[str, str])
    """The versions of installed distributions that matter, by name."""
    missing_files: tuple[str, ...] = ()
    """Files that the wheel's distributions have installed, and that are not there."""
    contested_files: tuple[str, ...] = ()
    """Files that several of the wheel's distributions have installed, each with another content."""
    module: str | None = None
    """Where `import cutlass` finds its module; `None` where it finds none."""
    flavours: tuple[str, ...] = ()
    """Those of the wheel whose libraries that module has, oldest first."""
    trial: str | None = None
    """How compiling a kernel ended: empty where it worked, `None` where it was not tried."""
    driver: tuple[int, int] | None = None
    """The newest version of CUDA that the driver supports."""
    gpus: tuple[Gpu, ...] = ()
    gpu_problem: str | None = None
    """Why the driver's GPUs cannot be used."""
    gpu_hint: str | None = None
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    """Of the CUDA toolkit, by name."""
    llvm: str | None = None
    """The version of LLVM in llvmlite, empty where that does not load; `None` without llvmlite."""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment variables that the DSL or cutecc reads."""
