"""GPUs: which code runs on them, contexts, and the loading and unloading of code."""

from __future__ import annotations

import gc
import threading

import pytest
from recording import PRIMARY, STATIC_SHARED, Gpu, RecordingDriver
from scale_kernel import ENTRY, KERNEL, compilation

from cutecc.errors import LaunchError
from cutecc.runtime.device import CudaDevice, choose, runs_on
from cutecc.runtime.driver import KernelAttribute
from cutecc.runtime.library import Library, unload_retired


@pytest.mark.parametrize(
    ("target", "capability", "cubin", "ptx"),
    [
        ("sm_80", (8, 0), True, True),
        ("sm_80", (8, 6), True, True),
        ("sm_80", (9, 0), False, True),
        ("sm_86", (8, 0), False, False),
        ("sm_90a", (9, 0), True, True),
        ("sm_90a", (10, 0), False, False),
        ("sm_100f", (10, 3), True, True),
        ("sm_100f", (12, 0), False, False),
        ("sm_103", (10, 0), False, False),
        ("sm_100", (12, 1), False, True),
    ],
)
def test_which_code_runs_where(target: str, capability: tuple[int, int], cubin: bool, ptx: bool) -> None:
    assert runs_on(target, capability) == cubin
    assert runs_on(target, capability, ptx=True) == ptx


def device(capability: tuple[int, int] = (9, 0), **driver: object) -> CudaDevice:
    return CudaDevice(RecordingDriver((Gpu(capability),), **driver), 0)  # pyright: ignore


def test_the_most_specific_cubin_is_chosen() -> None:
    records = [compilation("sm_80"), compilation("sm_90"), compilation("sm_90a"), compilation("sm_100a")]
    assert choose(records, device())[0].target == "sm_90a"
    assert choose(records, device((8, 6)))[0].target == "sm_80"


def test_ptx_is_used_where_no_cubin_fits() -> None:
    records = [compilation("sm_80", ptx=b".version 8.0"), compilation("sm_90a", ptx=b".version 8.0")]
    chosen, image = choose(records, device((12, 0)))
    assert (chosen.target, image) == ("sm_80", b".version 8.0\0")
    assert choose(records, device((8, 0)))[1] == b"cubin"


def test_code_for_another_gpu_is_refused_with_both_sides() -> None:
    with pytest.raises(LaunchError) as caught:
        choose([compilation("sm_90a", ptx=b"ptx"), compilation("sm_103")], device((10, 0)))
    assert caught.value.message == (
        "scale is compiled for sm_90a, sm_103, which does not run on cuda:0 (Recording GPU 0, sm_100)"
    )
    assert caught.value.hints == ["compile it for this GPU, target sm_100a"]


def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(LaunchError, match="there is no cuda:2: the driver sees 1 GPU"):
        CudaDevice(RecordingDriver(), 2)


def test_a_thread_without_a_context_gets_the_primary_one() -> None:
    driver = RecordingDriver(starts_with_context=False)
    gpu = CudaDevice(driver, 0)
    with gpu.current():
        assert driver.contexts == [PRIMARY]
    assert driver.contexts == [PRIMARY]


def test_another_gpus_context_comes_back() -> None:
    driver = RecordingDriver((Gpu(), Gpu()))
    with pytest.raises(ZeroDivisionError), CudaDevice(driver, 1).current():
        assert driver.contexts == [PRIMARY, PRIMARY + 1]
        raise ZeroDivisionError
    assert driver.contexts == [PRIMARY]


def test_kernels_are_prepared_once_for_each_gpu() -> None:
    driver = RecordingDriver((Gpu(), Gpu((8, 0), shared_bytes=163 * 1024)))
    first, second = CudaDevice(driver, 0), CudaDevice(driver, 1)
    library = Library(first, b"cubin", [ENTRY])
    assert library.on(first).functions == library.on(first).functions
    library.on(second)
    assert driver.calls["load_library"] == 1
    assert driver.attributes == {
        (KERNEL, KernelAttribute.MAX_DYNAMIC_SHARED_BYTES, 0): 227 * 1024 - STATIC_SHARED,
        (KERNEL, KernelAttribute.NON_PORTABLE_CLUSTER, 0): 1,
        # There are no clusters before compute capability 9.0.
        (KERNEL, KernelAttribute.MAX_DYNAMIC_SHARED_BYTES, 1): 163 * 1024 - STATIC_SHARED,
    }
    assert driver.loaded_kernels == {(KERNEL, 0), (KERNEL, 1)}


def test_code_can_be_loaded_during_a_capture() -> None:
    driver = RecordingDriver(capturing={7})  # refuses to load unless the capture mode is relaxed
    gpu = CudaDevice(driver, 0)
    library = Library(gpu, b"cubin", [ENTRY])
    library.on(gpu)
    library.unload()
    assert not driver.libraries


def test_unloading() -> None:
    gpu = device()
    library = Library(gpu, b"cubin", [ENTRY])
    assert library.is_loaded
    library.unload()
    library.unload()
    assert not library.is_loaded
    assert gpu.driver.calls["unload_library"] == 1  # pyright: ignore


@pytest.mark.slow
def test_dropped_code_is_not_unloaded_by_the_garbage_collector() -> None:
    driver = RecordingDriver()
    gpu = CudaDevice(driver, 0)
    Library(gpu, b"first", [ENTRY])
    gc.collect()
    assert list(driver.libraries.values()) == [b"first"]
    driver.capturing.add(7)
    unload_retired(7)
    assert driver.libraries, "nor while this thread captures a graph"
    unload_retired(8)
    assert not driver.libraries


@pytest.mark.slow
def test_code_that_a_graph_may_hold_stays_loaded() -> None:
    driver = RecordingDriver(capturing={7})
    gpu = CudaDevice(driver, 0)
    for stream in (7, 8):
        Library(gpu, str(stream).encode(), [ENTRY]).note_stream(stream)
    gc.collect()
    unload_retired(0)
    assert list(driver.libraries.values()) == [b"7"]


def test_pinned_code_can_still_be_unloaded() -> None:
    gpu = device()
    library = Library(gpu, b"cubin", [ENTRY])
    library.pin()
    library.unload()
    assert gpu.driver.libraries == {}  # pyright: ignore


@pytest.mark.slow
def test_a_failed_load_leaves_nothing_behind() -> None:
    driver = RecordingDriver(fail={"find_kernel": 2})
    with pytest.raises(LaunchError, match=r"find_kernel: CUDA_ERROR_OUT_OF_MEMORY \(2\)"):
        Library(CudaDevice(driver, 0), b"cubin", [ENTRY])
    gc.collect()
    unload_retired(0)
    assert not driver.libraries


def test_threads_that_load_together_load_once() -> None:
    driver = RecordingDriver()
    gpu = CudaDevice(driver, 0)
    library = Library(gpu, b"cubin", [ENTRY])
    threads = [threading.Thread(target=library.on, args=(gpu,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert driver.calls["set_kernel_attribute"] == 2
