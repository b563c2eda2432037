"""What instructions read and write: real ones, and those of compiled code against nvdisasm's own marks."""

from __future__ import annotations

from pathlib import Path

import pytest
from life_ranges import LifeRanges, life_ranges

from cutecc.backend.ptxas import assemble
from cutecc.backend.tools import find_tool, run_tool
from cutecc.sass.effects import effects
from cutecc.target import Target

OPCODES = Path(__file__).with_name("opcodes.ptx")
LAST_MARKED = 62
"""The last uniform register that nvdisasm has a column for."""


def several(kind: str, first: int, count: int) -> str:
    return " ".join(f"{kind}{first + index}" for index in range(count))


@pytest.mark.parametrize(
    ("text", "writes", "reads"),
    [
        ("MOV R1, c[0x0][0x28]", "R1", ""),
        ("IADD3 R4, P2, R4, R3.reuse, RZ", "R4 P2", "R4 R3"),
        ("IADD3.X R5, RZ, R5, RZ, P2, !PT", "R5", "R5 P2"),
        ("UIADD3 UR7, UPT, UPT, UR8, -UR9, URZ", "UR7", "UR8 UR9"),
        ("UIADD3.64 UR16, UR8, 0x2, URZ", "UR16 UR17", "UR8 UR9"),
        ("LOP3.LUT P0, RZ, R1, 0x1, RZ, 0xc0, !PT", "P0", "R1"),
        ("IMAD.WIDE.U32 R2, P1, R8, R3, R6", "R2 R3 P1", "R8 R3 R6 R7"),
        ("@!P0 LDG.E.128 R4, desc[UR4][R2.64+0x10]", several("R", 4, 4), "P0 UR4 UR5 R2 R3"),
        ("LDG.E.ENL2.256 R8, R4, desc[UR4][R22.64]", several("R", 8, 4) + " " + several("R", 4, 4), "UR4 UR5 R22 R23"),
        ("STG.E.64 [R12.64], R8", "", "R12 R13 R8 R9"),
        ("STG.E.ENL2.256 desc[UR4][R24.64], R4, R8", "", f"UR4 UR5 R24 R25 {several('R', 4, 8)}"),
        ("STS.128 [R0+UR4], R24", "", f"R0 UR4 {several('R', 24, 4)}"),
        ("LD.E R0, [RZ.U32+UR4]", "R0", "UR4 UR5"),
        ("STL.64 [R1+0x8], R20", "", "R1 R20 R21"),
        ("LDGSTS.E.BYPASS.LTC128B.128 [R63], [R10.64], P3", "", "R63 R10 R11 P3"),
        ("LDC.64 R14, c[0x0][R4+0x230]", "R14 R15", "R4"),
        ("ULDC.64 UR8, c[0x0][0x258]", "UR8 UR9", ""),
        ("ATOMG.E.CAS.STRONG.GPU PT, R4, [R10], R4, R5", "R4", "R10 R11 R4 R5"),
        ("ATOM.E.ADD.64.STRONG.GPU P0, R16, [R6.64], R18", "P0 R16 R17", "R6 R7 R18 R19"),
        ("RED.E.ADD.STRONG.GPU [R4.64], R9", "", "R4 R5 R9"),
        ("HMMA.16816.F32 R32, R44.reuse, R12, RZ", several("R", 32, 4), f"{several('R', 44, 4)} R12 R13"),
        ("HMMA.16816.F16 R32, R44, R12, R32", "R32 R33", f"{several('R', 44, 4)} R12 R13 R32 R33"),
        ("HMMA.1684.F32.TF32 R8, R14, R17, R8", several("R", 8, 4), f"R14 R15 R17 {several('R', 8, 4)}"),
        (
            "HMMA.SP.16832.F32 R12, R20, R16, RZ, R6, 0x0",
            several("R", 12, 4),
            several("R", 20, 4) + " " + several("R", 16, 4) + " R6",
        ),
        (
            "IMMA.16832.S8.S8 R4, R8.ROW, R2.COL, R4",
            several("R", 4, 4),
            f"{several('R', 8, 4)} R2 R3 {several('R', 4, 4)}",
        ),
        ("DMMA.8x8x4 R36, R44, R2, R36", several("R", 36, 4), f"R44 R45 R2 R3 {several('R', 36, 4)}"),
        (
            "OMMA.SF.16864.F32.E2M1.E2M1.E8 R4, R52, R50, RZ, R0, R2, URZ",
            several("R", 4, 4),
            f"{several('R', 52, 4)} R50 R51 R0 R2",
        ),
        ("HGMMA.64x64x16.F32 R24, gdesc[UR16].tnspB, RZ, !UPT", several("R", 24, 32), several("UR", 16, 4)),
        (
            "HGMMA.64x128x16.F32 R24, R180, gdesc[UR8].tnspB, R24, gsb0",
            several("R", 24, 64),
            f"{several('R', 180, 4)} {several('UR', 8, 4)} {several('R', 24, 64)}",
        ),
        (
            "HGMMA.SP.64x16x32.F32 R32, R40, gdesc[UR4], R32, UP0, R44, 0x0, gsb0",
            several("R", 32, 8),
            f"{several('R', 40, 4)} {several('UR', 4, 4)} {several('R', 32, 8)} UP0 R44",
        ),
        ("QGMMA.64x16x32.F16.E4M3.E5M2 R24, gdesc[UR4], RZ, !UPT", several("R", 24, 4), several("UR", 4, 4)),
        (
            "UTCHMMA.2CTA gdesc[UR48], gdesc[UR50], tmem[UR43], tmem[UR60], idesc[UR61], UR8, UP0",
            "",
            f"UR48 UR49 UR50 UR51 UR43 UR60 UR61 {several('UR', 8, 8)} UP0",
        ),
        ("UTMALDG.3D [UR40], [UR22], desc[URZ]", "", f"{several('UR', 40, 5)} UR22 UR23"),
        ("UTMASTG.2D [UR16], [UR8], desc[URZ]", "", "UR16 UR17 UR18 UR8 UR9"),
        ("LDTM.16dp256bit.x4 R20, tmem[UR6]", several("R", 20, 16), "UR6"),
        ("LDTM.STAT.x32.MAX.F32 R3, R4, tmem[UR5]", f"R3 {several('R', 4, 32)}", "UR5"),
        ("STTM.x32 tmem[UR7+0x40], R4", "", f"UR7 {several('R', 4, 32)}"),
        ("LDSM.16.M88.4 R36, [R48]", several("R", 36, 4), "R48"),
        ("STSM.16.MT88.2 [R4], R24", "", "R4 R24 R25"),
        ("MOVM.16.MT88 R5, R3", "R5", "R3"),
        ("SHFL.BFLY P1, R18, R11, 0x10, 0x1f", "P1 R18", "R11"),
        ("VOTE.ALL P2, P1", "P2", "P1"),
        ("VOTE.ANY R5, PT, !P1", "R5", "P1"),
        ("FSETP.GEU.AND P3, P4, |R12|, -R2, !P5", "P3 P4", "R12 R2 P5"),
        ("DSETP.GT.AND P0, PT, R4, R6, PT", "P0", "R4 R5 R6 R7"),
        ("PLOP3.LUT P0, PT, P0, P1, PT, 0xa8, 0x0", "P0", "P0 P1"),
        ("FCHK P0, R4, R40", "P0", "R4 R40"),
        ("SEL R3, R44, RZ, P2", "R3", "R44 P2"),
        ("R2P PR, R2, 0x3", "P0 P1", "R2"),
        ("P2R R7, PR, RZ, 0x4", "R7", "P2"),
        ("S2R R4, SR_CTAID.X", "R4", ""),
        ("CS2R R4, SRZ", "R4 R5", ""),
        ("R2UR UR12, R2", "UR12", "R2"),
        ("I2F.F64.S64 R2, R10", "R2 R3", "R10 R11"),
        ("F2I.U64.TRUNC R6, R5", "R6 R7", "R5"),
        ("F2F.F32.F64 R0, R2", "R0", "R2 R3"),
        ("FFMA2 R4, R6.F32x2.HI_LO, 1.5, R23.reuse.F32", "R4 R5", "R6 R7 R23"),
        ("SYNCS.EXCH.64 URZ, [UR41], UR8", "", "UR41 UR8 UR9"),
        ("@!P0 SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R5+URZ+0x18], R3", "P0", "P0 R5 R3"),
        ("SYNCS.ARRIVE.TRANS64 RZ, [UR41], R0", "", "UR41 R0"),
        ("USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0", "UP0", ""),
        ("UTCATOMSWS.FIND_AND_SET.ALIGN UP0, UR4, UR5", "UP0 UR4", "UR5"),
        ("ELECT P0, URZ, PT", "P0", ""),
        ("WARPSYNC R3", "", "R3"),
        ("BAR.SYNC.DEFER_BLOCKING R2, 0x80", "", "R2"),
        ("RET.REL.NODEC R2 `(kernel_R7_P3)", "", "R2 R3"),
        ("CALL.REL.NOINC `($__internal_0_$__cuda_sm3x_div_rn_noftz_f32_slowpath)", "", ""),
        ("BRA.U UP0, `(.L_x_2)", "", "UP0"),
        ("BSSY.RECONVERGENT B0, `(.L_x_4)", "", ""),
        ("DEPBAR.LE SB0, 0x1", "", ""),
        ("NEWOP.128 R4, R8, UR2", "R4", "R8 UR2"),
    ],
)
def test_registers_of_an_instruction(text: str, writes: str, reads: str) -> None:
    found = effects(text)
    assert (found.writes, found.reads) == (tuple(writes.split()), tuple(reads.split()))


