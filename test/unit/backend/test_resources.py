import pytest
from ptx_samples import RECURSIVE, THREE_KERNELS, spilling

from cutecc.backend.ptxas import assemble
from cutecc.backend.resources import kernel_resources
from cutecc.errors import ToolError
from cutecc.record.compilation import KernelResources
from cutecc.sass.cubin import block_threads
from cutecc.target import Target

TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]


def by_name(target: str, dynamic: dict[str, int | None], *, log: bool = True) -> dict[str, KernelResources]:
    chip = Target.parse(target)
    assembled = assemble(THREE_KERNELS.format(target=target), chip)
    found = kernel_resources(assembled.cubin, chip, log=assembled.log if log else None, dynamic_shared=dynamic)
    return {kernel.kernel: kernel for kernel in found}


@pytest.mark.parametrize("target", TARGETS)
def test_resources_of_each_kernel(target: str):
    found = by_name(target, {"plain": 0, "shared": 1024, "dynamically_shared": None})
    assert {name: kernel.shared_static_bytes for name, kernel in found.items()} == {
        "plain": 0,
        "shared": 4096,
        "dynamically_shared": 0,
    }
    assert {name: kernel.shared_dynamic_bytes for name, kernel in found.items()} == {
        "plain": 0,
        "shared": 1024,
        "dynamically_shared": None,
    }
    plain = found["plain"]
    assert plain.registers > 0
    assert plain.stack_bytes == 0
    assert plain.constant_bytes >= 8
    assert (plain.spill_store_bytes, plain.spill_load_bytes, plain.barriers) == (0, 0, 0)
    assert plain.occupancy
    assert plain.occupancy.block_threads == 256
    assert found["shared"].barriers == 1
    assert found["shared"].occupancy
    assert found["shared"].occupancy.block_threads == 96
    assert found["dynamically_shared"].occupancy is None


@pytest.mark.parametrize("target", TARGETS)
def test_without_a_log_all_is_known_of_kernels_without_a_stack(target: str):
    """Releases before 4.7 keep none."""
    launched: dict[str, int | None] = {"plain": 0, "shared": 1024}
    assert by_name(target, launched, log=False) == by_name(target, launched)


def test_without_a_log_spills_are_unknown_of_a_kernel_with_a_stack():
    chip = Target.parse("sm_80")
    (kernel,) = kernel_resources(assemble(spilling(), chip).cubin, chip)
    assert kernel.stack_bytes > 0
    assert (kernel.spill_store_bytes, kernel.spill_load_bytes) == (None, None)


def test_a_kernel_that_nothing_launches_has_no_occupancy():
    assert by_name("sm_80", {})["plain"].occupancy is None


def test_spills_and_stack():
    chip = Target.parse("sm_80")
    assembled = assemble(spilling(), chip)
    (kernel,) = kernel_resources(assembled.cubin, chip, log=assembled.log, dynamic_shared={"spilling": 0})
    assert kernel.registers == 24
    assert kernel.spill_store_bytes
    assert kernel.spill_load_bytes
    assert kernel.stack_bytes


@pytest.mark.parametrize("log", [True, False])
def test_functions_that_a_kernel_calls_are_no_kernels(log: bool):
    chip = Target.parse("sm_80")
    assembled = assemble(RECURSIVE, chip)
    assert block_threads(assembled.cubin) == {"kernel": 32}
    # Recursion: nobody knows how deep the stack gets.
    (kernel,) = kernel_resources(assembled.cubin, chip, log=assembled.log if log else None)
    assert (kernel.kernel, kernel.stack_bytes) == ("kernel", 0)


@pytest.mark.parametrize("target", TARGETS)
def test_block_sizes_are_in_the_cubin(target: str):
    cubin = assemble(THREE_KERNELS.format(target=target), Target.parse(target)).cubin
    assert block_threads(cubin) == {"plain": 256, "shared": 96, "dynamically_shared": None}


@pytest.mark.parametrize("data", [b"", b"no cubin", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 100])
def test_what_is_not_a_cubin_is_an_error(data: bytes):
    with pytest.raises(ToolError, match="not a cubin"):
        block_threads(data)
    with pytest.raises(ToolError):
        kernel_resources(data, Target.parse("sm_80"))
