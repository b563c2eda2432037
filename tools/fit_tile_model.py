"""Fit the costs of `cutecc.operations.warp_specialized_model` to times measured on a GPU.

    python tools/fit_tile_model.py times.json kernels.json

`times.json` is a list of `{"shape": [batches, m, n, k], "times": [[name, slices, microseconds], …]}`, `kernels.json`
has for each name `{"desc": …}`, the JSON of a description; times of other names are left out. Launches are best timed
back to back in a CUDA graph, all kernels of a shape in turn.

The costs are those with the least squares of the logarithms of estimated over measured times, slow kernels weighing
less, and a weak pull to the costs as they are. Printed are the costs, and how much slower than the fastest kernel the
best of the first 1, 3, 5 and 8 by their estimates is: with the costs as they are, as fitted, and as fitted without the
shape at hand.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

import numpy

from cutecc.operations.description import GemmDescription
from cutecc.operations.machine import machine
from cutecc.operations.problem_sizes import Problem
from cutecc.operations.tile import TileDescription
from cutecc.operations.warp_specialized_model import MEASURED, Costs, Cuts, cycles_of

FIXED = ("box", "lanes")
"""Costs of what is seldom measured: tiles whose N is no multiple of 64, and epilogues that compute functions."""
FIRST = (1, 3, 5, 8)
FOLDS = 6
STEPS = 12
PULL = 0.3
"""The weight of a cost's logarithm, where that of a kernel as fast as the fastest is 1."""

SCALE = 0.3
"""How much of the error that all kernels of a shape have in common counts."""


@dataclass(frozen=True)
class Time:
    """One measurement."""

    shape: int
    description: GemmDescription
    """As it is compiled."""
    problem: Problem
    """Transposed where the description was."""
    slices: int
    microseconds: float


def read(times: Path, kernels: Path) -> list[Time]:
    """The measurements of kernels that are described."""
    described = {
        name: GemmDescription.from_json(each["desc"]) for name, each in json.loads(kernels.read_text()).items()
    }
    found: list[Time] = []
    for index, each in enumerate(json.loads(times.read_text())):
        batches, m, n, k = each["shape"]
        problem = Problem(m, n, k, batches)
        for name, slices, microseconds in each["times"]:
            if (one := described.get(name)) is not None and one.family == "sm90":
                sizes = problem.transposed() if one.is_compiled_transposed else problem
                found.append(Time(index, one.compiled(), sizes, slices, microseconds))
    return found


def estimates(times: Sequence[Time], costs: Costs, clock: float) -> numpy.ndarray:
    """Microseconds at a clock of so many cycles each."""
    found = numpy.zeros(len(times))
    for description, cuts, sizes, slices, places in _together(tuple(times)):
        multiprocessors = machine(description.target).multiprocessors
        found[places] = cycles_of(description, cuts, sizes, multiprocessors, slices, costs) / clock
    return found


@cache
def _together(times: tuple[Time, ...]) -> list[tuple[GemmDescription, Cuts, Problem, numpy.ndarray, numpy.ndarray]]:
    """Those that differ in tile and sizes alone, as the model takes them at once, and where they were."""
    groups: dict[GemmDescription, list[int]] = {}
    for place, each in enumerate(times):
        groups.setdefault(each.description.with_tile(_ANY_TILE), []).append(place)
    found: list[tuple[GemmDescription, Cuts, Problem, numpy.ndarray, numpy.ndarray]] = []
    for description, places in groups.items():
        own = [times[place] for place in places]
        sizes = numpy.array([(each.problem.m, each.problem.n, each.problem.k, each.problem.batches) for each in own])
        slices = numpy.array([each.slices for each in own])
        cuts = Cuts.of(description, [each.description.tile for each in own])
        found.append((description, cuts, Problem(*sizes.T), slices, numpy.array(places)))  # type: ignore[arg-type]
    return found


_ANY_TILE = TileDescription((64, 64, 64), 2, (1, 1, 1))


