"""A kernel's call as machine code: arguments checked, host program evaluated, kernels launched, in one C function.

Needs llvmlite, and CPython as released: with its global lock and without `--with-pydebug`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from cutecc.record.host_program import HostProgram, ValueType
from cutecc.runtime.driver import DriverFunctions
from cutecc.runtime.native.arguments import CLEAR, ArgumentCode
from cutecc.runtime.native.code import ESCAPE, Code, pointer
from cutecc.runtime.native.dlpack import Exchange, exchange_of
from cutecc.runtime.native.driver import DriverCalls
from cutecc.runtime.native.errors import Unsupported
from cutecc.runtime.native.numbers import CONVERSIONS, constant
from cutecc.runtime.native.program import ProgramCode
from cutecc.runtime.native.python import (
    FASTCALL_KEYWORDS,
    MethodDefinition,
    address_of,
    make_builtin,
    require_known_layout,
)
from cutecc.runtime.parameters import CallGroup

__all__ = ["DriverFunctions", "Unsupported", "build", "build_prepared"]

_CUDA = 2
"""`kDLCUDA`."""


def build(
    program: HostProgram,
    groups: Sequence[CallGroup],
    sample: Sequence[object],
    *,
    functions: Sequence[int],
    device: int,
    driver: DriverFunctions,
    slow: Callable[..., object],
    report: Callable[[int, int], object],
    keep: object = None,
    device_type: int = _CUDA,
) -> Callable[..., None]:
    """A builtin that does what `slow` does for calls like `slow(*sample)`, and calls `slow` for all others.

    `program` is verified and `groups` are all of its function's parameters. `sample` are the arguments of such a call,
    either all runtime parameters or all that may not be left out: the types of its arrays are the ones that the builtin
    takes. `functions[k]` is the `CUkernel` of `program.kernels[k]`, loaded and with its attributes set for `device`, an
    ordinal; arrays have to live there. `device_type` is that of DLPack.

    The builtin also takes `stream=` as an integer or as torch's. Whatever is not as expected (a type, a failed check,
    another current device, an error of the driver before the first launch) makes it call `slow` with the same
    arguments and return what that returns. After a launch it must not: it calls `report(status, kernel)` then, which
    raises; a status of -1 stands for a program that failed by itself.

    The builtin keeps `slow`, `report`, `keep` (what owns `functions`) and its machine code alive, and frees them when
    it is collected. Raises `Unsupported` with the reason when there is no such builtin.
    """
    require_known_layout()
    code = Code()
    present, absent = _split(groups, len(sample))
    arguments = ArgumentCode(code, device_type, device)
    code.require(code.value(f"icmp eq i64 %nargs, {len(sample)}"))
    _require_device(code, driver, device)
    for index, (group, value) in enumerate(zip(present, sample, strict=True)):
        arguments.read(group, code.load("ptr", "%args", 8 * index, align=8), value)
    stream, named = _streams(code, arguments)
    for group in absent:
        arguments.leaves.update(dict.fromkeys(_leaves(group), named))
    leaves = [arguments.leaves[number] for number in range(len(program.leaves))]
    calls = DriverCalls(code, program, functions, driver, stream)
    for each in [stream, *arguments.streams[1:]]:
        calls.require_no_capture(code, each)
    ProgramCode(code, program, leaves, calls).write()
    return _callable(code, calls, slow, report, (arguments.kept, keep))


def build_prepared(
    program: HostProgram,
    leaves: Sequence[int | float],
    *,
    functions: Sequence[int],
    device: int,
    driver: DriverFunctions,
    slow: Callable[..., object],
    report: Callable[[int, int], object],
    stream: int | None = None,
    stream_of: type[Any] | None = None,
    keep: object = None,
    device_type: int = _CUDA,
) -> Callable[[], None]:
    """A builtin without arguments that evaluates the program for fixed `leaves` each time it is called.

    Launches whose stream value is 0 go to `stream`; where that is `None`, to the current stream of the library that has
    the array type `stream_of`, asked at each call, or to the legacy default stream. `keep` (the arrays, and what owns
    `functions`) lives as long as the builtin. The rest is as in `build`.
    """
    require_known_layout()
    code = Code()
    code.require(code.value("icmp eq i64 %nargs, 0"))
    code.require(code.value("icmp eq ptr %names, null"))
    _require_device(code, driver, device)
    exchange: Exchange | None = None
    if stream_of is not None and stream is None:
        exchange = exchange_of(stream_of)
        if exchange is None:
            raise Unsupported(f"{stream_of.__qualname__} has no DLPack C exchange API to ask for the current stream")
    current = ArgumentCode(code, device_type, device).current_stream(exchange) if stream is None else str(stream)
    calls = DriverCalls(code, program, functions, driver, current)
    fixed = [_fixed(leaf.type, value) for leaf, value in zip(program.leaves, leaves, strict=True)]
    named = [value for leaf, value in zip(program.leaves, fixed, strict=True) if leaf.kind == "stream" and value != "0"]
    for each in dict.fromkeys([current, *named]):
        calls.require_no_capture(code, each)
    ProgramCode(code, program, fixed, calls).write()
    return _callable(code, calls, slow, report, (stream_of, keep))


def _split(groups: Sequence[CallGroup], count: int) -> tuple[list[CallGroup], list[CallGroup]]:
    """The parameters that a call of `count` arguments gives, in order, and those that it leaves out."""
    runtime = [group for group in groups if not group.is_constant]
    needed = [group for group in runtime if not group.is_optional]
    if count == len(runtime):
        return runtime, []
    if count == len(needed):
        return needed, [group for group in runtime if group.is_optional]
    raise Unsupported("some of the arguments that may be left out are given, and some are not")


def _leaves(group: CallGroup) -> list[int]:
    """The leaves of a parameter that may be left out: a stream has one, `none` has none."""
    items = [item for item in group.items if not isinstance(item, CallGroup)]
    return [item.first_leaf + index for item in items for index in range(len(item.leaves))]


def _require_device(code: Code, driver: DriverFunctions, device: int) -> None:
    """Go on only where a context of the device is current."""
    place = code.stack(4)
    status = code.call("i32", driver.device, f"ptr {place}")
    code.require(code.value(f"icmp eq i32 {status}, 0"))
    code.require(code.value(f"icmp eq i32 {code.load('i32', place, align=4)}, {device}"))


def _streams(code: Code, arguments: ArgumentCode) -> tuple[str, str]:
    """Where launches go whose stream value is 0: to the stream that the call names, or else the current one. And the
    one that it names, 0 without."""
    if arguments.streams:
        # A second name for it, by keyword, is for the slow way to judge; so are several with a 0 among them.
        code.require(code.value("icmp eq ptr %names, null"))
        first, *others = arguments.streams
        code.require_all([code.value(f"icmp ne i64 {other}, 0") for other in others])
        return first, first
    named, unnamed, end = code.new_block(), code.new_block(), code.new_block()
    code.do(f"br i1 {code.value('icmp eq ptr %names, null')}, label %{unnamed}, label %{named}")
    code.begin(named)
    code.require(arguments.is_named("%names", "stream"))
    given = arguments.stream(code.load("ptr", code.value("getelementptr ptr, ptr %args, i64 %nargs"), align=8))
    from_name = code.block
    code.do(f"br label %{end}")
    code.begin(unnamed)
    current = arguments.current_stream(arguments.exchange)
    from_library = code.block
    code.do(f"br label %{end}")
    code.begin(end)
    stream = code.value(f"phi i64 [ {given}, %{from_name} ], [ {current}, %{from_library} ]")
    return stream, code.value(f"phi i64 [ {given}, %{from_name} ], [ 0, %{from_library} ]")


def _fixed(kind: ValueType, value: int | float) -> str:
    """A leaf's value as a constant operand; the receiver rounds."""
    from cutecc.runtime.program.number_expressions import NAMESPACE, function

    if kind.startswith("i"):
        return constant(kind, int(value))
    rounding = cast("Callable[[float], float] | None", NAMESPACE.get(f"round_{kind}"))
    number = float(value) if rounding is None else rounding(float(value))
    carrier: dict[ValueType, ValueType] = {"f64": "i64", "f32": "i32", "f16": "i16", "bf16": "i16"}
    return constant(kind, int(function("bitcast", (kind,), carrier[kind])(number)))


