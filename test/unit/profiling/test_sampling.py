"""Samples as CUPTI gives them, through the calls and structures that it has."""

from __future__ import annotations

import ctypes

import pytest
from fake_cupti import FakeCupti, events

from cutecc.errors import ProfilingError
from cutecc.profiling import cupti
from cutecc.profiling.collector import Collector
from cutecc.profiling.cupti import Cupti, Event, Setting
from cutecc.profiling.libraries import installed
from cutecc.profiling.sampler import SampledPc, Sampler, kernels_of

CONTEXT = 0x5000


def _cupti(fake: FakeCupti) -> Cupti:
    return Cupti("libcupti.so.13", fake)


def test_structures_have_the_sizes_of_the_header() -> None:
    assert ctypes.sizeof(cupti.PcData) == 64
    assert ctypes.sizeof(cupti.SamplingData) == 80
    assert ctypes.sizeof(cupti._Attribute) == 32


def test_samples_are_counted_by_instruction_and_reason() -> None:
    fake = FakeCupti(
        [(1, "f", 16, {"barrier": 3, "selected": 1}), (1, "f", 32, {"barrier": 2}), (1, "f", 16, {"barrier": 4})]
    )
    sampler = Sampler(_cupti(fake), CONTEXT, period=9)
    assert fake.settings[Setting.PERIOD] == 9
    assert fake.settings[Setting.MODE] == cupti.CONTINUOUS
    sampler.read()
    assert sampler.counts == {
        SampledPc(1, "f", 16, "barrier"): 7,
        SampledPc(1, "f", 16, "selected"): 1,
        SampledPc(1, "f", 32, "barrier"): 2,
    }
    assert sum(sampler.counts.values()) == 10


def test_what_is_left_comes_when_sampling_ends() -> None:
    fake = FakeCupti()
    sampler = Sampler(_cupti(fake), CONTEXT)
    sampler.read()
    fake.pending = [(1, "f", 0, {"selected": 5})] * 3
    fake.room, fake.dropped = 0, 0
    fake.failing["cuptiPCSamplingGetData"] = 8
    sampler.finish()
    assert sampler.counts == {SampledPc(1, "f", 0, "selected"): 15}
    assert sampler.was_full, "the hardware's buffer was said to be full"
    assert fake.calls == [("enable", CONTEXT), ("disable", CONTEXT)]


def test_dropped_samples_are_told() -> None:
    fake = FakeCupti([(1, "f", 0, {"selected": 5})], dropped=2)
    sampler = Sampler(_cupti(fake), CONTEXT)
    sampler.finish()
    assert (sum(sampler.counts.values()), sampler.dropped) == (5, 2)


def test_kernels_are_of_a_cubin_and_the_most_sampled_comes_first() -> None:
    counts = {
        SampledPc(1, "f", 0, "barrier"): 1,
        SampledPc(2, "f", 0, "barrier"): 3,
        SampledPc(2, "f", 0, "selected"): 2,
    }
    assert [(each.crc, each.symbol, each.offsets) for each in kernels_of(counts)] == [
        (2, "f", {0: {"barrier": 3, "selected": 2}}),
        (1, "f", {0: {"barrier": 1}}),
    ]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (26, "another process profiles this GPU"),
        (35, "only administrators"),
        (33, "virtual"),
        (43, "MIG"),
        (27, "takes no samples"),
        (999, "cuptiPCSamplingEnable: CUPTI_ERROR_999 (999)"),
    ],
)
def test_a_refusal_says_why_and_what_to_do(status: int, said: str) -> None:
    fake = FakeCupti(failing={"cuptiPCSamplingEnable": status})
    with pytest.raises(ProfilingError, match=r".") as caught:
        Sampler(_cupti(fake), CONTEXT)
    assert said in caught.value.message
    assert status == 999 or caught.value.hints


