"""`CompileOptions(line_info=True)`: the short way to `wheel.preserve_line_info`."""

from __future__ import annotations

import pickle
from dataclasses import replace

import cutecc
from cutecc.compilation.request import CompileOptions, with_line_info
from cutecc.passes.nvidia.options import WheelOptions


def test_asking_for_either_is_asking_for_both() -> None:
    short = CompileOptions(line_info=True)
    long = CompileOptions(wheel=WheelOptions(preserve_line_info=True))
    assert short == long == with_line_info(CompileOptions()) == pickle.loads(pickle.dumps(short))
    assert short.line_info and short.wheel.preserve_line_info and short.wants_locations
    assert short.changed() == {"preserve-line-info": True}
    assert short != CompileOptions() and not CompileOptions().line_info
    kept = replace(CompileOptions(wheel=WheelOptions(opt_level=1)), line_info=True)
    assert (kept.wheel.opt_level, kept.wheel.preserve_line_info) == (1, True)


def test_the_code_has_lines(small_kernel) -> None:
    ptx = [
        cutecc.compile_module(small_kernel.bytecode, target="sm_90a", options=CompileOptions(line_info=value)).ptx
        for value in (False, True)
    ]
    assert [".loc" in text for text in ptx] == [False, True]
