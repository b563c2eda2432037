"""The record of one kernel compiled for one target: what every reader of cutecc's results works on.

Everything here is plain data that the manifest spells as JSON (`cutecc.record.manifest`). The bytes themselves, dumps,
snapshots and artifacts, live in `Compilation.files` under the names that the data refers to.
"""

import math
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from cutecc.errors import Error, RecordError
from cutecc.record.variables import Variable
from cutecc.record.warp_request import RequestPicture
from cutecc.support.locations import InstructionPlace

if TYPE_CHECKING:
    from cutecc.record.host_program import HostProgram

Provider = Literal["wheel", "reimplementation", "composite", "cutecc", "plugin"]
"""Who runs a pass: the installed wheel, our Python version of a pass it hides, a stretch of its pipeline that only
runs as a whole, a pass of cutecc's own, or one from a file or another package."""

ArtifactKind = Literal[
    "llvm-ir", "ptx", "cubin", "sass", "host-program", "reproducer", "stages", "counters", "llvm-passes"
]


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of the compiled function."""

    name: str
    spec: str
    """Its argument spec in canonical spelling, as `docs/arguments.md` defines it."""
    annotation: str | None = None
    """The annotation in the user's source."""

    @property
    def is_constant_object(self) -> bool:
        """Whether it is a compile-time constant that no spec spells: a function, for one."""
        return self.spec.startswith("object<") and "Constexpr" in (self.annotation or "")


class Signature(msgspec.Struct, frozen=True):
    """The host function's parameters, in call order, compile-time constants included."""

    function: str
    """The name of the Python function (`Gemm.__call__` for a method of a configured object)."""
    parameters: list[Parameter]

    @classmethod
    def of(cls, function: str, /, **specs: str) -> "Signature":
        """The signature of a module's host function, its parameters in order: `of("axpy", a="f32", x="f32[?N]")`.

        For whoever makes modules without Python functions. Raises `SpecError` for a spec that is none.
        """
        from cutecc.arguments.grammar import parse_spec
        from cutecc.arguments.sizes import unify_sizes

        unified = unify_sizes({name: parse_spec(spec) for name, spec in specs.items()})
        return cls(function, [Parameter(name, str(spec)) for name, spec in unified.items()])


class Workload(msgspec.Struct, frozen=True):
    """How to run a kernel by itself, check it and rate it: what the header of its file says (`docs/arguments.md`)."""

    outputs: list[str] = []
    """The parameters that the kernel writes."""
    tolerance: float | None = None
    """The largest relative error that counts as equal."""
    bytes: str | None = None
    """Bytes that a run moves, as arithmetic over named sizes."""
    flops: str | None = None
    """Floating-point operations of a run, as arithmetic over named sizes."""
    ulp: int | None = None
    """Steps of the output's type that count as equal."""


class Remark(msgspec.Struct, frozen=True):
    """What a pass said about a place in the user's program."""

    severity: Literal["remark", "warning", "error", "note"]
    message: str
    location: str | None = None
    """`file:line:column` of the user's frame."""
    analysis: str | None = None
    """The name of the analysis that found it; `None` for what a pass of the pipeline said."""
    numbers: dict[str, int | float | str] = {}
    """What an analysis bases it on, by what it is, units in the names: `sectors`, `ideal sectors`, `bits`."""
    picture: RequestPicture | None = None
    """Of bank conflicts and of sectors that are touched: the request of a warp that takes most."""

    def __hash__(self) -> int:
        # Not of numbers and picture, which no hash takes; equal remarks have equal ones.
        return hash((self.severity, self.message, self.location, self.analysis))


class Judged(msgspec.Struct):
    """How many of the things that an analysis judges are right, wrong, or neither as far as can be known."""

    what: str
    """What is judged, in the plural: `mbarriers`."""
    right: int = 0
    wrong: int = 0
    unknown: dict[str, int] = {}
    """How many it cannot tell of, by the reason."""

    @property
    def total(self) -> int:
        return self.right + self.wrong + sum(self.unknown.values())


class Analysis(msgspec.Struct):
    """A read-only check that looked at the module, beside the pipeline."""

    name: str
    after: int
    """The position of the pass whose result it looked at, 0 for the traced module."""
    seconds: float = 0.0
    remarks: list[Remark] = []
    failure: str | None = None
    """Why it came to no end."""
    judged: Judged | None = None
    """Of an analysis that says of each thing whether it is right."""


