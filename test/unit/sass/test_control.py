"""Control codes: known encodings, and those of compiled code against what nvdisasm prints and what they must obey."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecc.backend.nvdisasm import disassemble
from cutecc.backend.ptxas import assemble
from cutecc.backend.tools import find_tool, run_tool
from cutecc.sass import read_sass
from cutecc.sass.control import BARRIERS, Control, controls
from cutecc.sass.cubin import code_sections
from cutecc.sass.effects import effects
from cutecc.target import Target

PTX = """\
.version 8.8
.target {target}
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{{
	.reg .b64 %rd<4>;
	.reg .b32 %r<8>;
	.reg .f32 %f<8>;
	.reg .pred %p;
	ld.param.u64 %rd1, [a];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd3, %rd1, %rd2;
	mov.f32 %f1, 0f00000000;
loop:
	ld.global.f32 %f2, [%rd3];
	ld.global.f32 %f3, [%rd3+4];
	fma.rn.f32 %f4, %f2, %f2, %f3;
	fma.rn.f32 %f5, %f2, %f3, %f4;
	fma.rn.f32 %f1, %f2, %f4, %f5;
	ex2.approx.f32 %f6, %f1;
	st.global.f32 [%rd3], %f6;
	sub.u32 %r1, %r1, 1;
	setp.ne.u32 %p, %r1, 0;
	@%p bra loop;
	ret;
}}
"""
HEX = re.compile(r"/\* 0x([0-9a-f]{16}) \*/")


def encoded(low: int, high: int) -> bytes:
    return low.to_bytes(8, "little") + high.to_bytes(8, "little")


def test_known_encodings() -> None:
    # As nvdisasm -hex prints them: MOV R1, c[0x0][0x28], and others with its upper half changed field by field.
    move = encoded(0x00000A0000017A02, 0x000FE40000000F00)
    (control,) = controls(move, Target(8, 0)) or []
    assert control == Control(2, False, None, None, frozenset(), frozenset())
    assert str(control) == "B------:R-:W-:-:S02"
    loads = encoded(0, 4 << 41 | 0 << 45 | 1 << 46 | 7 << 49 | 0b000100 << 52 | 0b0101 << 58)
    (control,) = controls(loads, Target(9, 0, "a")) or []
    assert control == Control(4, True, 1, None, frozenset({2}), frozenset({0, 2}))
    assert str(control) == "B--2---:R-:W1:Y:S04"
    (control,) = controls(encoded(0, 15 << 41 | 1 << 45 | 7 << 46 | 5 << 49 | 0b100001 << 52), Target(12, 1)) or []
    assert str(control) == "B0----5:R5:W-:-:S15"


@pytest.mark.parametrize("target", [Target(6, 1), Target(13, 0)])
def test_another_layout_is_not_read(target: Target) -> None:
    assert controls(bytes(16), target) is None


def test_no_code() -> None:
    assert controls(b"", Target(8, 0)) == []


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_control_codes_of_compiled_code(tmp_path: Path, target: str) -> None:
    assembled = assemble(PTX.format(target=target), Target.parse(target))
    check(assembled.cubin, Target.parse(target), tmp_path)


def test_control_codes_of_many_opcodes(tmp_path: Path) -> None:
    ptx = Path(__file__).with_name("opcodes.ptx").read_text()
    check(assemble(ptx, Target.parse("sm_100a")).cubin, Target.parse("sm_100a"), tmp_path)


def check(cubin: bytes, target: Target, folder: Path) -> None:
    sections = code_sections(cubin)
    (folder / "kernel.cubin").write_bytes(cubin)
    printed = run_tool(find_tool("nvdisasm"), ["--print-code", "-hex", "kernel.cubin"], folder=folder).stdout.decode()
    words = [int(each, 16).to_bytes(8, "little") for each in HEX.findall(printed)]
    assert sorted(words) == sorted(code[at : at + 8] for code in sections.values() for at in range(0, len(code), 8))
    for function in read_sass(disassemble(cubin)):
        found = controls(sections[function.name], target)
        assert found
        barriers = {barrier for each in found for barrier in (each.write_barrier, each.read_barrier)} - {None}
        assert barriers and barriers <= {*range(BARRIERS)}
        assert {barrier for each in found for barrier in each.waits} <= barriers
        for each in function.instructions:
            control = found[each.offset // 16]
            assert len(control.reuse) == sum(".reuse" in operand for operand in effects(each.text).operands)
            # A warp that another takes the place of loses what it keeps for reuse.
            assert not (control.yields and control.reuse)
