"""What a compilation is asked to do, as plain data that crosses between processes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from cutecc.errors import UsageError
from cutecc.passes.dumps import DumpChoice
from cutecc.passes.generation.choice import MISSED_OPTIMISATIONS, PASSES, Backend
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.registry import Registered
from cutecc.record import ArtifactKind, Remark, Resumed, Signature, Workload
from cutecc.record.stages import UserLines

if TYPE_CHECKING:
    from cutecc.frontend.traced import TracedModule
    from cutecc.record import HostProgram

TIMELINE = "record-timeline"
_MARKS = "mark-timeline"
"""The passes whose sites are lines of Python, whatever else is kept."""
ALL_ARTIFACTS: tuple[ArtifactKind, ...] = ("llvm-ir", "ptx", "cubin", "sass", "host-program")
HOST_FORM = "core-to-llvm-prepare"
"""The pass after which the host function is in the form that a host program is made of."""


@dataclass(frozen=True)
class Edit:
    """One change to the pipeline."""

    kind: Literal["insert-after", "insert-before", "replace", "without"]
    selector: str
    pass_text: str = ""


@dataclass(frozen=True)
class CompileOptions:
    """How to lower a module, and what to keep of it."""

    pipeline: str | Pipeline = "nvidia"
    """A named pipeline, pipeline text, a file that holds it, or a pipeline as a value."""
    edits: tuple[Edit, ...] = ()
    start_after: str | None = None
    """Skip the passes up to and including this one: the module is a dump of it."""
    stop_after: str | None = None
    backend: Backend | None = None
    """What generates the code, in the place of the pipeline's own pass for that: `llvm`, or `nvvm`, the wheel's."""
    wheel: WheelOptions = field(default_factory=WheelOptions)
    ptxas: Path | None = None
    """Assemble with this program instead of the wheel's own assembler."""
    artifacts: tuple[ArtifactKind, ...] = ("ptx", "cubin", "host-program")
    observe: bool = False
    """Record what each pass changed, and operation counts."""
    dumps: DumpChoice = field(default_factory=DumpChoice)
    verify_each: bool = False
    reproduce: bool = True
    """Save a reproducer when a pass fails."""
    locations: bool | None = None
    """Trace with the user's source lines, which takes 1.1 times as long and changes no code. `None`: when something
    kept of the run can show them, or a pass has failed without."""
    line_info: bool = False
    """Keep source lines in the code, as `wheel.preserve_line_info` does; asking for either is asking for both."""
    analyses: tuple[str, ...] = ()
    """Read-only checks to run beside the passes (`cutecc.passes.analysis`), by their text form; `all` for every one.
    The passes then run in any case."""
    report: bool = False
    """Keep all that a report shows: every artifact, source lines, and the module after each pass that changed it. The
    passes then run in any case: the cache knows no modules."""

    def __post_init__(self) -> None:
        if self.report:
            object.__setattr__(self, "artifacts", ALL_ARTIFACTS)
            object.__setattr__(self, "observe", True)
            object.__setattr__(self, "line_info", True)
            object.__setattr__(self, "analyses", self.analyses or ("all",))
        if self.line_info and not self.wheel.preserve_line_info:
            object.__setattr__(self, "wheel", replace(self.wheel, preserve_line_info=True))
        elif self.wheel.preserve_line_info:
            object.__setattr__(self, "line_info", True)

    @property
    def wants_locations(self) -> bool:
        """Whether to trace with source lines from the start."""
        if self.locations is not None:
            return self.locations
        shown = self.observe or bool(self.dumps) or bool(self.analyses) or self.wheel.preserve_line_info
        return shown or any(name in self.words for name in (TIMELINE, _MARKS))

    @property
    def needs_passes(self) -> bool:
        """Whether to run the passes although the result may be known: to show what they do, check them, or stop."""
        return self.keeps_stages or bool(self.analyses) or self.verify_each or self.stop_after is not None

    @property
    def keeps_stages(self) -> bool:
        """Whether the record holds the module after each pass that changed it (`cutecc.record.stages`)."""
        return self.report or bool(self.dumps)

    @property
    def keeps_llvm_code(self) -> bool:
        """Whether the record holds the code after each pass of LLVM, where that generates it."""
        return self.report or bool({"all", PASSES["llvm"]} & {*self.dumps.after})

    @property
    def watches_llvm(self) -> bool:
        """Whether the record holds what LLVM says of its passes."""
        return self.keeps_llvm_code or bool({"all", MISSED_OPTIMISATIONS} & {*self.analyses})

    @property
    def trace_options(self) -> str:
        """Options that the DSL has to know while it traces, as it takes them."""
        return "--enable-assertions" if self.wheel.enable_assertions else ""

    @property
    def words(self) -> list[str]:
        """Everything in the pipeline and its edits that may be the name of a pass or pipeline."""
        texts = [str(self.pipeline), *(edit.pass_text for edit in self.edits), *self.analyses]
        return [word for text in texts for word in re.findall(r"[\w-]+", text)]

    def changed(self) -> dict[str, str | int | bool]:
        """The settings that decide about the code and differ from their defaults, by command line name."""
        defaults = WheelOptions()
        settings: dict[str, str | int | bool] = {
            entry.name.replace("_", "-"): getattr(self.wheel, entry.name)
            for entry in fields(WheelOptions)
            if getattr(self.wheel, entry.name) != getattr(defaults, entry.name)
        }
        if self.backend:
            settings["backend"] = self.backend
        if self.ptxas:
            settings["ptxas"] = str(self.ptxas)
        return settings