def test_parts_of_an_instruction() -> None:
    found = effects("@!UP1 LDG.E.64 R4, desc[UR4][R2.64+0x10]")
    assert (found.guard, found.opcode, found.operands) == ("!UP1", "LDG.E.64", ("R4", "desc[UR4][R2.64+0x10]"))
    assert found.is_conditional
    assert not effects("EXIT").is_conditional
    assert effects("EXIT").operands == ()


@pytest.mark.parametrize(
    "text",
    [
        "LDSM R99999999, [R1]",
        "HGMMA.64x99999999x16.F32 R24, gdesc[UR8], R24",
        "HGMMA.64x64x16.F32 R24",
        "LDTM.x99999999 R4, tmem[UR5]",
        "R2P PR, R2, 0xzz",
        "VOTE",
        "SETP",
        "@P0",
        "UTCHMMA ]],[[,",
        "IADD3 ,,,",
        "",
    ],
)
def test_what_no_compiler_writes_is_read_too(text: str) -> None:
    assert len(effects(text).writes) < 300


@pytest.mark.parametrize("target", ["sm_100a"])
def test_compiled_code_has_the_effects_that_nvdisasm_marks(tmp_path: Path, target: str) -> None:
    (tmp_path / "kernel.cubin").write_bytes(assemble(OPCODES.read_text(), Target.parse(target)).cubin)
    arguments = ["--print-code", "--print-life-ranges", "kernel.cubin"]
    text = run_tool(find_tool("nvdisasm"), arguments, folder=tmp_path).stdout.decode()
    marked = [each for each in life_ranges(text) if "CALL" not in each.text]
    assert len({effects(each.text).opcode for each in marked}) > 200
    assert [wrong for each in marked if (wrong := difference(each))] == []


def difference(marked: LifeRanges) -> str:
    found = effects(marked.text)
    writes, reads = (
        {each for each in names if not (each.startswith("UR") and int(each[2:]) > LAST_MARKED)}
        for names in (found.writes, found.reads)
    )
    if (writes, reads) == (marked.marked("^x"), marked.marked("vx")):
        return ""
    return f"{marked.text}: writes {writes}, not {marked.marked('^x')}; reads {reads}, not {marked.marked('vx')}"
