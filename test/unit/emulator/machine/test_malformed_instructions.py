"""PTX that no assembler takes: an error with the line and the text of the instruction, when the PTX is decoded."""

from __future__ import annotations

import pytest

from cutecc.emulator.machine.decode import decode
from cutecc.errors import EmulatorError, Error, ParseError
from cutecc.ptx.parse import parse_module

_TEXT = """
.version 8.8
.target sm_90a
.address_size 64
.func (.reg .b32 %result) function (.reg .b32 %given) {{ ret; }}
.visible .entry kernel()
{{
  .reg .pred %p<9>;
  .reg .b16 %rs<9>;
  .reg .b32 %r<99>;
  .reg .b64 %rd<9>;
L:
  {statement}
  ret;
}}
"""
_LINE = 1 + _TEXT[: _TEXT.index("{statement}")].count("\n")


def failure(statement: str) -> Error:
    with pytest.raises((EmulatorError, ParseError)) as raised:
        program = decode(parse_module(_TEXT.format(statement=statement)), "kernel")
        # What is only an error when a thread comes to it.
        step = program.steps[0]
        assert step is not None
        step(None, None)  # type: ignore[arg-type]
    return raised.value


MALFORMED = [
    # Too few operands, too many, none.
    *("bra ;", "bra L, L;", "bra 1;", "bra [%r1];", "bra {L};", "brx.idx ;", "brx.idx %r1;", "brx.idx L, L, L;"),
    *("mov.b64 %rd1, %rs1, x;", "mov.b32 %r1;", "mov.b32 ;", "add.s32 ;", "add.s32 %r1;", "add.s32 %r1, %r2;"),
    *(
        "add.s32 %r1, %r2, %r3, %r4;",
        "ld.global.b32 ;",
        "ld.global.b32 %r1;",
        "st.global.b32 [%rd1];",
        "st.global.b32 ;",
    ),
    *("cvta.to.global.u64 %rd1;", "cvta.to.global.u64 %rd1, %rd2, %rd3;", "lop3.b32 %r1, %r2;", "max.s32 %r1;"),
    *(
        "bar.sync ;",
        "bar.red.popc.u32 %r1;",
        "barrier.sync ;",
        "cp.async.wait_group ;",
        "add.cc.u32 ;",
        "add.cc.u32 %r1, %r2;",
    ),
    *(
        "mapa.u64 %rd1;",
        "getctarank.u64 %r1;",
        "isspacep.shared %p1;",
        "shfl.sync.idx.b32 %r1;",
        "vote.sync.all.pred %p1;",
    ),
    *("mbarrier.init.shared.b64 ;", "mbarrier.arrive.shared.b64 %rd1;", "mbarrier.pending_count.b64 %r1;"),
    *("mbarrier.try_wait.shared.b64 %p1;", "atom.global.add.u32 %r1;", "atom.global.cas.b32 %r1, [%rd1], %r2;"),
    *("red.global.add.u32 ;", "cp.async.mbarrier.arrive.shared.b64 ;", "cp.async.ca.shared.global [%r1], [%rd1];"),
    *(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16;",
        "wgmma.wait_group.sync.aligned ;",
    ),
    *("ldmatrix.sync.aligned.m8n8.x1.shared.b16 ;", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 %r1, %r2;"),
    *("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2;", "setmaxnreg.inc.sync.aligned.u32 ;"),
    *(
        "griddepcontrol.wait %r1, ;",
        "call (%r1), function, (%r1, %r2);",
        "call function;",
        "call ;",
        "call (%r1);",
        "call %rd1;",
    ),
    # Of the wrong kind.
    *(
        "mov.b32 {%r1, %r2, %r3}, %r4;",
        "mov.b32 %r1, [%r2];",
        "mov.b32 1, %r1;",
        "mov.b32 %r1, %p1;",
        "mov.pred %p1, %r1;",
    ),
    *("mov.b32 %p1, %r1;", "add.s32 %r1, {%r2, %r3}, %r4;", "add.s32 {%r1, %r2}, %r3, %r4;", "add.s32 %r1, !%p1, %r2;"),
    *("selp.b32 %r1, %r2, %r3, %r4;", "lop3.b32 %r1, %r2, %r3, %r4, %r5;"),
    *("ld.global.v2.b32 {%r1}, [%rd1];", "ld.global.b32 {%r1, %r2}, [%rd1];", "st.global.v4.b32 [%rd1], {%r1, %r2};"),
    *("atom.global.add.v2.f32 {%r1}, [%rd1], {%r2, %r3};", "atom.global.add.v2.f32 {%r1, %r2}, [%rd1], {%r3};"),
    *(
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [%r3];",
        "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r2};",
    ),
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1,%r2}, {%r4,%r5,%r6,%r7}, {%r8,%r9}, {%r1,%r2,%r3,%r4};",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1,%r2,%r3,%r4}, {%r5}, {%r6,%r7}, {%r1,%r2,%r3,%r4};",
    "wgmma.wait_group.sync.aligned 5000000000;",
    "cp.async.wait_group 9223372036854775808;",
    "cp.async.bulk.wait_group 5000000000;",
    f"mov.b64 %rd1, {1 << 64};",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1,%r2,%r3}, %rd1, %rd2, 1, 1, 1, 0, 0;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%rd1,%rd2,%rd3,%rd4}, %rd1, %rd2, 1, 1, 1, 0, 0;",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r1], {%r2}, [%r3];",
    "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
    "[%r1], [%rd1, {%r1,%r2,%r3}], [%r4], {%rs1,%rs2};",
    # Of no such type, with names that nothing declares, with numbers that none is.
    *("set.num.u32.s32 %r1, %r2, %r3;", "mov.b32 %r1, x;", "ld.b32 %r1, [x];", "ld.global.b32 %r1, [%r999];", "bra M;"),
    *("mov.b32 %r1, %nothing;", "@%p9 ret;", "@%r1x ret;", "mov.b32 %r1, " + "1" * 5000 + ";", "mov.b32 %r1, 1/0;"),
    *(
        "mov.b32 %r1, ٣;",
        "mov.b32 %r1, é;",
        "mov.b32 %r1, \0;",
        "mov.b32 %r1, {{%r1}};",
        "mov.b32 %r1, " + "(" * 20_000 + ";",
    ),
    *(".reg .b32 %x<" + "9" * 5000 + ">;", ".reg .q7 %x;", ".local .b8 x[-1];", ".local .align 3 .b8 x;", ".moon 1;"),
    *(".loc 1 " + "9" * 5000 + " 1", ".file " + "9" * 5000 + ' "x"', "L: ret;", "t: .branchtargets x;", "@ ret;"),
]


