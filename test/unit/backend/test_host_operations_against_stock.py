"""Every operation that a host function may hold, evaluated and executed as machine code: both give the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from host_functions import CONFIGURATION, TARGET, host_function, kernel, launch
from test_host_against_stock import agrees, random_runs, run_stock

from cutecc.backend.host import translate
from cutecc.ir.modules import fresh_context, parse
from cutecc.record.host_program import Block, HostProgram, Op

Function = tuple[list[str], list[tuple[str, str]]]
"""Operations, and the values and types that they end in."""


def integers(first: str, second: str, type_: str) -> Function:
    """All integer arithmetic on two arguments; divisors and shifts are in the defined range."""
    n = type_
    width = int(type_[1:])
    lines = [
        f"%{n}m = arith.constant {width - 1} : {type_}",
        f"%{n}u = arith.constant 1 : {type_}",
        f"%{n}c = arith.constant 63 : {type_}",
        f"%{n}s = arith.andi {second}, %{n}m : {type_}",
        f"%{n}w = arith.andi {second}, %{n}c : {type_}",
        f"%{n}v = arith.ori %{n}w, %{n}u : {type_}",
    ]
    values: list[tuple[str, str]] = []

    def step(text: str, result: str) -> None:
        name = f"%{n}_{len(values)}"
        lines.append(f"{name} = {text}")
        values.append((name, result))

    for op in ("addi", "subi", "muli", "andi", "ori", "xori", "minui", "maxui", "minsi", "maxsi"):
        step(f"arith.{op} {first}, {second} : {type_}", type_)
    for op in ("divui", "divsi", "remui", "remsi"):
        step(f"arith.{op} {first}, %{n}v : {type_}", type_)
    for op in ("shli", "shrui", "shrsi"):
        step(f"arith.{op} {first}, %{n}s : {type_}", type_)
    for op in ("ctlz", "cttz", "ctpop", "absi"):
        step(f"math.{op} {first} : {type_}", type_)
    for predicate in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"):
        step(f"arith.cmpi {predicate}, {first}, {second} : {type_}", "i1")
    return lines, values


def floats(first: str, second: str, type_: str) -> Function:
    lines: list[str] = []
    values: list[tuple[str, str]] = []

    def step(text: str, result: str) -> str:
        name = f"%{type_}_{len(values)}"
        lines.append(f"{name} = {text}")
        values.append((name, result))
        return name

    for op in ("addf", "subf", "mulf", "divf"):
        step(f"arith.{op} {first}, {second} : {type_}", type_)
    step(f"arith.negf {first} : {type_}", type_)
    for predicate in ("oeq", "une", "olt", "ole", "ogt", "oge"):
        step(f"arith.cmpf {predicate}, {first}, {second} : {type_}", "i1")
    square = step(f"arith.mulf {first}, {first} : {type_}", type_)
    step(f"arith.fptosi {first} : {type_} to i32", "i32")
    step(f"arith.fptoui {square} : {type_} to i32", "i32")
    return lines, values


CONVERSIONS: Function = (
    [
        "%k0 = arith.extui %i : i32 to i64",
        "%k1 = arith.extsi %i : i32 to i64",
        "%k2 = arith.trunci %l : i64 to i8",
        "%k3 = arith.bitcast %f : f32 to i32",
        "%k4 = arith.sitofp %l : i64 to f32",
        "%k5 = arith.uitofp %l : i64 to f32",
        "%k6 = arith.extf %f : f32 to f64",
        "%k7 = arith.truncf %d : f64 to f32",
        "%k8 = arith.select %b, %i, %j : i32",
        "%k9 = llvm.ptrtoint %p : !llvm.ptr<1> to i64",
        "%k10 = llvm.inttoptr %l : i64 to !llvm.ptr<1>",
        "%k11 = arith.extf %h : f16 to f32",
        "%k12 = arith.truncf %f : f32 to f16",
        "%k13 = arith.index_cast %i : i32 to index",
        "%k14 = arith.index_castui %k13 : index to i64",
        "%k15 = arith.constant 1.5 : f16",
        "%k16 = arith.constant -2.25 : f32",
        "%k17 = arith.extui %b : i1 to i32",
        "%k18 = arith.extsi %b : i1 to i64",
        "%k19 = arith.trunci %i : i32 to i1",
    ],
    [
        *[("%k0", "i64"), ("%k1", "i64"), ("%k2", "i8"), ("%k3", "i32"), ("%k4", "f32"), ("%k5", "f32")],
        *[("%k6", "f64"), ("%k7", "f32"), ("%k8", "i32"), ("%k9", "i64"), ("%k10", "!llvm.ptr<1>"), ("%k11", "f32")],
        *[("%k12", "f16"), ("%k14", "i64"), ("%k15", "f16"), ("%k16", "f32"), ("%k17", "i32"), ("%k18", "i64")],
        ("%k19", "i1"),
    ],
)

PAIR = "!llvm.struct<(i32, struct<(i8, i64)>)>"
TABLE = "!llvm.array<4 x struct<(i32, i64)>>"

MEMORY: Function = (
    [
        "%a = llvm.alloca %one x !llvm.array<4 x struct<(i32, i64)>> {alignment = 16 : i64} : (i32) -> !llvm.ptr",
        "%three = arith.constant 3 : i32",
        "%at = arith.andi %i, %three : i32",
        f"%a0 = llvm.getelementptr %a[0, %at, 1] : (!llvm.ptr, i32) -> !llvm.ptr, {TABLE}",
        "%never = arith.constant 0 : i64",
        *(
            line
            for index in range(4)
            for line in (
                f"%z{index} = llvm.getelementptr %a[0, {index}, 1] : (!llvm.ptr) -> !llvm.ptr, {TABLE}",
                f"llvm.store %never, %z{index} : i64, !llvm.ptr",
            )
        ),
        "llvm.store %l, %a0 : i64, !llvm.ptr",
        f"%a1 = llvm.getelementptr %a[0, 2, 1] : (!llvm.ptr) -> !llvm.ptr, {TABLE}",
        "%x0 = llvm.load %a1 : !llvm.ptr -> i64",
        f"%q = llvm.alloca %one x {PAIR} : (i32) -> !llvm.ptr",
        f"%u0 = ub.poison : {PAIR}",
        f"%u1 = llvm.insertvalue %i, %u0[0] : {PAIR}",
        f"%u2 = llvm.insertvalue %y, %u1[1, 0] : {PAIR}",
        f"%u3 = llvm.insertvalue %l, %u2[1, 1] : {PAIR}",
        f"llvm.store %u3, %q : {PAIR}, !llvm.ptr",
        f"%q1 = llvm.getelementptr %q[0, 1, 0] : (!llvm.ptr) -> !llvm.ptr, {PAIR}",
        "llvm.store %b, %q1 : i1, !llvm.ptr",
        f"%x1 = llvm.load %q : !llvm.ptr -> {PAIR}",
        "%x2 = llvm.load %q1 : !llvm.ptr -> i1",
        f"%x3 = llvm.extractvalue %x1[1] : {PAIR}",
        f"%x4 = arith.select %b, %x1, %u3 : {PAIR}",
        "%x5 = arith.constant dense<[1, -2, 3, 4]> : vector<4xi32>",
        "%x6 = arith.constant dense<7> : vector<4xi32>",
    ],
    [
        *[("%x0", "i64"), ("%x1", PAIR), ("%x2", "i1"), ("%x3", "!llvm.struct<(i8, i64)>"), ("%x4", PAIR)],
        *[("%x5", "vector<4xi32>"), ("%x6", "vector<4xi32>")],
    ],
)

CONTROL: Function = (
    [
        "%c7 = arith.constant 7 : i32",
        "%c0 = arith.constant 0 : i32",
        "%stop = arith.andi %i, %c7 : i32",
        # Collatz, for at most 7 steps.
        """%w:2 = scf.while (%n = %c0, %v = %l) : (i32, i64) -> (i32, i64) {
          %more = arith.cmpi slt, %n, %stop : i32
          scf.condition(%more) %n, %v : i32, i64
        } do {
        ^bb0(%n: i32, %v: i64):
          %one64 = arith.constant 1 : i64
          %three64 = arith.constant 3 : i64
          %low = arith.trunci %v : i64 to i1
          %next = scf.if %low -> (i64) {
            %t = arith.muli %v, %three64 : i64
            %t1 = arith.addi %t, %one64 : i64
            scf.yield %t1 : i64
          } else {
            %t = arith.shrui %v, %one64 : i64
            scf.yield %t : i64
          }
          %n1 = arith.addi %n, %one : i32
          scf.yield %n1, %next : i32, i64
        }""",
        # The loop's own number and two carried ones, in a loop that may run no times.
        """%r:2 = scf.for %iv = %c0 to %stop step %one iter_args(%s0 = %i, %s1 = %l) -> (i32, i64) : i32 {
          %t0 = arith.addi %s0, %iv : i32
          %t1 = arith.extsi %t0 : i32 to i64
          %t2 = arith.xori %s1, %t1 : i64
          scf.yield %t0, %t2 : i32, i64
        }""",
        """%o = scf.if %b -> (!llvm.struct<(i32, i64)>) {
          %t0 = llvm.mlir.undef : !llvm.struct<(i32, i64)>
          %t1 = llvm.insertvalue %i, %t0[0] : !llvm.struct<(i32, i64)>
          %t2 = llvm.insertvalue %l, %t1[1] : !llvm.struct<(i32, i64)>
          scf.yield %t2 : !llvm.struct<(i32, i64)>
        } else {
          %t0 = llvm.mlir.zero : !llvm.struct<(i32, i64)>
          scf.yield %t0 : !llvm.struct<(i32, i64)>
        }""",
    ],
    [("%w#0", "i32"), ("%w#1", "i64"), ("%r#0", "i32"), ("%r#1", "i64"), ("%o", "!llvm.struct<(i32, i64)>")],
)

TENSOR_MAP: Function = (
    [
        "%rank = arith.constant 3 : i32",
        "%two = arith.constant 2 : i32",
        "%zero = arith.constant 0 : i32",
        "%dims = llvm.alloca %rank x i64 : (i32) -> !llvm.ptr",
        "%strides = llvm.alloca %two x i64 : (i32) -> !llvm.ptr",
        "%box = llvm.alloca %rank x i32 : (i32) -> !llvm.ptr",
        "%steps = llvm.alloca %rank x i32 : (i32) -> !llvm.ptr",
        *(
            line
            for array, type_, values in (
                ("dims", "i64", ("%l", "%m64", "%none")),
                ("strides", "i64", ("%m64", "%l")),
                ("box", "i32", ("%i", "%j", "%one")),
                ("steps", "i32", ("%one", "%two", "%j")),
            )
            for index, value in enumerate(values)
            for line in (
                f"%{array}{index} = llvm.getelementptr %{array}[{index}] : (!llvm.ptr) -> !llvm.ptr, {type_}",
                f"llvm.store {value}, %{array}{index} : {type_}, !llvm.ptr",
            )
        ),
        "%g0 = llvm.ptrtoint %p : !llvm.ptr<1> to i64",
        "%g1 = cuda.cast %g0 : i64 -> !ptr.ptr<#ptr.generic_space>",
        """%encoded, %map = cuda.tensor_map_encode_tiled data_type = %rank, rank = %rank, global_address = %g1,
            global_dim = %dims, global_strides = %strides, box_dim = %box, element_strides = %steps,
            interleave = %zero, swizzle = %rank, l2_promotion = %two, oob_fill = %one
            : <#ptr.generic_space> -> !cuda.result, !cuda.tensor_map""",
        "cuda.result.assert_success %encoded : !cuda.result",
    ],
    [("%i", "i32"), ("%map", "!cuda.tensor_map"), ("%x", "i8")],
)

