"""Calls of the CUDA driver as LLVM IR: launches and TMA descriptors, in the C layouts of CUDA 12 and 13."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cutecc.record.host_program import AttributeName, HostProgram, LaunchAttribute, LaunchSite, TensorMapSite
from cutecc.runtime.driver import ATTRIBUTE_IDS, DriverFunctions
from cutecc.runtime.launch import TENSOR_MAP_BYTES
from cutecc.runtime.native.code import Code, pointer
from cutecc.runtime.native.errors import Unsupported
from cutecc.runtime.native.numbers import LLVM_TYPES, store_value
from cutecc.runtime.native.python import address_of
from cutecc.runtime.program.number_expressions import BITS

_CONFIG_BYTES = 56
"""`CUlaunchConfig`: grid and block as six 32-bit numbers, then these."""
_SHARED_OFFSET, _STREAM_OFFSET, _ATTRIBUTES_OFFSET, _COUNT_OFFSET = 24, 32, 40, 48
_ATTRIBUTE_BYTES = 72
"""`CUlaunchAttribute`: its number, then 64 bytes of value."""
_VALUE_OFFSET = 8
_ATTRIBUTE_PLACES: dict[AttributeName, tuple[tuple[int, str], ...]] = {
    "cluster": ((0, "i32"), (4, "i32"), (8, "i32")),
    "preferred_cluster": ((0, "i32"), (4, "i32"), (8, "i32")),
    "cooperative": ((0, "i32"),),
    "programmatic_serialization": ((0, "i32"),),
    "programmatic_event": ((0, "i64"), (8, "i32"), (12, "i32")),
    "launch_completion_event": ((0, "i64"), (8, "i32")),
}
"""Where the operands lie in the value."""
_TENSOR_MAP_ALIGNMENT = 64


class DriverCalls:
    """Writes a program's calls of the driver, and remembers how far it came, for the way out."""

    def __init__(
        self, code: Code, program: HostProgram, functions: Sequence[int], driver: DriverFunctions, stream: str
    ) -> None:
        """`stream` is the operand that takes the place of a stream that is 0."""
        self._program = program
        self._functions = functions
        self._driver = driver
        self._stream = stream
        self.launched = code.counter()
        """How many launches have taken place."""
        self.status = code.counter(-1 & 0xFFFFFFFF)
        """What to report: a `CUresult`, or -1 when the program failed by itself."""
        self.kernel = code.counter()
        """The kernel launched last, or tried to."""

    def note_status(self, code: Code, status: str) -> None:
        """Remember what to report if the next requirement does not hold."""
        code.store("i32", status, self.status, align=8)

    def launch(self, code: Code, site: LaunchSite, values: Mapping[int, str]) -> str:
        """Launch; gives the status."""
        kernel = self._program.kernels[site.kernel]
        block = code.stack(kernel.parameter_bytes, 128)
        code.zero(block, kernel.parameter_bytes)
        for write in site.parameters:
            kind = LLVM_TYPES[self._program.types[write.value]]
            store_value(code, kind, values[write.value], block, write.offset)
        places = code.stack(8 * len(kernel.parameters))
        for index, parameter in enumerate(kernel.parameters):
            code.store("ptr", code.at(block, parameter.offset), places, 8 * index, align=8)
        config = code.stack(_CONFIG_BYTES)
        for index, value in enumerate((*site.grid, *site.block)):
            code.store("i32", values[value], config, 4 * index, align=4)
        code.store("i32", self._resized(code, site.shared_bytes, values, 32), config, _SHARED_OFFSET, align=4)
        code.store("i32", 0, config, _SHARED_OFFSET + 4, align=4)
        current = code.value(f"icmp eq i64 {values[site.stream]}, 0")
        stream = code.value(f"select i1 {current}, i64 {self._stream}, i64 {values[site.stream]}")
        code.store("i64", stream, config, _STREAM_OFFSET, align=8)
        code.store("ptr", self._attributes(code, site.attributes, values), config, _ATTRIBUTES_OFFSET, align=8)
        code.store("i64", len(site.attributes), config, _COUNT_OFFSET, align=8)
        code.store("i64", site.kernel, self.kernel, align=8)
        function = pointer(self._functions[site.kernel])
        arguments = f"ptr {config}, ptr {function}, ptr {places}, ptr null"
        status = self._without_lock(code, self._driver.launch, arguments)
        succeeded = code.value(f"icmp eq i32 {status}, 0")
        more = code.value(f"zext i1 {succeeded} to i64")
        count = code.value(f"add i64 {code.load('i64', self.launched, align=8)}, {more}")
        code.store("i64", count, self.launched, align=8)
        return status

    def encode(self, code: Code, site: TensorMapSite, memory: str, values: Mapping[int, str]) -> str:
        """Write a TMA descriptor to `memory`; gives the status. After a failure these are zeros."""
        encoded = code.stack(TENSOR_MAP_BYTES, _TENSOR_MAP_ALIGNMENT)
        code.zero(encoded, TENSOR_MAP_BYTES)
        lists = [
            (site.sizes, 64),
            (site.strides, 64),
            (site.box, 32),
            (site.element_strides, 32),
        ]
        arrays: list[str] = []
        for numbers, bits in lists:
            array = code.stack(len(numbers) * bits // 8)
            for index, value in enumerate(numbers):
                number = self._resized(code, value, values, bits)
                code.store(f"i{bits}", number, array, index * bits // 8, align=bits // 8)
            arrays.append(f"ptr {array}")
        tensor = code.value(f"inttoptr i64 {values[site.address]} to ptr")
        kinds = [site.interleave, site.swizzle, site.l2_promotion, site.fill]
        arguments = [f"ptr {encoded}", f"i32 {site.data_type}", f"i32 {len(site.sizes)}", f"ptr {tensor}", *arrays]
        arguments += [f"i32 {kind}" for kind in kinds]
        status = code.call("i32", self._driver.encode_tensor_map, ", ".join(arguments))
        failed = code.value(f"icmp ne i32 {status}, 0")
        clear, end = code.new_block(), code.new_block()
        code.do(f"br i1 {failed}, label %{clear}, label %{end}")
        code.begin(clear)
        code.zero(encoded, TENSOR_MAP_BYTES)
        code.do(f"br label %{end}")
        code.begin(end)
        code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {memory}, ptr {encoded}, i64 {TENSOR_MAP_BYTES}, i1 false)")
        return status

    def require_no_capture(self, code: Code, stream: str) -> None:
        """Go on only where launches on `stream` do not become part of a CUDA graph, for which the slow way keeps the
        code loaded."""
        place = code.stack(4)
        handle = code.value(f"inttoptr i64 {stream} to ptr")
        status = code.call("i32", self._driver.is_capturing, f"ptr {handle}, ptr {place}")
        succeeded = code.value(f"icmp eq i32 {status}, 0")
        capturing = code.load("i32", place, align=4)
        code.require_all([succeeded, code.value(f"icmp eq i32 {capturing}, 0")])

    def _without_lock(self, code: Code, function: int, arguments: str) -> str:
        """Call while other threads may run Python: a launch waits when the stream's queue is full."""
        thread = code.call("ptr", address_of("PyEval_SaveThread"))
        status = code.call("i32", function, arguments)
        code.do(f"call void {pointer(address_of('PyEval_RestoreThread'))}(ptr {thread})")
        return status

    def _attributes(self, code: Code, attributes: Sequence[LaunchAttribute], values: Mapping[int, str]) -> str:
        if not attributes:
            return "null"
        array = code.stack(_ATTRIBUTE_BYTES * len(attributes))
        code.zero(array, _ATTRIBUTE_BYTES * len(attributes))
        for index, attribute in enumerate(attributes):
            start = index * _ATTRIBUTE_BYTES
            places = _ATTRIBUTE_PLACES[attribute.name]
            code.store("i32", ATTRIBUTE_IDS[attribute.name], array, start, align=8)
            for (offset, kind), value in zip(places, attribute.operands, strict=True):
                operand = self._resized(code, value, values, int(kind[1:]))
                code.store(kind, operand, array, start + _VALUE_OFFSET + offset, align=4)
        return array

    def _resized(self, code: Code, value: int, values: Mapping[int, str], bits: int) -> str:
        """An integer of the program as one of `bits` bits; one that does not fit escapes."""
        kind = self._program.types[value]
        if not kind.startswith("i"):
            raise Unsupported("the host program launches with a number that is no integer")
        if BITS[kind] == bits:
            return values[value]
        if BITS[kind] < bits:
            return code.value(f"zext {kind} {values[value]} to i{bits}")
        code.require(code.value(f"icmp ult {kind} {values[value]}, {1 << bits}"))
        return code.value(f"trunc {kind} {values[value]} to i{bits}")