def test_a_second_profiler_is_named() -> None:
    fake = FakeCupti(failing={"cuptiSubscribe": 39})
    with pytest.raises(ProfilingError, match=r"another profiler is in this process.*torch\.profiler"):
        Collector(_cupti(fake)).begin([CONTEXT])


def test_a_context_that_cannot_be_sampled_leaves_nobody_subscribed() -> None:
    fake = FakeCupti(failing={"cuptiPCSamplingEnable": 35})
    with pytest.raises(ProfilingError, match="administrators"):
        Collector(_cupti(fake)).begin([CONTEXT])
    assert fake.callback is None


def test_contexts_and_modules_that_come_later_are_sampled_too() -> None:
    fake = FakeCupti()
    found = _cupti(fake)
    collector = Collector(found)
    collector.begin([])
    assert sorted(fake.enabled) == events()
    fake.tell(Event.CONTEXT_CREATED, CONTEXT)
    fake.tell(Event.MODULE_LOADED, CONTEXT, b"cubin")
    fake.tell(Event.MODULE_LOADED, CONTEXT, b"cubin")
    fake.pending = [(found.crc(b"cubin"), "f", 0, {"selected": 5})]
    collector.end()
    assert fake.callback is None
    assert collector.cubins == {found.crc(b"cubin"): b"cubin"}
    assert collector.counts == {SampledPc(found.crc(b"cubin"), "f", 0, "selected"): 5}


def test_a_context_that_ends_gives_its_samples_first() -> None:
    fake = FakeCupti([(1, "f", 0, {"selected": 5})])
    collector = Collector(_cupti(fake))
    collector.begin([CONTEXT])
    fake.tell(Event.CONTEXT_DESTROY_STARTING, CONTEXT)
    assert ("disable", CONTEXT) in fake.calls
    collector.end()
    assert sum(collector.counts.values()) == 5


def test_a_program_goes_on_where_its_context_cannot_be_sampled() -> None:
    fake = FakeCupti(failing={"cuptiPCSamplingEnable": 43})
    collector = Collector(_cupti(fake))
    collector.begin([])
    fake.tell(Event.CONTEXT_CREATED, CONTEXT)
    collector.end()
    assert [each.message for each in collector.failures] == [
        "this GPU is divided (MIG), and samples are taken of a whole one alone"
    ]


def test_libraries_are_found_by_their_names(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    for name in (
        "nvidia/cu13/lib/libcupti.so.13",
        "nvidia/cuda_cupti/lib/libcupti.so.12",
        "toolkit/lib64/libcupti.so.13",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.touch()
    (tmp_path / "nvidia/cu13/lib/libcupti.so.2025.3.1").touch()
    names = [str(path.relative_to(tmp_path)) for path in installed() if path.is_relative_to(tmp_path)]
    assert names == [
        "nvidia/cu13/lib/libcupti.so.13",
        "nvidia/cuda_cupti/lib/libcupti.so.12",
        "toolkit/lib64/libcupti.so.13",
    ]


def test_a_sampler_that_cannot_be_set_up_or_read_is_disabled() -> None:
    for call in ("cuptiPCSamplingGetNumStallReasons", "cuptiPCSamplingSetConfigurationAttribute"):
        fake = FakeCupti(failing={call: 7})
        with pytest.raises(ProfilingError, match=call):
            Sampler(_cupti(fake), CONTEXT)
        assert fake.calls[-1] == ("disable", CONTEXT) if fake.settings else True
    fake = FakeCupti()
    sampler = Sampler(_cupti(fake), CONTEXT)
    fake.failing["cuptiPCSamplingGetData"] = 7
    with pytest.raises(ProfilingError, match="GetData"):
        sampler.finish()
    assert fake.calls[-1] == ("disable", CONTEXT)


def test_a_fork_hears_nothing() -> None:
    fake = FakeCupti()
    collector = Collector(_cupti(fake))
    collector.begin([])
    collector.abandon()
    fake.tell(Event.CONTEXT_CREATED, CONTEXT)
    assert collector.contexts == [] and fake.calls == []
