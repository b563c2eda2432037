"""Measures of a record: what the emulator counted, what lives, and any reading at instructions."""

from __future__ import annotations

from report_pages import Page

from cutecc.record import Compilation, Versions
from cutecc.record.counters import KeptCounters, LineCounts, PtxCounts
from cutecc.report.content import content_of
from cutecc.report.emulator_measures import emulator_measures
from cutecc.report.listings import ptx_listing, sass_listing
from cutecc.report.measures import Description, Measure, Points, Reading, points_at_offsets, static_measures
from cutecc.report.writing import encode_report
from cutecc.sass import read_sass

SASS = """\
//--------------------- .text.add --------------------------
\t.section\t.text.add,"ax",@progbits
\t//## File "/home/me/k.py", line 3
        /*0000*/                   LDG.E R2, [R4.64] ;
        /*0010*/                   IADD3 R2, R2, 0x1, RZ ;
\t//## File "/home/me/k.py", line 4
        /*0020*/                   STG.E [R6.64], R2 ;
        /*0030*/                   EXIT ;
//--------------------- .text.other --------------------------
\t.section\t.text.other,"ax",@progbits
        /*0000*/                   MOV R1, R2 ;
        /*0010*/                   EXIT ;
"""
PTX = """\
.file 1 "/home/me/k.py"
.visible .entry add()
{
  .loc 1 3 0
  ld.global.u32 %r1, [%rd1];
  add.s32 %r2, %r1, 1;
  .loc 1 4 0
  st.global.u32 [%rd2], %r2;
}
"""
FUNCTIONS = {"k.sass": read_sass(SASS)}
LISTINGS = [sass_listing(SASS, "k.sass", FUNCTIONS["k.sass"]), ptx_listing(PTX, "k.ptx")]


def by_title(measures: list[Measure]) -> dict[str, Measure]:
    return {each.description.title: each for each in measures}


def test_readings_go_to_the_instructions_at_their_offsets() -> None:
    """As sampling gives them: by kernel and offset, each sample with why the warp waited."""
    readings = {
        "add": {
            0x0: Reading(7, {"long_sb": 5, "wait": 2}),
            0x20: Reading(2, {"drain": 2, "wait": 0}),
            0x500: Reading(1),
        },
        "other": {0x10: Reading(3), 0x0: Reading(0)},
        "unknown": {0x0: Reading(9)},
    }
    (points,) = points_at_offsets(FUNCTIONS, readings)
    # The second function's instructions follow those of the first.
    assert points.file == "k.sass"
    assert points.at == [0, 2, 5]
    assert points.values == [7, 2, 3]
    assert points.parts == {"long_sb": [5, 0, 0], "wait": [2, 0, 0], "drain": [0, 2, 0]}


def test_live_registers_and_counts_are_of_every_instruction() -> None:
    found = by_title(static_measures(FUNCTIONS, LISTINGS))
    (live,) = found["live registers"].points
    assert live.at is None
    assert len(live.values) == 6
    assert live.values[0] >= 3, "an address of two registers is read, another lives, and what is loaded"
    assert found["live registers"].description.combine == "max"
    assert found["SASS instructions"].points == [Points("k.sass", [1] * 6)]
    assert found["PTX instructions"].points == [Points("k.ptx", [1, 1, 1], [4, 5, 7])]
    assert not static_measures({}, [])


def test_counters_are_of_lines_of_ptx() -> None:
    counters = KeptCounters(
        "k on the CPU emulator",
        [LineCounts("add", "/home/me/k.py", 3, {"warps": 8})],
        [
            PtxCounts("add", 5, {"warps": 4, "threads": 100, "global_sectors": 16, "global_ideal_sectors": 4}),
            PtxCounts("add", 8, {"warps": 4, "threads": 128, "global_sectors": 4, "global_ideal_sectors": 4}),
            PtxCounts("elsewhere", 8, {"warps": 1}),
        ],
    )
    found = by_title(emulator_measures(counters, LISTINGS))
    assert found["warp instructions"].points == [Points("k.ptx", [4, 4], [4, 7])]
    assert found["warp instructions"].description.source == "k on the CPU emulator"
    assert found["idle threads"].points == [Points("k.ptx", [28], [4])]
    assert found["sectors over needed"].points == [Points("k.ptx", [16, 4], [4, 7], [4, 4])]
    assert found["excess sectors"].points == [Points("k.ptx", [12], [4])]
    assert "bank conflicts" not in found, "nothing was counted of them"
    assert {each.description.level for each in found.values()} == {"ptx"}


def test_an_earlier_record_has_counters_of_lines_of_python() -> None:
    lines = [LineCounts(kernel, "/home/me/k.py", line, {"warps": 8}) for kernel, line in (("a", 4), ("a", 3), ("b", 3))]
    found = by_title(emulator_measures(KeptCounters("k", lines), LISTINGS))
    assert found["warp instructions"].description.level == "line"
    assert found["warp instructions"].points == [Points("/home/me/k.py", [16, 8], [3, 4])]


def test_a_page_has_each_measure_with_its_points_apart() -> None:
    record = Compilation("k", "sm_80", "", Versions("0", "3", "4.8.1", "built in"), status="ok")
    samples = Description("samples", "How often.", "PC sampling", is_sampled=True, parts={"wait": "waits"})
    measure = Measure(samples, [Points("k.sass", [1], [0], parts={"wait": [1]})])
    chunks = Page(b"".join(each.element() for each in content_of(record, [measure]).chunks)).chunks
    assert chunks["measures"] == [
        {
            "title": "samples",
            "meaning": "How often.",
            "source": "PC sampling",
            "is_sampled": True,
            "parts": {"wait": "waits"},
        }
    ]
    assert chunks["measure:0"] == [{"file": "k.sass", "values": [1], "at": [0], "parts": {"wait": [1]}}]
    assert "measures" not in Page(encode_report(record)).chunks
