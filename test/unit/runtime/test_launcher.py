"""Calling a kernel through the recording driver: what is launched, when it is computed anew, and what is refused."""

from __future__ import annotations

import gc
import threading
import weakref
from dataclasses import replace
from typing import Any

import pytest
import recording
from gpu_arrays import TorchLike
from recording import PRIMARY, Gpu, RecordingDriver
from scale_kernel import KERNEL, block, compilation, program

from cutecc.errors import ArgumentError, LaunchError
from cutecc.record.host_program import Instruction, LaunchAttribute
from cutecc.runtime import launcher as launcher_module
from cutecc.runtime.launcher import Launcher
from cutecc.runtime.recent import Recent


def x(address: int = 0x10000, size: int = 64, device: str = "cuda:0") -> TorchLike:
    return TorchLike("float32", (size,), address=address, device=device)


def make(driver: RecordingDriver | None = None, **options: Any) -> tuple[Launcher, RecordingDriver]:
    driver = driver or RecordingDriver()
    return Launcher(compilation(host=program(**options)), driver), driver


def test_a_launch_is_what_the_program_says() -> None:
    launcher, driver = make(attributes=True)
    launcher.call(x(0xAB00, 100), 0.5, stream=5)
    assert driver.launches == [
        recording.Recorded(
            KERNEL,
            0,
            threading.get_ident(),
            (3, 1, 1),
            (32, 1, 1),
            0,
            5,
            # In the program's order, also those that are 0.
            (("cooperative", (0,)), ("cluster", (1, 1, 1))),
            block(0xAB00, 100, 0.5),
        )
    ]


def test_pointers_streams_sizes_and_scalars_are_those_of_each_call() -> None:
    launcher, driver = make(launches=2)
    calls = [
        (0x1000 + 64 * number, size, factor, stream)
        for number, (size, factor, stream) in enumerate(
            (size, factor, stream) for size in (64, 32, 96) for factor in (1.0, -2.5) for stream in (0, 3, 4)
        )
    ]
    for address, size, factor, stream in calls * 3:
        launcher.call(x(address, size), factor, stream)
    expected = [
        ((size // 32, 1, 1), stream, block(address, size, factor)) for address, size, factor, stream in calls * 3
    ]
    assert [(each.grid, each.stream, each.parameters) for each in driver.launches[::2]] == expected
    assert driver.launches[::2] == driver.launches[1::2]


@pytest.mark.parametrize("setting", ["shared memory", "cooperative"])
def test_launch_settings_that_do_not_fit_are_refused_not_cut(setting: str) -> None:
    host = program()
    instructions = list(host.body.instructions)
    wide = len(host.types)
    number = next(index for index, each in enumerate(instructions) if each.launch is not None)
    site = instructions[number].launch
    assert site is not None
    changed: dict[str, Any] = {"shared_bytes": wide}
    if setting == "cooperative":
        changed = {"attributes": [LaunchAttribute("cooperative", [wide])]}
    instructions[number] = replace(instructions[number], launch=replace(site, **changed))
    instructions.insert(0, Instruction("constant", [], [wide], (1 << 32) + 1))
    host = replace(host, types=[*host.types, "i64"], body=replace(host.body, instructions=instructions))
    driver = RecordingDriver()
    launcher = Launcher(compilation(host=host), driver)
    for _ in range(3):
        with pytest.raises(LaunchError, match="launching 'scale_kernel' on cuda:0"):
            launcher.call(x(), 1.0)
    assert not driver.launches


def test_repeated_calls_prepare_nothing_anew(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # A torch that is built for CUDA would ask the driver, which is not there.
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: 0, raising=False)
    launcher, driver = make()
    tensor = torch.zeros(64).as_subclass(type("OnGpu", (torch.Tensor,), {"get_device": lambda _: 0, "device": CUDA}))
    for _ in range(3):
        launcher.call(tensor, 2.0)
    before = dict(driver.calls)
    bind, launcher.binder = launcher.binder, None  # pyright: ignore
    for _ in range(5):
        launcher.call(tensor, 2.0)
    launcher.binder = bind
    assert {name: count - before.get(name, 0) for name, count in driver.calls.items() if count != before[name]} == {
        "launch": 5
    }
    launcher.call(tensor, 3.0)
    assert driver.launches[-1].parameters == block(tensor.data_ptr(), 64, 3.0)


CUDA = type("Device", (), {"type": "cuda", "index": 0})()


def test_a_plan_is_made_for_the_second_call_of_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[int | float]] = []
    original = launcher_module.make_plan

    def make_plan(host: Any, leaves: Any, varying: Any) -> Any:
        made.append(leaves)
        return original(host, leaves, varying)

    monkeypatch.setattr(launcher_module, "make_plan", make_plan)
    launcher, _ = make()
    launcher.call(x(size=32), 1.0)
    launcher.call(x(size=64), 1.0)
    assert made == []
    for address in (0x100, 0x200, 0x300):
        launcher.call(x(address, 64), 1.0)
    assert len(made) == 1


def test_a_program_without_a_plan_is_evaluated_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher_module, "make_plan", lambda *_: None)
    launcher, driver = make()
    for address in (0x100, 0x200, 0x300):
        launcher.call(x(address), 1.0, stream=9)
    assert [each.parameters for each in driver.launches] == [block(a, 64, 1.0) for a in (0x100, 0x200, 0x300)]
    assert {each.stream for each in driver.launches} == {9}


