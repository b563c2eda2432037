"""What a kernel is launched with is where its PTX has it, whatever a record says of the block."""

from dataclasses import replace

import numpy as np
from launched import allocations_of, launch_of, run_text

from cutecc.emulator.options import EmulatorOptions
from cutecc.record.host_program import KernelEntry, KernelParameter

KERNEL = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u32 first, .param .u64 .ptr .global .align 128 to, .param .u32 second) {
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u32 %r1, [first];
    ld.param.u64 %rd1, [to];
    ld.param.u32 %r2, [second];
    add.u32 %r3, %r1, %r2;
    st.global.u32 [%rd1], %r3;
    ret;
}
"""
WORD, ADDRESS = KernelParameter(0, 4, 4), KernelParameter(8, 8, 8)


def sum_of(*parameters: KernelParameter) -> int:
    """What the kernel stores, launched with 3 and 4 at these places."""
    result = np.zeros(1, np.uint32)
    numbers = np.array([3], np.uint32), np.array([result.ctypes.data], np.uint64), np.array([4], np.uint32)
    size = max(each.offset + each.size for each in parameters)
    block = bytearray(size)
    for parameter, number in zip(parameters, numbers, strict=True):
        block[parameter.offset : parameter.offset + parameter.size] = number.tobytes()
    launch = replace(launch_of(bytes(block), block=1), kernel=KernelEntry("kernel", list(parameters), size))
    run_text(KERNEL, launch, allocations_of(result), EmulatorOptions())
    return int(result[0])


def test_parameters_of_a_record_are_found_by_their_number() -> None:
    assert sum_of(WORD, ADDRESS, KernelParameter(16, 4, 4)) == 7


def test_so_they_are_where_a_record_of_before_has_them_by_what_a_pointer_points_to() -> None:
    assert sum_of(WORD, KernelParameter(128, 8, 128), KernelParameter(136, 4, 4)) == 7
