"""The host program: what the `@cute.jit` host function does before and between launches, as data.

A host function computes grids, layouts, TMA descriptors and launch attributes from its arguments, and launches
kernels. `cutecc.backend.host` translates its lowered form into a `HostProgram`; `cutecc.runtime` checks and evaluates
one without MLIR or the DSL.

The program is in static single assignment form over numbers. Every value has a number and a type
(`HostProgram.types`); structs have been taken apart into their members. An integer of type `iN` is a residue modulo
2**N, held as `0 <= value < 2**N`; signed operations read it as two's complement. Pointers, streams and events are
`i64`. Floating-point values are IEEE numbers of their type; of one that is not a number, only that it is none is kept.

Memory is the program's own allocations, zeros at the start, addressed by bytes, little-endian. An `i1` takes one byte,
0 or 1; a load of one reads the lowest bit. Addresses of different allocations are far apart; an access must lie within
one allocation and need not be aligned.

A value is visible from the instruction after its definition to the end of its block, also in blocks within. The blocks
of one instruction do not see each other's values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast

import msgspec

from cutecc.errors import RecordError
from cutecc.support import forks

MAJOR, MINOR = 1, 0

_decoding = forks.lock()
"""msgspec gathers what it knows of a type when that is first used; threads that do so at once can crash the process."""

ValueType = Literal["i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"]

LeafKind = Literal["pointer", "size", "stride", "scalar", "stream"]

Op = Literal[
    "constant",  # → immediate: an integer, or the bits of a float
    # Integers, both operands and the result of one type. Signed division rounds toward zero; dividing by 0, or the
    # smallest integer by -1, ends the program with an error. A shift by the width or more gives 0, `ashr` the sign.
    "add",
    "sub",
    "mul",
    "udiv",
    "sdiv",
    "urem",
    "srem",
    "and",
    "or",
    "xor",
    "shl",
    "lshr",
    "ashr",
    "umin",
    "umax",
    "smin",
    "smax",
    # Integers, one operand. `ctlz` and `cttz` of 0 give the width; `abs` of the smallest integer gives itself.
    "ctlz",
    "cttz",
    "ctpop",
    "abs",
    # Comparisons, which give i1. Those of floats are false when an operand is not a number, but for `fune`.
    "eq",
    "ne",
    "ult",
    "ule",
    "ugt",
    "uge",
    "slt",
    "sle",
    "sgt",
    "sge",
    "foeq",
    "fune",
    "folt",
    "fole",
    "fogt",
    "foge",
    # Floats; each result is rounded once, to the nearest number of its type, ties to even.
    "fadd",
    "fsub",
    "fmul",
    "fdiv",
    "fneg",
    # Conversions. `bitcast` keeps the bits, of equal width; to an integer rounds toward zero, and what is then out of
    # its range, or not a number, gives 0. `fpext` widens and `fptrunc` narrows; both are of different widths.
    "zext",
    "sext",
    "trunc",
    "bitcast",
    "sitofp",
    "uitofp",
    "fptosi",
    "fptoui",
    "fpext",
    "fptrunc",
    "select",  # condition, value if true, value if false
    # Memory.
    "address",  # → i64: where allocation number `immediate` begins
    "load",  # operand: an address
    "store",  # operands: an address, what to store there
    # Control flow.
    "if",  # operand: condition; blocks: then, else; results: what the blocks yield
    # operands: initial values, which the condition block is entered with; blocks: condition (yields an i1 and values,
    # which the body is entered with, or which are the results when the i1 is 0), body (yields the condition's next)
    "while",
    "return_if_error",  # operand: an i32 status; ends the program with it unless it is 0
    "fail",  # operand: i1; ends the program with the message strings[immediate] when it is true
    # The outside world. Each gives an i32 status, a `CUresult`: 0 for success.
    "launch",  # see Instruction.launch
    "encode_tensor_map",  # operand: the address of 128 bytes to write, zeros on failure; see Instruction.tensor_map
    "print",  # operands: the arguments of the C format strings[immediate], which has no `%s`, `%n` and `*`
]


@dataclass(frozen=True)
class Leaf:
    """One number that the program takes: value number `n` is leaf `n`, counted over all arguments."""

    kind: LeafKind
    type: ValueType


@dataclass(frozen=True)
class HostArgument:
    """One argument of the host function: a tensor's pointer, dynamic sizes and dynamic strides, or a single number."""

    leaves: list[Leaf]


@dataclass(frozen=True)
class Allocation:
    """Memory of the program's own, in bytes. It lives as long as one evaluation."""

    size: int
    align: int


@dataclass(frozen=True)
class KernelParameter:
    """One parameter of a kernel, in the C layout of its struct. Offset, size and alignment in bytes."""

    offset: int
    size: int
    align: int


@dataclass(frozen=True)
class KernelEntry:
    """A kernel that the program launches."""

    name: str
    """The symbol in the cubin."""
    parameters: list[KernelParameter]
    parameter_bytes: int
    """Bytes of the block that holds all parameters, each at its offset."""
    raise_shared_limit: bool = True
    """Before the first launch, allow as much dynamic shared memory as the device has."""
    non_portable_cluster: bool = True
    """Before the first launch, allow clusters of more than 8 blocks."""


@dataclass(frozen=True)
class ParameterWrite:
    """A value's place in a kernel's parameter block, at `offset` bytes.

    It lies within one parameter, and the writes of one launch do not overlap. Bytes that none writes are 0.
    """

    offset: int
    value: int