def with_line_info(options: CompileOptions) -> CompileOptions:
    """The same, with the user's lines kept in the PTX: what the emulator says of a kernel then names them."""
    return replace(options, line_info=True)


_FIRST = {"nvidia": "cute-remove-static-args", "open": "number-fragments"}
"""By pipeline, the pass that is the first to see a kernel as it was traced."""


def recording_timeline(options: CompileOptions, sites: str) -> CompileOptions:
    """The same, with code in the kernel that records a timeline of these sites (`waits`, `all`), unless it is there.

    Raises `UsageError` for a pipeline that is not known by name and does not have the pass.
    """
    return options if TIMELINE in options.words else _on_the_trace(options, TIMELINE, sites)


def marking_timeline(options: CompileOptions, sites: str) -> CompileOptions:
    """The same, with marks for the wheel's own profiler at these sites. Raises `UsageError` for other pipelines."""
    if str(options.pipeline) != "nvidia":
        raise UsageError("marks of the wheel's profiler are for the pipeline nvidia: others know nothing of them")
    marked = _on_the_trace(options, _MARKS, sites)
    return replace(marked, edits=(*marked.edits, Edit("without", "strip-iket-ops")))


def _on_the_trace(options: CompileOptions, name: str, sites: str) -> CompileOptions:
    first = _FIRST.get(str(options.pipeline))
    if first is None:
        raise UsageError(
            f"the pipeline has no {name}, which a timeline needs",
            hints=[f"put it behind the trace: --insert-before=PASS={name}"],
        )
    return replace(options, edits=(Edit("insert-before", first, f"{name}{{sites={sites}}}"), *options.edits))


@dataclass(frozen=True)
class CompileRequest:
    """One module to compile for one target."""

    module: bytes
    """MLIR text or bytecode."""
    target: str
    name: str
    """The kernel's short name."""
    source: str = "-"
    """The input as the user named it, for messages."""
    entry: str | None = None
    """What of the source it is, where the user said so: a function, or an expression."""
    signature: Signature | None = None
    workload: Workload | None = None
    """How to run the kernel and rate it, for the record."""
    options: CompileOptions = field(default_factory=CompileOptions)
    output: Path | None = None
    """The folder to write the record into as it grows."""
    output_handle: str | None = None
    """Of `output`, where somebody holds it open: then it is that folder, whatever has its name (`OpenFolder`)."""
    registered: tuple[Registered, ...] = ()
    """Passes, pipelines and rows of atoms that a worker has to register first."""
    command: Sequence[str] = ()
    trace_seconds: float = 0.0
    """How long tracing took."""
    warnings: Sequence[Remark] = ()
    """What the DSL warned of while it traced."""
    lines: UserLines | None = None
    """What the trace knows of the user's program, for the stages that the record keeps."""
    cache: bool = False
    """Whether the cache may answer, and keep the result."""
    resumed: Resumed | None = None
    """The record and stage that the module is from."""
    host: HostProgram | Remark | None = None
    """What launches the kernel, or why nothing does, where the run begins behind the form that it is made of."""

    def of(self, traced: TracedModule, seconds: float = 0.0) -> CompileRequest:
        """The same for a kernel that was traced, which took so many seconds."""
        return replace(
            self,
            module=traced.bytecode,
            name=traced.name,
            signature=traced.signature,
            workload=self.workload or traced.workload,
            trace_seconds=seconds,
            warnings=traced.warnings,
            lines=traced.lines,
        )


_KINDS: dict[str, tuple[Any, str]] = {
    "pipeline": (str | Pipeline, "a name, a text or a Pipeline"),
    "name": (str, "a str"),
    "options": (CompileOptions, "a CompileOptions"),
    "output": (str | Path | None, "a path"),
    "signature": (Signature | None, "a Signature"),
    "cache": (bool | None, "a bool"),
}


def check_kinds(**values: object) -> None:
    """Raise `UsageError` for an argument of another kind: anybody may hand over anything, and no checker sees it."""
    for name, value in values.items():
        kind, wanted = _KINDS[name]
        if not isinstance(value, kind):
            raise UsageError(f"{name} is {wanted}, not {value!r}")
