"""A kernel file that copies 32 numbers, for tests that make it wrong."""

from __future__ import annotations

from pathlib import Path

KERNEL = """\
import cutlass
from cutlass import cute


@cute.kernel
def copy_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    dst[thread] = src[thread]


@cute.jit
def copy(src: cute.Tensor, dst: cute.Tensor):
    copy_kernel(src, dst).launch(grid=[1, 1, 1], block=[32, 1, 1])


def plain(src, dst):
    pass


class Copy:
    def __init__(self, threads: int):
        self.threads = threads

    @cute.jit
    def __call__(self, src: cute.Tensor, dst: cute.Tensor):
        copy_kernel(src, dst).launch(grid=[1, 1, 1], block=[self.threads, 1, 1])
"""
ARGS = ("--arg", "src=f32[32]", "--arg", "dst=f32[32]", "--target=sm_80")


def write(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name
