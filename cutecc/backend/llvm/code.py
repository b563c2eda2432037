"""A lowered `gpu.module` to PTX and a cubin: the stages of this package in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cutecc.backend.llvm import candidates, generators
from cutecc.backend.llvm.candidates import OptionSet, Quality
from cutecc.backend.llvm.generation import NEWEST_PTX, Job
from cutecc.backend.llvm.legalize import mended
from cutecc.backend.llvm.libdevice import libdevice
from cutecc.backend.llvm.newer_operations import replace_newer_operations
from cutecc.backend.llvm.translation import SHORT_POINTERS, to_llvm_ir
from cutecc.backend.llvm.unsupported import CALLED, unsupported
from cutecc.backend.ptxas import Assembled, assemble, newest_ptx
from cutecc.backend.tools import find_tool
from cutecc.errors import ToolError
from cutecc.ir.mlir import ir
from cutecc.ir.version import installed_release
from cutecc.record.llvm_passes import LlvmPasses
from cutecc.target import Target

_CHIP = re.compile(r'\bchip = "(\w+)"')
_VERSION = re.compile(r"\+ptx(\d+)")
_NO_INSTRUCTION = re.compile(r"Cannot select: intrinsic %([\w.]+)")


@dataclass(frozen=True)
class CodeOptions:
    """How to generate and assemble code."""

    opt_level: int = 3
    """0 to 3, of LLVM and ptxas."""
    fast_math: bool = False
    """Approximate division and square root of f32, and flush its denormals."""
    line_info: bool = False
    ptxas_options: tuple[str, ...] = ()
    """Checked (`cutecc.backend.ptxas_options`)."""
    ptxas: Path | None = None
    """The assembler of the user's choice."""
    libraries: tuple[str, ...] = ()
    """Bitcode to link."""
    timed: bool = False
    """Have LLVM take the times of its passes, for `watched`."""


@dataclass(frozen=True)
class DeviceCode:
    """What came of one `gpu.module`."""

    ptx: str
    assembled: Assembled
    option_set: OptionSet
    tried: dict[str, Quality]
    """What ptxas said of each option set, by its name."""
    left_out: tuple[str, ...] = ()
    """The option sets that might have given better code, and were not tried: the search ends before."""
    made_from: tuple[tuple[str, ...], Job] | None = None
    """LLVM's options, and what it was given: enough to make the PTX again."""
    times: tuple[str, ...] = ()
    """LLVM's reports of times, where they were asked for."""


def llvm_ir(device: ir.Operation, *, fast_math: bool = False) -> str:
    """What LLVM is given of the `gpu.module` operation `device`, which is left as it is; errors as `generate`."""
    copy = device.clone(ip=False).operation
    replace_newer_operations(copy)
    return mended(to_llvm_ir(copy, SHORT_POINTERS), flush=fast_math)


def generate(device: ir.Operation, options: CodeOptions, made: Callable[[str], None] | None = None) -> DeviceCode:
    """The code of the `gpu.module` operation `device`, which says what it is for, and is left as it is.

    `made` is told the PTX before it is assembled for the first time. Raises `ToolError`: with the user's line for an
    operation that LLVM has no instruction for, and for PTX that ptxas rejects.
    """
    target, asked = target_of(device)
    text = llvm_ir(device, fast_math=options.fast_math)
    job = Job(
        text,
        target.name,
        _ptx_version(asked, options.ptxas),
        options.opt_level,
        libdevice=libdevice(),
        libraries=options.libraries,
        timed=options.timed,
    )
    best = _generate(candidates.FIRST, job, target, options, device, made)
    tried = [best]
    again = replace(job, optimised=best.optimised)
    optimising = best.times[:-1]
    lines = best.ptx.count("\n")
    pending = candidates.others(best.quality)
    while pending and not best.quality.is_clean and candidates.has_room(len(tried), lines):
        tried.append(_generate(pending.pop(0), again, target, options, device, known=tried))
        best = min(best, tried[-1], key=lambda each: each.quality)
    left_out = () if best.quality.is_clean else tuple(each.name for each in pending)
    qualities = {each.option_set.name: each.quality for each in tried}
    made_from = best.option_set.for_process(fast_math=options.fast_math), replace(job, timed=False)
    times = (*optimising, *best.times[-1:])
    return DeviceCode(best.ptx, best.assembled, best.option_set, qualities, left_out, made_from, times)


