"""What host functions of the DSL's print of launches that cannot be, and what users are told instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.errors import LaunchError
from cutecc.runtime.host import CudaHost

KERNEL = """\
# cutecc: args.x = "f32[128]"
# cutecc: outputs = ["x"]
# cutecc: target = "sm_90a"
import cutlass
from cutlass import cute

@cute.kernel
def kernel(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(100_000))
    shared[thread] = x[thread]
    cute.arch.sync_threads()
    x[thread] = shared[127 - thread]

@cute.jit
def host(x: cute.Tensor):
    print("traced")
    cute.printf("launched")
    kernel(x).launch(grid=[1, 1, 1], block=[128, 1, 1])
"""
PRINTED = (
    "\nError: kernel '@kernels::@kernel_cutlass_k_0' launch shared memory exceeds current GPU arch sm_90a allowed. "
    "Allocated: 400000 bytes. Max: 232448 bytes.\n\n"
)


def test_what_a_program_prints_itself_is_all_that_is_printed(cutecc, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    done = cutecc("run", "kernel.py", "--device", "cpu", status=1)
    assert "Error: kernel" not in done.stdout + done.stderr
    assert "launched" in done.stdout
    assert "traced" in done.stdout + done.stderr
    assert (
        "a block takes 400,000 bytes of shared memory (0 static, 400,000 dynamic), and sm_90a has 232,448"
        in done.stderr
    )


def test_on_a_gpu_it_is_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    host = CudaHost.__new__(CudaHost)
    with pytest.raises(LaunchError) as caught:
        host.print(PRINTED)
    assert caught.value.message == (
        "'kernel_cutlass_k_0' cannot be launched: a block takes 400,000 bytes of shared memory, and sm_90a has 232,448 "
        "for a block"
    )
    assert caught.value.notes == [f"the DSL's own words: {PRINTED.strip()}"]
    assert capsys.readouterr().out == ""
    host.print("Error: kernel, says the user\n")
    assert capsys.readouterr().out == "Error: kernel, says the user\n"
