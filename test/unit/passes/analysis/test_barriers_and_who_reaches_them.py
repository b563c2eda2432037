"""What `check-divergent-barriers` says of barriers, and at which of several: by kernels as MLIR's text."""

from __future__ import annotations

import pytest
from analysed_text import messages_of, remarks_of

from cutecc.passes.analysis.divergent_barriers import CheckDivergentBarriers

KERNEL = """
gpu.module @kernels {{
  cuda.kernel @kernel(%n: i32) attributes {{nvvm.reqntid = array<i32: 128, 1, 1>}} {{
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %c64 = arith.constant 64 : i32
    %c96 = arith.constant 96 : i32
    %c128 = arith.constant 128 : i32
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %warp = arith.divui %tid, %c32 : i32
    %is_first = arith.cmpi ult, %tid, %c32 : i32
    %is_any = arith.cmpi slt, %n, %c1 : i32
{}
    return
  }}
}}
"""


def said_of(body: str) -> list[str]:
    return messages_of(CheckDivergentBarriers(), KERNEL.format(body))


@pytest.mark.parametrize(("threads", "count"), [("%c32", 0), ("%n", 1)])
def test_warps_may_branch_around_a_barrier_whose_threads_are_counted(threads: str, count: int) -> None:
    body = f"""
    scf.if %is_first {{
      nvvm.barrier id = %c1 number_of_threads = {threads}
    }}
    """
    said = said_of(body)
    assert len(said) == count
    assert all("whose condition differs between warps; 32 of 128 threads reach it" in each for each in said)


@pytest.mark.parametrize(
    ("inside", "reach"),
    [
        ("scf.if %is_first {\n BARRIER } else {\n}", 32),
        ("scf.if %is_first {\n} else {\n BARRIER }", 96),
        ("scf.if %is_first {\n} else {\n scf.if %is_any {\n BARRIER } }", 96),
        ("scf.if %is_any {\n} else {\n scf.if %is_first {\n BARRIER } }", 32),
    ],
)
def test_the_branch_that_a_barrier_is_in_decides_who_reaches_it(inside: str, reach: int) -> None:
    (said,) = said_of(inside.replace("BARRIER", "nvvm.barrier\n"))
    assert f"differs between warps; {reach} of 128 threads reach it" in said


@pytest.mark.parametrize(
    ("operations", "at"),
    [
        (["nvvm.barrier", "nvvm.barrier.arrive"], 0),
        (["nvvm.barrier.arrive", "nvvm.barrier", "nvvm.barrier"], 1),
    ],
)
def test_a_barrier_that_too_few_come_to_is_shown_where_they_wait(operations: list[str], at: int) -> None:
    lines = [
        "    scf.if %is_first {",
        *(f"      {name} id = %c1 number_of_threads = %c128" for name in operations),
        "    }",
    ]
    text = KERNEL.format("\n".join(lines))
    (remark,) = remarks_of(CheckDivergentBarriers(), text)
    assert remark.severity == "warning"
    assert remark.message == (
        "barrier 1 waits for 128 threads, and at most 64 come to it: count those, number_of_threads=64, or let the "
        "others come too"
    )
    assert remark.location is not None
    assert int(remark.location.split(":")[1]) == text.splitlines().index(lines[1]) + 1 + at


@pytest.mark.parametrize(
    ("operation", "between"),
    [
        ("arith.divui %tid, %c32", "warps"),
        ("arith.divui %tid, %n", "threads of a warp"),
        ("arith.divui %tid, %known", "threads of a warp"),
        ("arith.shrui %tid, %n", "threads of a warp"),
    ],
)
def test_a_divisor_that_is_no_constant_makes_nothing_uniform(operation: str, between: str) -> None:
    (said,) = said_of(
        f"""
    %known = arith.addi %n, %c32 : i32
    %part = {operation} : i32
    %is_chosen = arith.cmpi slt, %part, %n : i32
    scf.if %is_chosen {{
      nvvm.barrier
    }}
    """
    )
    assert f"whose condition differs between {between}" in said


@pytest.mark.parametrize("identifier", ["%n", "%warp"])
def test_a_barrier_whose_identifier_is_no_constant(identifier: str) -> None:
    # It may be the one that others wait for.
    others = "scf.if %is_first {\n nvvm.barrier id = %c1 number_of_threads = %c96\n }\n"
    assert len(said_of(others)) == 1
    assert said_of(f"{others} nvvm.barrier id = {identifier} number_of_threads = %c96") == []


