"""The class of each SASS instruction."""

from __future__ import annotations

import pytest

from cutecc.report.instruction_mix import OTHER, classify


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LDG.E R0, desc[UR4][R2.64]", "global load 32"),
        ("@!P0 LDG.E.128.CONSTANT R4, [R2.64]", "global load 128"),
        ("LDG.E.U8 R0, [R2.64]", "global load 8"),
        ("STG.E.U16 [R2.64], R0", "global store 16"),
        ("STG.E.64 [R2.64], R0", "global store 64"),
        ("LDS.U.128 R4, [R2]", "shared load 128"),
        ("STS [R2], R0", "shared store 32"),
        ("@P1 LDC.U8 R5, c[0x0][0x21c]", "constant load 8"),
        ("ULDC.64 UR6, c[0x0][0x210]", "constant load 64"),
        ("LDCU.128 UR6, c[0x0][0x210]", "constant load 128"),
        ("LDL.64 R2, [R5]", "local load 64"),
        ("LD.E R0, [R2.64]", "generic load 32"),
        ("LDGSTS.E.BYPASS.128 [R17], [R2.64]", "async copy"),
        ("UTMALDG.2D [UR8], [UR4], desc[URZ]", "bulk copy"),
        ("UBLKCP.S.G [UR8], [UR4], UR2", "bulk copy"),
        ("LDSM.16.MT88.4 R4, [R2]", "matrix load"),
        ("HMMA.16816.F32 R4, R8, R2, R4", "matrix"),
        ("HGMMA.64x128x16.F32 R24, gdesc[UR20], R24", "matrix"),
        ("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0", "matrix"),
        ("F2FP.F16.F32.PACK_AB R0, R1, R2", "conversion"),
        ("HADD2.F32 R0, -RZ, R1.H0_H0", "conversion"),
        ("HADD2.F32 R0, R2.H0_H0, R1.H0_H0", "float 16"),
        ("HFMA2 R7, -RZ, RZ, 0, 0", "move"),
        ("HFMA2.BF16_V2 R7, R1, R2, R3", "float 16"),
        ("FFMA.FTZ R0, R1, R2, R3", "float 32"),
        ("DFMA R0, R2, R4, R6", "float 64"),
        ("IMAD.WIDE R2, R5, 0x4, R2", "integer"),
        ("IMAD.MOV.U32 R2, RZ, RZ, R5", "move"),
        ("IMAD.U32 R16, RZ, RZ, UR18", "move"),
        ("IMAD.X R4, R5, 0x1, RZ, P0", "integer"),
        ("REDAS.ADD [R12.64], R4", "atomic"),
        ("LDGMC.E.ADD.F32x4.RN.STRONG.SYS R16, [R2.64+URZ]", "atomic"),
        ("IMAD.SHL.U32 R8, R8, 0x40, RZ", "logic and shift"),
        ("UIADD3 UR4, UR4, 0x1, URZ", "integer"),
        ("ULOP3.LUT UR4, UR4, 0x3f, URZ, 0xc0, !UPT", "logic and shift"),
        ("@UP0 UMOV UR4, 0x400", "move"),
        ("UISETP.NE.AND UP0, UPT, UR4, URZ, UPT", "compare and select"),
        ("MUFU.EX2 R0, R1", "special function"),
        ("SHFL.BFLY PT, R3, R2, 0x10, 0x1f", "warp"),
        ("BAR.SYNC.DEFER_BLOCKING 0x0", "barrier and fence"),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R7+URZ], R3", "barrier and fence"),
        ("REDG.E.ADD.STRONG.GPU [R2.64], R0", "atomic"),
        ("ATOMS.POPC.INC.32 RZ, [R2+UR4]", "atomic"),
        ("EXIT", "control"),
        ("BRA `(.L_x_4)", "control"),
        ("FROBNICATE R0", OTHER),
        ("", OTHER),
    ],
)
def test_class(text: str, expected: str) -> None:
    assert classify(text) == expected


def test_spills_are_told_from_local_arrays_where_there_are_some() -> None:
    spill, array = "STL.64 [R1+0x10], R2", "LDL R0, [R5+0x4]"
    assert [classify(spill), classify(array)] == ["local store 64", "local load 32"]
    assert [classify(spill, spills=True), classify(array, spills=True)] == ["spill store 64", "local load 32"]
    assert classify("LDL R0, [R1]", spills=True) == "spill load 32"
