"""PTX to programs: where variables are, and PTX that makes none."""

from __future__ import annotations

import numpy as np
import pytest
from hand import load_families
from small_kernels import PROLOGUE, run

from cutecc.emulator.instructions.arrangement import arranged
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.machine.decode import decode
from cutecc.errors import EmulatorError
from cutecc.ptx.parse import parse_module

SHARED = """
.extern .shared .align 16 .b8 dynamic[];
.func own()
{
  .reg .b32 %r1;
  .shared .align 4 .b32 mine;
  mov.u32 %r1, mine;
  st.shared.u32 [%r1], 99;
  ret;
}
"""


def test_dynamic_shared_memory_is_behind_that_of_the_functions_called() -> None:
    body = (
        PROLOGUE
        + """
  mov.u32 %r5, dynamic;
  st.shared.u32 [%r5], 7;
  call.uni own;
  ld.shared.u32 %r6, [%r5];
  st.global.u32 [%rd3], %r6;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out, module=SHARED, shared=16)
    assert (out == 7).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("  .reg .e4m3 %q<2>;\n", r"registers of type '\.e4m3'"),
        ("  brx.idx %r1, NOWHERE;\n", "no list of branch targets 'NOWHERE'"),
        ("  bra NOWHERE;\n", "no label 'NOWHERE'"),
        ("  call.uni one;\n", "does not fit the declaration of 'one'"),
    ],
)
def test_ptx_that_makes_no_program_is_an_error(body: str, message: str) -> None:
    with pytest.raises(EmulatorError, match=message):
        run(PROLOGUE + body, np.zeros(32, np.uint32), module=".func one(.param .b32 x) { ret; }\n")


def test_modifiers_in_any_order() -> None:
    """ptxas takes them so."""
    body = (
        PROLOGUE
        + """
  .reg .f32 %f<4>; .reg .b16 %h1;
  cvt.f32.rn.u32 %f1, %r1; fma.f32.rn.ftz %f2, %f1, %f1, 0f3F000000;
  cvt.satfinite.e4m3x2.rn.f32 %h1, 0f00000000, %f2; cvt.f16x2.e4m3x2.rn %r6, %h1; cvt.u16.u32 %h1, %r6;
  cvt.f32.f16 %f3, %h1; shfl.idx.sync.b32 %r7, %f3, 2, 31, -1;
  st.b32.global [%rd3], %r7;
"""
    )
    out = np.zeros(32, np.float32)
    run(body, out)
    assert (out == 4.5).all()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("cvt.rn.e4m3x2.f16x2", "cvt.rn.f16x2.e4m3x2"),
        ("mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("add.f32.s32", "add.f32"),
    ],
)
def test_what_means_another_thing_in_another_order(wrong: str, right: str) -> None:
    load_families()
    opcode, *modifiers = wrong.split(".")
    assert str(arranged(Form(opcode, tuple(modifiers)))) == wrong
    opcode, *modifiers = right.split(".")
    assert str(arranged(Form(opcode, tuple(modifiers)))) == right


def test_functions_that_many_call_are_looked_at_once() -> None:
    """Each calls the one before twice: there are 2^40 ways to the first."""
    count = ".reg .b32 %r1; atom.global.add.u32 %r1, [calls], 1;"
    bodies = [count, *(f"call.uni f{number}; call.uni f{number};" for number in range(40))]
    functions = "".join(f".func f{number}() {{ {body} ret; }}\n" for number, body in enumerate(bodies))
    module = f".version 8.8\n.target sm_90a\n.address_size 64\n.global .u32 calls;\n{functions}"
    program = decode(parse_module(module + ".entry kernel() { call.uni f40; ret; }\n"), "kernel")
    assert len(program.registers) == 42
    # A call and what is behind it, twice; the return, and another at the end of the text.
    assert len(program.operations) == (2 + 2) + (1 + 2) + 40 * (4 + 2)


def test_a_function_that_is_called_often_is_executed_as_often() -> None:
    count = ".global .u32 calls;\n.func f0() { .reg .b32 %r1; atom.global.add.u32 %r1, [calls], 1; ret; }\n"
    calls = [f".func f{each + 1}() {{ call.uni f{each}; call.uni f{each}; ret; }}\n" for each in range(5)]
    out = np.zeros(32, np.uint32)
    body = PROLOGUE + "  call.uni f5;\n  ld.global.u32 %r5, [calls];\n  st.global.u32 [%rd3], %r5;\n"
    run(body, out, module=count + "".join(calls))
    assert (out == 32 * 2**5).all()


VARIABLES = """
.version 8.8
.target {target}
.address_size 64
.shared .align 4 .b8 of_a[4096];
.shared .align 4 .b8 of_b[8192];
.shared .align 4 .b8 of_f[256];
.func f() {{ .reg .b32 %r<2>; mov.u32 %r1, of_f; st.shared.u32 [%r1], 1; ret; }}
.visible .entry a() {{ .shared .align 4 .b8 own[512]; st.shared.v2.u32 [of_a+8], {{0, 0}}; ret; }}
.visible .entry b() {{ st.shared.u32 [of_b], 0; call.uni f; ret; }}
.visible .entry c() {{ ret; }}
"""


@pytest.mark.parametrize(("target", "reserved"), [("sm_80", 0), ("sm_90a", 1024)])
def test_a_block_has_the_shared_memory_that_its_kernel_uses(target: str, reserved: int) -> None:
    """As `ptxas -v` says, which also counts what a kernel declares itself and does not use."""
    module = parse_module(VARIABLES.format(target=target))
    used = {kernel: decode(module, kernel).shared_bytes - reserved for kernel in "abc"}
    assert used == {"a": 4096 + 512, "b": 8192 + 256, "c": 0}


def test_hundreds_of_modifiers_are_in_no_order() -> None:
    load_families()
    form = Form("tcgen05", ("mma", "cta_group::1", "kind::f16", "collector::a::fill") * 100)
    assert arranged(form) is form  # at once: tried in all orders they would take hours