def test_threads_do_not_share_parameter_blocks() -> None:
    """Every thread's launches carry its own addresses, however calls interleave."""
    launcher, driver = make()
    start = threading.Barrier(4)

    def work(index: int) -> None:
        start.wait()
        for step in range(50):
            launcher.call(x(0x1000 * (index + 1) + 64 * step), float(index), stream=100 + index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index in range(4):
        mine = [each for each in driver.launches if each.stream == 100 + index]
        assert [each.parameters for each in mine] == [
            block(0x1000 * (index + 1) + 64 * step, 64, float(index)) for step in range(50)
        ]
        assert len({each.thread for each in mine}) == 1


def test_a_thread_without_a_context_launches_on_the_arrays_gpu() -> None:
    launcher, driver = make(RecordingDriver(starts_with_context=False))
    for _ in range(3):
        launcher.call(x(), 1.0)
    driver.contexts.clear()
    launcher.call(x(), 1.0)
    assert [each.device for each in driver.launches] == [0] * 4


def test_several_gpus() -> None:
    launcher, driver = make(RecordingDriver((Gpu(), Gpu())))
    for device in (0, 1, 1, 0, 1, 0, 1):
        launcher.call(x(device=f"cuda:{device}"), 1.0)
        assert driver.contexts == [PRIMARY]
    assert [each.device for each in driver.launches] == [0, 1, 1, 0, 1, 0, 1]
    assert driver.calls["load_library"] == 1


@pytest.mark.slow
def test_launching_during_a_capture() -> None:
    launcher, driver = make(RecordingDriver(capturing={7}))
    launcher.call(x(), 1.0, stream=7)
    handles = list(driver.libraries)
    del launcher
    gc.collect()
    make(driver)[0].call(x(), 1.0)
    assert set(handles) < set(driver.libraries), "the graph can be launched at any later time"


def test_a_dropped_kernel_is_collected_at_once_and_unloaded_later() -> None:
    launcher, driver = make()
    for _ in range(3):
        launcher.call(x(), 1.0)
    alive = weakref.ref(launcher)
    del launcher
    assert alive() is None, "something keeps the launcher alive but the garbage collector"
    make(driver)[0].call(x(), 1.0)
    assert len(driver.libraries) == 1


def test_unloading_and_calling_again() -> None:
    launcher, driver = make()
    for round_ in range(5):
        for _ in range(3):
            launcher.call(x(), 1.0)
        launcher.unload()
        assert not driver.libraries
        assert driver.calls["load_library"] == round_ + 1


def test_work_of_another_stream_is_waited_for() -> None:
    from gpu_arrays import CupyLike

    launcher, driver = make()
    for _ in range(3):
        launcher.call(CupyLike("float32", (64,), stream=11), 1.0, stream=12)
    assert driver.orders == [(11, 12)] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((x(device="cpu"), 1.0), "'x'"),
        ((TorchLike("float16", (64,)), 1.0), "f16"),
        ((TorchLike("float32", (64,), address=0x10002), 1.0), "0x10002"),
        ((x(), "two"), "'factor'"),
        ((x(),), "factor"),
    ],
)
def test_wrong_arguments_launch_nothing(arguments: tuple[Any, ...], message: str) -> None:
    launcher, driver = make()
    for _ in range(2):
        with pytest.raises(ArgumentError, match=message):
            launcher.call(*arguments)
        launcher.call(x(), 1.0)
        launcher.call(x(), 1.0)
    assert len(driver.launches) == 4