def fit(times: Sequence[Time], costs: Costs, clock: float) -> Costs:
    """The costs with the least squares, by steps of Levenberg and Marquardt on the logarithms of costs."""
    names = [each.name for each in fields(Costs) if each.name not in FIXED]
    start = numpy.log([getattr(costs, name) for name in names])
    measured = numpy.array([each.microseconds for each in times])
    fastest = {each.shape: min(one.microseconds for one in times if one.shape == each.shape) for each in times}
    weights = numpy.array([fastest[each.shape] for each in times]) / measured

    def with_logarithms(values: numpy.ndarray) -> Costs:
        return replace(costs, **dict(zip(names, map(float, numpy.exp(values)), strict=True)))

    shapes = numpy.array([each.shape for each in times])
    groups = [shapes == shape for shape in dict.fromkeys(shapes)]

    def residuals(values: numpy.ndarray) -> numpy.ndarray:
        errors = numpy.log(estimates(times, with_logarithms(values), clock) / measured)
        for group in groups:
            # Power decides over the clock, which is about the same for all kernels of a shape.
            errors[group] -= (1 - SCALE) * numpy.average(errors[group], weights=weights[group])
        return numpy.concatenate([errors * weights, PULL * (values - start)])

    values, errors, damping = start, residuals(start), 1e-2
    for _ in range(STEPS):
        slopes = numpy.stack([(residuals(values + one) - errors) / 1e-4 for one in 1e-4 * numpy.eye(len(values))], 1)
        squares, before = slopes.T @ slopes, errors @ errors
        while damping < 1e6:
            step = numpy.linalg.solve(squares + damping * numpy.diag(numpy.diag(squares)), -slopes.T @ errors)
            there = residuals(values + step)
            if there @ there < before:
                values, errors, damping = values + step, there, damping / 3
                break
            damping *= 4
        if before - errors @ errors < 1e-4 * before:
            break
    return with_logarithms(values)


def regrets(times: Sequence[Time], estimated: numpy.ndarray) -> dict[int, list[float]]:
    """For each shape, how much slower than the fastest kernel the best of the first ones is."""
    found: dict[int, list[float]] = {count: [] for count in FIRST}
    for shape in dict.fromkeys(each.shape for each in times):
        ranked = sorted(
            (float(estimated[index]), each.microseconds) for index, each in enumerate(times) if each.shape == shape
        )
        fastest = min(microseconds for _, microseconds in ranked)
        for count, losses in found.items():
            losses.append(min(microseconds for _, microseconds in ranked[:count]) / fastest - 1)
    return found


def tell(what: str, times: Sequence[Time], estimated: numpy.ndarray) -> None:
    """Print the losses: median, mean and worst."""
    errors = numpy.log(estimated / [each.microseconds for each in times])
    print(f"{what}: estimates are off by {errors.std():.1%}; the best of the first")
    for count, losses in regrets(times, estimated).items():
        median, mean, worst = statistics.median(losses), statistics.mean(losses), max(losses)
        print(f"  {count} is slower by {median:.1%} (median), {mean:.1%} (mean), {worst:.1%} (worst)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", type=Path)
    parser.add_argument("kernels", type=Path)
    parser.add_argument("--clock", type=float, default=1750.0, help="megahertz of an SM under load (%(default)s)")
    given = parser.parse_args()
    times = read(given.times, given.kernels)
    tell("as they are", times, estimates(times, MEASURED, given.clock))
    fitted = fit(times, MEASURED, given.clock)
    tell("fitted", times, estimates(times, fitted, given.clock))
    left_out = numpy.zeros(len(times))
    for fold in range(FOLDS):
        others = fit([each for each in times if each.shape % FOLDS != fold], MEASURED, given.clock)
        left_out += numpy.where(
            [each.shape % FOLDS == fold for each in times], estimates(times, others, given.clock), 0.0
        )
    tell("left out", times, left_out)
    for each in fields(Costs):
        print(f"  {each.name}: float = {getattr(fitted, each.name):.4g}")


if __name__ == "__main__":
    main()
