"""Reading and checking a call's arguments as LLVM IR.

What passes here, `cutecc.runtime.binding` accepts, with the same numbers. The reverse need not be: sizes of 0, strides
of modes with one element that do not match, subclasses of `int` and the like go the slow way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from cutecc.arguments.arrays import may_be_negated
from cutecc.arguments.specs import Dynamic, NoneSpec, PointerSpec, ScalarSpec, StreamSpec, TensorSpec
from cutecc.record.host_program import ValueType
from cutecc.runtime.native.code import Code, pointer
from cutecc.runtime.native.dlpack import (
    BYTE_OFFSET_OFFSET,
    DATA_OFFSET,
    DEVICE_OFFSET,
    RANK_OFFSET,
    SHAPE_OFFSET,
    STRIDES_OFFSET,
    TENSOR_BYTES,
    Exchange,
    exchange_of,
    rank_and_type,
)
from cutecc.runtime.native.errors import Unsupported
from cutecc.runtime.native.numbers import LLVM_TYPES, round_float
from cutecc.runtime.native.python import TYPE_OFFSET, address_of
from cutecc.runtime.parameters import CallGroup, CallParameter

CLEAR = "clear"
"""The block that forgets a Python exception on the way out."""


class ArgumentCode:
    """Writes the reading of one call's arguments."""

    def __init__(self, code: Code, device_type: int, device: int) -> None:
        self._code = code
        self._device_type = device_type
        self._device = device
        self._named: dict[str, str] = {}
        self.leaves: dict[int, str] = {}
        """The operands of the program's leaves, by number."""
        self.streams: list[str] = []
        """The streams that arguments name, in order."""
        self.exchange: Exchange | None = None
        """Of the library that the arrays are of."""
        self.kept: list[object] = []
        """Objects whose addresses are in the code."""

    def read(self, item: CallGroup | CallParameter, value: str, sample: object) -> None:
        """Read and check the object at `value`, which is to be like `sample`."""
        if isinstance(item, CallGroup):
            if len(item.items) == 1 and isinstance(item.items[0], CallParameter) and item.items[0].spec is item.spec:
                self.read(item.items[0], value, sample)
            else:
                self._tuple(item, value, sample)
            return
        match item.spec:
            case TensorSpec():
                self._tensor(item, item.spec, value, sample)
            case ScalarSpec():
                self.leaves[item.first_leaf] = self._scalar(item.name, item.spec, value, sample)
            case PointerSpec():
                self.leaves[item.first_leaf] = self._pointer(item.name, item.spec, value, sample)
            case StreamSpec():
                stream = self.stream(value)
                self.leaves[item.first_leaf] = stream
                self.streams.append(stream)
            case NoneSpec():
                self._code.require(self._code.value(f"icmp eq ptr {value}, {self._object(None)}"))
            case _:
                pass

    def stream(self, value: str) -> str:
        """The stream that an integer is, or an object with `cuda_stream` and `device_index`, as torch's have."""
        code = self._code
        is_integer = self._has_type(value, int)
        plain, attribute, end = code.new_block(), code.new_block(), code.new_block()
        code.do(f"br i1 {is_integer}, label %{plain}, label %{attribute}")
        code.begin(plain)
        given = self._integer(value)
        from_integer = code.block
        code.do(f"br label %{end}")
        code.begin(attribute)
        index = self._integer_attribute(value, "device_index")
        code.require(code.value(f"icmp eq i64 {index}, {self._device}"))
        named = self._integer_attribute(value, "cuda_stream")
        from_attribute = code.block
        code.do(f"br label %{end}")
        code.begin(end)
        stream = code.value(f"phi i64 [ {given}, %{from_integer} ], [ {named}, %{from_attribute} ]")
        code.require(code.value(f"icmp sge i64 {stream}, 0"))
        return stream

    def current_stream(self, exchange: Exchange | None) -> str:
        """The current stream of a library; the legacy default stream without one."""
        if exchange is None:
            return "0"
        code = self._code
        place = code.stack(8)
        arguments = f"i32 {self._device_type}, i32 {self._device}, ptr {place}"
        status = code.call("i32", exchange.current_stream, arguments)
        code.require(code.value(f"icmp eq i32 {status}, 0"), CLEAR)
        return code.load("i64", place, align=8)

    def is_named(self, names: str, name: str) -> str:
        """Go on only for keyword names that are just `name`."""
        code = self._code
        self._require_size(names, 1)
        first = self._item(names, 0)
        return code.value(f"icmp eq ptr {first}, {self._object(name)}")

    def _object(self, value: object) -> str:
        """The constant pointer to an object, which is kept."""
        self.kept.append(value)
        return pointer(id(value))

    def _has_type(self, value: str, kind: type[Any]) -> str:
        found = self._code.load("ptr", value, TYPE_OFFSET, align=8)
        return self._code.value(f"icmp eq ptr {found}, {self._object(kind)}")

    def _tuple(self, group: CallGroup, value: str, sample: object) -> None:
        code = self._code
        if type(sample) is not tuple:
            raise Unsupported(f"argument '{group.name}' is a {type(sample).__qualname__}, no tuple")
        items = cast("tuple[object, ...]", sample)
        if len(items) != len(group.items):
            raise Unsupported(f"argument '{group.name}' has {len(items)} items, not {len(group.items)}")
        code.require(self._has_type(value, tuple))
        self._require_size(value, len(items))
        for index, (item, inner) in enumerate(zip(group.items, items, strict=True)):
            self.read(item, self._item(value, index), inner)

    def _require_size(self, value: str, size: int) -> None:
        """Go on only for tuples of this size."""
        found = self._code.call("i64", address_of("PyTuple_Size"), f"ptr {value}")
        self._code.require(self._code.value(f"icmp eq i64 {found}, {size}"))

    def _item(self, value: str, index: int) -> str:
        """An item of a tuple, borrowed."""
        return self._code.call("ptr", address_of("PyTuple_GetItem"), f"ptr {value}, i64 {index}")

    # Numbers.

    def _integer(self, value: str) -> str:
        """An exact `int` within 64 bits, signed."""
        code = self._code
        overflow = code.stack(8)
        number = code.call("i64", address_of("PyLong_AsLongLongAndOverflow"), f"ptr {value}, ptr {overflow}")
        code.require(code.value(f"icmp eq i32 {code.load('i32', overflow, align=4)}, 0"))
        return number

    def _integer_attribute(self, value: str, name: str) -> str:
        code = self._code
        found = code.call("ptr", address_of("PyObject_GetAttr"), f"ptr {value}, ptr {self._object(name)}")
        code.require(code.value(f"icmp ne ptr {found}, null"), CLEAR)
        number = code.call("i64", address_of("PyLong_AsLongLong"), f"ptr {found}")
        code.do(f"call void {pointer(address_of('Py_DecRef'))}(ptr {found})")
        # -1 is no stream and no device; it may also stand for an exception.
        code.require(code.value(f"icmp ne i64 {number}, -1"), CLEAR)
        return number

    def _scalar(self, name: str, spec: ScalarSpec, value: str, sample: object) -> str:
        code = self._code
        kind = spec.dtype.kind
        if kind == "bool":
            self._expect(name, sample, bool)
            is_true = code.value(f"icmp eq ptr {value}, {self._object(True)}")
            is_false = code.value(f"icmp eq ptr {value}, {self._object(False)}")
            code.require(code.value(f"or i1 {is_true}, {is_false}"))
            return is_true
        if kind == "float":
            return self._float(name, spec, value, sample)
        self._expect(name, sample, int)
        code.require(self._has_type(value, int))
        number = self._integer(value)
        width = spec.dtype.width
        low, high = (0, (1 << width) - 1) if kind == "unsigned" else (-(1 << width - 1), (1 << width - 1) - 1)
        self._require_between(number, low, high)
        return number if width == 64 else code.value(f"trunc i64 {number} to i{width}")

    def _float(self, name: str, spec: ScalarSpec, value: str, sample: object) -> str:
        code = self._code
        if type(sample) not in (int, float):
            raise Unsupported(f"argument '{name}' is a {type(sample).__qualname__}, no float")
        is_float = self._has_type(value, float)
        code.require(code.value(f"or i1 {is_float}, {self._has_type(value, int)}"))
        number = code.call("double", address_of("PyFloat_AsDouble"), f"ptr {value}")
        # An integer too large for a double raises, and is given as -1.
        raised = code.call("ptr", address_of("PyErr_Occurred"))
        code.require(code.value(f"icmp eq ptr {raised}, null"), CLEAR)
        target = "f32" if spec.dtype.name == "tf32" else spec.dtype.name
        rounded, within = round_float(code, number, cast(ValueType, target))
        code.require(within)
        return rounded

    def _pointer(self, name: str, spec: PointerSpec, value: str, sample: object) -> str:
        self._expect(name, sample, int)
        self._code.require(self._has_type(value, int))
        address = self._integer(value)
        self._code.require(self._code.value(f"icmp sge i64 {address}, 0"))
        self._require_multiple(address, spec.alignment)
        return address

    def _expect(self, name: str, sample: object, kind: type[Any]) -> None:
        if type(sample) is not kind:
            raise Unsupported(f"argument '{name}' is a {type(sample).__qualname__}, no {kind.__name__}")

    # Arrays.

    def _tensor(self, parameter: CallParameter, spec: TensorSpec, value: str, sample: object) -> None:
        code = self._code
        exchange = exchange_of(type(sample))
        if exchange is None:
            kind = f"{type(sample).__module__}.{type(sample).__qualname__}"
            raise Unsupported(f"argument '{parameter.name}' is a {kind}, which has no DLPack C exchange API")
        if self.exchange not in (None, exchange):
            raise Unsupported("the arrays are of several libraries")
        self.exchange = exchange
        rank = len(parameter.sizes)
        expected = rank_and_type(rank, spec.dtype)
        code.require(self._has_type(value, type(sample)))
        view = code.stack(TENSOR_BYTES)
        status = code.call("i32", exchange.view, f"ptr {value}, ptr {view}")
        code.require(code.value(f"icmp eq i32 {status}, 0"), CLEAR)
        device = code.load("i64", view, DEVICE_OFFSET, align=8)
        shape = code.load("i64", view, RANK_OFFSET, align=8)
        strides = code.load("ptr", view, STRIDES_OFFSET, align=8)
        conditions = [
            code.value(f"icmp eq i64 {device}, {self._device_type | self._device << 32}"),
            code.value(f"icmp eq i64 {shape}, {expected}"),
        ]
        if rank:
            # Some producers have no strides where they follow from the shape.
            conditions.append(code.value(f"icmp ne ptr {strides}, null"))
        code.require_all(conditions)
        data = code.load("i64", view, DATA_OFFSET, align=8)
        address = code.value(f"add i64 {data}, {code.load('i64', view, BYTE_OFFSET_OFFSET, align=8)}")
        # Its sizes are at least 1: something is to be behind it.
        code.require(code.value(f"icmp ne i64 {address}, 0"))
        self._require_multiple(address, spec.alignment)
        sizes = code.load("ptr", view, SHAPE_OFFSET, align=8)
        if may_be_negated(spec.dtype):
            self._require_not_negated(parameter, value, type(sample), sizes)
        numbers = [address, *self._modes(sizes, parameter.sizes, 1), *self._modes(strides, parameter.strides, 0)]
        if parameter.compact is not None:
            self._require_compact(sizes, strides, parameter.compact)
        for index, (leaf, number) in enumerate(zip(parameter.leaves, numbers, strict=True)):
            kind = LLVM_TYPES[leaf.type]
            operand = number if kind == "i64" else code.value(f"trunc i64 {number} to {kind}")
            self.leaves[parameter.first_leaf + index] = operand

    def _require_not_negated(self, parameter: CallParameter, value: str, kind: type[Any], sizes: str) -> None:
        """Go on only where torch has not left a negation for later, which DLPack's tables do not say.

        It does so for imaginary parts, which are views of pairs of numbers: all strides are even where they mean
        anything. Asking takes as long as all the rest.
        """
        code = self._code
        is_negated = getattr(kind, "is_neg", None)
        if is_negated is None:
            return
        ask, end = code.new_block(), code.new_block()
        odd = next(
            (mode for mode, stride in enumerate(parameter.strides) if isinstance(stride, int) and stride % 2), None
        )
        several = "false"
        if odd is not None:
            several = code.value(f"icmp sgt i64 {code.load('i64', sizes, 8 * odd, align=8)}, 1")
        code.do(f"br i1 {several}, label %{end}, label %{ask}")
        code.begin(ask)
        place = code.stack(8)
        code.store("ptr", value, place, align=8)
        arguments = f"ptr {self._object(is_negated)}, ptr {place}, i64 1, ptr null"
        answer = code.call("ptr", address_of("PyObject_Vectorcall"), arguments)
        code.require(code.value(f"icmp ne ptr {answer}, null"), CLEAR)
        code.do(f"call void {pointer(address_of('Py_DecRef'))}(ptr {answer})")
        code.require(code.value(f"icmp eq ptr {answer}, {self._object(False)}"))
        code.do(f"br label %{end}")
        code.begin(end)

    def _modes(self, array: str, modes: Sequence[int | Dynamic], least: int) -> list[str]:
        """Check sizes or strides; gives the dynamic ones."""
        code = self._code
        dynamic: list[str] = []
        for index, mode in enumerate(modes):
            number = code.load("i64", array, 8 * index, align=8)
            if isinstance(mode, int):
                code.require(code.value(f"icmp eq i64 {number}, {mode}"))
                continue
            self._require_between(number, least, (1 << mode.bits - 1) - 1)
            self._require_multiple(number, mode.divisibility)
            if mode.name is not None:
                first = self._named.setdefault(mode.name, number)
                if first != number:
                    code.require(code.value(f"icmp eq i64 {number}, {first}"))
            dynamic.append(number)
        return dynamic

    def _require_compact(self, sizes: str, strides: str, fastest_first: Sequence[int]) -> None:
        code = self._code
        product = "1"
        for mode in fastest_first:
            stride = code.load("i64", strides, 8 * mode, align=8)
            code.require(code.value(f"icmp eq i64 {stride}, {product}"))
            product = code.value(f"mul i64 {product}, {code.load('i64', sizes, 8 * mode, align=8)}")

    def _require_between(self, number: str, low: int, high: int) -> None:
        code = self._code
        conditions: list[str] = []
        if low > -(1 << 63):
            conditions.append(code.value(f"icmp sge i64 {number}, {low}"))
        if high < (1 << 63) - 1:
            conditions.append(code.value(f"icmp sle i64 {number}, {high}"))
        code.require_all(conditions)

    def _require_multiple(self, number: str, divisor: int) -> None:
        """Of a number that is not negative, or an address."""
        if divisor > 1:
            rest = self._code.value(f"urem i64 {number}, {divisor}")
            self._code.require(self._code.value(f"icmp eq i64 {rest}, 0"))