AttributeName = Literal[
    "cluster",  # blocks in x, y, z
    "preferred_cluster",  # blocks in x, y, z
    "cooperative",  # 0 or 1
    "programmatic_serialization",  # 0 or 1: the kernel may start before the one in front of it has ended
    "programmatic_event",  # event, flags, trigger at block start
    "launch_completion_event",  # event, flags
]


@dataclass(frozen=True)
class LaunchAttribute:
    """An attribute of a launch: `CUlaunchAttribute` by another name."""

    name: AttributeName
    operands: list[int]


@dataclass(frozen=True)
class LaunchSite:
    """A launch in the program; every number but `kernel` is a value number."""

    kernel: int
    """Which of `HostProgram.kernels`."""
    # Grid and block are i32, `shared_bytes` i32 or i64, `stream` i64, operands of attributes any integers.
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    """Dynamic shared memory per block."""
    stream: int
    """A stream whose value is 0 stands for the caller's current one."""
    attributes: list[LaunchAttribute]
    parameters: list[ParameterWrite]


@dataclass(frozen=True)
class TensorMapSite:
    """What `cuTensorMapEncodeTiled` is to make a descriptor of. Strides in bytes, innermost mode first."""

    data_type: int
    """`CUtensorMapDataType`."""
    address: int
    """The value number of the tensor's address; so are the next three."""
    sizes: list[int]
    strides: list[int]
    """One fewer than sizes: the innermost stride is one element."""
    box: list[int]
    element_strides: list[int]
    interleave: int
    """`CUtensorMapInterleave`."""
    swizzle: int
    """`CUtensorMapSwizzle`."""
    l2_promotion: int
    """`CUtensorMapL2promotion`."""
    fill: int
    """`CUtensorMapFloatOOBfill`."""


@dataclass(frozen=True)
class Block:
    """Instructions in order."""

    instructions: list[Instruction] = field(default_factory=lambda: [])
    parameters: list[int] = field(default_factory=list[int])
    """Value numbers that the block is entered with: those of a loop."""
    yields: list[int] = field(default_factory=list[int])
    """Value numbers that the block ends with; of the outermost one, the program's i32 status."""


@dataclass(frozen=True)
class Instruction:
    """One step. Operands and results are value numbers."""

    op: Op
    operands: list[int] = field(default_factory=list[int])
    results: list[int] = field(default_factory=list[int])
    immediate: int | None = None
    blocks: list[Block] = field(default_factory=list[Block])
    launch: LaunchSite | None = None
    tensor_map: TensorMapSite | None = None
    location: str | None = None
    """Of `fail`: the line of Python whose condition it is, `file:line:column`."""


@dataclass(frozen=True)
class HostProgram:
    """A host function as data; `cutecc.runtime.program.verification` says what makes one well formed."""

    function: str
    """The symbol of the lowered host function."""
    arguments: list[HostArgument]
    types: list[ValueType]
    """The type of every value, by number."""
    kernels: list[KernelEntry]
    body: Block
    allocations: list[Allocation] = field(default_factory=list[Allocation])
    strings: list[str] = field(default_factory=list[str])

    @property
    def leaves(self) -> list[Leaf]:
        """The numbers that the program takes, in order: values 0, 1, …"""
        return [leaf for argument in self.arguments for leaf in argument.leaves]


def encode(program: HostProgram) -> bytes:
    """The program as JSON, an instruction on each line."""
    fields = [f'"version": "{MAJOR}.{MINOR}"', f'"function": {_json(program.function)}']
    for name in ("arguments", "kernels", "allocations", "strings"):
        entries = ",\n".join(f"    {_json(entry)}" for entry in cast("list[object]", getattr(program, name)))
        fields.append(f'"{name}": [\n{entries}\n  ]' if entries else f'"{name}": []')
    fields += [f'"types": {_json(program.types)}', f'"body": {_block(program.body, "  ")}']
    return ("{\n  " + ",\n  ".join(fields) + "\n}\n").encode()


def decode(data: bytes, *, where: str = "the host program") -> HostProgram:
    """The program that `encode` wrote, its shape checked but not what it does.

    Raises `RecordError`, which names `where`, for data that is damaged or has a newer major version.
    """
    try:
        with _decoding:
            version = msgspec.json.decode(data, type=_Version).version
            if int(version.partition(".")[0]) > MAJOR:
                raise RecordError(f"{where} has version {version}; this cutecc reads up to {MAJOR}.x")
            return msgspec.json.decode(data, type=HostProgram)
    except (ValueError, RecursionError, msgspec.DecodeError) as failure:
        raise RecordError(f"{where} is damaged: {failure}") from None


class _Version(msgspec.Struct):
    version: str


def _block(block: Block, indent: str) -> str:
    instructions = ",\n".join(_instruction(instruction, indent + "  ") for instruction in block.instructions)
    rest = f'"parameters": {_json(block.parameters)}, "yields": {_json(block.yields)}'
    inside = f"\n{instructions}\n{indent}" if instructions else ""
    return f'{{"instructions": [{inside}], {rest}}}'


def _instruction(instruction: Instruction, indent: str) -> str:
    """The fields that are not what decoding takes a missing one for."""
    fields = [f'"op": "{instruction.op}"']
    for name in ("operands", "results", "immediate", "launch", "tensor_map", "location"):
        value = getattr(instruction, name)
        if value is not None and value != []:
            fields.append(f'"{name}": {_json(value)}')
    if instruction.blocks:
        blocks = ", ".join(_block(block, indent + "  ") for block in instruction.blocks)
        fields.append(f'"blocks": [{blocks}]')
    return f"{indent}{{{', '.join(fields)}}}"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
