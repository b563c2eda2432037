"""Well-formed programs pass; each rule has a program that breaks it; damaged ones do no harm."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from random_programs import Generator, Recorder

from cutecc.errors import LaunchError, RecordError
from cutecc.record.host_program import (
    Allocation,
    Block,
    HostArgument,
    HostProgram,
    Instruction,
    KernelEntry,
    KernelParameter,
    LaunchAttribute,
    LaunchSite,
    Leaf,
    ParameterWrite,
    TensorMapSite,
    decode,
    encode,
)
from cutecc.runtime.program import tables, verification
from cutecc.runtime.program.evaluation import Evaluator
from cutecc.runtime.program.plan import make_plan
from cutecc.runtime.program.verification import verify

I = Instruction  # noqa: E741

# Values 0 and 1 are leaves; 2 is the status, 3 a shape, 4 and 5 an i1, 6 a float.
TYPES = ["i64", "i32", "i32", "i32", "i1", "i1", "f32", "i64", "i64", "i32", "i32"]
PROLOGUE = [
    I("constant", [], [2], 0),
    I("constant", [], [3], 1),
    I("constant", [], [4], 1),
    I("constant", [], [6], 0x3F800000),
    I("address", [], [7], 0),
]
SITE = LaunchSite(0, (3, 3, 3), (3, 3, 3), 3, 7, [LaunchAttribute("cooperative", [3])], [ParameterWrite(0, 0)])
MAP = TensorMapSite(7, 0, [0], [], [3], [3], 0, 0, 0, 0)
KERNEL = KernelEntry("kernel", [KernelParameter(0, 8, 8), KernelParameter(8, 4, 4)], 16)


def program(*instructions: Instruction, **changes: Any) -> HostProgram:
    """A program with these instructions after the prologue."""
    body = Block([*PROLOGUE, *instructions], [], [2])
    arguments = [HostArgument([Leaf("pointer", "i64"), Leaf("size", "i32")])]
    whole = HostProgram("host", arguments, list(TYPES), [KERNEL], body, [Allocation(128, 64)], ["text %d", "plain"])
    return dataclasses.replace(whole, **changes)


def launch(**changes: Any) -> HostProgram:
    return program(I("launch", [], [9], launch=dataclasses.replace(SITE, **changes)))


def tensor_map(**changes: Any) -> HostProgram:
    return program(I("encode_tensor_map", [7], [9], tensor_map=dataclasses.replace(MAP, **changes)))


def kernel(**changes: Any) -> HostProgram:
    return program(kernels=[dataclasses.replace(KERNEL, **changes)])


def loop(operands: list[int], condition: Block, body: Block, results: list[int]) -> HostProgram:
    return program(I("while", operands, results, blocks=[condition, body]))


GOOD = {
    "nothing": program(),
    "launch": launch(),
    "tensor_map": tensor_map(),
    "if": program(I("if", [4], [9], blocks=[Block([], [], [1]), Block([], [], [2])])),
    "while": program(
        I("while", [1], [11], blocks=[Block([], [9], [4, 9]), Block([], [10], [10])]), types=[*TYPES, "i32"]
    ),
    "print": program(I("print", [1], [9], 0)),
    "fail": program(I("fail", [4], [], 1)),
    "select": program(I("select", [4, 1, 2], [9])),
    "load": program(I("load", [7], [9])),
}


@pytest.mark.parametrize("name", GOOD)
def test_well_formed(name: str) -> None:
    verify(GOOD[name])


BAD: dict[str, tuple[HostProgram, str]] = {
    # Values
    "undefined operand": (program(I("add", [1, 9], [10])), "value 9 is not defined here"),
    "no such operand": (program(I("add", [1, 99], [10])), "no value 99"),
    "negative operand": (program(I("add", [1, -1], [10])), "no value -1"),
    "no such result": (program(I("add", [1, 1], [99])), "no value 99"),
    "defined twice": (program(I("add", [1, 1], [2])), "value 2 is defined twice"),
    "a leaf defined again": (program(I("add", [1, 1], [1])), "value 1 is defined twice"),
    "own operand": (program(I("add", [1, 9], [9])), "value 9 is not defined here"),
    "used after its block": (
        program(I("if", [4], blocks=[Block([I("add", [1, 1], [9])]), Block()]), I("add", [9, 9], [10])),
        "value 9 is not defined here",
    ),
    "used in the other arm": (
        program(I("if", [4], blocks=[Block([I("add", [1, 1], [9])]), Block([I("add", [9, 9], [10])])])),
        "value 9 is not defined here",
    ),
    "body uses the condition's": (
        loop([1], Block([], [9], [4, 9]), Block([], [10], [9]), []),
        "value 9 is not defined here",
    ),
    "its own result in a block": (
        program(I("if", [4], [9], blocks=[Block([], [], [9]), Block([], [], [1])])),
        "value 9 is not defined here",
    ),
    "defined again in the other arm": (
        program(I("if", [4], blocks=[Block([I("add", [1, 1], [9])]), Block([I("add", [1, 1], [9])])])),
        "value 9 is defined twice",
    ),
    # Types and counts
    "types of operands": (program(I("add", [0, 1], [9])), "operands of different types"),
    "type of the result": (program(I("add", [1, 1], [5])), "the result"),
    "integer operation on floats": (program(I("add", [6, 6], [9])), "an operand of type f32"),
    "float operation on integers": (program(I("fadd", [1, 1], [9])), "an operand of type i32"),
    "comparison's result": (program(I("eq", [1, 1], [9])), "the result"),
    "too few operands": (program(I("add", [1], [9])), "1 operands"),
    "no operands": (program(I("neg", [], [9])), "no operation 'neg'"),
    "arithmetic without operands": (program(I("abs", [], [9])), "0 operands"),
    "too many results": (program(I("add", [1, 1], [9, 10])), "2 results"),
    "select of other types": (program(I("select", [4, 1, 0], [9])), "operands"),
    "narrowing zext": (program(I("zext", [0], [9])), "no conversion from i64 to i32"),
    "widening trunc": (program(I("trunc", [1], [8])), "no conversion from i32 to i64"),
    "bitcast of another width": (program(I("bitcast", [6], [8])), "no conversion from f32 to i64"),
    "sitofp to an integer": (program(I("sitofp", [1], [8])), "no conversion"),
    "fpext of one type": (program(I("fpext", [6], [9])), "no conversion"),
    "load from a float": (program(I("load", [6], [9])), "the address"),
    "store without a value": (program(I("store", [7])), "an address and a value"),
    "store of three": (program(I("store", [7, 1, 1])), "an address and a value"),
    "status of 64 bits": (program(I("return_if_error", [0])), "the status"),
    "a line of what cannot fail": (program(I("eq", [1, 1], [5], location="kernel.py:1")), "for failures alone"),
    "fail on a number": (program(I("fail", [1], [], 1)), "the condition"),
    "program's status": (program(body=Block([*PROLOGUE], [], [4])), "the status"),
    "program without a status": (program(body=Block([*PROLOGUE], [], [])), "the status"),
    "parameters of the outermost block": (program(body=Block([], [2], [2])), "outermost block has parameters"),
    # Immediates and fields
    "immediate too large": (program(I("constant", [], [5], 2)), "immediate 2"),
    "immediate negative": (program(I("constant", [], [9], -1)), "immediate -1"),
    "immediate missing": (program(I("constant", [], [9])), "immediate is missing"),
    "immediate not wanted": (program(I("add", [1, 1], [9], 3)), "immediate is not expected"),
    "no such allocation": (program(I("address", [], [8], 1)), "no allocation 1"),
    "no such string": (program(I("fail", [4], [], 2)), "no string 2"),
    "blocks of an addition": (program(I("add", [1, 1], [9], blocks=[Block()])), "1 blocks where 0"),
    "if with one block": (program(I("if", [4], blocks=[Block()])), "1 blocks where 2"),
    "launch without a launch": (program(I("launch", [], [9])), "'launch' is given"),
    "addition with a launch": (program(I("add", [1, 1], [9], launch=SITE)), "'launch' is given"),
    "descriptor without one": (program(I("encode_tensor_map", [7], [9])), "'tensor_map' is given"),
    # Control flow
    "condition": (program(I("if", [1], blocks=[Block(), Block()])), "the condition"),
    "arms differ": (program(I("if", [4], [9], blocks=[Block([], [], [1]), Block()])), "what the blocks yield"),
    "results of a conditional": (
        program(I("if", [4], [], blocks=[Block([], [], [1]), Block([], [], [1])])),
        "results",
    ),
    "parameters of a conditional": (
        program(I("if", [4], blocks=[Block([], [9], []), Block()])),
        "block parameters",
    ),
    "loop's condition": (loop([1], Block([], [9], [9]), Block([], [], [1]), []), "yields first"),
    "loop's parameters": (loop([1], Block([], [], [4]), Block(), []), "block parameters"),
    "loop's body": (loop([1], Block([], [9], [4]), Block([], [], [0]), []), "what the body yields"),
    "loop's results": (loop([], Block([], [], [4, 1]), Block([], [9], []), []), "results"),
    # Formats
    "format with too few operands": (program(I("print", [], [9], 0)), "0 operands for a format of 1"),
    "format of a float": (program(I("print", [6], [9], 0)), "%d of an operand of type f32"),
    "format that reads memory": (program(I("print", [0], [9], 0), strings=["%s"]), "conversion that is not supported"),
    # Launches
    "no such kernel": (launch(kernel=1), "no kernel 1"),
    "negative kernel": (launch(kernel=-1), "no kernel -1"),
    "grid": (launch(grid=(3, 3, 0)), "the grid"),
    "block": (launch(block=(3, 3, 6)), "the block"),
    "shared memory": (launch(shared_bytes=6), "shared memory"),
    "stream": (launch(stream=3), "the stream"),
    "attribute's operands": (launch(attributes=[LaunchAttribute("cluster", [3])]), "'cluster' with 1 operands"),
    "attribute of floats": (launch(attributes=[LaunchAttribute("cooperative", [6])]), "not an integer"),
    "unknown attribute": (launch(attributes=[LaunchAttribute("priority", [3])]), "'priority'"),  # type: ignore[arg-type]
    "attribute twice": (launch(attributes=SITE.attributes * 2), "given twice"),
    "write behind the parameters": (launch(parameters=[ParameterWrite(12, 3)]), "lie within no parameter"),
    "write before them": (launch(parameters=[ParameterWrite(-8, 0)]), "lie within no parameter"),
    "write over two parameters": (launch(parameters=[ParameterWrite(4, 0)]), "lie within no parameter"),
    "overlapping writes": (launch(parameters=[ParameterWrite(0, 0), ParameterWrite(4, 3)]), "two values are written"),
    # Descriptors
    "rank 0": (tensor_map(sizes=[], box=[], element_strides=[]), "rank 0"),
    "rank 6": (tensor_map(sizes=[0] * 6, strides=[0] * 5, box=[3] * 6, element_strides=[3] * 6), "rank 6"),
    "strides": (tensor_map(strides=[0]), "rank 1"),
    "float size": (tensor_map(sizes=[6]), "not an integer"),
    "descriptor's address": (tensor_map(address=1), "the tensor's address"),
    "swizzle": (tensor_map(swizzle=7), "swizzle is 7"),
    "data type": (tensor_map(data_type=-1), "data_type is -1"),
    # Tables
    "type": (program(types=[*TYPES, "i128"]), "the type 'i128'"),
    "leaf's type": (program(types=["i32", *TYPES[1:]]), "leaf 0 is i64"),
    "leaves without values": (program(types=["i64"]), "leaf 1"),
    "narrow pointer": (
        program(arguments=[HostArgument([Leaf("pointer", "i32")])], types=["i32", *TYPES[1:]]),
        "a pointer, has type i32",
    ),
    "float size leaf": (
        program(arguments=[HostArgument([Leaf("size", "f32")])], types=["f32", *TYPES[1:]]),
        "a size, has type f32",
    ),
    "negative allocation": (program(allocations=[Allocation(-1, 8)]), "size -1"),
    "alignment": (program(allocations=[Allocation(8, 24)]), "alignment 24"),
    "alignment of 0": (program(allocations=[Allocation(8, 0)]), "alignment 0"),
    "much memory": (program(allocations=[Allocation(1 << 19, 8)] * 3), "bytes of memory"),
    "many allocations": (program(allocations=[Allocation(0, 8)] * 4097), "4097 allocations"),
    "much text": (program(strings=["x" * (tables.MAX_TEXT + 1)]), "characters of text"),
    "kernel without a name": (kernel(name=""), "has the name ''"),
    "kernel's name": (kernel(name="a\0b"), "has the name"),
    "many parameter bytes": (kernel(parameter_bytes=32768), "32768 bytes of parameters"),
    "many parameters": (kernel(parameters=[KernelParameter(0, 0, 1)] * 4097), "4097 parameters"),
    "overlapping parameters": (kernel(parameters=[KernelParameter(0, 8, 8), KernelParameter(4, 4, 4)]), "overlaps"),
    "misaligned parameter": (kernel(parameters=[KernelParameter(4, 8, 8)]), "offset 4 with alignment 8"),
    "parameter outside": (kernel(parameters=[KernelParameter(8, 16, 8)]), "ends at byte 24 of 16"),
    "negative parameter": (kernel(parameters=[KernelParameter(0, -4, 4)]), "size -4"),
}


@pytest.mark.parametrize("name", BAD)
def test_each_rule(name: str) -> None:
    bad, message = BAD[name]
    with pytest.raises(RecordError) as caught:
        verify(bad)
    assert message in caught.value.message


def nested(depth: int, wrap: Callable[[Block], Instruction]) -> HostProgram:
    block = Block()
    for _ in range(depth):
        block = Block([wrap(block)])
    return program(*block.instructions)


@pytest.mark.parametrize(
    ("wrap", "limit"),
    [
        (lambda inner: I("if", [4], blocks=[inner, Block()]), verification.MAX_DEPTH),
        (lambda inner: I("while", [], blocks=[Block([], [], [5]), inner]), verification.MAX_LOOP_DEPTH),
    ],
)
def test_nesting(wrap: Callable[[Block], Instruction], limit: int) -> None:
    # Value 5 is 0, so that no loop is entered.
    for depth in (limit, limit + 1, 3_000):
        deep = nested(depth, wrap)
        deep.body.instructions.insert(0, I("constant", [], [5], 0))
        if depth > limit:
            with pytest.raises(RecordError, match="nested deeper"):
                verify(deep)
        else:
            verify(deep)
            Evaluator(deep)([0, 0], Recorder())


def test_size_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MAX_INSTRUCTIONS", 8)
    monkeypatch.setattr(tables, "MAX_VALUES", len(TYPES))
    inner = Block([I("fail", [4], [], 1)] * 2)
    verify(program(I("if", [4], blocks=[inner, Block()])))
    with pytest.raises(RecordError, match="more than 8 instructions"):
        verify(program(I("if", [4], blocks=[inner, inner])))
    with pytest.raises(RecordError, match="12 values"):
        verify(program(types=[*TYPES, "i1"]))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_survive_encoding(seed: int) -> None:
    generated = Generator(seed).program
    again = decode(encode(generated))
    verify(again)
    assert again == generated


def mutate(value: Any, generator: random.Random) -> None:
    """Change one thing somewhere in a JSON value."""
    while True:
        keys = list(value.keys()) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = generator.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and generator.random() < 0.95:
            value = inner
            continue
        kind = generator.randrange(4)
        if isinstance(value, list) and kind == 0:
            value.insert(key, value[generator.randrange(len(value))])
        elif isinstance(value, list) and kind == 1:
            del value[key]
        elif isinstance(inner, str):
            value[key] = generator.choice(["add", "sub", "load", "i1", "i32", "f16", "%d", "while", "launch", "\0"])
        elif isinstance(inner, int):
            choices = [0, 1, 2, -1, inner + 1, inner - 1, inner * 8, 1 << 31, 1 << 63, generator.randrange(200)]
            value[key] = generator.choice(choices)
        else:
            value[key] = generator.choice([[], {}, None, 0])
        return


@pytest.mark.parametrize("seed", range(40))
def test_damaged_programs_are_refused_or_run_cleanly(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that passes `verify` fails in no way but `LaunchError`, however it came about."""
    monkeypatch.setattr("cutecc.runtime.program.evaluation.MAX_STEPS", 2_000)
    generator = random.Random(seed)
    original = encode(Generator(seed, 15).program)
    for _ in range(25):
        content = msgspec.json.decode(original)
        for _ in range(generator.randrange(1, 3)):
            mutate(content, generator)
        try:
            damaged = decode(msgspec.json.encode(content))
            verify(damaged)
        except RecordError:
            continue
        leaves = [1.5 if leaf.type[0] != "i" else 1 for leaf in damaged.leaves]
        with contextlib.suppress(LaunchError):
            Evaluator(damaged)(leaves, Recorder())
        make_plan(damaged, leaves, range(0, len(leaves), 2))
