"""What tests of the runtime run in a Python of its own: calls, and the command line, on a GPU that is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import wheels

import cutecc
from cutecc.record import Parameter, Signature

UNIT = wheels.ROOT / "test" / "unit"

FAKE_DRIVER = f"""
import sys
sys.path[:0] = [{str(UNIT)!r}, {str(UNIT / "runtime")!r}]
from recording import RecordingDriver
driver = RecordingDriver()
import cutecc.runtime.cuda_bindings
cutecc.runtime.cuda_bindings.cuda_driver = lambda: driver
"""
"""What the others begin with: a driver that records and does nothing."""

CALL = """
import cutecc
class Array:
    def __init__(self, address):
        self.__cuda_array_interface__ = {"shape": (8, 4), "typestr": "<f4", "data": (address, False), "version": 3}
add = cutecc.load(sys.argv[1])
arrays = [Array(address) for address in (0x10000, 0x20000, 0x30000)]
for _ in range(3):
    add(*arrays)
add.prepare(*arrays)()
print(len(driver.launches), "launches")
"""
"""Calls of the kernel in a bundle."""

COMMAND = """
from fake_cuda import FakeCuda
from cutecc.cli import bench, device
from cutecc.cli.main import main
from cutecc.runtime.workspace import Workspace
device.open_device = bench.open_device = lambda name: Workspace(driver=FakeCuda())
main()
"""
"""The command line."""


def add_bundle(traced_kernels: dict[str, Any], folder: Path) -> Path:
    """What they launch: an addition of two matrices of named sizes, in a bundle."""
    signature = Signature("add", [Parameter(name, "f32[?M=8,?N{div=4}=4] align=16") for name in "abc"])
    bytecode, path = traced_kernels["elementwise_add"].bytecode, folder / "add.cutecc"
    cutecc.compile_module(bytecode, target="sm_90a", name="elementwise_add", signature=signature).save(path)
    return path
