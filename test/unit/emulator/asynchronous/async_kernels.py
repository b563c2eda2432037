"""Small PTX kernels with TMA descriptors and clusters, run on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from launched import addresses_of, allocations_of, launch_of, run_text

from cutecc.emulator.launch import BlocksRun
from cutecc.emulator.options import EmulatorOptions
from cutecc.emulator.tensor_map import encode
from cutecc.runtime.launch import TensorMap

_TEXT = """
.version 8.8
.target {target}
.address_size 64
.extern .shared .align 1024 .b8 smem[];
{module}
.visible .entry kernel({parameters})
{{
  .reg .pred %p<9>;
  .reg .b16 %h<9>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r9, smem;
{body}
  ret;
}}
"""
"""%r0 is the thread, %r9 the address of the dynamic shared memory."""


def run(
    body: str,
    *arrays: np.ndarray[Any, Any],
    maps: Sequence[TensorMap | bytes] = (),
    module: str = "",
    threads: int = 32,
    blocks: int = 1,
    cluster: int = 1,
    shared: int = 4096,
    check: frozenset[Any] = frozenset(),
    schedule: Any = "round-robin",
    seed: int = 0,
    target: str = "sm_90a",
) -> BlocksRun:
    """Run a kernel: parameters `m0`, `m1`, … are descriptors, `a0`, `a1`, … the addresses of the arrays."""
    parameters = [f".param .align 64 .b8 m{number}[128]" for number in range(len(maps))]
    parameters += [f".param .u64 a{number}" for number in range(len(arrays))]
    data = b""
    for each in maps:
        made = each if isinstance(each, bytes) else encode(each)
        assert isinstance(made, bytes), "not a descriptor that the driver would make"
        data += made
    launch = launch_of(data + addresses_of(*arrays), blocks, threads, shared, cluster)
    options = EmulatorOptions(check=check, schedule=schedule, seed=seed)
    text = _TEXT.format(parameters=", ".join(parameters), module=module, body=body, target=target)
    return run_text(text, launch, allocations_of(*arrays), options)


STORE = """
  ld.param.u64 %rd1, [a0];
  mov.u32 %r17, %ctaid.x;
  mov.u32 %r18, %ntid.x;
  mad.lo.u32 %r17, %r17, %r18, %r0;
  mul.wide.u32 %rd2, %r17, 4;
  add.s64 %rd2, %rd1, %rd2;
  st.global.u32 [%rd2], %r8;
"""
"""Each thread stores %r8 at its element of `a0`."""


def stored(body: str, *, threads: int = 32, blocks: int = 1, **launch: Any) -> np.ndarray[Any, Any]:
    """What all threads have in %r8 in the end."""
    out = np.zeros(blocks * threads, np.int32)
    run(body + STORE, out, threads=threads, blocks=blocks, **launch)
    return out


def aligned(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
    """Zeros at an address that is a multiple of 128."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 128
    return raw[start : start + size].view(dtype).reshape(shape)


NUMBERS = {"uint8": 0, "uint16": 1, "uint32": 2, "int32": 3, "uint64": 4, "float16": 6, "float32": 7, "float64": 8}


def map_of(
    array: np.ndarray[Any, Any],
    box: Sequence[int],
    *,
    swizzle: int = 0,
    fill: int = 0,
    element_strides: Sequence[int] | None = None,
    data_type: int | None = None,
) -> TensorMap:
    """The descriptor of a C-contiguous array; modes of the box are innermost first."""
    return TensorMap(
        NUMBERS[array.dtype.name] if data_type is None else data_type,
        array.ctypes.data,
        array.shape[::-1],
        array.strides[-2::-1],
        tuple(box),
        tuple(element_strides or [1] * array.ndim),
        0,
        swizzle,
        0,
        fill,
    )
