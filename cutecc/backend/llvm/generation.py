"""LLVM IR to PTX with llvmlite: what runs in a process of its own (`cutecc.backend.llvm.generators`).

Imports neither MLIR nor the DSL. The options of LLVM are those of the process: every call in it gives the same.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import tempfile
from collections.abc import Collection, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cutecc.errors import ToolError

TRIPLE = "nvptx64-nvidia-cuda"
NEWEST_PTX = 90
"""The newest PTX version that LLVM 22.1 knows, times 10; asked for a newer one, it silently takes an old one."""

_CALLED = re.compile(r"^declare [^@]*@(llvm\.[\w.]+)\(", re.MULTILINE)
_KNOWN = re.compile(r"^declare [^@]*@(llvm\.[\w.]+)\(.*\) #\d+$", re.MULTILINE)
_ATTRIBUTES = re.compile(r"( #\d+)?$")
_LIBDEVICE = "__nv_"
"""What the names of libdevice's functions begin with."""
# Of LLVM's own functions, those for which the NVPTX target has neither an instruction nor a library (found by giving
# it each, for f16, bf16, f32 and f64): selecting one ends the process.
_WITHOUT_INSTRUCTION = re.compile(
    r"llvm\.(?:(?:exp|exp10|log|log2|log10|pow|powi|tan|asin|acos|atan|atan2|sinh|cosh|sincos|sincospi|modf"
    r"|lrint|llrint|lround|llround)\.|(?:exp2|sin|cos|tanh)\.(?:v\d+)?f64)"
)
_APPROXIMATE_ONLY = re.compile(r"llvm\.(?:sin|cos|tanh)\.")
"""Functions that have an instruction where the call allows approximation."""
_EXACT_CALL = re.compile(r"\bcall (?!(?:\w+ )*?(?:afn|fast) )[^@\n]*@(llvm\.(?:sin|cos|tanh)\.\w+)\(")


@dataclass(frozen=True)
class Job:
    """One module to generate PTX for."""

    text: str
    """LLVM IR, mended for LLVM 22, with the data layout that it generates code by."""
    chip: str
    ptx_version: int
    """Times 10: 88 is PTX 8.8."""
    opt_level: int
    libdevice: str | None = None
    """NVIDIA's library of mathematical functions, as bitcode."""
    libraries: tuple[str, ...] = ()
    """More bitcode to link."""
    optimised: bytes = b""
    """What `Made.optimised` was of the same job, perhaps in a process of other options of the code generator."""
    timed: bool = False
    """Whether LLVM is to take the times of its passes."""


@dataclass(frozen=True)
class Made:
    """What came of a job."""

    ptx: str = ""
    unknown: tuple[str, ...] = ()
    """The intrinsics that LLVM 22 has no instruction for; then there is no PTX."""
    optimised: bytes = b""
    """The module that the PTX was generated from, as bitcode."""
    times: tuple[str, ...] = ()
    """LLVM's reports of times, of a job that is `timed`: of each pass manager that ran, and of the code generator."""


@functools.cache
def _llvm() -> Any:
    """llvmlite's binding of LLVM, which takes some 40 ms to load."""
    return importlib.import_module("llvmlite.binding")


_options: tuple[str, ...] | None = None
_target: Any = None


def start(options: tuple[str, ...]) -> str:
    """Load LLVM and set its options, once in a process; returns its version."""
    global _options, _target
    llvm = _llvm()
    if _options is None:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        for option in options:
            llvm.set_option("cutecc", option)
        _target = llvm.Target.from_triple(TRIPLE)
        _options = options
    assert _options == options
    return ".".join(map(str, llvm.llvm_version_info))


def generate(options: tuple[str, ...], job: Job) -> Made:
    """The PTX of `job`, or the intrinsics that there are no instructions for.

    Raises `ToolError` for LLVM IR that LLVM rejects, and a chip or PTX version that it does not know.
    """
    llvm = _llvm()
    start(options)
    machine = _machine(job)
    times = _Times() if job.timed else None
    if job.optimised:
        return _emitted(machine, llvm.parse_bitcode(job.optimised), job.optimised, times)
    try:
        module = llvm.parse_assembly(f'target triple = "{TRIPLE}"\n{job.text}')
        if unknown := _without_instruction(job.text):
            return Made(unknown=unknown)
        module.verify()
        _link(module, machine, job)
    except RuntimeError as failure:
        raise ToolError("LLVM rejects the LLVM IR of the device code", notes=[str(failure).strip()]) from None
    _optimise(module, machine, job.opt_level, times)
    # Before code is generated, which rewrites the module.
    return _emitted(machine, module, module.as_bitcode(), times)


def _emitted(machine: Any, module: Any, optimised: bytes, times: _Times | None) -> Made:
    with times.of_code_generation() if times else contextlib.nullcontext():
        ptx = machine.emit_assembly(module)
    return Made(ptx, optimised=optimised, times=tuple(times.reports) if times else ())


