"""What a compilation leaves behind: plain data, its JSON manifest, and the folder that holds both."""

from cutecc.record.compilation import (
    Artifact,
    ArtifactKind,
    Compilation,
    Failure,
    KernelResources,
    Occupancy,
    Parameter,
    Provider,
    Remark,
    Signature,
    Step,
    Versions,
    Workload,
)
from cutecc.record.host_program import HostProgram

__all__ = [
    "Artifact",
    "ArtifactKind",
    "Compilation",
    "Failure",
    "HostProgram",
    "KernelResources",
    "Occupancy",
    "Parameter",
    "Provider",
    "Remark",
    "Signature",
    "Step",
    "Versions",
    "Workload",
]
