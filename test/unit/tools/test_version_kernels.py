"""What the kernels under other wheels are held against: nothing is left out without a word."""

from __future__ import annotations

import json

from version_kernels import BITS, KERNELS, LACKING, NOT_RUN, PIPELINES, differences


def test_what_is_not_as_expected() -> None:
    expected = {"k nvidia": "00", "k open": "11", "k other": "22"}
    found = {"k nvidia": "00", "k open": "12", "k new": "33"}
    assert [*differences(expected, found)] == [
        "k new: its results are not known: --write",
        "k open: other results",
        "k other: no results",
    ]
    assert [*differences(expected, expected)] == []


def test_results_are_known_of_all_kernels_that_can_run() -> None:
    names = [file.stem for file in KERNELS if file.stem not in (*NOT_RUN, "bring_your_own_kernel")]
    assert sorted(json.loads(BITS.read_text())) == sorted(f"{name} {each}" for name in names for each in PIPELINES)


def test_kernels_that_lack_something_are_there() -> None:
    assert {*LACKING} <= {file.stem for file in KERNELS}