TENSORS = """
    %layout = cute.make_layout() : !cute.layout<"4:1">
    %at = cute.make_coord() : () -> !cute.coord<"0">
    %first = cute.memref.alloca(%layout) : !cute.memref<i32, rmem, align<32>, "4:1">
    %second = cute.memref.alloca(%layout) : !cute.memref<i32, rmem, align<32>, "4:1">
    %address = cute.get_iter(%first) : !cute.memref<i32, rmem, align<32>, "4:1">
    %view = cute.make_view(%address, %layout) : !cute.memref<i32, rmem, align<32>, "4:1">
    cute.memref.store({stored}, %at, %tid)
      : (!cute.memref<i32, rmem, align<32>, "4:1">, !cute.coord<"0">, i32) -> ()
    cute.memref.store(%second, %at, %n)
      : (!cute.memref<i32, rmem, align<32>, "4:1">, !cute.coord<"0">, i32) -> ()
    %value = cute.memref.load({loaded}, %at)
      : (!cute.memref<i32, rmem, align<32>, "4:1">, !cute.coord<"0">) -> i32
    %sum = arith.addi %value, %tid : i32
    %is_chosen = arith.cmpi slt, %value, %n : i32
    scf.if %is_chosen {{
      nvvm.barrier
    }}
"""


@pytest.mark.parametrize(
    ("stored", "loaded", "count"),
    [
        ("%first", "%first", 1),
        ("%first", "%view", 1),
        ("%view", "%first", 1),
        # Another tensor of the same layout is other memory, and what is done with a value changes no memory.
        ("%first", "%second", 0),
        ("%view", "%second", 0),
    ],
)
def test_registers_differ_by_what_is_stored_in_them(stored: str, loaded: str, count: int) -> None:
    said = said_of(TENSORS.format(stored=stored, loaded=loaded))
    assert len(said) == count
    assert all("whose condition differs between threads of a warp" in each for each in said)


TENSOR = '!cute.memref<i32, rmem, align<32>, "4:1">'
COORD = '!cute.coord<"0">'
MADE = f"""
    %layout = cute.make_layout() : !cute.layout<"4:1">
    %at = cute.make_coord() : () -> {COORD}
    %first = cute.memref.alloca(%layout) : {TENSOR}
    cute.memref.store(%first, %at, %n) : ({TENSOR}, {COORD}, i32) -> ()
"""
STORED = f"cute.memref.store(TENSOR, %at, VALUE) : ({TENSOR}, {COORD}, i32) -> ()"
READ = f"""
    %value = cute.memref.load(%after, %at) : ({TENSOR}, {COORD}) -> i32
    %is_chosen = arith.cmpi slt, %value, %n : i32
    scf.if %is_chosen {{
      nvvm.barrier
    }}
"""
CARRIED = {
    "branch": f"""
    %after = scf.if %is_any -> ({TENSOR}) {{
      {STORED.replace("TENSOR", "%first")}
      scf.yield %first : {TENSOR}
    }} else {{
      scf.yield %first : {TENSOR}
    }}""",
    "for": f"""
    %after = scf.for %i = %c1 to %n step %c1 iter_args(%inside = %first) -> ({TENSOR}) : i32 {{
      {STORED.replace("TENSOR", "%inside")}
      scf.yield %inside : {TENSOR}
    }}""",
    "while": f"""
    %after = scf.while (%inside = %first) : ({TENSOR}) -> {TENSOR} {{
      scf.condition(%is_any) %inside : {TENSOR}
    }} do {{
    ^bb0(%inside: {TENSOR}):
      {STORED.replace("TENSOR", "%inside")}
      scf.yield %inside : {TENSOR}
    }}""",
}


@pytest.mark.parametrize("body", CARRIED.values(), ids=CARRIED)
@pytest.mark.parametrize(("value", "count"), [("%tid", 1), ("%n", 0)])
def test_what_is_stored_under_a_branch_or_in_a_loop_decides_too(body: str, value: str, count: int) -> None:
    assert len(said_of(MADE + body.replace("VALUE", value) + READ)) == count