class _Times:
    """LLVM's reports of times."""

    def __init__(self) -> None:
        _managers()
        self.reports: list[str] = []

    @contextlib.contextmanager
    def of_passes(self, builder: Any) -> Generator[None]:
        """Of what a pass manager runs that this builder made."""
        builder.start_pass_timing()
        yield
        self.reports.append(builder.finish_pass_timing())

    @contextlib.contextmanager
    def of_code_generation(self) -> Generator[None]:
        """Of the code generator."""
        _managers().set_time_passes(True)
        try:
            yield
            self.reports.append(_managers().report_and_reset_timings())
        finally:
            _managers().set_time_passes(False)


@functools.cache
def _managers() -> Any:
    """llvmlite's binding of what takes times. LLVM takes the option once, and begins to take them with that."""
    managers = importlib.import_module("llvmlite.binding.newpassmanagers")
    _llvm().set_option("cutecc", "-time-passes-per-run")
    managers.set_time_passes(False)
    return managers


def _machine(job: Job) -> Any:
    """LLVM's target machine for the chip; `ToolError` for one that LLVM does not know.

    LLVM itself takes a chip that it does not know for an old one, and says so on standard error, which in this process
    is nobody else's.
    """
    with tempfile.TemporaryFile() as heard:
        usual = os.dup(2)
        os.dup2(heard.fileno(), 2)
        try:
            features = f"+ptx{min(job.ptx_version, NEWEST_PTX)}"
            machine = _target.create_target_machine(cpu=job.chip, features=features, opt=job.opt_level)
        finally:
            os.dup2(usual, 2)
            os.close(usual)
        heard.seek(0)
        if b"not a recognized processor" in heard.read():
            raise ToolError(f"LLVM 22 generates no code for {job.chip}", hints=["--backend nvvm may"])
    return machine


def _without_instruction(text: str) -> tuple[str, ...]:
    """The intrinsics that `text` declares and LLVM 22 has no instruction for.

    One that it does not know would become a call of a function of that name. Reading a declaration, LLVM gives it the
    attributes of the intrinsic that it knows, and no others.
    """
    llvm = _llvm()
    lines = [_ATTRIBUTES.sub("", line) for line in text.split("\n") if _CALLED.match(line)]
    known = set(_KNOWN.findall(str(llvm.parse_assembly("\n".join(lines)))))
    names = [match[1] for line in lines if (match := _CALLED.match(line))]
    exact = set(_EXACT_CALL.findall(text)) if _APPROXIMATE_ONLY.search(text) else set[str]()
    return tuple(name for name in names if name not in known or name in exact or _WITHOUT_INSTRUCTION.match(name))


def _link(module: Any, machine: Any, job: Job) -> None:
    """Link what `module` calls of libraries; what came from them becomes its own, and goes where nothing calls it."""
    llvm = _llvm()
    own = _defined(module)
    for file in job.libraries:
        _link_in(module, llvm.parse_bitcode(Path(file).read_bytes()))
    if called := [each.name for each in module.functions if each.is_declaration and each.name.startswith(_LIBDEVICE)]:
        if job.libdevice is None:
            raise ToolError(
                "the kernel calls NVIDIA's library of mathematical functions, libdevice, which is not installed",
                hints=["install it: pip install nvidia-nvvm"],
            )
        _link_in(module, llvm.parse_bitcode(_needed_by(frozenset(called), job.libdevice)))
    if _defined(module) != own:
        _make_internal(module, own)
        # First of all: the other passes would simplify hundreds of functions for nothing.
        _drop_unused(module, machine)


@functools.lru_cache(maxsize=64)
def _needed_by(called: frozenset[str], library: str) -> bytes:
    """What the functions `called` need of a file of bitcode: all of libdevice takes LLVM 60 ms to read and link."""
    module = _llvm().parse_bitcode(Path(library).read_bytes())
    _make_internal(module, called)
    _drop_unused(module, _target.create_target_machine())
    return module.as_bitcode()


def _link_in(module: Any, library: Any) -> None:
    library.triple = module.triple
    library.data_layout = module.data_layout
    module.link_in(library)


def _defined(module: Any) -> set[str]:
    return {function.name for function in module.functions if not function.is_declaration}


def _make_internal(module: Any, but: Collection[str]) -> None:
    for function in module.functions:
        if not function.is_declaration and function.name not in but:
            function.linkage = "internal"


def _drop_unused(module: Any, machine: Any) -> None:
    llvm = _llvm()
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    manager.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(0)))


def _optimise(module: Any, machine: Any, opt_level: int, times: _Times | None) -> None:
    llvm = _llvm()

    def run(manager: Any, builder: Any) -> None:
        with times.of_passes(builder) if times else contextlib.nullcontext():
            manager.run(module, builder)

    if opt_level:
        # Loops that are to be unrolled are unrolled first. LLVM's own order moves what their bodies do not use, such as
        # a sum before them, behind them (IndVarSimplify): of an unrolled attention kernel, 7 KB of registers spilled.
        manager = llvm.create_new_module_pass_manager()
        manager.add_loop_rotate_pass()
        manager.add_loop_unroll_pass()
        run(manager, _builder(machine, opt_level))
    # Another one: a builder keeps what watched a run, and that ends with the run.
    builder = _builder(machine, opt_level)
    run(builder.getModulePassManager(), builder)


def _builder(machine: Any, opt_level: int) -> Any:
    llvm = _llvm()
    return llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(opt_level))
