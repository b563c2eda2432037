"""GPU targets: their names, and the limits that decide whether a kernel fits and how many blocks run at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from cutecc.errors import NoGpuError, UsageError
from cutecc.support.spelling import did_you_mean


@dataclass(frozen=True)
class Limits:
    """What one streaming multiprocessor (SM) of a compute capability holds.

    The figures are those of the CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability"; of
    GPUs before 7.5 those of its edition for CUDA 12, threads and blocks being the most that ptxas takes for
    `.minnctapersm`. No edition has 8.8: what it has is from there too, and its shared memory from the toolkit's
    `cuda_occupancy.h`. 10.1 is what 11.0 was called before CUDA 13.
    """

    threads_per_sm: int
    blocks_per_sm: int
    shared_memory_per_sm: int
    """Bytes."""
    shared_memory_per_block: int
    """Bytes that one block can have after opting in; from 8.0 on, 1024 bytes a block belong to the system."""
    registers_per_sm: int = 65536
    """32-bit registers."""
    registers_per_thread: int = 255
    threads_per_block: int = 1024
    block_sizes: tuple[int, int, int] = (1024, 1024, 64)
    grid_sizes: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    """Blocks in x, y and z."""
    blocks_per_cluster: int = 16
    """With `cudaFuncAttributeNonPortableClusterSizeAllowed`, which the DSL sets; 8 without. 0 where there are none.

    Of Blackwell, NVIDIA's tuning guide says that the B200 has more than 8."""

    @property
    def warps_per_sm(self) -> int:
        """Resident warps of 32 threads."""
        return self.threads_per_sm // 32


_KIB = 1024
_LIMITS: dict[tuple[int, int], Limits] = {
    (5, 0): Limits(2048, 32, 64 * _KIB, 48 * _KIB, blocks_per_cluster=0),
    (5, 2): Limits(2048, 32, 96 * _KIB, 48 * _KIB, blocks_per_cluster=0),
    (5, 3): Limits(2048, 32, 64 * _KIB, 48 * _KIB, blocks_per_cluster=0),
    (6, 0): Limits(2048, 32, 64 * _KIB, 48 * _KIB, blocks_per_cluster=0),
    (6, 1): Limits(2048, 32, 96 * _KIB, 48 * _KIB, blocks_per_cluster=0),
    (6, 2): Limits(2048, 32, 64 * _KIB, 48 * _KIB, blocks_per_cluster=0),
    (7, 0): Limits(2048, 32, 96 * _KIB, 96 * _KIB, blocks_per_cluster=0),
    (7, 2): Limits(2048, 32, 96 * _KIB, 96 * _KIB, blocks_per_cluster=0),
    (7, 5): Limits(1024, 16, 64 * _KIB, 64 * _KIB, blocks_per_cluster=0),
    (8, 0): Limits(2048, 32, 164 * _KIB, 163 * _KIB, blocks_per_cluster=0),
    (8, 6): Limits(1536, 16, 100 * _KIB, 99 * _KIB, blocks_per_cluster=0),
    (8, 7): Limits(1536, 16, 164 * _KIB, 163 * _KIB, blocks_per_cluster=0),
    (8, 8): Limits(1536, 16, 100 * _KIB, 99 * _KIB, blocks_per_cluster=0),
    (8, 9): Limits(1536, 24, 100 * _KIB, 99 * _KIB, blocks_per_cluster=0),
    (9, 0): Limits(2048, 32, 228 * _KIB, 227 * _KIB),
    (10, 0): Limits(2048, 32, 228 * _KIB, 227 * _KIB),
    (10, 1): Limits(1536, 24, 228 * _KIB, 227 * _KIB),
    (10, 3): Limits(2048, 32, 228 * _KIB, 227 * _KIB),
    (11, 0): Limits(1536, 24, 228 * _KIB, 227 * _KIB),
    (12, 0): Limits(1536, 24, 100 * _KIB, 99 * _KIB, blocks_per_cluster=8),
    (12, 1): Limits(1536, 24, 100 * _KIB, 99 * _KIB, blocks_per_cluster=8),
}
_ONLY_PTX = {capability for capability in _LIMITS if capability < (8, 0)} | {(8, 8), (10, 1)}
"""Capabilities whose PTX runs on the emulator, and for which cutecc compiles nothing."""
_SUFFIXES = {
    5: ("",),
    6: ("",),
    7: ("",),
    8: ("",),
    9: ("", "a"),
    10: ("", "a", "f"),
    11: ("", "a", "f"),
    12: ("", "a", "f"),
}
_NAME = re.compile(r"sm_([0-9]{1,9})([0-9])([af]?)")
_IN_NAME = re.compile(r"sm_\d+[af]?")
_NAME_IT = 'name the target instead: target="sm_90a" in Python, --target sm_90a in a shell'


