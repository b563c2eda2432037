"""Two profiles side by side: which kernels and lines belong together, what they cost, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from cutecc.cli.compare import compare
from cutecc.cli.profile_pair_text import differs, profile_pair_lines
from cutecc.errors import UsageError
from cutecc.report.profile_file import ProfileFile, read_profiles
from cutecc.report.profile_pair import RunPair, compare_profiles

GLOBAL = "waits for a value from global or local memory"


def line(
    number: int, text: str, samples: int, file: str | None = "/a/k.py", waits: dict[str, int] | None = None
) -> dict[str, Any]:
    instruction = {"offset": 16 * number, "text": "NOP", "samples": samples, "reasons": {"selected": samples}}
    said = [{"waits": name, "samples": count} for name, count in (waits or {}).items()]
    return {"file": file, "line": number, "text": text, "instructions": [instruction], "waits": said}


def profile(*lines: dict[str, Any], us: float | None = 10.0, title: str = "M=8", symbol: str = "f") -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": title,
        "device": "NVIDIA H200",
        "period_cycles": 2048,
        "kernels": [{"symbol": symbol, "samples": 0, "lines": [*lines]}],
    }
    return found if us is None else found | {"limits": {"microseconds": us}}


def read(path: Path, *profiles: dict[str, Any]) -> list[ProfileFile]:
    path.write_text(json.dumps([*profiles]))
    return read_profiles(path)


def run(path: Path, a: dict[str, Any], b: dict[str, Any]) -> RunPair:
    (found,) = compare_profiles(read(path / "a.json", a), read(path / "b.json", b)).runs
    return found


def places(found: RunPair) -> list[tuple[int | None, int | None, float | None, float | None]]:
    return [
        (each.a and each.a.line, each.b and each.b.line, each.cost.a, each.cost.b)
        for kernel in found.kernels
        for each in kernel.lines
    ]


def test_lines_belong_together_by_file_and_text_wherever_they_are(tmp_path: Path) -> None:
    a = profile(line(3, "load", 60), line(5, "store", 40))
    b = profile(line(4, "load", 20, "/b/k.py"), line(9, "store", 20, "/b/k.py"), us=8.0)
    # Of ten and of eight microseconds, by their shares; the greatest change first.
    assert places(run(tmp_path, a, b)) == [(3, 4, 6.0, 4.0), (5, 9, 4.0, 4.0)]


def test_a_line_that_was_edited_is_the_one_at_its_place(tmp_path: Path) -> None:
    a = profile(line(3, "load", 50), line(4, "x = 1", 25), line(9, "gone", 25))
    b = profile(line(5, "load", 50), line(6, "x = 2", 50))
    found = run(tmp_path, a, b)
    assert places(found) == [(4, 6, 2.5, 5.0), (9, None, 2.5, None), (3, 5, 5.0, 5.0)]
    assert (found.unit, found.cost.a, found.cost.b) == ("µs", 10.0, 10.0)


def test_edited_lines_of_files_of_one_name_are_all_there(tmp_path: Path) -> None:
    def two(first: int, samples: tuple[int, int], folder: str, text: str) -> dict[str, Any]:
        files = [f"/{folder}/{name}/utils.py" for name in "ab"]
        return profile(*(line(first, f"{text} {f[-10]}", n, f) for f, n in zip(files, samples, strict=True)))

    a, b = two(10, (60, 40), "old", "x = 1"), two(10, (30, 70), "new", "x = 2")
    found = run(tmp_path, a, b)
    assert sorted(places(found)) == [(10, 10, 4.0, 7.0), (10, 10, 6.0, 3.0)]
    # One that has none of its own position in the other stays, as those that are left over there.
    alone = run(tmp_path, a, two(20, (30, 70), "new", "x = 2"))
    assert len(places(alone)) == 4
    assert sum(each[2] or 0 for each in places(alone)) == sum(each[3] or 0 for each in places(alone)) == 10.0


def test_equal_lines_are_told_apart_by_their_order(tmp_path: Path) -> None:
    a, b = profile(line(3, "wait()", 10), line(8, "wait()", 30)), profile(line(4, "wait()", 10), line(9, "wait()", 30))
    assert {each[:2] for each in places(run(tmp_path, a, b))} == {(3, 4), (8, 9)}


def test_what_nobody_timed_costs_cycles(tmp_path: Path) -> None:
    found = run(tmp_path, profile(line(3, "load", 10), us=None), profile(line(3, "load", 20)))
    assert found.unit == "cycles" and found.cost.a == 20480 and found.cost.b == 40960


def test_kernels_belong_together_by_symbol_and_else_by_name(tmp_path: Path) -> None:
    symbols = "kernel_cutlass_f_tensorptrf32_0", "kernel_cutlass_f_tensorptrf16_0"
    a, b = (profile(line(3, "load", 10), symbol=symbol) for symbol in symbols)
    (kernel,) = run(tmp_path, a, b).kernels
    assert (kernel.name, kernel.a, kernel.b) == ("f", *symbols)
    alone = run(tmp_path, a, profile(line(3, "load", 10), symbol="g"))
    assert [(each.a is None, each.b is None) for each in alone.kernels] == [(False, True), (True, False)]


def test_profiles_belong_together_by_their_sizes(tmp_path: Path) -> None:
    a = read(tmp_path / "a.json", *(profile(line(3, "x", 1), title=title) for title in ("M=1", "M=2")))
    b = read(tmp_path / "b.json", *(profile(line(3, "x", 1), title=title) for title in ("M=2", "M=4")))
    found = compare_profiles(a, b)
    assert ([each.title for each in found.runs], found.only_a, found.only_b) == (["M=2"], ["M=1"], ["M=4"])
    with pytest.raises(UsageError, match="no profile of the same sizes"):
        compare_profiles(a[:1], b)


def test_on_a_terminal_what_changed_stands_first_with_its_reasons(tmp_path: Path) -> None:
    a = profile(line(3, "load", 80, waits={GLOBAL: 80}), line(5, "store", 20))
    b = profile(line(4, "load", 40, waits={GLOBAL: 30}), line(6, "store", 20), us=6.0)
    found = compare_profiles(read(tmp_path / "a.json", a), read(tmp_path / "b.json", b), ("a.json", "b.json"))
    text = [click.unstyle(each) for each in profile_pair_lines(found, top=12, width=80)]
    assert text == [
        "A  a.json",
        "B  b.json",
        "",
        "M=8 on NVIDIA H200",
        "10.00 µs → 6.00 µs a call: 40.0 % faster",
        "",
        "f  10.00 µs → 6.00 µs: 40.0 % faster",
        "     A µs      B µs    change   A %   B %  line",
        "     8.00      4.00     −4.00  80.0  66.7  k.py:3 → 4  load",
        "                    −5.00 µs: waits for a value from global or local memory",
        "          1 more line changed less: --verbose shows them",
    ]
    assert differs(found)
    same = compare_profiles(read(tmp_path / "a.json", a), read(tmp_path / "b.json", a))
    assert not differs(same) and "  no line changed" in list(profile_pair_lines(same, top=12, width=80))


def test_the_command_line(tmp_path: Path) -> None:
    read(tmp_path / "a.json", profile(line(3, "load", 80)))
    read(tmp_path / "b.json", profile(line(3, "load", 80), us=5.0))
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    found = CliRunner().invoke(compare, [*files, "--json", "--exit-code"])
    assert found.exit_code == 1
    (kernel,) = json.loads(found.stdout)["runs"][0]["kernels"]
    assert kernel["cost"] == {"a": 10.0, "b": 5.0}
    assert CliRunner().invoke(compare, [files[0], files[0], "--exit-code"]).exit_code == 0
    for words in ([*files, "--run"], [files[0], str(tmp_path)]):
        assert isinstance(CliRunner().invoke(compare, words).exception, UsageError)


def test_hostile_text_is_spelled_out(tmp_path: Path) -> None:
    hostile = "\x1b[31m\n" + "x" * 300
    a = profile(line(3, hostile, 80, hostile), title=hostile, symbol=hostile)
    found = compare_profiles(read(tmp_path / "a.json", a), read(tmp_path / "b.json", a))
    text = list(profile_pair_lines(found, top=None, width=80))
    assert not any("\n" in each or "\x1b[31m" in each for each in text)
