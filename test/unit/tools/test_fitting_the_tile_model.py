"""`tools/fit_tile_model.py`: costs found again in times that they made."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from fit_tile_model import estimates, fit, read, regrets

from cutecc.operations.candidates import gemm_descriptions
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.warp_specialized_model import MEASURED, cycles

CLOCK = 1750.0
SHAPES = (Problem(1000, 2000, 3000), Problem(4096, 256, 2048), Problem(300, 400, 512, 16), Problem(5000, 6000, 1024))


def test_costs_are_found_again(tmp_path: Path) -> None:
    layouts = [("row", "column", "row")]
    offered = list(gemm_descriptions("sm_90a", dtype="f16", unit="wgmma", layouts=layouts, tiles=12))  # type: ignore[arg-type]
    truth = replace(MEASURED, launch=9000.0, rows=50.0, least_aligned=6.0)
    times = [
        {
            "shape": [each.batches, each.m, each.n, each.k],
            "times": [
                ["another kernel", 1, 1.0],
                *([one.name, 1, cycles(one, each, 132, 1, truth) / CLOCK] for one in offered),
            ],
        }
        for each in SHAPES
    ]
    (tmp_path / "times.json").write_text(json.dumps(times))
    described = {each.name: {"desc": each.to_json().decode()} for each in offered}
    (tmp_path / "kernels.json").write_text(json.dumps(described))

    measured = read(tmp_path / "times.json", tmp_path / "kernels.json")
    assert len(measured) == len(SHAPES) * len(offered)
    fitted = fit(measured, MEASURED, CLOCK)
    assert fitted.box == MEASURED.box
    for name in ("launch", "rows", "least_aligned"):
        before, after, meant = (getattr(each, name) for each in (MEASURED, fitted, truth))
        assert abs(after - meant) < abs(before - meant), name
    assert max(regrets(measured, estimates(measured, truth, CLOCK))[1]) == 0.0
    assert sum(regrets(measured, estimates(measured, fitted, CLOCK))[1]) < 0.2
