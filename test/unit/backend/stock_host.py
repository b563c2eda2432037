"""Run host functions as the wheel's own engine executes them, and say what they ask of the CUDA runtime.

python stock_host.py JOBS RESULTS

JOBS is JSON: `[{"module": path, "target": name, "traced": bool, "runs": [{"leaves": […], "statuses": […]}, …]}, …]`. A
module that is not traced is in the form after `core-to-llvm-prepare`. RESULTS gets one line of JSON for each run. The
entry points of the runtime are replaced by recorders, so no GPU is needed; the n-th launch is told the n-th status, or
0. This is a process of its own: machine code that goes wrong takes it down.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cutecc.compilation.planning import uses_lir
from cutecc.ir.bindings import load_submodule
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline

PREPARED = "core-to-llvm-prepare"

# Types in C layout, read off their text: apart from `cutecc.backend.host.layouts`, which this checks.

_FORMATS = {"i1": "?", "i8": "B", "i16": "H", "i32": "I", "i64": "Q", "f16": "e", "f32": "f", "f64": "d"}
_TOKEN = re.compile(r"struct<\(|array<|vector<|\)>|>|\d+ ?x ?|ptr(?:<\d+>)?|[\w!.]+")


@dataclass
class CType:
    size: int
    align: int
    numbers: list[tuple[int, str]]
    """Offset and `struct` format of every number."""


def read_type(text: str) -> CType:
    tokens = iter(_TOKEN.findall(text.replace("!llvm.", "")))
    return _read(next(tokens), tokens)


def _read(token: str, tokens: Iterator[str]) -> CType:
    if token == "struct<(":
        return _in_a_row([_read(member, tokens) for member in iter(lambda: next(tokens), ")>")])
    if token in ("array<", "vector<"):
        count = int(next(tokens).rstrip("x "))
        whole = _in_a_row([_read(next(tokens), tokens)] * count)
        assert next(tokens) == ">"
        return whole if token == "array<" else CType(whole.size, whole.size, whole.numbers)
    if token == "!cuda.tensor_map":
        return CType(128, 64, [(8 * word, "Q") for word in range(16)])
    form = "Q" if token.startswith(("ptr", "!cuda")) else _FORMATS[token]
    return CType(struct.calcsize(form), struct.calcsize(form), [(0, form)])


def _in_a_row(members: list[CType]) -> CType:
    end, align, numbers = 0, 1, list[tuple[int, str]]()
    for member in members:
        end += -end % member.align
        numbers += [(end + offset, form) for offset, form in member.numbers]
        end += member.size
        align = max(align, member.align)
    return CType(end + -end % align, align, numbers)


# Lowering. The kernels' bodies are emptied: no host function looks at them, and they take the time.


@dataclass
class Host:
    name: str
    arguments: list[CType]
    kernels: dict[str, list[CType]]


def lowered(module: Any, target: str, *, traced: bool) -> Host:
    """Lower `module` all the way."""
    pipeline = nvidia_pipeline(target, WheelOptions(), lir=traced and uses_lir(module))
    if traced:
        manager.run(pipeline.until(PREPARED), module)
    host = _described(module)
    manager.run(pipeline.since(PREPARED), module)
    return host


def _described(module: Any) -> Host:
    operations = [view.operation for view in module.body.operations]
    kernels: dict[str, list[CType]] = {}
    for holder in operations:
        for view in holder.regions[0].blocks[0].operations if holder.name == "gpu.module" else ():
            kernel = view.operation
            if kernel.name == "cuda.kernel":
                kernels[kernel.attributes["sym_name"].value] = _parameters(kernel)
                for inner in reversed(list(kernel.regions[0].blocks[0].operations)[:-1]):
                    inner.operation.erase()
    (host,) = [each for each in operations if each.name == "func.func" and "cuda.launch_ex" in str(each)]
    arguments = [read_type(str(type_)) for type_ in host.attributes["function_type"].value.inputs]
    return Host(host.attributes["sym_name"].value, arguments, kernels)


def _parameters(kernel: Any) -> list[CType]:
    types = [str(type_) for type_ in kernel.attributes["function_type"].value.inputs]
    notes = kernel.attributes["arg_attrs"] if "arg_attrs" in kernel.attributes else [{}] * len(types)
    return [
        read_type(str(note["llvm.byval"].value) if "llvm.byval" in note else text)
        for text, note in zip(types, notes, strict=True)
    ]


# The runtime's entry points.


class LaunchConfiguration(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint64),
        ("stream", ctypes.c_uint64),
        ("attributes", ctypes.c_void_p),
        ("attribute_count", ctypes.c_uint32),
    )


_ATTRIBUTE_BYTES = 72
_ATTRIBUTES = {
    2: ("cooperative", "I"),
    4: ("cluster", "III"),
    6: ("programmatic_serialization", "I"),
    7: ("programmatic_event", "QII"),
    11: ("preferred_cluster", "III"),
    12: ("launch_completion_event", "QI"),
}
"""By `cudaLaunchAttributeID`; the fields of the value."""


def descriptor(*fields: object) -> bytes:
    """128 bytes that stand for the descriptor of these fields."""
    return hashlib.sha512(repr(fields).encode()).digest() * 2


@dataclass
class Recorder:
    """Stands in for the CUDA runtime."""

    kernels: dict[str, list[CType]]
    statuses: list[int] = field(default_factory=list[int])
    launches: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    tensor_maps: list[list[Any]] = field(default_factory=list[list[Any]])
    names: list[str] = field(default_factory=list[str])
    """Kernels by their handle, from 1."""

    def entry_points(self) -> dict[str, Any]:
        p, i, q = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
        done: Callable[..., int] = lambda *_: 0  # noqa: E731
        functions: dict[str, tuple[Callable[..., int], Sequence[Any]]] = {
            "_cudaLaunchKernelEx": (self.launch, (ctypes.POINTER(LaunchConfiguration), q, ctypes.POINTER(p))),
            "_cuTensorMapEncodeTiled": (self.encode, (p, i, i, q, p, p, p, p, i, i, i, i)),
            "_cudaLibraryGetKernel": (self.get_kernel, (ctypes.POINTER(q), p, ctypes.c_char_p)),
            "_cudaLibraryLoadData": (done, (p, p, p, p, i, p, p, i)),
            "cuda_dialect_assert_success": (done, (i,)),
            "_cudaGetDevice": (done, (p,)),
            "_cudaDeviceGetAttribute": (done, (p, i, i)),
            "_cudaKernelSetAttributeForDevice": (done, (p, i, i, i)),
            "_cudaFuncSetAttribute": (done, (p, i, i)),
            "_cuKernelGetAttribute": (done, (p, i, p, i)),
        }
        return {name: ctypes.CFUNCTYPE(i, *types)(function) for name, (function, types) in functions.items()}

    def get_kernel(self, handle: Any, library: int, name: bytes) -> int:
        self.names.append(name.decode())
        handle[0] = len(self.names)
        return 0

    def launch(self, configuration: Any, handle: int, parameters: Any) -> int:
        config = configuration[0]
        types = self.kernels[self.names[handle - 1]]
        self.launches.append(
            {
                "kernel": self.names[handle - 1],
                "grid": list(config.grid),
                "block": list(config.block),
                "shared_bytes": config.shared_bytes,
                "stream": config.stream,
                "attributes": dict(_attributes(config.attributes, config.attribute_count)),
                "parameters": [
                    [[offset, _read_bytes(parameters[index] + offset, form)] for offset, form in type_.numbers]
                    for index, type_ in enumerate(types)
                ],
            }
        )
        number = len(self.launches) - 1
        return self.statuses[number] if number < len(self.statuses) else 0

    def encode(self, out: int, data_type: int, rank: int, address: int, *rest: int) -> int:
        arrays = [
            list(struct.unpack(f"<{count}{form}", ctypes.string_at(pointer, count * struct.calcsize(form))))
            for pointer, count, form in zip(rest[:4], (rank, rank - 1, rank, rank), "QQII", strict=True)
        ]
        fields = [data_type, address & 2**64 - 1, *arrays, *rest[4:]]
        self.tensor_maps.append(fields)
        ctypes.memmove(out, descriptor(*fields), 128)
        return 0


def _read_bytes(address: int, form: str) -> str:
    return ctypes.string_at(address, struct.calcsize(form)).hex() if struct.calcsize(form) else ""


def _attributes(address: int, count: int) -> Iterator[tuple[str, list[int]]]:
    for index in range(count):
        start = address + index * _ATTRIBUTE_BYTES
        name, form = _ATTRIBUTES[ctypes.c_uint32.from_address(start).value]
        yield name, list(struct.unpack(form, ctypes.string_at(start + 8, struct.calcsize(form))))


# Running.


def packed(types: list[CType], leaves: Sequence[int | float]) -> list[Any]:
    """The arguments in memory."""
    rest = iter(leaves)
    buffers: list[Any] = []
    for type_ in types:
        buffer = ctypes.create_string_buffer(max(type_.size, 8))
        for offset, form in type_.numbers:
            struct.pack_into(form, buffer, offset, next(rest))
        buffers.append(buffer)
    assert next(rest, None) is None
    return buffers


def addresses(pointers: Sequence[Any]) -> Any:
    return (ctypes.c_void_p * len(pointers))(*(ctypes.addressof(each) for each in pointers))


def results(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    with fresh_context():
        module = parse(Path(job["module"]).read_bytes(), job["module"])
        host = lowered(module, job["target"], traced=job["traced"])
        engine = load_submodule("execution_engine").ExecutionEngine(module, opt_level=0, shared_libs=[])
        recorder = Recorder(host.kernels)
        entry_points = recorder.entry_points()
        for name, function in entry_points.items():
            engine.raw_register_runtime(name, ctypes.cast(function, ctypes.c_void_p))

        def call(name: str, pointers: Sequence[Any]) -> int:
            status = ctypes.c_int32(0)
            function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.raw_lookup(name))
            function(addresses([*pointers, status]))
            return status.value

        library = ctypes.c_void_p()
        for name in ("cuda_init", "cuda_load"):
            pointer = ctypes.pointer(library)
            assert call(name, [ctypes.pointer(pointer) if name == "cuda_init" else pointer]) == 0
        for run in job["runs"]:
            recorder.launches, recorder.tensor_maps, recorder.statuses = [], [], run.get("statuses", [])
            with tempfile.TemporaryFile() as printed:
                status = _with_stdout(
                    printed.fileno(),
                    lambda run=run: call(f"_mlir_ciface_{host.name}", packed(host.arguments, run["leaves"])),
                )
                printed.seek(0)
                text = printed.read().decode()
            yield {
                "status": status,
                "launches": recorder.launches,
                "tensor_maps": recorder.tensor_maps,
                "printed": text,
            }


def _with_stdout(descriptor: int, call: Callable[[], int]) -> int:
    """`call`, with what C prints going to another file."""
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    kept = os.dup(1)
    os.dup2(descriptor, 1)
    try:
        return call()
    finally:
        libc.fflush(None)
        os.dup2(kept, 1)
        os.close(kept)


def main() -> None:
    with open(sys.argv[2], "w", buffering=1) as out:
        for job in json.loads(Path(sys.argv[1]).read_text()):
            for result in results(job):
                out.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