class _Owner:
    """`self` of the builtin: what its machine code refers to, and the machine code itself."""

    def __init__(self, engine: object, definition: MethodDefinition, kept: object) -> None:
        self.engine = engine
        self.definition = definition
        self.kept = kept


def _callable(
    code: Code, calls: DriverCalls, slow: Callable[..., object], report: Callable[[int, int], object], kept: object
) -> Callable[..., None]:
    """The function that `code` is the body of, as a builtin."""
    from cutecc.runtime.native.compiler import compile_function

    text = _function(code, calls, slow, report)
    engine, address = compile_function(text)
    definition = MethodDefinition(b"launch", address, FASTCALL_KEYWORDS, None)
    owner = _Owner(engine, definition, (slow, report, kept))
    return cast("Callable[..., None]", make_builtin(definition, owner))


def _function(code: Code, calls: DriverCalls, slow: Callable[..., object], report: Callable[[int, int], object]) -> str:
    """The whole module: `code`, returning None, with its ways out."""
    none = pointer(id(None))
    number = pointer(address_of("PyLong_FromLong"))
    call = pointer(address_of("PyObject_Vectorcall"))
    release = pointer(address_of("Py_DecRef"))
    return f"""
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{CONVERSIONS}
define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {{
{code.text()}
  call void {pointer(address_of("Py_IncRef"))}(ptr {none})
  ret ptr {none}
{CLEAR}:
  call void {pointer(address_of("PyErr_Clear"))}()
  br label %{ESCAPE}
{ESCAPE}:
  %launched = load i64, ptr {calls.launched}
  %untouched = icmp eq i64 %launched, 0
  br i1 %untouched, label %slow, label %failed
slow:
  %answer = call ptr {call}(ptr {pointer(id(slow))}, ptr %args, i64 %nargs, ptr %names)
  ret ptr %answer
failed:
  %status = load i32, ptr {calls.status}
  %status.long = sext i32 %status to i64
  %status.object = call ptr {number}(i64 %status.long)
  %status.missing = icmp eq ptr %status.object, null
  br i1 %status.missing, label %nothing, label %with.status
with.status:
  %kernel = load i64, ptr {calls.kernel}
  %kernel.object = call ptr {number}(i64 %kernel)
  %kernel.missing = icmp eq ptr %kernel.object, null
  br i1 %kernel.missing, label %without.kernel, label %with.kernel
with.kernel:
  %pair = alloca [2 x ptr]
  store ptr %status.object, ptr %pair
  %second = getelementptr ptr, ptr %pair, i64 1
  store ptr %kernel.object, ptr %second
  %report = call ptr {call}(ptr {pointer(id(report))}, ptr %pair, i64 2, ptr null)
  call void {release}(ptr %status.object)
  call void {release}(ptr %kernel.object)
  ret ptr %report
without.kernel:
  call void {release}(ptr %status.object)
  ret ptr null
nothing:
  ret ptr null
}}
!0 = !{{!"branch_weights", i32 1000, i32 1}}
"""
