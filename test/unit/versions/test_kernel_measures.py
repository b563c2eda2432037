"""What is measured of a kernel, and which way is worse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from versions_made import measures

from cutecc.record import Artifact, Compilation, KernelResources, Versions
from cutecc.versions.measures import METRICS, SPACES, WIDTHS, measure
from cutecc.versions.numbers import Verdict, number_text, verdict

SASS = """\
\t.section\t.text.kernel_cutlass_copy_tensorptrf32_0,"ax",@progbits
.text.kernel_cutlass_copy_tensorptrf32_0:
        /*0000*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0010*/                   LDG.E.128 R8, desc[UR4][R2.64+0x10] ;
        /*0020*/                   LDG.E R0, desc[UR4][R6.64] ;
        /*0030*/                   STS.64 [R3], R4 ;
        /*0040*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0050*/                   HMMA.16816.F32 R4, R8, R2, R4 ;
        /*0060*/                   STG.E desc[UR4][R2.64], R0 ;
        /*0070*/                   EXIT ;
"""


def resources(kernel: str, **fields: Any) -> KernelResources:
    known: dict[str, Any] = {"registers": 40, "stack_bytes": 8, "spill_store_bytes": 4, "spill_load_bytes": 12}
    known |= {"shared_static_bytes": 16, "shared_dynamic_bytes": 1024, "constant_bytes": 0, "barriers": 1}
    return KernelResources(kernel, **{**known, "occupancy": None, **fields})


def record(*kernels: KernelResources, sass: str = "") -> Compilation:
    made = Compilation("k", "sm_80", "cse", Versions("0", "3", "4", "own"), "ok", resources=[*kernels])
    if sass:
        made.artifacts.append(Artifact("sass", "k.sass"))
        made.files["k.sass"] = sass.encode()
    return made


def test_what_is_measured() -> None:
    (name, found), *others = measure(record(resources("kernel_cutlass_copy_tensorptrf32_0"), sass=SASS)).items()
    assert not others
    assert name == "copy"
    assert (found.registers, found.spill_bytes, found.stack_bytes, found.shared_bytes) == (40, 16, 8, 1040)
    assert found.widths == {"global load": {"128": 2, "32": 1}, "global store": {"32": 1}, "shared store": {"64": 1}}
    values = {name: metric.of(found) for name, metric in METRICS.items()}
    assert values == {
        **{"registers": 40, "spills": 16, "stack": 8, "shared": 1040, "instructions": 8, "matrix": 1, "barriers": 1},
        **{"global-load-width": 96, "global-store-width": 32, "shared-load-width": None, "shared-store-width": 64},
    }


def test_without_sass_instructions_are_unknown_and_not_none() -> None:
    found = measure(record(resources("kernel_cutlass_copy__0")))["copy"]
    assert found.registers == 40
    unknown = [name for name, metric in METRICS.items() if metric.of(found) is None]
    assert unknown == ["instructions", "matrix", "barriers", *WIDTHS]


@pytest.mark.parametrize(
    "fields, spills, shared",
    [
        ({"spill_store_bytes": None, "spill_load_bytes": None}, None, 1040),
        ({"spill_load_bytes": None}, 4, 1040),
        ({"spill_store_bytes": 0, "spill_load_bytes": 0}, 0, 1040),
        ({"shared_dynamic_bytes": None}, 16, None),
        ({"shared_dynamic_bytes": 0}, 16, 16),
    ],
)
def test_what_is_not_known(fields: dict[str, Any], spills: int | None, shared: int | None) -> None:
    found = measure(record(resources("kernel_cutlass_k__0", **fields)))["k"]
    assert (found.spill_bytes, found.shared_bytes) == (spills, shared)


def test_functions_of_one_name_are_numbered() -> None:
    symbols = [
        "kernel_cutlass_k_tensorptrf32_0",
        "kernel_cutlass_l__0",
        "kernel_cutlass_k_tensorptrf16_1",
        "kernel_cutlass_k_Tensor_2",
    ]
    assert [*measure(record(*map(resources, symbols)))] == ["k", "l", "k#2", "k#3"]


widths = st.dictionaries(
    st.sampled_from(SPACES),
    st.dictionaries(st.sampled_from(["8", "16", "32", "64", "128"]), st.integers(1, 99), min_size=1),
)


@given(widths)
def test_bits_are_between_the_narrowest_and_the_widest(widths: dict[str, dict[str, int]]) -> None:
    found = measures(widths=widths)
    for space in SPACES:
        bits = found.bits(space)
        if space in widths:
            assert bits is not None
            assert min(map(int, widths[space])) <= bits <= max(map(int, widths[space]))
        else:
            assert bits is None


@pytest.mark.parametrize(
    "name, before, now, expected",
    [
        ("registers", 24, 25, "worse"),
        ("registers", 25, 24, "better"),
        ("registers", 24, 24, None),
        ("global-load-width", 128.0, 32.0, "worse"),
        ("global-load-width", 32.0, 128.0, "better"),
        ("matrix", 8, 9, "other"),
        ("matrix", 8, 7, "other"),
        ("spills", None, 4, None),
        ("spills", 4, None, None),
    ],
)
def test_which_way_is_worse(name: str, before: float | None, now: float | None, expected: Verdict | None) -> None:
    assert verdict(METRICS[name], before, now) == expected


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (None, "", "?"),
        (None, "B", "?"),
        (0, "B", "0 B"),
        (12, "", "12"),
        (51.25, "bits", "51.2 bits"),
        (32.0, "", "32"),
    ],
)
def test_numbers_as_text(value: float | None, unit: str, text: str) -> None:
    assert number_text(value, unit) == text