ATTRIBUTES = f"""
    cuda.launch_cfg.programmatic_stream_serialization_allowed[{{c}}] %one : {CONFIGURATION}, i32
    cuda.launch_cfg.cooperative[{{c}}] %i : {CONFIGURATION}, i32
    cuda.launch_cfg.cluster_dim[{{c}}] (%one, %j, %one) : {CONFIGURATION}, i32, i32, i32
    cuda.launch_cfg.preferred_cluster_dim[{{c}}] (%i, %j, %one) : {CONFIGURATION}, i32, i32, i32
    cuda.launch_cfg.programmatic_event[{{c}}] (event = %e, flags = %i, triggerAtBlockStart = %one)
        : {CONFIGURATION}, !cuda.event, i32, i32
    cuda.launch_cfg.launch_completion_event[{{c}}] (event = %e, flags = %j) : {CONFIGURATION}, !cuda.event, i32
"""

PRINTED = [
    "%t0 = llvm.mlir.addressof @text : !llvm.ptr",
    "%t1 = llvm.getelementptr %t0[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<14 x i8>",
    "%t2 = llvm.call @printf(%t1, %i, %d) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr, i32, f64) -> i32",
]


def passed(*functions: Function) -> str:
    """A host function that does all of it and passes the values to a kernel."""
    operations = [line for lines, _ in functions for line in lines]
    values = [value for _, each in functions for value in each]
    types = [type_ for _, type_ in values]
    launched = launch("takes", ", ".join(value for value, _ in values), ", ".join(types))
    return host_function(*operations, launched, kernels=kernel("takes", *types))


