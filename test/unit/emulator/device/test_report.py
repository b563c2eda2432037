"""Findings as people read them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.finding import Finding, Place, Relation
from cutecc.emulator.host import LaunchSummary
from cutecc.emulator.report import (
    describe_blocks,
    finding_dict,
    finding_lines,
    of_all_runs,
    one_a_line,
    sanitizer_error,
)
from cutecc.errors import SanitizerError, SourceLocation


@pytest.fixture
def race(tmp_path: Path) -> Finding:
    source = tmp_path / "k.py"
    source.write_text("tile[thread] = x\ny = tile[0]\n")
    store = Place(
        SourceLocation(str(source), 1, 1), 40, "st.shared.b32 [%r1], %r2;", (0, 1, 0), (3, 0, 0), "written"
    )  # fmt: skip
    load = Place(SourceLocation(str(source), 2, 5), 55, "ld.shared.b32 %r3, [0];", (0, 1, 0), (33, 0, 0))
    return Finding(
        "race", "reads shared memory while another thread writes it", load, "shared+1024", store, "random", 7, 31
    )


def test_a_finding_says_what_where_who_and_the_other_access(race: Finding, tmp_path: Path) -> None:
    assert finding_lines(race, 200) == [
        f"{tmp_path}/k.py:2:5: race: reads shared memory while another thread writes it",
        "    y = tile[0]",
        "        ^",
        "  thread (33, 0, 0) of block (0, 1, 0) and 30 more threads, at shared+1024",
        f"  the other one: {tmp_path}/k.py:1:1: written, thread (3, 0, 0) of block (0, 1, 0)",
        "      tile[thread] = x",
        "      ^",
    ]


def test_it_fits_into_80_columns(race: Finding) -> None:
    for line in finding_lines(race, 80):
        assert len(line) <= 80 or "/" in line


def test_further_lines_of_a_message_follow_the_source_line(race: Finding) -> None:
    finding = replace(race, message="no thread can go on\nwarp 1 waits", other=None)
    head, source, _, detail, _ = finding_lines(finding)
    assert head.endswith("race: no thread can go on") and "tile[0]" in source and detail == "  warp 1 waits"


def test_one_deadlock_under_several_schedules_is_one_finding(race: Finding) -> None:
    """It is headed by other threads, lists them in another order, and of the barriers says other numbers."""
    lines = [
        "warp 4 of block (0, 0, 0) waits at k.py:2:5 for parity 0 of the mbarrier at shared+16: 4 arrivals missing",
        "warps 0–3 of block (0, 0, 0) wait at k.py:1:1 for parity 0 of the mbarrier at shared+0: 1 arrival missing",
    ]
    assert race.other is not None
    first = replace(race, kind="deadlock", message="\n".join(["no thread can go on", *lines]), other=None)
    again = replace(first, message=first.message.replace("shared+16", "shared+24"), place=race.other, seed=8)
    turned = replace(first, message="\n".join(["no thread can go on", *reversed(lines)]), place=race.other)
    another = replace(first, message="\n".join(["no thread can go on", lines[0]]))
    assert one_a_line([first, again, turned, another]) == [first, another]


def test_the_same_of_one_line_is_one_finding(race: Finding) -> None:
    race = replace(race, kind="missing-proxy-fence")
    unrolled = replace(race, place=replace(race.place, ptx_line=56), count=64)
    assert one_a_line([race, unrolled]) == [race]
    column = replace(race, place=replace(race.place, location=replace(race.place.location, column=9)))
    unknown = replace(race, place=replace(race.place, location=replace(race.place.location, column=None)))
    assert one_a_line([race, column, unrolled, unknown]) == [race, column]
    elsewhere = replace(race, other=replace(race.place, location=SourceLocation("k.py", 3)))
    bare = [replace(race, place=Place(None, line, "ld", (0, 0, 0), None)) for line in (1, 2, 1)]
    assert one_a_line([race, elsewhere, *bare]) == [race, elsewhere, *bare[:2]]


def test_races_of_a_pair_of_lines_are_one_with_the_mend_of_all(race: Finding) -> None:
    """Whatever they say, and wherever on the lines they are."""
    assert race.other is not None
    near = replace(race, message="reads\nsync_warp()", relations=frozenset({"warp"}))
    far = replace(
        near, message="reads\nsync_threads()", relations=frozenset({"block"}), count=3,
        place=replace(race.place, location=replace(race.place.location, column=9)),
    )  # fmt: skip
    turned = replace(near, place=race.other, other=race.place)
    (one,) = one_a_line([near, turned, far])
    assert (one.message, one.relations, one.place) == (far.message, {"warp", "block"}, far.place)
    assert one_a_line([far, near, turned]) == [replace(far, relations=frozenset({"warp", "block"}))]
    elsewhere = replace(race, other=replace(race.other, location=SourceLocation("k.py", 3)))
    assert one_a_line([near, elsewhere]) == [near, elsewhere]


def test_between_blocks_and_in_them_both_are_said(race: Finding) -> None:
    def between(near: Relation) -> Finding:
        message = wording.race("global", "read", None, "write", None, near)
        return replace(race, message=message, relations=frozenset({near}))

    (one,) = one_a_line([between("block"), between("grid")])
    assert "atomics with release and acquire" in one.message
    assert one.message.endswith("threads of one block need sync_threads() between the two as well")


def test_a_read_of_unwritten_memory_at_a_race_is_told_if_all_runs_have_found_it(race: Finding) -> None:
    early = replace(race, kind="uninitialised-shared", message="reads shared memory", other=None, address="shared+1028")
    assert of_all_runs([[race], [race, early]]) == [replace(race)]
    assert of_all_runs([[race, early], [early, race]]) == [race, early]
    elsewhere = replace(early, place=replace(race.place, location=SourceLocation("k.py", 3)))
    assert of_all_runs([[race], [elsewhere]]) == [race, elsewhere]


def test_a_read_of_unwritten_memory_that_races_with_its_write_is_not_told_besides(race: Finding) -> None:
    early = replace(race, kind="uninitialised-shared", message="reads shared memory", other=None)
    assert of_all_runs([[race, early], [early, race]]) == [race]


def test_a_deadlock_at_a_barrier_that_warps_come_to_again_is_not_told_besides(race: Finding) -> None:
    again = replace(race, kind="barrier", message=wording.again_at_barrier(1))
    wait = "warp 3 of block (0, 0, 0) waits at k.py:2:5 for barrier {} of block (0, 0, 0): 2 of 4 warps have arrived"
    stuck = replace(race, kind="deadlock", message=f"no thread can go on\n{wait.format(1)}", other=None)
    assert of_all_runs([[again], [again, stuck]]) == [again]
    assert of_all_runs([[stuck]]) == [stuck]
    for other in (wait.format(2), "warp 0 of block (0, 0, 0) waits at k.py:1:1 for parity 0 of the mbarrier at full"):
        besides = replace(stuck, message=f"{stuck.message}\n{other}")
        assert of_all_runs([[again, besides]]) == [again, besides]


def test_what_to_do_follows_from_the_kind(race: Finding) -> None:
    finding = replace(race, kind="accumulator", message="reads registers", other=None)
    assert any("hint: cute.nvgpu.warpgroup.wait_group(0)" in line for line in finding_lines(finding))
    assert not any("hint:" in line for line in finding_lines(replace(finding, message="reads\nwait")))


def test_without_lines_the_instruction_is_shown(race: Finding) -> None:
    place = Place(None, 55, "ld.shared.b32 %r3, [0];", (0, 0, 0), None)
    head, text, who = finding_lines(Finding("race", "reads it", place))
    assert head == "PTX line 55: race: reads it"
    assert text == "    ld.shared.b32 %r3, [0];"
    assert who == "  threads of block (0, 0, 0)"
    copy = replace(place, text="@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 64;")
    assert finding_lines(Finding("race", "reads it", copy))[-1] == "  an asynchronous operation of block (0, 0, 0)"


def test_the_error_lists_the_first_ten_and_holds_all(race: Finding) -> None:
    error = sanitizer_error("scale", [race] * 12)
    assert error.message.startswith("the emulator found 12 problems in scale (schedule random, seed 7)\n\n")
    assert error.message.count("race: reads shared memory") == 10 and "and 2 more" in error.message
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, SanitizerError) and again.findings == [race] * 12


def test_as_json(race: Finding) -> None:
    found = finding_dict(race)
    assert (found["kind"], found["seed"], found["threads"], found["address"]) == ("race", 7, 31, "shared+1024")
    assert found["place"]["line"] == 2 and found["other"]["line"] == 1
    assert found["place"]["thread"] == [33, 0, 0]


def test_how_many_blocks_ran() -> None:
    whole = LaunchSummary("k", (32, 32, 1), (32, 1, 1), (1, 1, 1), 0, None)
    some = LaunchSummary("k", (32, 32, 1), (32, 1, 1), (1, 1, 1), 0, (0, 512, 1023))
    assert describe_blocks([whole]) == "1,024 blocks"
    assert describe_blocks([some]) == "a sample of 3 of 1,024 blocks"
    assert describe_blocks([whole, some]) == "a sample of 1,027 of 2,048 blocks in 2 launches"
