"""Collecting what lowering makes: the host program, LLVM IR, PTX and cubin; SASS and resources from these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from cutecc.compilation.llvm_dumps import write_llvm_dumps
from cutecc.compilation.request import HOST_FORM, CompileRequest
from cutecc.errors import PassError, SourceLocation, ToolError, UsageError
from cutecc.passes.base import Pass
from cutecc.passes.generation.kept import KeptGeneration, LlvmGeneration, keeping
from cutecc.passes.manager import Observer, Position
from cutecc.passes.nvidia import codegen
from cutecc.passes.nvidia.codegen import CodeGeneration
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Artifact, ArtifactKind, Compilation, Remark, host_program, llvm_passes
from cutecc.record.assembly import tied
from cutecc.record.folder import RecordFolder, file_name
from cutecc.record.naming import short_kernel_name
from cutecc.support.locations import InstructionPlace
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir
    from cutecc.passes.nvidia.lost_locations import LostAccesses
    from cutecc.record.host_program import HostProgram


class ArtifactCollector(Observer):
    """Watches the passes that things are made from, and puts the artifacts asked for into the record."""

    def __init__(self, request: CompileRequest, scratch: Path) -> None:
        self._request = request
        self._target = Target.parse(request.target)
        self._scratch = scratch
        self._generation: KeptGeneration | None = None
        self._position: Position | None = None
        """Where it ran."""
        self._llvm_ir: Mapping[str, str] = {}
        self._lost: LostAccesses = {}
        given = request.host
        self._host: HostProgram | None = None if isinstance(given, Remark) else given
        self._no_host: Remark | None = given if isinstance(given, Remark) else None
        """Why there is no host program although there is a host function."""
        self._places: Mapping[str, str] = {}
        """By kernel, the user's line that its launch is ascribed to."""
        self._host_accesses: Sequence[Remark] = ()
        """Warnings of what the host function does that no call can."""
        self._log = ""

    def armed(self, pipeline: Pipeline) -> Pipeline:
        """The same pipeline, with its code generator writing into the scratch folder."""
        return pipeline.map(self._arm)

    def _arm(self, pass_: Pass) -> Pass:
        options = self._request.options
        kept = keeping(pass_, self._scratch, options.ptxas, timed=options.keeps_llvm_code)
        if kept is None:
            return pass_
        self._generation = kept
        if isinstance(kept, LlvmGeneration):
            kept.plain.prepare()
        return kept

    def before(self, position: Position, module: ir.Module) -> None:
        if position.pass_ is not self._generation:
            return
        # A run that goes on from a dump alone is for looking at.
        is_whole = self._request.resumed or not self._request.options.start_after
        if self._host is None and self._no_host is None and is_whole:
            self._no_host = _missed(module)
        if self._request.options.line_info and isinstance(self._generation, CodeGeneration):
            from cutecc.passes.nvidia.lost_locations import lost_accesses

            self._lost = lost_accesses(module)
        if "llvm-ir" in self._request.options.artifacts:
            from cutecc.backend.llvm_ir import translate

            given = self._generation.plain.llvm_ir if isinstance(self._generation, LlvmGeneration) else None
            self._llvm_ir = translate(module, self._target, given)

    def after(self, position: Position, module: ir.Module, seconds: float) -> None:
        if position.pass_.name == HOST_FORM:
            self._translate_host(module)
        if position.pass_ is self._generation:
            self._position = position
            self._log = codegen.assembler_log(module)

    def _translate_host(self, module: ir.Module) -> None:
        from cutecc.backend.host import UntranslatableError, launches_kernels, translate
        from cutecc.backend.launchability import host_accesses, launch_places

        if not launches_kernels(module):
            return
        try:
            self._host, self._no_host = translate(module), None
            self._places, self._host_accesses = launch_places(module), host_accesses(module)
        except UntranslatableError as failure:
            self._host, self._no_host = None, _not_launchable(failure.message, failure.location)

    def failed(self, position: Position, error: PassError, seconds: float) -> None:
        """When the assembler rejected the PTX, say where in the PTX, and on which line of the user's."""
        if self._generation is None or position.pass_ is not self._generation:
            return
        from cutecc.backend.launchability import impossible_launches
        from cutecc.passes.nvidia.lost_locations import instruction_places

        for kernel, launches in (impossible_launches(self._host, self._target) if self._host else {}).items():
            place = f"{self._places[kernel]}: " if kernel in self._places else ""
            error.notes += [f"{place}kernel {short_kernel_name(kernel)}: {each.text}; {each.mend}" for each in launches]
        for text in self._generation.ptx():
            if located := self._complaint(error, text, instruction_places(text, self._lost)):
                error.message = f"pass {error.pass_name} failed: {located.message}"
                error.location = located.location
                error.notes = located.notes + error.notes
                return

    def _complaint(self, error: PassError, ptx: str, places: Sequence[InstructionPlace]) -> ToolError | None:
        """What the wheel's assembler said of a line of `ptx`. Where it says nothing, as in 4.6.0, ours is asked."""
        from cutecc.backend.ptxas import assemble, located_error

        name = f"{file_name(self._request.name)}.ptx"
        if "ptxas" in error.message:
            return located_error(error.message, ptx, name, places)
        try:
            assemble(ptx, self._target, opt_level=0, name=name)
        except ToolError as failure:
            return failure if failure.location else None
        return None

    def finish(self, compilation: Compilation, folder: RecordFolder | None) -> None:
        """Put the artifacts into the record, each as soon as it is made. Raises `ToolError`."""
        if self._generation is None or not self._generation.ptx():
            if not self._request.options.stop_after:
                compilation.warnings.append(Remark("warning", "no device code was made: there is no PTX and no cubin"))
            return
        if isinstance(self._generation, LlvmGeneration):
            versions = compilation.versions
            compilation.versions = replace(versions, llvm=f"{self._generation.plain.llvm_version()} of {versions.llvm}")
        wanted = self._request.options.artifacts
        add = _Adder(compilation, folder, file_name(self._request.name))
        ptx = self._generation.ptx()
        self._add_texts(add, ptx)
        self._add_llvm_passes(add, compilation, folder)
        if self._request.options.observe:
            compilation.warnings += self._host_accesses
        for number, cubin in enumerate(self._cubins(ptx)):
            if "cubin" in wanted:
                add("cubin", ".cubin", cubin, assembled_from=ptx[number].encode())
            if self._request.options.observe:
                self._observe(compilation, cubin)
            if "sass" in wanted:
                from cutecc.backend.nvdisasm import disassemble
                from cutecc.backend.tools import find_tool, tool_version

                disassembler = tool_version(find_tool("nvdisasm"))
                compilation.versions = replace(compilation.versions, nvdisasm=disassembler)
                add("sass", ".sass", disassemble(cubin).encode())
        if "host-program" in wanted:
            if self._host:
                add("host-program", ".host.json", host_program.encode(self._host))
            elif self._no_host:
                compilation.warnings.append(self._no_host)

    def _add_texts(self, add: _Adder, ptx: Sequence[str]) -> None:
        """What comes before cubins: LLVM IR, and PTX with the places of its instructions."""
        for text in self._llvm_ir.values():
            add("llvm-ir", ".ll", text.encode())
        if "ptx" in self._request.options.artifacts:
            from cutecc.passes.nvidia.lost_locations import instruction_places

            for text in ptx:
                add("ptx", ".ptx", text.encode(), instruction_places(text, self._lost))

    def _add_llvm_passes(self, add: _Adder, compilation: Compilation, folder: RecordFolder | None) -> None:
        """What LLVM did, where somebody asks and it was LLVM; a warning says why that cannot be told."""
        generation, options = self._generation, self._request.options
        if not isinstance(generation, LlvmGeneration) or not options.watches_llvm:
            return
        try:
            found = [*generation.passes(with_code=options.keeps_llvm_code)]
        except ToolError as error:
            why = "; ".join([error.message, *error.notes])
            compilation.warnings.append(Remark("warning", f"what LLVM's passes did is not known: {why}"))
            return
        for each in found:
            add("llvm-passes", llvm_passes.SUFFIX, llvm_passes.encode(each))
        if folder and options.dumps.after and self._position:
            write_llvm_dumps(found, self._position, folder)

    def _observe(self, compilation: Compilation, cubin: bytes) -> None:
        """Put down what the kernels of a cubin need of a GPU, and warn of launches that it cannot make."""
        from cutecc.backend.launch import dynamic_shared_bytes
        from cutecc.backend.launchability import launch_warnings
        from cutecc.backend.resources import kernel_resources

        dynamic = dynamic_shared_bytes(self._host) if self._host else {}
        resources = kernel_resources(cubin, self._target, log=self._log, dynamic_shared=dynamic)
        compilation.resources += resources
        compilation.warnings += launch_warnings(resources, self._host, self._target, self._places)

    def _cubins(self, ptx: list[str]) -> list[bytes]:
        assert self._generation is not None
        ptxas = self._request.options.ptxas
        if ptxas is None or isinstance(self._generation, LlvmGeneration):
            cubins = self._generation.cubins()
            if not cubins and "cubin" in self._request.options.artifacts:
                raise UsageError(
                    "the module asks for PTX alone: it is of a run with --ptxas", hints=["give --ptxas again"]
                )
            return cubins
        from cutecc.backend.ptxas import assemble
        from cutecc.backend.ptxas_options import checked_options

        wheel = self._request.options.wheel
        assembled = [
            assemble(
                text,
                self._target,
                options=checked_options(wheel.ptx_options),
                opt_level=wheel.opt_level,
                line_info=wheel.preserve_line_info,
                ptxas=ptxas,
            )
            for text in ptx
        ]
        self._log = "\n".join(result.log for result in assembled)
        return [result.cubin for result in assembled]


