"""Counters on a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from cutecc.emulator.counters.counters import Counters, InstructionCounts
from cutecc.emulator.counters.counts import Counts
from cutecc.emulator.counters.table import counter_tables, print_counters, short_number
from cutecc.errors import SourceLocation


def counters_of(file: Path, lines: int = 3) -> Counters:
    file.write_text("".join(f"    statement_{line}()[i]  # of line {line}\n" for line in range(1, lines + 1)))

    def one(line: int) -> InstructionCounts:
        counts = Counts(
            warps=1000 * line,
            threads=32000 * line,
            predicated_threads=32000 * line,
            global_requests=1000 * line,
            global_sectors=32000 * line,
            global_ideal_sectors=4000 * line,
            global_bytes_read=1 << 20,
            shared_requests=10,
            shared_wavefronts=320,
            shared_ideal_wavefronts=10,
        )
        place = SourceLocation(str(file), line, 4)
        return InstructionCounts("a_kernel_" + "x" * 200, line, "ld.b32", "ld.b32 a, b;", line, place, "global", counts)

    return Counters.of(one(line) for line in range(1, lines + 1))


def shown(counters: Counters, width: int) -> list[str]:
    output = io.StringIO()
    print_counters(counters, Console(file=output, width=width))
    return output.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120, 130, 200])
def test_lines_hottest_first_within_the_width(tmp_path: Path, width: int) -> None:
    text = shown(counters_of(tmp_path / "kernel.py"), width)
    assert max(map(len, text)) <= width
    rows = [line for line in text if line.startswith("kernel.py:")]
    assert [row.split()[0] for row in rows] == ["kernel.py:3", "kernel.py:2", "kernel.py:1"]
    words = rows[0].split()
    assert words[words.index("3.00k") :][:5] == ["3.00k", "50.0%", "100%", "32.0", "12%"]
    assert "310" in rows[0].split()
    assert ("statement_3()[i]  # of" in rows[0]) == (width >= 120)
    assert any("30 requests, 960 wavefronts, 930 of them bank conflicts" in line for line in text)


@pytest.mark.parametrize("width", [40, 50, 60, 70])
def test_a_narrow_terminal_has_fewer_columns_and_whole_numbers(tmp_path: Path, width: int) -> None:
    text = shown(counters_of(tmp_path / "a_long_name_of_a_kernel.py", 30), width)
    assert max(map(len, text)) <= width
    rows = [line.split() for line in text if "kernel.py:" in line]
    assert rows[0][0].endswith("kernel.py:30") and rows[0][1] == "30.0k" and "12%" in rows[0]
    assert len(rows) == 20 and {len(row) for row in rows} == {len(rows[0])}
    assert any(line.startswith("10 more") for line in text)
    assert ("310" in rows[0]) == (width >= 60), "bank conflicts"
    assert all(line.startswith("  ") for line in text[1 : text.index(next(each for each in text if "instr." in each))])


def test_a_kernel_without_lines_says_how_to_get_them(tmp_path: Path) -> None:
    counts = Counters.of([InstructionCounts("k", 0, "add.s32", "add.s32 a;", 1, None, "integer", Counts(warps=1))])
    hint = "compile it with line info to see the lines of Python"
    assert hint in " ".join(shown(counts, 80))
    assert hint not in " ".join(shown(counters_of(tmp_path / "kernel.py"), 80))


def test_columns_that_say_nothing_are_left_out() -> None:
    counts = Counts(warps=10, threads=320)
    text = shown(Counters.of([InstructionCounts("k", 0, "add.s32", "add.s32 a;", 1, None, "integer", counts)]), 80)
    assert "(no line)" in "\n".join(text)
    assert not any(word in "\n".join(text) for word in ("sectors", "wave-", "matrix", "global"))


def test_every_column_is_there_where_there_is_room() -> None:
    counts = Counts(
        warps=10,
        threads=160,
        global_requests=10,
        global_sectors=80,
        global_ideal_sectors=40,
        global_bytes_read=1 << 20,
        shared_requests=10,
        shared_wavefronts=30,
        shared_ideal_wavefronts=10,
        shared_bytes_written=2048,
        matrix_operations=7,
        matrix_flops=28672,
    )
    text = shown(
        Counters.of([InstructionCounts("k", 0, "mma.f32.f16.f16.f32", "mma;", 1, None, "matrix", counts)]), 200
    )
    (row,) = [line for line in text if line.startswith("(no line)")]
    words = row.split()[2:]
    assert words[:1] + words[2:] == ["10", "50%", "8.0", "50%", "30", "20", "1.05M", "2.05k", "7", "28.7k"]


@pytest.mark.parametrize(
    ("symbols", "shown_as"),
    [
        (("kernel_cutlass_add_kernel_tensorptrf32_0", "kernel_cutlass_mul_0"), ["add_kernel", "mul_0"]),
        (("kernel_cutlass_k_tensorptrf16_1", "kernel_cutlass_k_tensorptrf32_0"), None),
    ],
)
def test_kernels_have_their_short_names_where_these_differ(
    symbols: tuple[str, str], shown_as: list[str] | None
) -> None:
    counts = Counts(warps=1, threads=32)
    counters = Counters.of([InstructionCounts(each, 0, "add", "add;", 1, None, "integer", counts) for each in symbols])
    text = shown(counters, 200)
    assert [line for line in text if line in {*symbols, *(shown_as or ())}] == (shown_as or [*symbols])


def test_many_lines_are_cut(tmp_path: Path) -> None:
    counters = counters_of(tmp_path / "kernel.py", 30)
    assert sum("kernel.py:" in line for line in shown(counters, 100)) == 20
    assert any(line.startswith("10 more") for line in shown(counters, 100))
    output = io.StringIO()
    Console(file=output, width=100).print(counter_tables(counters, width=100, lines=None))
    assert output.getvalue().count("kernel.py:") == 30


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.00k"),
        (12345, "12.3k"),
        (99960, "100k"),
        (999_499, "999k"),
        (999_500, "1.00M"),
        (1_500_000, "1.50M"),
        (3 * 10**12, "3.00T"),
        (10**22, "10000E"),
    ],
)
def test_short_numbers(value: int, text: str) -> None:
    assert short_number(value) == text
