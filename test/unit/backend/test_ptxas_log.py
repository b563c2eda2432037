import pytest
from ptx_samples import THREE_KERNELS, spilling

from cutecc.backend.ptxas import assemble
from cutecc.backend.ptxas_log import Complaint, EntryStatistics, parse_log
from cutecc.target import Target

# As the assembler inside the nvidia-cutlass-dsl wheel writes it.
WHEEL_LOG = """\
ptxas info    : (C7519) warpgroup.arrive is injected in around line 1449 by compiler
ptxas info    : 137 bytes gmem, 88 bytes cmem[4]
ptxas info    : Compiling entry function 'kernel_0' for 'sm_80'
ptxas info    : Function properties for kernel_0
ptxas         .     176 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 36 registers, used 0 barriers, 176 bytes cumulative stack size, 400 bytes cmem[0]
ptxas info    : Compile time = 16.483 ms
ptxas info    : Function properties for helper
ptxas         .     32 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
"""


def test_the_log_of_the_wheel_is_read():
    log = parse_log(WHEEL_LOG)
    assert log.entries == {"kernel_0": EntryStatistics("kernel_0", "sm_80", 36, 0, 176, 8, 12, 0)}
    advice = "warpgroup.arrive is injected in around line 1449 by compiler"
    assert log.complaints == [Complaint("info", advice, code="C7519")]
    assert not log.errors


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
def test_the_log_of_ptxas_is_read(target: str):
    log = assemble(THREE_KERNELS.format(target=target), Target.parse(target)).log
    entries = parse_log(log).entries
    assert set(entries) == {"plain", "shared", "dynamically_shared"}
    assert entries["shared"].shared_bytes == 4096
    assert entries["dynamically_shared"].shared_bytes == 0
    assert entries["shared"].barriers == 1
    assert entries["plain"].barriers == 0
    assert all((entry.registers or 0) > 0 and entry.spill_store_bytes == 0 for entry in entries.values())
    assert not parse_log(log).complaints


def test_spills_are_read():
    entry = parse_log(assemble(spilling(), Target.parse("sm_80")).log).entries["spilling"]
    assert entry.registers == 24
    assert entry.spill_store_bytes
    assert entry.spill_load_bytes
    assert entry.stack_bytes


def test_complaints_keep_their_line():
    log = parse_log("ptxas a b.ptx, line 11; error   : Unknown modifier '.bar'\nptxas fatal   : aborted\nnoise\n")
    assert log.errors == [Complaint("error", "Unknown modifier '.bar'", 11), Complaint("error", "aborted")]