def watched(code: DeviceCode, *, with_code: bool) -> LlvmPasses:
    """What LLVM did when it made `code`: what it missed, and `with_code` its passes and what they changed too.

    The code is made once more, in a process of its own. Raises `ToolError`, also where that gives other code.
    """
    assert code.made_from is not None
    watched = generators.watch(*code.made_from, with_code=with_code, times=code.times)
    if watched.ptx != code.ptx:
        raise ToolError("LLVM generates other code while its passes are watched")
    return watched.passes


@dataclass(frozen=True)
class _Candidate:
    option_set: OptionSet
    ptx: str
    assembled: Assembled
    quality: Quality
    optimised: bytes
    """The LLVM IR that the code was generated from, as bitcode."""
    times: tuple[str, ...]
    """LLVM's reports; the last one is of code generation."""


def _generate(
    option_set: OptionSet,
    job: Job,
    target: Target,
    options: CodeOptions,
    device: ir.Operation,
    made: Callable[[str], None] | None = None,
    known: Sequence[_Candidate] = (),
) -> _Candidate:
    """The code of an option set; what is `known` of the same PTX is not assembled again."""
    process = option_set.for_process(fast_math=options.fast_math)
    try:
        answer = generators.generate(process, job)
    except ToolError as failure:
        if names := _not_selected(failure, job):
            raise unsupported(device, names, later_than=_newer_ptx(process, job)) from failure
        raise
    if answer.unknown:
        raise unsupported(device, answer.unknown)
    if same := next((each for each in known if each.ptx == answer.ptx), None):
        return replace(same, option_set=option_set)
    if made:
        made(answer.ptx)
    assembled = assemble(
        answer.ptx,
        target,
        options=options.ptxas_options,
        opt_level=options.opt_level,
        line_info=options.line_info,
        ptxas=options.ptxas,
    )
    return _Candidate(option_set, answer.ptx, assembled, Quality.of(assembled.log), answer.optimised, answer.times)


def _not_selected(failure: ToolError, job: Job) -> list[str]:
    """The intrinsics that LLVM knows and this chip has no instruction for: selecting one ended its process."""
    found = _NO_INSTRUCTION.search("\n".join(failure.notes))
    if found is None:
        return []
    # LLVM's last words leave out the types that the name ends in.
    return sorted(name for name in set(CALLED.findall(job.text)) if f"{name}.".startswith(f"{found[1]}."))


def _newer_ptx(process: tuple[str, ...], job: Job) -> int | None:
    """The PTX version of `job`, of which LLVM did not select all, when with its newest one it does."""
    if job.ptx_version >= NEWEST_PTX:
        return None
    newer = replace(job, ptx_version=NEWEST_PTX)
    try:
        generators.generate(process, newer)
    except ToolError as failure:
        return None if _not_selected(failure, newer) else job.ptx_version
    return job.ptx_version


def target_of(device: ir.Operation) -> tuple[Target, int | None]:
    """The GPU that `device` is for, and the PTX version, times 10, that it asks for, if any: wheels of cu13 do not."""
    text = str(device.attributes["targets"]) if "targets" in device.attributes else ""
    chip, version = _CHIP.search(text), _VERSION.search(text)
    if chip is None:
        hint = f"run {installed_release().sets_target} on it"
        raise ToolError("the device module does not say which GPU it is for", hints=[hint])
    return Target.parse(chip[1]), int(version[1]) if version else None


def _ptx_version(asked: int | None, ptxas: Path | None) -> int:
    """The PTX version to generate, times 10: what is `asked` for, else LLVM's newest; none that ptxas does not take."""
    tool = find_tool("ptxas", ptxas)
    if asked is not None and tool.origin == "package":
        return asked  # the package that cutecc requires takes what wheels ask for: nothing is run to find that out
    return min(asked or NEWEST_PTX, newest_ptx(tool))