@dataclass(frozen=True, order=True)
class Target:
    """One GPU architecture to compile for, such as `sm_90a`.

    The suffix `a` allows instructions of exactly this architecture (wgmma on `sm_90a`), `f` those of its family.
    """

    major: int
    minor: int
    suffix: str = ""

    @cached_property
    def name(self) -> str:
        """The name that ptxas and the DSL use."""
        return f"sm_{self.major}{self.minor}{self.suffix}"

    @property
    def limits(self) -> Limits:
        """What an SM of this target holds."""
        return _LIMITS[self.major, self.minor]

    def has_blackwell_forms(self) -> bool:
        """Whether it has the instructions that PTX gives to architectures and families from `sm_100` on alone (PTX ISA,
        "cvt" and "ldmatrix", target ISA notes)."""
        return self.major >= 10 and bool(self.suffix)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target called `text`, to compile for; `UsageError` with the known names when there is none."""
        return cls._named(text, _KNOWN)

    @classmethod
    def of_ptx(cls, text: str) -> Target:
        """The target that PTX is for: any that ptxas knows, or knew, for GPUs since 5.0. Raises `UsageError`."""
        return cls._named(text, _OF_PTX)

    @classmethod
    def _named(cls, text: str, known: Sequence[Target]) -> Target:
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"a target is text such as sm_90a, not {text!r}")
        match = _NAME.fullmatch(text.strip())
        if match:
            target = cls(int(match[1]), int(match[2]), match[3])
            if target in known:
                return target
        names = [target.name for target in known]
        hints = [*did_you_mean(text, names), f"known targets: {', '.join(names)}"]
        raise UsageError(f"unknown target '{text}'", hints=hints)


_OF_PTX = sorted(Target(major, minor, suffix) for major, minor in _LIMITS for suffix in _SUFFIXES.get(major, ("",)))
_KNOWN = [target for target in _OF_PTX if (target.major, target.minor) not in _ONLY_PTX]


def known_targets() -> list[Target]:
    """Every target that cutecc compiles for, oldest first."""
    return list(_KNOWN)


def target_in_name(name: str) -> Target | None:
    """The target that the name of a file or folder says, the last one of several: `gemm-sm_90a.mlirbc`."""
    known = {target.name: target for target in known_targets()}
    return next((known[word] for word in reversed(_IN_NAME.findall(name)) if word in known), None)


def parse_targets(text: str) -> list[Target]:
    """The targets of a comma-separated list, in its order and without repeats.

    `native` stands for the GPUs of this machine. Raises `UsageError` for an unknown name and an empty list,
    `NoGpuError` for `native` where there is no GPU.
    """
    targets: list[Target] = []
    for name in filter(None, (part.strip() for part in text.split(","))):
        targets += native_targets() if name == "native" else [Target.parse(name)]
    if not targets:
        raise UsageError("no target given", hints=[f"known targets: {', '.join(t.name for t in known_targets())}"])
    return list(dict.fromkeys(targets))


def native_target(capability: tuple[int, int]) -> str:
    """The name of the target with all that GPUs of a compute capability have, whether or not cutecc knows it."""
    major, minor = capability
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


def native_targets() -> list[Target]:
    """The targets of this machine's GPUs, with the architecture-specific suffix where there is one.

    Raises `NoGpuError` where the CUDA driver finds no GPU.
    """
    return list(dict.fromkeys(device_targets()))


def device_targets() -> list[Target]:
    """The target of each of this machine's GPUs, by ordinal, as `native_targets`."""
    import importlib

    try:
        driver: Any = importlib.import_module("cuda.bindings.driver")
    except ImportError as failure:
        raise NoGpuError(f"target 'native': cuda-bindings cannot be imported ({failure})", hints=[_NAME_IT]) from None

    def checked(result: tuple[Any, Any]) -> Any:
        if result[0] != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(str(result[0]))
        return result[1]

    attribute = driver.CUdevice_attribute
    try:
        (status,) = driver.cuInit(0)
        if status != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(str(status))
        found: list[Target] = []
        for ordinal in range(checked(driver.cuDeviceGetCount())):
            device = checked(driver.cuDeviceGet(ordinal))
            major, minor = (
                checked(driver.cuDeviceGetAttribute(which, device))
                for which in (
                    attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                    attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                )
            )
            found.append(Target.parse(native_target((major, minor))))
    except (RuntimeError, OSError) as failure:
        raise NoGpuError(f"target 'native': the CUDA driver finds no GPU here ({failure})", hints=[_NAME_IT]) from None
    if not found:
        raise NoGpuError("target 'native': this machine has no GPU", hints=[_NAME_IT])
    return found