@pytest.mark.parametrize("statement", MALFORMED, ids=lambda text: text[:60])
def test_a_malformed_instruction_is_an_error_at_its_line(statement: str) -> None:
    error = failure(statement)
    if isinstance(error, ParseError):
        assert error.location is not None
        assert error.location.line == _LINE, error
    else:
        assert error.notes[0].startswith(f"PTX line {_LINE}: "), error


def test_a_step_that_fails_is_no_malformed_ptx(monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong in an instruction that was decoded is a mistake of cutecc's own, and stays one."""
    from cutecc.emulator.instructions.operation import Operation

    def broken(*_: object) -> object:
        def write(*_: object) -> None:
            raise IndexError

        return write

    monkeypatch.setattr(Operation, "writer", broken)
    program = decode(parse_module(_TEXT.format(statement="mov.b32 %r1, 3;")), "kernel")
    step = program.steps[0]
    assert step is not None
    with pytest.raises(IndexError):
        step(None, None)  # type: ignore[arg-type]


def test_functions_that_call_one_another_without_end_are_an_error() -> None:
    functions = "".join(f".func f{each}() {{ call.uni f{each + 1}; ret; }}\n" for each in range(3000))
    module = (
        f".version 8.8\n.target sm_90a\n.func f3000() {{ ret; }}\n{functions}.entry kernel() {{ call.uni f0; ret; }}\n"
    )
    with pytest.raises(EmulatorError, match="'kernel' calls more than 1,000 functions"):
        decode(parse_module(module), "kernel")
