"""Functions that call themselves, functions that are called by their address, and addresses in initial values: what
compilers of C++ write, and the DSL does not."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import cutecc
from cutecc.errors import EmulatorError, FaultError, LimitError, ParseError

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
ENTRY = """
.visible .entry k(.param .u64 p, .param .u64 q) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;
  ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
  ld.global.u32 %r2, [%rd1];
  BODY
  st.global.u32 [%rd2], %r3; ret;
}
"""
CALL = """{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2;
  call (b), TARGET, (a)PROTOTYPE; ld.param.b32 %r3, [b]; }"""


def run(text: str, values: Any, check: str | None = None) -> list[int]:
    x = np.asarray(values, np.uint32)
    y = np.zeros_like(x)
    cutecc.emulate_ptx(text, grid=1, block=len(x), args=[x, y], options=cutecc.EmulatorOptions(check=check))
    return y.tolist()


def entry(body: str) -> str:
    return ENTRY.replace("BODY", body)


FACTORIAL = """
.func (.param .b32 result) factorial(.param .b32 n) {
  .local .align 4 .b32 own; .reg .b32 %r<9>; .reg .b64 %rd<3>; .reg .pred %p;
  ld.param.b32 %r2, [n]; st.local.b32 [own], %r2; mov.b32 %r3, 1;
  setp.lt.u32 %p, %r2, 2; @%p bra DONE;
  sub.u32 %r4, %r2, 1;
  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r4; call (b), factorial, (a); ld.param.b32 %r3, [b]; }
  ld.local.b32 %r5, [own]; mul.lo.u32 %r3, %r3, %r5; mul.lo.u32 %r3, %r3, %r4; div.u32 %r3, %r3, %r4;
DONE: st.param.b32 [result], %r3; ret;
}
"""


def test_a_function_that_calls_itself() -> None:
    """Each call has its own registers and local variables, however deep the threads of a warp go."""
    text = HEAD + FACTORIAL + entry(CALL.replace("TARGET", "factorial").replace("PROTOTYPE", ""))
    values = [1, 5, 3, 8, 2, 0]
    assert run(text, values, check="all") == [1, 120, 6, 40320, 2, 1]


def test_a_call_without_end() -> None:
    text = (
        HEAD
        + FACTORIAL.replace("@%p bra DONE;", "")
        + entry(CALL.replace("TARGET", "factorial").replace("PROTOTYPE", ""))
    )
    with pytest.raises(EmulatorError, match="calls inside of one another: the thread's stack is full"):
        run(text, [1])


def test_calls_inside_of_one_another_keep_memory() -> None:
    """That counts, as the memory of the blocks does."""
    text = HEAD + FACTORIAL + entry(CALL.replace("TARGET", "factorial").replace("PROTOTYPE", ""))
    x, y = np.full(1, 500, np.uint32), np.zeros(1, np.uint32)
    for memory, is_enough in ((1 << 20, False), (16 << 20, True)):
        options = cutecc.EmulatorOptions(limits=cutecc.Limits(memory=memory))
        with nullcontext() if is_enough else pytest.raises(LimitError, match="calls inside of one another keep"):
            cutecc.emulate_ptx(text, grid=1, block=1, args=[x, y], options=options)


POINTED = """
.func add_to(.param .b64 there, .param .b32 left) {
  .local .align 4 .b32 own; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;
  ld.param.b64 %rd1, [there]; ld.param.b32 %r1, [left]; ld.b32 %r2, [%rd1]; add.u32 %r2, %r2, %r1; st.b32 [%rd1], %r2;
  setp.eq.u32 %p, %r1, 0; @%p ret;
  mov.b32 %r3, 100; st.local.b32 [own], %r3; mov.u64 %rd2, own; cvta.local.u64 %rd2, %rd2; sub.u32 %r4, %r1, 1;
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd2; st.param.b32 [b], %r4; call add_to, (a, b); }
  ld.local.b32 %r5, [own]; ld.b32 %r2, [%rd1]; add.u32 %r2, %r2, %r5; st.b32 [%rd1], %r2; ret;
}
"""


def test_a_pointer_to_a_local_variable_of_a_caller() -> None:
    """It is the caller's, not the variable of this name of the call that has it."""
    body = "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %rd1; st.param.b32 [b], 2; call add_to, (a, b); }"
    text = HEAD + POINTED + entry(f"{body} ld.global.b32 %r3, [%rd1];")
    assert run(text, [7]) == [7 + 2 + (100 + 1 + 100)]