LAUNCHES = host_function(
    launch("takes_i32", "%i", "i32", attributes=ATTRIBUTES, name="c1"),
    # The second launch, which is the one to fail in some runs, is under a condition.
    "scf.if %b {",
    *PRINTED,
    launch("takes_nothing", name="c2"),
    "}",
    launch("takes_i32", "%j", "i32", name="c3"),
    *(line.replace("%t", "%w") for line in PRINTED),
)

FUNCTIONS = {
    "i8": passed(integers("%x", "%y", "i8")),
    "i32": passed(integers("%i", "%j", "i32")),
    "i64": passed(integers("%l", "%m64", "i64")),
    "f32": passed(floats("%f", "%g", "f32")),
    "f64": passed(floats("%d", "%d", "f64")),
    "conversions": passed(CONVERSIONS),
    "memory": passed(MEMORY),
    "control": passed(CONTROL),
    "tensor map": passed(TENSOR_MAP),
    "launches": LAUNCHES,
}


@dataclass
class Case:
    program: HostProgram
    runs: list[dict[str, Any]]
    results: list[dict[str, Any]]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    folder = tmp_path_factory.mktemp("stock")
    cases: dict[str, Case] = {}
    jobs: list[dict[str, Any]] = []
    for number, (name, text) in enumerate(FUNCTIONS.items()):
        module = folder / f"{number}.mlir"
        module.write_text(text)
        with fresh_context():
            program = translate(parse(text.encode()))
        cases[name] = Case(program, random_runs(program), [])
        jobs.append({"module": str(module), "target": TARGET, "traced": False, "runs": cases[name].runs})
    for case, results in zip(cases.values(), run_stock(jobs, folder), strict=True):
        case.results = results
    return cases


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_numbers_come_out(cases: dict[str, Case], name: str):
    case = cases[name]
    for run, stock in zip(case.runs, case.results, strict=True):
        agrees(case.program, run, stock)
    assert all(result["launches"] for result in case.results)


def test_failing_launches_end_the_function_early(cases: dict[str, Case]):
    results = cases["launches"].results
    assert {result["status"] for result in results} == {0, 719}
    assert min(len(result["launches"]) for result in results if result["status"]) < 3


def ops(block: Block) -> Iterator[Op]:
    for instruction in block.instructions:
        yield instruction.op
        for inner in instruction.blocks:
            yield from ops(inner)


def test_every_instruction_is_compared(cases: dict[str, Case]):
    produced = {op for case in cases.values() for op in ops(case.program.body)}
    # `fail` stops the process where the stock function does it: see test_host_translation.
    assert produced == {*get_args(Op)} - {"fail"}
