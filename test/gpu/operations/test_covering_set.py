"""Every operation of the covering set against float64: ragged sizes, alpha and beta, poison, the same bits again."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from covering_set import cases
from device_products import check, fitting, prepare, ragged, run

FACTORS = (0.0, 1.0, 0.75, -1.5)
"""Of alpha and beta."""


def _options(device: str) -> dict[str, Any]:
    return {"device": device} if device == "cpu" else {}


@pytest.mark.parametrize("name", cases())
def test_it_agrees_with_float64(name: str, load: Any, device: str) -> None:
    case, op = cases()[name], load(name)
    names = {each.name for each in op.epilogue.inputs}
    swept = list(product(FACTORS if "alpha" in names else (None,), FACTORS if "beta" in names else (None,)))
    for number, sizes in enumerate(ragged(op.description, small=device == "cpu")):
        prepared = prepare(case, op, sizes, device, seed=number)
        # All pairs at one size; at the others the one that needs everything.
        for alpha, beta in swept[:-1] if number == 0 and device == "cuda" else ():
            check(prepared, run(prepared, alpha, beta), alpha, beta)
        found = run(prepared, *swept[-1], **_options(device))
        check(prepared, found, *swept[-1])
        if device == "cuda":
            assert run(prepared, *swept[-1]) == found, f"{name}: other bits the second time"


@pytest.mark.parametrize("name", [name for name in cases() if cases()[name].parts.get("c")])
def test_a_source_that_counts_for_nothing_is_not_read(name: str, load: Any, device: str) -> None:
    case, op = cases()[name], load(name)
    prepared = prepare(case, op, ragged(op.description, small=True)[0], device)
    source = prepared.stored["C"]
    source.image.fill(0xFF)
    source.put()
    for is_given in (True, False):
        for each in prepared.results.values():
            each.put()
        arguments = prepared.arguments()
        arguments |= {} if is_given else {"C": None}
        op.run(**arguments, alpha=0.75, beta=0.0, **_options(device))
        op.sync()
        found = {result: each.fetch().tobytes() for result, each in prepared.results.items()}
        check(prepared, found, 0.75, 0.0)


@pytest.mark.parametrize("name", [name for name, case in cases().items() if case.is_representative])
@pytest.mark.parametrize("empty", ["k", "m", "n"])
def test_nothing_to_add_or_to_write(name: str, empty: str, load: Any, device: str) -> None:
    case, op = cases()[name], load(name)
    sizes = {"m": 40, "n": 48, "k": 64} | {empty: 0}
    batches = 2 if op.description.mode in ("batched", "array") else 1
    prepared = prepare(case, op, fitting(op.description, **sizes, batches=batches), device)
    if any(each.reduction != "none" for each in op.epilogue.outputs) and empty != "k":
        pytest.skip("a reduction of nothing has no value")
    check(prepared, run(prepared, 0.75, -1.5, **_options(device)), 0.75, -1.5)
