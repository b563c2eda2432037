"""`check-spills` over records: which lines access local memory, how many bytes, and whether it is a spill."""

from __future__ import annotations

from cutecc.passes.analysis.spills import check_spills
from cutecc.record import Artifact, Compilation, KernelResources, Versions

SASS = """
//--------------------- .text.first --------------------------
	.section	.text.first,"ax",@progbits
.text.first:
	//## File "/src/kernel.py", line 7
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   STL [R1], R4 ;
        /*0020*/              @!P0 STL.64 [R1+0x8], R6 ;
	//## File "/lib/inner.py", line 99 inlined at "/src/kernel.py", line 9
	//## File "/src/kernel.py", line 9
        /*0030*/                   LDL.128 R8, [R1+0x10] ;
        /*0040*/                   LDL.LU R8, [R1+0x20] ;
        /*0050*/                   LDG.E R8, [R2] ;
	//## File "/src/kernel.py", line 12
        /*0060*/                   STL.U8 [R1+0x30], R8 ;
//--------------------- .text.second -------------------------
	.section	.text.second,"ax",@progbits
.text.second:
        /*0000*/                   LDL.LU.64 R8, [R1] ;
"""
PTX = """
	.file	1 "/src/kernel.py"
.entry first()
	.local .align 8 .b8 	__local_depot0[8];
	.loc	1 12 4
	st.local.u8 	[%rd1], %rs1;
	.loc	1 7 4
	st.global.u32 	[%rd2], %r1;
"""


def record(sass: str | None, ptx: str = "", registers: int | None = None) -> Compilation:
    found = Compilation("k", "sm_80", "", Versions("1", "3.11", "4.8.1", "wheel"))
    for kind, name, text in (("sass", "k.sass", sass), ("ptx", "k.ptx", ptx)):
        if text is not None:
            found.artifacts.append(Artifact(kind, name))  # pyright: ignore[reportArgumentType]
            found.files[name] = text.encode()
    if registers is not None:
        found.resources.append(
            KernelResources("first", registers, 48, None, None, 0, None, 0, barriers=None, occupancy=None)
        )
    return found


def test_each_line_is_a_warning_with_its_bytes() -> None:
    analysis = check_spills(record(SASS, PTX, registers=255))
    assert (analysis.name, analysis.failure) == ("check-spills", None)
    by_place = {each.location: each for each in analysis.remarks}
    assert set(by_place) == {"/src/kernel.py:7", "/src/kernel.py:9", "/src/kernel.py:12", None}
    stores, loads = by_place["/src/kernel.py:7"], by_place["/src/kernel.py:9"]
    assert (stores.severity, stores.message) == ("warning", "registers spill to local memory: 2 stores (12 bytes)")
    assert stores.numbers == {"loads": 0, "load bytes": 0, "stores": 2, "store bytes": 12, "registers": 255}
    assert loads.message == "registers spill to local memory: 2 loads (20 bytes)"
    assert by_place[None].numbers == {"loads": 1, "load bytes": 8, "stores": 0, "store bytes": 0}


def test_an_array_in_local_memory_is_no_spill() -> None:
    (array,) = [each for each in check_spills(record(SASS, PTX)).remarks if each.location == "/src/kernel.py:12"]
    assert array.severity == "remark"
    assert array.message.startswith("1 store (1 bytes) of local memory, for an array that is not in registers")


def test_every_module_of_device_code_is_looked_at() -> None:
    compilation = record("", PTX)
    compilation.artifacts.append(Artifact("sass", "k-2.sass"))
    compilation.files["k-2.sass"] = SASS.encode()
    assert [each.message for each in check_spills(compilation).remarks] == [
        each.message for each in check_spills(record(SASS, PTX)).remarks
    ]


def test_warnings_come_first_and_the_largest_of_them() -> None:
    found = check_spills(record(SASS, PTX)).remarks
    assert [each.severity for each in found] == ["warning"] * 3 + ["remark"]
    assert [each.location for each in found[:2]] == ["/src/kernel.py:9", "/src/kernel.py:7"]


def test_code_without_local_memory_and_a_record_without_code() -> None:
    assert check_spills(record("\t.section\t.text.first,\n /*0000*/ LDG.E R8, [R2] ;\n")).remarks == []
    assert check_spills(record(None)).failure == "not run: the record has no SASS"