class Step(msgspec.Struct):
    """One pass of the pipeline, as it ran."""

    index: int
    """Position in the pipeline, from 1; the traced module is position 0."""
    name: str
    pass_text: str
    """The pass with its anchor and options, in the pipeline's textual form."""
    provider: Provider
    status: Literal["ok", "failed"] = "ok"
    seconds: float = 0.0
    changed: bool | None = None
    """Whether the printed IR differs from the one before; `None` when nobody asked."""
    operations_before: dict[str, int] | None = None
    """Operations by dialect before the pass; `None` when they were not counted."""
    operations_after: dict[str, int] | None = None
    remarks: list[Remark] = []
    dump_before: str | None = None
    """The file that holds the module before this pass as text."""
    dump: str | None = None
    """The file that holds the module after this pass as text."""
    summary: str = ""
    """What the pass does, in one sentence; empty where nobody says."""


class Artifact(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file made from the lowered module."""

    kind: ArtifactKind
    file: str
    places: tuple[InstructionPlace, ...] = ()
    """Of PTX, the places of instructions whose `.loc` is another's; see `cutecc.passes.nvidia.lost_locations`."""
    sha256: str | None = None
    """Of a cubin, the hash of its content, in hexadecimal digits."""
    ptx_sha256: str | None = None
    """Of a cubin, the hash of the PTX that it was assembled from; see `cutecc.record.assembly`."""


class Occupancy(msgspec.Struct, frozen=True):
    """How many blocks of a kernel one SM holds at once, and why not more."""

    block_threads: int
    """Threads of a block, from the kernel's `.reqntid` or `.maxntid`."""
    blocks_per_sm: int
    warps_per_sm: int
    fraction: float
    """Resident warps over the most that the SM holds."""
    limited_by: list[str]
    """Every resource that allows no further block: `registers`, `shared memory`, `threads`, `blocks`, `barriers`."""

    @property
    def percent(self) -> int:
        """The fraction for people. Halves go up, as on the report's page (`web/src/numbers.ts`): 5 of 8 are 63."""
        return math.floor(100 * self.fraction + 0.5)


class KernelResources(msgspec.Struct, frozen=True):
    """What one kernel takes of an SM. Memory in bytes, per thread or per block as said."""

    kernel: str
    registers: int
    """32-bit registers per thread."""
    stack_bytes: int
    """Local memory stack frame per thread."""
    spill_store_bytes: int | None
    """Bytes of spill stores in the code of one thread; `None` when the assembler was not asked."""
    spill_load_bytes: int | None
    shared_static_bytes: int
    """Shared memory per block that the cubin declares."""
    shared_dynamic_bytes: int | None
    """Shared memory per block that the launch asks for; `None` when it depends on the arguments."""
    constant_bytes: int
    """Constant bank 0: the parameters and what the driver adds."""
    barriers: int | None
    occupancy: Occupancy | None
    """`None` when the block size or the dynamic shared memory is not known before the launch."""


class Versions(msgspec.Struct, frozen=True):
    """The tools that made a record."""

    cutecc: str
    python: str
    nvidia_cutlass_dsl: str
    ptxas: str
    """What assembled the cubin: the wheel's own code generator, or the external ptxas."""
    nvdisasm: str | None = None
    llvm: str | None = None
    """The LLVM that generated the code, and the llvmlite that holds it; `None` where the wheel's libNVVM did."""
    flavour: str | None = None
    """What the wheel is built for, `cu12` or `cu13`; `None` where that was not noted."""
    dsl_variables: str | None = None
    """The environment variables that make the DSL trace another module of the same program, those that were on, with
    spaces between; `None` without any."""

    @property
    def wheel(self) -> str:
        """The wheel as it is shown, `4.8.1 cu12`."""
        return f"{self.nvidia_cutlass_dsl} {self.flavour or ''}".rstrip()


class Failure(msgspec.Struct, frozen=True):
    """Why a compilation ended early."""

    stage: str
    """`trace`, a pass's name, or `artifacts`."""
    message: str
    reproducer: str | None = None
    """The file in the record that reproduces the failure."""
    location: str | None = None
    """`file:line:column` of the user's frame."""
    notes: list[str] = []
    """Facts that belong to the failure, such as the output of a tool."""
    load: list[str] = []
    """The user's Python files whose passes the reproducer needs, as the user has to name them."""

    @classmethod
    def of(cls, stage: str, error: Error, reproducer: str | None = None) -> "Failure":
        """What `error`, raised in `stage`, says; `reproducer` is the file's name in the record."""
        location = str(error.location) if error.location else None
        return cls(stage, error.message, reproducer, location, [*error.notes])


class Resumed(msgspec.Struct, frozen=True):
    """That a run went on from a stage of another record (`cutecc resume`), and what had become of that stage."""

    record: str
    """The folder of that record, as the user named it."""
    after: str
    """The selector of the pass that the stage is from, in the whole pipeline; `traced` for the module before all."""
    dump: str
    """The file that was read, in that folder: that of an earlier pass where `after` changed nothing."""
    edited: bool
    """Whether the module in the file is another than the record has for that stage. White space, comments, source
    locations and the names of SSA values do not count."""
    lines_removed: int = 0
    """Lines of the module, as MLIR prints it, that are in the record's alone."""
    lines_added: int = 0
    """Lines that are in the file's alone."""

    @property
    def edit(self) -> str:
        """Whether it was edited, in words."""
        if not self.edited:
            return "not edited"
        return f"edited by hand (-{self.lines_removed} +{self.lines_added} lines)"

    def __str__(self) -> str:
        return f"resumed from {self.record} after {self.after}, {self.edit}"


@dataclass
class Compilation:
    """One kernel compiled for one target."""

    name: str
    """The kernel's short name, as files and folders carry it."""
    target: str
    pipeline: str
    """The passes in the order they ran, as text that `--pipeline` reads."""
    versions: Versions
    status: Literal["running", "ok", "stopped", "failed", "interrupted"] = "running"
    """`stopped` means that `--stop-after` ended the run as asked."""
    command: list[str] = field(default_factory=list[str])
    """The command line, empty when the library was called."""
    source: str | None = None
    """The input file as the user named it."""
    options: dict[str, str | int | bool] = field(default_factory=dict[str, "str | int | bool"])
    """Settings that differ from their defaults, by their command line names."""
    signature: Signature | None = None
    """`None` for an input that was MLIR already."""
    workload: Workload | None = None
    """`None` for an input without a header."""
    warnings: list[Remark] = field(default_factory=list[Remark])
    """What the DSL warned of while it traced, and what compiling found without being asked to."""
    traced: str | None = None
    """The file that holds the module before the first pass, as text."""
    traced_operations: dict[str, int] | None = None
    variables: list[Variable] = field(default_factory=list[Variable])
    """Memory of the kernels that the source names; known where line info is kept."""
    steps: list[Step] = field(default_factory=list[Step])
    analyses: list[Analysis] = field(default_factory=list[Analysis])
    """What `cutecc check` and reports ask for, in the order they ran."""
    artifacts: list[Artifact] = field(default_factory=list[Artifact])
    resources: list[KernelResources] = field(default_factory=list[KernelResources])
    failure: Failure | None = None
    cached: bool = False
    """Whether this came from the cache. The steps, with their times, are then those of the run that filled it."""
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """Wall time by stage: `trace`, `parse`, `passes` (observers included), `artifacts`; `cache` when that answered."""
    whole_pipeline: str | None = None
    """The pipeline that `pipeline` is a part of, where the run began behind its start or was told to stop before its
    end."""
    resumed: Resumed | None = None
    """Where the run went on from, `None` for one from the beginning."""

    def __post_init__(self) -> None:
        self.files: MutableMapping[str, bytes] = {}
        """Name to content. In memory for a library call; a stored record reads them when they are asked for."""
        self.read_from: str | None = None
        """The bundle or folder that this was read from, which others may have made; `None` where it was made here, or
        came from the cache."""

    def artifact(self, kind: ArtifactKind) -> bytes | None:
        """The content of the first artifact of `kind`, `None` when this compilation made none.

        Raises `RecordError` for one that is not there, or cannot be read.
        """
        file = next((artifact.file for artifact in self.artifacts if artifact.kind == kind), None)
        return None if file is None else self.content(file)

    def content(self, file: str) -> bytes:
        """The content of a file of this record. Raises `RecordError` for one that is not there, or cannot be read."""
        try:
            return self.files[file]
        except KeyError:
            raise RecordError(f"the record of {self.name} for {self.target} lacks its file {file}") from None

    @property
    def has_stages(self) -> bool:
        """Whether it keeps the modules between its passes."""
        return any(artifact.kind == "stages" for artifact in self.artifacts)

    @property
    def own_file(self) -> str | None:
        """What `-`, a module's own text, stands for in places; `None` where there is none: Python was traced."""
        return None if self.source is None or self.source == "-" or self.source.endswith(".py") else self.source

    @property
    def host_program(self) -> "HostProgram | None":
        """What launches the kernel; `None` when the run stopped before there was one, or it could not be translated."""
        from cutecc.record import host_program  # late: a kernel is loaded before it is launched

        data = self.artifact("host-program")
        return None if data is None else host_program.decode(data)

    @property
    def further_warnings(self) -> list[Remark]:
        """The warnings that no analysis of the record tells too."""
        ran = {each.name for each in self.analyses}
        return [each for each in self.warnings if each.analysis not in ran]

    def step(self, name: str) -> Step | None:
        """The last step of the pass called `name` that ran."""
        return next((step for step in reversed(self.steps) if step.name == name), None)
