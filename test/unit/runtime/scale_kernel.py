"""A compiled kernel made by hand: `scale(x: f32[?N], factor: f32, stream)`, one block for every 32 elements.

Its parameter block is the address of `x`, its size, and the factor. The "cubin" is a word, which the recording driver
takes for one.
"""

from __future__ import annotations

import struct

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

KERNEL = "scale_kernel"
ENTRY = KernelEntry(KERNEL, [KernelParameter(0, 8, 8), KernelParameter(8, 4, 4), KernelParameter(12, 4, 4)], 16)
POINTER, SIZE, FACTOR, STREAM = range(4)


def program(*, launches: int = 1, attributes: bool = False) -> HostProgram:
    """The host program, which may launch its kernel several times."""
    types = ["i64", "i32", "f32", "i64", "i32", "i32", "i32", "i32", "i32"]
    tile, blocks, one, zero, none = range(4, 9)
    instructions = [
        Instruction("constant", results=[tile], immediate=32),
        Instruction("udiv", [SIZE, tile], [blocks]),
        Instruction("constant", results=[one], immediate=1),
        Instruction("constant", results=[zero], immediate=0),
        Instruction("constant", results=[none], immediate=0),
    ]
    extra = [LaunchAttribute("cooperative", [zero]), LaunchAttribute("cluster", [one, one, one])] if attributes else []
    for _ in range(launches):
        status = len(types)
        types.append("i32")
        site = LaunchSite(
            kernel=0,
            grid=(blocks, one, one),
            block=(tile, one, one),
            shared_bytes=zero,
            stream=STREAM,
            attributes=extra,
            parameters=[ParameterWrite(0, POINTER), ParameterWrite(8, SIZE), ParameterWrite(12, FACTOR)],
        )
        instructions += [Instruction("launch", [], [status], launch=site), Instruction("return_if_error", [status])]
    arguments = [
        HostArgument([Leaf("pointer", "i64"), Leaf("size", "i32")]),
        HostArgument([Leaf("scalar", "f32")]),
        HostArgument([Leaf("stream", "i64")]),
    ]
    return HostProgram("host_scale", arguments, types, [ENTRY], Block(instructions, yields=[none]))  # pyright: ignore


def compilation(
    target: str = "sm_90a",
    *,
    cubin: bytes | None = b"cubin",
    ptx: bytes | None = None,
    host: HostProgram | None = None,
    signature: bool = True,
) -> Compilation:
    """The record of `scale` for one target."""
    record = Compilation("scale", target, "cse", Versions("0", "3", "4.8", "wheel"), status="ok")
    if signature:
        parameters = [Parameter("x", "f32[?N]"), Parameter("factor", "f32"), Parameter("stream", "stream")]
        record.signature = Signature("scale", parameters)
    for kind, data in (("cubin", cubin), ("ptx", ptx), ("host-program", encode(host or program()))):
        if data is not None:
            record.files[f"scale.{kind}"] = data
            record.artifacts.append(Artifact(kind, f"scale.{kind}"))  # pyright: ignore
    return record


def block(address: int, size: int, factor: float) -> bytes:
    """The parameter block of a launch."""
    return struct.pack("<QIf", address, size, factor)