def test_unchecked_calls_do_not_teach_checked_ones() -> None:
    launcher, driver = make()
    misaligned = TorchLike("float32", (64,), address=0x10002)
    for _ in range(3):
        launcher.call(misaligned, 1.0, unchecked=True)
    assert driver.launches[-1].parameters == block(0x10002, 64, 1.0)
    with pytest.raises(ArgumentError):
        launcher.call(misaligned, 1.0)


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_arrays_without_elements_launch_nothing(calls: int) -> None:
    launcher, driver = make()
    for _ in range(calls):
        launcher.call(x(size=0), 1.0)
    assert not driver.launches


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_any_other_empty_grid_is_refused(calls: int) -> None:
    launcher, driver = make()
    for _ in range(calls):
        with pytest.raises(LaunchError) as caught:
            launcher.call(x(size=31), 1.0)
        assert caught.value.message == "'scale_kernel' would be launched with the grid (0, 1, 1), which has no blocks"
        assert caught.value.notes == ["the arguments: 'x' (31)"]
    assert not driver.launches


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_failed_launch_is_told_in_cudas_words(calls: int) -> None:
    launcher, driver = make()
    for _ in range(calls - 1):
        launcher.call(x(), 1.0)
    driver.fail["launch"] = 1
    with pytest.raises(LaunchError) as caught:
        launcher.call(x(), 1.0)
    assert caught.value.message == (
        "launching 'scale_kernel' on cuda:0 (Recording GPU 0, sm_90): CUDA_ERROR_INVALID_VALUE (1): as told"
    )
    assert caught.value.notes == ["grid (2, 1, 1), block (32, 1, 1), 0 bytes of dynamic shared memory"]
    del driver.fail["launch"]
    launcher.call(x(), 1.0)


def test_a_prepared_call_keeps_its_arguments_and_follows_the_stream() -> None:
    launcher, driver = make()
    array = x(0xBEE0)
    alive = weakref.ref(array)
    prepared = launcher.prepare(array, 2.0)
    del array
    assert alive() is not None and not driver.launches
    prepared()
    prepared(stream=6)
    prepared()
    assert [each.stream for each in driver.launches] == [0, 6, 0]
    assert {each.parameters for each in driver.launches} == {block(0xBEE0, 64, 2.0)}
    given = launcher.prepare(x(), 2.0, stream=8)
    given()
    given(stream=9)
    assert [each.stream for each in driver.launches[3:]] == [8, 9]


def test_a_prepared_call_from_threads() -> None:
    launcher, driver = make()
    prepared = launcher.prepare(x(), 2.0)
    threads = [threading.Thread(target=prepared, kwargs={"stream": 50 + index}) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((each.stream, each.parameters) for each in driver.launches) == [
        (50 + index, block(0x10000, 64, 2.0)) for index in range(4)
    ]


def test_a_prepared_call_of_an_unloaded_kernel_is_refused() -> None:
    launcher, driver = make()
    prepared = launcher.prepare(x(), 2.0)
    launcher.unload()
    with pytest.raises(LaunchError, match="unloaded since the call was prepared"):
        prepared()
    assert not driver.launches


@pytest.mark.slow
def test_a_prepared_call_keeps_the_code_loaded() -> None:
    launcher, driver = make()
    prepared = launcher.prepare(x(), 2.0)
    del launcher
    gc.collect()
    make(driver)[0].call(x(), 1.0)
    prepared()
    assert driver.launches[-1].parameters == block(0x10000, 64, 2.0)


def test_records_that_cannot_be_called() -> None:
    record = compilation(signature=False)
    with pytest.raises(LaunchError, match=r"scale was compiled from MLIR"):
        Launcher(record)
    record = replace(compilation(), artifacts=[], status="stopped")
    with pytest.raises(LaunchError, match=r"no host program, because its compilation was stopped early"):
        Launcher(record)


def test_a_thousand_kinds_of_calls_are_not_all_kept() -> None:
    launcher, driver = make()
    for _ in range(2):
        for size in range(32, 1032):
            launcher.call(x(size=size), 1.0)
            launcher.call(x(size=size), 1.0)
    thread = launcher._local.thread  # pyright: ignore
    assert len(thread.planned) <= 512 and len(launcher._plans) <= 512  # pyright: ignore
    assert len(driver.launches) == 4000


def test_recent_keeps_what_is_used() -> None:
    recent: Recent[int, str] = Recent(4)
    for number in range(100):
        recent.put(number, str(number))
        assert recent.get(0) == "0"
    assert recent.get(99) == "99" and recent.get(50) is None
    assert len(recent) <= 8