def _missed(module: ir.Module) -> Remark | None:
    """Why a lowered module with a host function was never in the form that can be translated."""
    from cutecc.backend.host import launches_kernels

    return _not_launchable(f"the run did not go through the pass {HOST_FORM}") if launches_kernels(module) else None


def _not_launchable(why: str, location: SourceLocation | None = None) -> Remark:
    return Remark("warning", f"cutecc cannot launch this kernel: {why}", str(location) if location else None)


class _Adder:
    """Adds artifacts to a record, the second of a kind under a name of its own."""

    def __init__(self, compilation: Compilation, folder: RecordFolder | None, stem: str) -> None:
        self._compilation = compilation
        self._folder = folder
        self._stem = stem

    def __call__(
        self,
        kind: ArtifactKind,
        suffix: str,
        data: bytes,
        places: tuple[InstructionPlace, ...] = (),
        *,
        assembled_from: bytes | None = None,
    ) -> None:
        number = 1 + sum(artifact.kind == kind for artifact in self._compilation.artifacts)
        name = f"{self._stem}{suffix}" if number == 1 else f"{self._stem}-{number}{suffix}"
        if self._folder:
            self._folder.write(name, data)
        self._compilation.files[name] = data
        artifact = Artifact(kind, name, places)
        self._compilation.artifacts.append(artifact if assembled_from is None else tied(artifact, data, assembled_from))