TWICE = """.func (.param .b32 r) NAME(.param .b32 n)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [n]; OPERATION; st.param.b32 [r], %r2; ret; }
"""
FUNCTIONS = TWICE.replace("NAME", "double").replace("OPERATION", "add.u32 %r2, %r1, %r1") + TWICE.replace(
    "NAME", "next"
).replace("OPERATION", "add.u32 %r2, %r1, 1")
BY_ADDRESS = """and.b32 %r4, %r1, MASK; mul.wide.u32 %rd4, %r4, 8; mov.u64 %rd5, table; cvta.const.u64 %rd5, %rd5;
  add.u64 %rd5, %rd5, %rd4; ld.u64 %rd6, [%rd5];
""" + CALL.replace("TARGET", "%rd6").replace("PROTOTYPE", ", kind").replace(
    "{ .param", "{ kind: .callprototype (.param .b32 _) _ (.param .b32 _); .param"
)
TABLE = ".func (.param .b32 r) double(.param .b32 n);\n.func (.param .b32 r) next(.param .b32 n);\n"
TABLE += ".const .align 8 .u64 table[3] = {double, next};\n"


def test_functions_by_their_addresses() -> None:
    """Threads of a warp may call each another one."""
    text = HEAD + TABLE + FUNCTIONS + entry(BY_ADDRESS.replace("MASK", "1"))
    assert run(text, [10, 10, 7, 7], check="all") == [20, 11, 14, 8]


def test_calls_by_address_of_more_functions_than_memory_has_room_for() -> None:
    """Each call has operations for each function whose address is taken."""
    names = [f"f{each}" for each in range(900)]
    functions = "".join(TWICE.replace("NAME", name).replace("OPERATION", "add.u32 %r2, %r1, 1") for name in names)
    table = f".const .align 8 .u64 table[{len(names)}] = {{{', '.join(names)}}};\n"
    body = "mov.u64 %rd6, 0; kind: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    call = CALL.replace("TARGET", "%rd6").replace("PROTOTYPE", ", kind")
    with pytest.raises(EmulatorError, match="900 functions in more than 100,000 ways"):
        run(HEAD + functions + table + entry(body + 200 * call), [1])


def test_an_address_of_no_function() -> None:
    text = HEAD + TABLE + FUNCTIONS + entry(BY_ADDRESS.replace("MASK", "2"))
    with pytest.raises(FaultError, match="calls 0x0, which is no function that it could call so"):
        run(text, [1, 1, 1])


def test_addresses_in_initial_values() -> None:
    """In the variable's own space, generic, with bytes added, and one byte of them."""
    variables = """
.global .align 4 .b32 numbers[4] = {1, 2, 3, 4};
.const .align 4 .b32 fixed[2] = {50, 60};
.global .align 8 .u64 places[2] = {generic(numbers)+8, generic(fixed)+4};
.global .align 8 .b8 bytes[8] = {0xFF(numbers), 0xFF00(numbers), 0xFF0000(numbers), 0xFF000000(numbers),
  0xFF00000000(numbers), 0xFF0000000000(numbers), 0xFF000000000000(numbers), 0xFF00000000000000(numbers)};
"""
    body = """ld.global.u64 %rd4, [places]; ld.u32 %r3, [%rd4]; ld.global.u64 %rd4, [places+8]; ld.u32 %r4, [%rd4];
      add.u32 %r3, %r3, %r4; ld.global.u64 %rd4, [bytes]; ld.u32 %r4, [%rd4+4]; add.u32 %r3, %r3, %r4;"""
    assert run(HEAD + variables + entry(body), [0]) == [3 + 60 + 2]


@pytest.mark.parametrize("value", ["generic(x", "x+y", "1.5+x", "0x0F(x)"])
def test_what_is_no_initial_value(value: str) -> None:
    with pytest.raises(ParseError, match="is no constant and no address of a variable"):
        cutecc.emulate_ptx(f"{HEAD}.global .u64 p = {value};", grid=1, block=1, args=[])


def test_an_address_of_nothing() -> None:
    with pytest.raises(EmulatorError, match="does not declare 'nowhere', which 'p' points to"):
        run(f"{HEAD}.global .u64 p = nowhere;" + entry("mov.u32 %r3, 0;"), [0])
