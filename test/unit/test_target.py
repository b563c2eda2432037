"""Targets: names, order, lists, and what an unknown one is told."""

from __future__ import annotations

import sys

import pytest

from cutecc.errors import NoGpuError, UsageError
from cutecc.target import Target, known_targets, native_targets, parse_targets

KNOWN = [
    *("sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a"),
    *("sm_100", "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f"),
    *("sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"),
]


def test_the_known_targets() -> None:
    assert [target.name for target in known_targets()] == KNOWN


@pytest.mark.parametrize("name", KNOWN)
def test_names_round_trip(name: str) -> None:
    target = Target.parse(name)
    assert str(target) == target.name == name
    assert target.limits.warps_per_sm * 32 == target.limits.threads_per_sm
    assert Target.parse(f" {name} ") == target


@pytest.mark.parametrize("name", ["sm_50", "sm_53", "sm_62", "sm_70", "sm_75", "sm_88", "sm_101a", *KNOWN])
def test_targets_of_ptx(name: str) -> None:
    target = Target.of_ptx(name)
    assert target.name == name and target.limits.shared_memory_per_block <= target.limits.shared_memory_per_sm
    assert (target in known_targets()) == (name in KNOWN)


@pytest.mark.parametrize("name", ["sm_35", "sm_75a", "sm_79", "sm_88a"])
def test_targets_that_ptx_has_not(name: str) -> None:
    with pytest.raises(UsageError, match=f"unknown target '{name}'"):
        Target.of_ptx(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "sm_70",
        "sm_75",
        "sm_90b",
        "sm_80a",
        "sm_90f",
        "sm_999",
        "SM_90",
        "90",
        "compute_90",
        "sm_9",
        "sm_90 a",
        "sm_9000",
        "sm_٩٠",
    ],
)
def test_an_unknown_target_lists_the_known_ones(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        Target.parse(name)
    assert caught.value.message == f"unknown target '{name}'"
    assert caught.value.hints[-1] == f"known targets: {', '.join(KNOWN)}"


def test_a_near_miss_is_suggested() -> None:
    with pytest.raises(UsageError) as caught:
        Target.parse("sm90a")
    assert caught.value.hints[0] == "did you mean sm_90a?"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sm_90a", ["sm_90a"]),
        ("sm_90a,sm_80", ["sm_90a", "sm_80"]),
        (" sm_90a , sm_80,", ["sm_90a", "sm_80"]),
        ("sm_80,sm_80,sm_90a,sm_80", ["sm_80", "sm_90a"]),
    ],
)
def test_lists_keep_their_order_and_repeat_nothing(text: str, names: list[str]) -> None:
    assert [target.name for target in parse_targets(text)] == names


@pytest.mark.parametrize("text", ["", ",", " , "])
def test_an_empty_list(text: str) -> None:
    with pytest.raises(UsageError, match="no target given"):
        parse_targets(text)


def test_one_wrong_name_spoils_the_list() -> None:
    with pytest.raises(UsageError, match="unknown target 'sm_1'"):
        parse_targets("sm_80,sm_1")


class Driver:
    """The CUDA driver of a machine with these compute capabilities."""

    def __init__(self, *capabilities: tuple[int, int], status: str = "ok") -> None:
        self.capabilities = capabilities
        self.status = status

        class CUresult:
            CUDA_SUCCESS = "ok"

        class CUdevice_attribute:
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 0
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 1

        self.CUresult, self.CUdevice_attribute = CUresult, CUdevice_attribute

    def cuInit(self, flags):
        return (self.status,)

    def cuDeviceGetCount(self):
        return "ok", len(self.capabilities)

    def cuDeviceGet(self, ordinal):
        return "ok", ordinal

    def cuDeviceGetAttribute(self, which, device):
        return "ok", self.capabilities[device][which]


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch):
    def install(fake: Driver) -> None:
        monkeypatch.setitem(sys.modules, "cuda.bindings.driver", fake)

    return install


@pytest.mark.parametrize(
    ("capabilities", "names"),
    [([(8, 0)], ["sm_80"]), ([(9, 0)], ["sm_90a"]), ([(12, 0), (8, 6), (12, 0)], ["sm_120a", "sm_86"])],
)
def test_native_asks_the_driver(driver, capabilities, names) -> None:
    driver(Driver(*capabilities))
    assert [target.name for target in native_targets()] == names
    assert [target.name for target in parse_targets("native")] == names


def test_native_without_a_gpu(driver) -> None:
    driver(Driver())
    with pytest.raises(UsageError, match="this machine has no GPU"):
        parse_targets("native")
    driver(Driver(status="no driver"))
    with pytest.raises(NoGpuError, match="the CUDA driver finds no GPU here") as caught:
        parse_targets("sm_80,native")
    assert caught.value.hints == ['name the target instead: target="sm_90a" in Python, --target sm_90a in a shell']
