"""What a compilation leaves behind: plain data, its JSON manifest, and the folder that holds both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.record.compilation import (
    Analysis,
    Artifact,
    ArtifactKind,
    Compilation,
    Failure,
    Judged,
    KernelResources,
    Occupancy,
    Parameter,
    Provider,
    Remark,
    Resumed,
    Signature,
    Step,
    Versions,
    Workload,
)

if TYPE_CHECKING:
    from cutecc.record.host_program import HostProgram

__all__ = [
    "Analysis",
    "Artifact",
    "ArtifactKind",
    "Compilation",
    "Failure",
    "HostProgram",
    "Judged",
    "KernelResources",
    "Occupancy",
    "Parameter",
    "Provider",
    "Remark",
    "Resumed",
    "Signature",
    "Step",
    "Versions",
    "Workload",
]


def __getattr__(name: str) -> object:
    # Its many classes are needed to launch, and take a third of the time that loading a kernel may.
    if name == "HostProgram":
        from cutecc.record.host_program import HostProgram

        return HostProgram
    raise AttributeError(f"module 'cutecc.record' has no attribute '{name}'")
