"""Kernels in PTX that is written by hand, with host programs: what the emulator's device is tried with.

`scale(x: f32[?N], factor: f32, stream)` multiplies; one block of 32 threads for every 32 elements.
"""

from __future__ import annotations

from dataclasses import replace

from cutecc.record import Artifact, Compilation, HostProgram, Parameter, Signature, Versions
from cutecc.record.host_program import (
    Block,
    HostArgument,
    Instruction,
    KernelEntry,
    KernelParameter,
    LaunchAttribute,
    LaunchSite,
    Leaf,
    ParameterWrite,
    encode,
)

ENTRY = KernelEntry("scale", [KernelParameter(0, 8, 8), KernelParameter(8, 4, 4), KernelParameter(12, 4, 4)], 16)
PTX = """\
.version 8.0
.target TARGET
.address_size 64
DECLARATIONS
.visible .entry scale(.param .u64 x, .param .u32 size, .param .f32 factor)
{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .b64 %rd<16>;
    .reg .f32 %f<8>;
    LOCAL
    ld.param.u64 %rd1, [x];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.s32 %r3, %r2, 32, %r1;
    mul.wide.s32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2;
    .loc 1 7 4
    BODY
    ret;
}
.file 1 "kernel.py"
"""
SCALE = "ld.global.f32 %f2, [%rd3]; mul.f32 %f3, %f2, %f1; st.global.f32 [%rd3], %f3;"
PAST_THE_END = "ld.global.f32 %f2, [%rd3+4]; st.global.f32 [%rd3], %f2;"
COUNT = "atom.global.add.u32 %r4, [%rd1], 1;"
PRINT = (
    "cvt.u64.u32 %rd5, %r2; st.local.b32 [line_arguments], %r2; setp.eq.u32 %p1, %r1, 0; @!%p1 bra DONE; "
    "{ .param .b64 format; .param .b64 values; .param .b32 result; mov.u64 %rd6, text; cvta.global.u64 %rd6, %rd6; "
    "mov.u64 %rd7, line_arguments; cvta.local.u64 %rd7, %rd7; st.param.b64 [format], %rd6; "
    "st.param.b64 [values], %rd7; call.uni (result), vprintf, (format, values); } DONE:"
)
PRINT_DECLARATIONS = """\
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[10] = {98, 108, 111, 99, 107, 32, 37, 100, 10, 0};
"""


def ptx(body: str = SCALE, *, target: str = "sm_90a", declarations: str = "") -> str:
    """The PTX of `scale` with this body."""
    local = ""
    if body is PRINT:
        local, declarations = ".local .align 4 .b8 line_arguments[4];", PRINT_DECLARATIONS + declarations
    text = PTX.replace("LOCAL", local).replace("TARGET", target)
    return text.replace("DECLARATIONS", declarations).replace("BODY", body)


def host_program(
    *,
    entry: KernelEntry = ENTRY,
    launches: int = 1,
    block: int | tuple[int, int, int] = 32,
    shared_bytes: int = 0,
    attributes: tuple[tuple[str, tuple[int, ...]], ...] = (),
    grid: tuple[int, int, int] | None = None,
) -> HostProgram:
    """The host function of `scale`; `grid` takes the place of what the size asks for."""
    pointer, size, factor, stream = range(4)
    types = ["i64", "i32", "f32", "i64"]
    instructions: list[Instruction] = []

    def constant(number: int) -> int:
        types.append("i32")
        instructions.append(Instruction("constant", results=[len(types) - 1], immediate=number & 0xFFFFFFFF))
        return len(types) - 1

    tile = constant(32)
    types.append("i32")
    blocks = len(types) - 1
    instructions.append(Instruction("udiv", [size, tile], [blocks]))
    one, none = constant(1), constant(0)
    made = (blocks, one, one) if grid is None else tuple(constant(each) for each in grid)
    given = [LaunchAttribute(name, [constant(each) for each in values]) for name, values in attributes]  # pyright: ignore
    shape = (constant(block), one, one) if isinstance(block, int) else tuple(constant(each) for each in block)
    dynamic = constant(shared_bytes)
    for _ in range(launches):
        types.append("i32")
        status = len(types) - 1
        writes = [ParameterWrite(0, pointer), ParameterWrite(8, size), ParameterWrite(12, factor)]
        site = LaunchSite(0, made, shape, dynamic, stream, given, writes)
        instructions += [Instruction("launch", [], [status], launch=site), Instruction("return_if_error", [status])]
    arguments = [
        HostArgument([Leaf("pointer", "i64"), Leaf("size", "i32")]),
        HostArgument([Leaf("scalar", "f32")]),
        HostArgument([Leaf("stream", "i64")]),
    ]
    return HostProgram("host_scale", arguments, types, [entry], Block(instructions, yields=[none]))  # pyright: ignore


def compilation(
    body: str = SCALE,
    *,
    target: str = "sm_90a",
    text: str | None = None,
    has_ptx: bool = True,
    host: HostProgram | None = None,
    names: tuple[str, str] = ("x", "factor"),
) -> Compilation:
    """The record of `scale` for one target; `names` are those of its parameters."""
    record = Compilation("scale", target, "cse", Versions("0", "3", "4.8", "wheel"), status="ok")
    specs = zip((*names, "stream"), ("f32[?N]", "f32", "stream"), strict=True)
    record.signature = Signature("scale", [Parameter(name, spec) for name, spec in specs])
    code = (text or ptx(body, target=target)).encode() if has_ptx else None
    for kind, data in (("cubin", b"cubin"), ("ptx", code), ("host-program", encode(host or host_program()))):
        if data is not None:
            record.files[f"scale.{kind}"] = data
            record.artifacts.append(Artifact(kind, f"scale.{kind}"))  # pyright: ignore
    return record


def asking_for_nothing() -> KernelEntry:
    """A kernel that asks neither for more shared memory nor for large clusters."""
    return replace(ENTRY, raise_shared_limit=False, non_portable_cluster=False)
