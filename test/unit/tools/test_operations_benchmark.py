"""What the benchmark of operations times, and the tables and pictures that it makes, without a GPU."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import operations_table
import pytest
from operations_contests import BALANCES, KINDS, Convolution, Grouped, Product, contests
from operations_plan import candidates_of
from operations_results import PEER, Found, Results, Timed, default, fastest, speed

from cutecc.operations.description import SPLIT_K_MODES
from cutecc.operations.validity import refusal


def timed(name: str, microseconds: float, *, fused: bool = False) -> Timed:
    times = (microseconds * 3, microseconds, microseconds * 0.9)
    return Timed(name, fused, f"tile of {name}", times, 0.0)


def found(dtype: str, size: int, torch: float, times: dict[str, float], fused: dict[str, float] | None = None) -> Found:
    contest = Product(dtype, "square", tuple(times), tuple(fused or {}), m=size, n=size, k=size)
    contestants = [timed(PEER, torch), *(timed(name, each) for name, each in times.items())]
    contestants += [timed(name, each, fused=True) for name, each in (fused or {}).items()]
    return Found(contest, tuple(contestants))


@pytest.fixture
def results() -> Results:
    listed = [
        found("f16", 1024, 10.0, {"x": 12.5, "y": 10.0}),
        found("f16", 2048, 100.0, {"x": 100.0, "y": 80.0}, {"u": 102.0, "v": 84.0}),
        found("f64", 2048, 100.0, {"x": 110.0}),
    ]
    listed[2] = replace(listed[2], problems=("z: WRONG, by 0.5 of the largest element",))
    return Results("2026-11-22", "NVIDIA H200", "13.0", {"torch": "2.11.0"}, listed)


def products() -> list[Product]:
    return [each for each in contests() if isinstance(each, Product)]


def test_every_shape_of_the_set_takes_part_in_each_of_its_types() -> None:
    listed = products()
    assert [sum(each.dtype == dtype for each in listed) for dtype in ("f16", "bf16", "f8E4M3FN")] == [12, 52, 24]
    assert {each.dtype for each in listed} == {"f16", "bf16", "f8E4M3FN", "f64", "tf32"}
    assert "16x1024x1024x512" in {each.shape for each in listed}


def test_operands_are_as_aligned_as_the_sizes_allow() -> None:
    odd = next(each for each in products() if each.shape == "2047x2049x1025")
    assert [each.alignment for each in odd.operands] == [1, 1, 1]
    assert [str(each) for each in Product("tf32", "ragged", m=3, n=6, k=8).operands] == [
        "tf32:row:4",
        "tf32:column:4",
        "f32:row:2",
    ]


def test_layers_take_part_with_their_gradients() -> None:
    grouped = [each for each in contests() if isinstance(each, Grouped)]
    plain, scaled = ([each for each in grouped if each.scales == scales] for scales in ("none", "blocks"))
    assert {(each.pass_, each.balance) for each in plain} == {(one, other) for one in KINDS for other in BALANCES}
    assert {(each.pass_, each.balance) for each in scaled} == {("fprop", each) for each in BALANCES}
    assert all(sum(each.sizes) == each.rows and len(each.sizes) == each.groups for each in grouped)
    assert any(0 in each.sizes for each in grouped)
    convolutions = [each for each in contests() if isinstance(each, Convolution)]
    assert [sum(each.dtype == dtype for each in convolutions) for dtype in ("f16", "bf16")] == [72, 72]
    first = convolutions[0]
    assert (first.shape, first.outputs) == ("64x224x224x3 64x7x7/2", (112, 112))
    assert first.flops == 2 * 64 * 112 * 112 * 64 * 7 * 7 * 3


@pytest.mark.slow
def test_candidates_begin_with_the_default_and_are_valid_and_different() -> None:
    deep = next(each for each in products() if each.kind == "deep")
    plain, fused = candidates_of(deep, 4), candidates_of(deep, 4, fused=True)
    assert all(refusal(each) is None for each in (*plain, *fused))
    assert len({each.key for each in plain}) == len(plain)
    assert any(each.mode in SPLIT_K_MODES for each in plain)
    assert {each.name for each in fused[0].epilogue.inputs} == {"bias"}
    swizzles = [
        each.swizzle for each in plain if replace(each, swizzle="identity1") == replace(plain[0], swizzle="identity1")
    ]
    assert set(swizzles) >= {"identity1", "identity2", "identity4", "identity8", "horizontal"}


def test_speeds_are_of_medians(results: Results) -> None:
    square = results.found[1]
    assert speed(square, default(square)) == 1.0
    best = fastest(square)
    assert best is not None and (best.name, speed(square, best)) == ("y", 1.25)
    assert fastest(square, fused=True) == square.timed[-1]


def test_the_table_has_speeds_means_bars_and_what_went_wrong(results: Results) -> None:
    text = "\n".join(operations_table.tables(results)["operations"])
    assert "| f16 | 2048×2048×2048 | square | 100.0 | 172 | 1.000 | **1.250** | tile of y |" in text
    assert "| f16 | geometric mean of all 2 | 0.894 | 1.118 | 1.00 |" in text
    assert "| f16 | the least of the squares from 2048 | 1.000 | 1.250 | 1.02 |" in text
    assert "| f64 | the least of all 1 | 0.909 | 0.909 | 0.95 |" in text
    assert "| f16 | 2048×2048×2048 | 100.0 | 102.0 | +2.0% | 80.0 | 84.0 | +5.0% |" in text
    assert "f64 2048x2048x2048: z: WRONG" in text


def test_layers_of_networks_have_a_table_of_their_own_with_the_least_of_all(results: Results) -> None:
    for index, times in enumerate(({"x": 12.5}, {"x": 8.0})):
        layer = found("bf16", 1024 * (index + 1), 10.0, times)
        results.found.append(replace(layer, contest=msgspec.structs.replace(layer.contest, kind="writing")))
    tables = operations_table.tables(results)
    assert not any("bf16" in line for line in tables["operations"])
    assert "| bf16 | 1024×1024×1024 | writing | 10.0 | 215 | 0.800 | **0.800** | tile of x |" in tables["networks"]
    assert tables["networks"][-1] == "| bf16 | all, 2 | 1.000 | 1.000 | 0.800 | 0.800 |"


def test_layers_have_a_row_with_all_passes() -> None:
    listed: list[Found] = []
    for pass_, torch in (("fprop", 10.0), ("wgrad", 30.0)):
        contest = Grouped("bf16", "skewed", ("x",), groups=8, rows=64, n=32, k=16, balance="skewed", pass_=pass_)
        ways = [timed(PEER, torch * 2), timed(f"{PEER}, each group", torch), timed("x", 8.0)]
        listed.append(Found(contest, tuple(ways)))
    found = operations_table.tables(Results("2026-11-27", "NVIDIA H200", "13.0", {}, listed))
    assert [*found] == ["grouped"]
    head, rule, row, *_ = found["grouped"]
    assert head.count("|") == rule.count("|") == row.count("|")
    assert row == "| bf16 | 8:64×32×16 | skewed | 10.0 | 1.250 | **1.250** | 30.0 | 3.750 | **3.750** |"
    assert "| bf16 | wgrad | 1 | 3.750 | 3.750 | 3.750 | 1.00 |" in found["grouped"]


def test_layers_with_scales_have_a_table_and_a_bar_of_their_own() -> None:
    contest = Grouped("f8E4M3FN", "empty", ("x",), groups=8, rows=64, n=32, k=16, balance="empty", scales="blocks")
    listed = [Found(contest, (timed(f"{PEER}.f", 12.0), timed(f"{PEER}.f, fast", 10.0), timed("x", 8.0)))]
    found = operations_table.tables(Results("2026-11-27", "NVIDIA H200", "13.0", {}, listed))
    assert [*found] == ["scaled"]
    assert found["scaled"][-3:] == [
        "| e4m3 → bf16 | fprop | 1 | 1.250 | 1.250 | 1.250 | 1.00 |",
        "| e4m3 → bf16 | fprop, torch.f | 1 | 1.500 | 1.500 | 1.500 |  |",
        "| e4m3 → bf16 | fprop, torch.f, fast | 1 | 1.250 | 1.250 | 1.250 |  |",
    ]


def test_remarks_are_footnotes_of_the_rows_that_they_name(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remarks = tmp_path / "remarks.toml"
    remarks.write_text(
        '[[remark]]\ndtype = "f16"\ntext = "of halves"\n'
        '[[remark]]\nshape = "2048x2048x2048"\ntext = "of one shape"\n'
        '[[remark]]\ndtype = "bf16"\ntext = "of nothing here"\n'
    )
    monkeypatch.setattr(operations_table, "REMARKS", remarks)
    table = operations_table.tables(results)["operations"]
    marks = [re.findall(r"\[\d\]", line) for line in table if line.startswith(("| f16 | 1", "| f16 | 2", "| f64 | 2"))]
    assert marks[:3] == [["[1]"], ["[1]", "[2]"], ["[2]"]]
    assert [line for line in table if line.startswith("\n[")] == ["\n[1] of halves", "\n[2] of one shape"]


def test_pictures_are_the_same_of_the_same_numbers(results: Results, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    def drawn(name: str) -> dict[str, Any]:
        folder = tmp_path / name
        folder.mkdir()
        return {path.name: path.read_bytes() for path in operations_table.draw(results, folder)}

    first = drawn("first")
    assert [*first] == ["operations-16-bit.svg", "operations-other-types.svg"]
    assert first == drawn("second")
