"""Calls as machine code: what is taken is what the binder takes, with the same numbers; all else goes the slow way."""

from __future__ import annotations

import ctypes
import dataclasses
import gc
import random
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from native_driver_double import NativeDriver

from cutecc.errors import ArgumentError, LaunchError
from cutecc.record.compilation import Parameter, Signature
from cutecc.record.host_program import (
    Block,
    HostArgument,
    HostProgram,
    Instruction,
    KernelEntry,
    KernelParameter,
    LaunchAttribute,
    LaunchSite,
    ParameterWrite,
    ValueType,
)
from cutecc.runtime.binding import Binder
from cutecc.runtime.driver import DriverFunctions
from cutecc.runtime.native import builtin
from cutecc.runtime.native.compiler import compile_function
from cutecc.runtime.parameters import CallGroup, call_parameters, flat_parameters
from cutecc.runtime.program.number_expressions import BITS, NAMESPACE, SIZES, function
from cutecc.runtime.program.verification import verify

pytestmark = pytest.mark.torch
pytest.importorskip("llvmlite")
torch = pytest.importorskip("torch")
if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    pytest.skip("this torch has no DLPack C exchange API", allow_module_level=True)

CPU = 1
"""`kDLCPU`: the double's device 0."""


def leaves_program(groups: tuple[CallGroup, ...], launches: int = 1) -> HostProgram:
    """Launches a kernel, whose parameters are all leaves, on the first stream among them, or else on stream 0."""
    flat = [parameter for parameter in flat_parameters(groups) if parameter.leaves]
    leaves = [leaf for parameter in flat for leaf in parameter.leaves]
    types = [leaf.type for leaf in leaves]
    count = len(types)
    one, zero, shared = count, count + 1, count + 2
    types += ["i32", "i64", "i32", *["i32"] * launches]
    parameters = [KernelParameter(8 * index, 8, 8) for index in range(count)]
    streams = [index for index, leaf in enumerate(leaves) if leaf.kind == "stream"]
    site = LaunchSite(
        0,
        (one, one, one),
        (one, one, one),
        shared,
        streams[0] if streams else zero,
        [LaunchAttribute("cooperative", [one])],
        [ParameterWrite(8 * index, index) for index in range(count)],
    )
    instructions = [
        Instruction("constant", [], [one], 1),
        Instruction("constant", [], [zero], 0),
        Instruction("constant", [], [shared], 0),
    ]
    for index in range(launches):
        status = count + 3 + index
        instructions.append(Instruction("launch", [], [status], launch=site))
        instructions.append(Instruction("return_if_error", [status]))
    body = Block(instructions, yields=[shared])
    kernel = KernelEntry("kernel", parameters, 8 * count)
    program = HostProgram("host", [HostArgument(list(p.leaves)) for p in flat], types, [kernel], body)
    verify(program)
    return program


def bits_of(value: float, kind: ValueType) -> int:
    """A leaf as its type holds it."""
    if kind.startswith("i"):
        return int(value)
    rounded = NAMESPACE[f"round_{kind}"](value) if kind != "f64" else value  # type: ignore[operator]
    return function("bitcast", (kind,), CARRIERS[BITS[kind]])(rounded)


CARRIERS: dict[int, ValueType] = {16: "i16", 32: "i32", 64: "i64"}


class Native:
    """A builtin for calls of a function with these specs, and what happened in them."""

    def __init__(self, specs: list[str], sample: list[Any], launches: int = 1, **options: Any) -> None:
        parameters = [Parameter(f"p{index}", spec) for index, spec in enumerate(specs)]
        self.signature = Signature("host", parameters)
        self.groups = call_parameters(self.signature)
        self.program = leaves_program(self.groups, launches)
        self.binder = Binder(self.signature, self.program)
        self.driver = NativeDriver(self.program, **options)
        self.slow_calls: list[tuple[tuple, dict]] = []
        self.reports: list[tuple[int, int]] = []
        self.call = self.build(sample)

    def build(self, sample: list[Any], functions: DriverFunctions | None = None) -> Callable[..., Any]:
        return builtin.build(
            self.program,
            self.groups,
            sample,
            functions=self.driver.handles,
            device=0,
            driver=functions or self.driver.functions,
            slow=self.slow,
            report=self.report,
            device_type=CPU,
        )

    def slow(self, *args: Any, **kwargs: Any) -> str:
        self.slow_calls.append((args, kwargs))
        return "slow"

    def report(self, status: int, kernel: int) -> None:
        self.reports.append((status, kernel))
        raise LaunchError(f"status {status}")

    def leaves(self) -> list[int]:
        """The bits of the leaves, out of the only launch's parameters."""
        (event,) = self.driver.events
        sizes = [SIZES[self.program.types[number]] for number in range(len(self.program.leaves))]
        return [int.from_bytes(event[6][8 * n : 8 * n + size], "little") for n, size in enumerate(sizes)]

    def takes(self, *args: Any, **kwargs: Any) -> bool:
        """Whether a call is made natively; then its numbers are the binder's."""
        self.driver.events.clear()
        self.slow_calls.clear()
        if self.call(*args, **kwargs) == "slow":
            assert [(len(a), k) for a, k in self.slow_calls] == [(len(args), kwargs)]
            assert all(mine is theirs for mine, theirs in zip(args, self.slow_calls[0][0], strict=True))
            assert not self.driver.events
            return False
        assert not self.slow_calls
        bound = self.binder.bind(args, kwargs, place="cpu")
        assert self.leaves() == [
            bits_of(value, kind) for kind, value in zip(self.program.types, bound.leaves, strict=False)
        ]
        assert self.driver.events[0][4] == (bound.stream or 0)
        return True


def imaginary(*shape: int) -> Any:
    """The imaginary parts of a conjugate: torch negates the memory of the original when they are read."""
    return torch.ones(shape, dtype=torch.complex64).conj().imag


MATRIX = "f32[?M,?N{div=4}]:(?{i64 div=4},1)"


def test_tensors_that_fit_are_launched_with_the_binders_numbers() -> None:
    made = Native([MATRIX, MATRIX], [torch.empty(4, 8), torch.empty(4, 8)])
    assert made.takes(torch.empty(4, 8), torch.empty(4, 8))
    assert made.takes(torch.empty(64, 12)[3:9], torch.empty(6, 16)[:, :12])
    assert made.driver.events[0][:3] == ("kernel", (1, 1, 1), (1, 1, 1))
    assert made.driver.events[0][5] == {"cooperative": (1,)}


@pytest.mark.parametrize(
    ("spec", "good", "bad"),
    [
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(4, 8, dtype=torch.float64)),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(4, 8, dtype=torch.int32)),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(4, 6)),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(4, 9)[:, :8]),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(8, 4).t()),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(32)),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(1, 4, 8)),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(4, 8, device="meta")),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(4, 8).to_sparse()),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.empty(0, 8)),
        (MATRIX, lambda: torch.empty(4, 8), lambda: [1, 2]),
        (MATRIX, lambda: torch.empty(4, 8), lambda: None),
        (MATRIX, lambda: torch.empty(4, 8), lambda: torch.nn.Parameter(torch.empty(4, 8))),
        (MATRIX, lambda: torch.empty(4, 8), lambda: imaginary(4, 8)),
        ("f32[?,?]:(?,?)", lambda: imaginary(4, 8).resolve_neg(), lambda: imaginary(4, 8)),
        ("f32[?,?]", lambda: torch.empty(1, 1), lambda: imaginary(1, 1)),
        ("f32[]", lambda: torch.empty(()), lambda: imaginary()),
        ("f32[4,?]", lambda: torch.empty(4, 8), lambda: torch.empty(5, 8)),
        ("f32[4,?]", lambda: torch.empty(4, 8), lambda: torch.empty(4, 9)[:, :8]),
        ("f32[?,?]:(?,2)", lambda: torch.empty(4, 8)[:, ::2], lambda: torch.empty(4, 8)),
        ("f32[?N,?N]", lambda: torch.empty(8, 8), lambda: torch.empty(8, 4)),
        ("f32[?,?] order=(0,1)", lambda: torch.empty(4, 8).t(), lambda: torch.empty(4, 8)),
        ("f32[?] align=16", lambda: torch.empty(8), lambda: torch.empty(9)[1:]),
        ("bool[?]", lambda: torch.empty(8, dtype=torch.bool), lambda: torch.empty(8, dtype=torch.uint8)),
        ("bf16[?]", lambda: torch.empty(8, dtype=torch.bfloat16), lambda: torch.empty(8, dtype=torch.float16)),
        ("u16[?]", lambda: torch.empty(8, dtype=torch.uint16), lambda: torch.empty(8, dtype=torch.int16)),
        ("tf32[?]", lambda: torch.empty(8), lambda: torch.empty(8, dtype=torch.float64)),
        (
            "f8E4M3FN[?]",
            lambda: torch.empty(8, dtype=torch.float8_e4m3fn),
            lambda: torch.empty(8, dtype=torch.float8_e5m2),
        ),
        ("i8", lambda: -128, lambda: 128),
        ("u8", lambda: 255, lambda: -1),
        ("i64", lambda: -(2**63), lambda: 2**63),
        ("u64", lambda: 2**63 - 1, lambda: 2**63),
        ("i32", lambda: 3, lambda: True),
        ("i32", lambda: 3, lambda: 3.0),
        ("i32", lambda: 3, lambda: 10**30),
        ("f32", lambda: 0.1, lambda: 1e39),
        ("f32", lambda: 3, lambda: 10**400),
        ("f16", lambda: 0.1, lambda: 65520.0),
        ("bf16", lambda: 0.1, lambda: "1"),
        ("f64", lambda: 0.1, lambda: None),
        ("bool", lambda: True, lambda: 1),
        ("ptr<f32> align=16", lambda: 64, lambda: 72),
        ("ptr<f32>", lambda: 64, lambda: -64),
        ("ptr<f32>", lambda: 64, lambda: torch.empty(4)),
        ("stream", lambda: 7, lambda: -1),
        ("stream", lambda: 7, lambda: "7"),
        ("none", lambda: None, lambda: 1),
        ("(f32[?],i32)", lambda: (torch.empty(4), 1), lambda: (torch.empty(4), 1, 2)),
        ("(f32[?],i32)", lambda: (torch.empty(4), 1), lambda: [torch.empty(4), 1]),
        ("(f32[?],(i32,bool))", lambda: (torch.empty(4), (1, True)), lambda: (torch.empty(4), (1, 1))),
    ],
)
def test_each_check(spec: str, good: Callable[[], Any], bad: Callable[[], Any]) -> None:
    made = Native([spec], [good()])
    assert made.takes(good())
    assert not made.takes(bad())
    assert made.takes(good())


def test_parameters_of_modules_are_arrays_too() -> None:
    weight = torch.nn.Parameter(torch.empty(4, 8))
    assert Native([MATRIX], [weight]).takes(weight)


def test_sizes_of_one_name_agree_across_arguments() -> None:
    made = Native([MATRIX, "f32[?N]"], [torch.empty(4, 8), torch.empty(8)])
    assert made.takes(torch.empty(4, 12), torch.empty(12))
    assert not made.takes(torch.empty(4, 12), torch.empty(8))


def random_tensor(chance: random.Random) -> Any:
    dtype = chance.choice([torch.float32] * 6 + [torch.float16])
    rank = chance.choice((1, 2, 2, 2, 2, 3))
    sizes = [chance.choice((1, 2, 4, 6, 8, 0, 4, 8)) for _ in range(rank)]
    tensor = torch.empty([size + chance.choice((0, 0, 4, 1)) for size in sizes], dtype=dtype)
    for mode, size in enumerate(sizes):
        tensor = tensor.narrow(mode, chance.randrange(tensor.shape[mode] - size + 1), size)
    if rank == 2 and chance.random() < 0.3:
        tensor = tensor.t()
    if chance.random() < 0.1:
        # Odd strides where they mean nothing, elements that are all one, history, a negation left for later.
        made = [
            lambda: tensor.as_strided(tensor.shape, [3 if size == 1 else step for size, step in strides]),
            lambda: tensor[:1].expand(4 if len(tensor) else 0, *tensor.shape[1:]),
            lambda: tensor.detach().requires_grad_(),
            lambda: imaginary(*tensor.shape),
        ]
        strides = list(zip(tensor.shape, tensor.stride(), strict=True))
        tensor = chance.choice(made)()
    return tensor


SPECS = [
    MATRIX,
    "f32[?M,?]",
    "f32[?,?M] order=(0,1)",
    "f32[?M,4]",
    "f32[?M,?N]:(?S,1)",
    "f32[?M,?N]:(?S{div=4},?)",
    "f32[?M,?N]:(1,?{i64})",
    "f32[?,?]:(8,1) align=16",
    "f32[(?,?),?]",
    "f32[?M]",
]


@pytest.mark.parametrize("first", range(len(SPECS)))
def test_random_tensors_are_launched_only_as_the_binder_has_them(first: int) -> None:
    chance = random.Random(first)
    made = Native([SPECS[first], SPECS[(first + 3) % len(SPECS)]], [torch.empty(1)] * 2)
    taken = refused = 0
    for _ in range(1500):
        arguments = [random_tensor(chance), random_tensor(chance)]
        # `takes` compares with the binder, which raises for what it does not take.
        if made.takes(*arguments):
            taken += 1
        else:
            refused += 1
    assert taken and refused


class FakeStream:
    """A stream as torch has it."""

    def __init__(self, handle: Any, device: Any = 0) -> None:
        self.cuda_stream = handle
        self.device_index = device


def test_streams_by_name() -> None:
    made = Native(["f32[?]", "stream"], [torch.empty(4)])
    x = torch.empty(4)
    assert made.takes(x)
    assert made.takes(x, stream=5) is True
    assert made.driver.events[0][4] == 5
    assert made.takes(x, stream=FakeStream(9))
    assert made.driver.events[0][4] == 9
    assert made.takes(x, stream=0)
    assert not made.takes(x, stream=FakeStream(9, device=1))
    assert not made.takes(x, stream=FakeStream("9"))
    assert not made.takes(x, stream=None)
    assert not made.takes(x, other=5)
    assert not made.takes(x, stream=5, unchecked=True)
    assert not made.takes(x, 5)
    assert not made.takes(p0=x)
    assert not made.takes()


def test_a_stream_parameter() -> None:
    made = Native(["f32[?]", "stream"], [torch.empty(4), 5])
    assert made.takes(torch.empty(4), 6)
    assert made.takes(torch.empty(4), 0)
    assert made.takes(torch.empty(4), FakeStream(1 << 40))
    assert not made.takes(torch.empty(4))
    assert not made.takes(torch.empty(4), 6, stream=7)


class ExchangeTable(ctypes.Structure):
    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("older", ctypes.c_void_p),
        ("functions", ctypes.c_void_p * 5),
    )


def test_the_current_stream_is_that_of_the_arrays_library(monkeypatch: pytest.MonkeyPatch) -> None:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    name = b"dlpack_exchange_api"
    table = ExchangeTable.from_buffer_copy(
        ctypes.string_at(get(torch.Tensor.__dlpack_c_exchange_api__, name), ctypes.sizeof(ExchangeTable))
    )
    asked: list[tuple[int, int]] = []
    answer = 0

    def current(device_type: int, device: int, out: Any) -> int:
        asked.append((device_type, device))
        out[0] = 77
        return answer

    kind = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
    function = kind(current)
    table.functions[4] = ctypes.cast(function, ctypes.c_void_p).value
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    capsule = make(ctypes.addressof(table), name, None)
    monkeypatch.setattr(torch.Tensor, "__dlpack_c_exchange_api__", capsule)

    made = Native(["f32[?]"], [torch.empty(4)])
    made.call(torch.empty(4))
    assert made.driver.events[0][4] == 77
    assert asked == [(CPU, 0)]
    made.call(torch.empty(4), stream=5)
    assert made.driver.events[1][4] == 5
    assert made.driver.asked == [77, 5]
    answer = -1
    assert made.call(torch.empty(4)) == "slow"

    answer = 0
    prepared = prepare(made, [4096, 4], stream_of=torch.Tensor)
    prepared()
    assert made.driver.events[-1][4] == 77


def prepare(made: Native, leaves: list[int], **options: Any) -> Callable[[], Any]:
    return builtin.build_prepared(
        made.program,
        leaves,
        functions=made.driver.handles,
        device=0,
        driver=made.driver.functions,
        slow=made.slow,
        report=made.report,
        device_type=CPU,
        **options,
    )


def test_prepared_calls() -> None:
    made = Native(["f32[?]"], [torch.empty(4)])
    prepared = prepare(made, [4096, 4], stream=9)
    assert prepared() is None
    assert made.leaves() == [4096, 4]
    assert made.driver.events[0][4] == 9
    assert prepared(1) == "slow"  # type: ignore[call-arg]
    assert prepared(stream=3) == "slow"  # type: ignore[call-arg]
    assert made.slow_calls == [((1,), {}), ((), {"stream": 3})]


def test_another_device_or_none_goes_the_slow_way() -> None:
    made = Native(["f32[?]"], [torch.empty(4)])
    made.driver.device = 1
    assert not made.takes(torch.empty(4))
    made.driver.device, made.driver.device_status = 0, 201
    assert not made.takes(torch.empty(4))


def test_capture_goes_the_slow_way() -> None:
    made = Native(["f32[?]"], [torch.empty(4)])
    made.driver.capturing = 1
    assert not made.takes(torch.empty(4))


def test_a_failure_of_the_first_launch_goes_the_slow_way() -> None:
    made = Native(["f32[?]"], [torch.empty(4)], 2, status_of=lambda count: 719)
    assert made.call(torch.empty(4)) == "slow"
    assert made.driver.launches == 1 and not made.reports


def test_a_failure_after_a_launch_is_reported_and_not_repeated() -> None:
    made = Native(["f32[?]"], [torch.empty(4)], 2, status_of=lambda count: 719 * (count == 2))
    with pytest.raises(LaunchError, match="status 719"):
        made.call(torch.empty(4))
    assert made.driver.launches == 2
    assert made.reports == [(719, 0)] and not made.slow_calls


def test_exceptions_of_the_slow_way_pass() -> None:
    def refuse(*args: Any) -> None:
        raise ArgumentError("no")

    made = Native(["f32[?]"], [torch.empty(4)])
    made.slow = refuse  # type: ignore[method-assign,assignment]
    call = made.build([torch.empty(4)])
    with pytest.raises(ArgumentError, match="no"):
        call(1)
    assert call(torch.empty(4)) is None


@pytest.mark.parametrize(
    ("specs", "sample", "reason"),
    [
        (["f32[?]"], [[1]], "argument 'p0' is a builtins.list, which has no DLPack C exchange API"),
        (["i32"], [1.0], "argument 'p0' is a float"),
        (["i32", "none", "stream"], [1, None], "some of the arguments"),
        (["i4[?]"], [torch.empty(4)], "arrays of i4"),
        (["(i32,i32)"], [(1, 2, 3)], "argument 'p0' has 3 items, not 2"),
        (["(i32,i32)"], [[1, 2]], "argument 'p0' is a list, no tuple"),
    ],
)
def test_why_a_call_stays_in_python(specs: list[str], sample: list[Any], reason: str) -> None:
    with pytest.raises(builtin.Unsupported, match=reason):
        Native(specs, sample)


def test_subclasses_with_operations_of_their_own_stay_in_python() -> None:
    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with pytest.raises(builtin.Unsupported, match="Wrapper"):
        Native(["f32[?]"], [torch.empty(4).as_subclass(Wrapper)])


def test_reference_counts_and_memory_stay_flat() -> None:
    made = Native(["f32[?]", "i64", "f32"], [torch.empty(4), 1, 0.5])
    arguments = (torch.empty(4), 1 << 40, 0.25)
    launch = compile_function("define i32 @call() {\nret i32 0\n}")
    capturing = compile_function("define i32 @call(ptr %stream, ptr %out) {\nstore i32 0, ptr %out\nret i32 0\n}")
    idle = dataclasses.replace(made.driver.functions, launch=launch[1], is_capturing=capturing[1])
    outcomes: list[object] = [None]

    def slow(*_args: Any, **_kwargs: Any) -> None:
        outcomes[0] = "slow"

    made.slow = slow  # type: ignore[method-assign,assignment]
    call = made.build(list(arguments), idle)
    watched = (*arguments, torch.Tensor, made, slow, FakeStream, None)
    stream = FakeStream(9)

    def rounds(count: int) -> None:
        for _ in range(count):
            call(*arguments)
            call(*arguments, stream=3)
            call(*arguments, stream=stream)
            call(*arguments, stream="3")
            call(1)

    rounds(100)
    counts = [sys.getrefcount(each) for each in watched]
    blocks = sys.getallocatedblocks()
    rounds(20_000)
    assert abs(sys.getallocatedblocks() - blocks) < 100
    differences = [sys.getrefcount(each) - count for each, count in zip(watched, counts, strict=True)]
    assert max(map(abs, differences)) < 20, differences
    assert outcomes == ["slow"]


def test_machine_code_is_freed_with_its_builtin() -> None:
    made = Native(["f32[?]"], [torch.empty(4)])

    class Kept:
        alive = 0

        def __init__(self) -> None:
            Kept.alive += 1

        def __del__(self) -> None:
            Kept.alive -= 1

        def __call__(self, *args: Any) -> None: ...

    def build() -> Callable[..., Any]:
        made.slow = Kept()  # type: ignore[method-assign,assignment]
        return made.build([torch.empty(4)])

    for _ in range(5):
        call = build()
        assert call(torch.empty(4)) is None
    made.slow = print  # type: ignore[method-assign,assignment]
    gc.collect()
    assert Kept.alive == 1
    assert call(1, 2) is None
    del call
    gc.collect()
    assert Kept.alive == 0


def test_several_threads() -> None:
    made = Native(["f32[?]", "i64"], [torch.empty(4), 1])
    rounds = 300

    def work(number: int) -> None:
        tensor = torch.empty(4 + number)
        for _ in range(rounds):
            made.call(tensor, number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pairs = [struct.unpack_from("<Iiq", event[6], 8)[::2] for event in made.driver.events]
    assert sorted(pairs) == sorted([(4 + number, number) for number in range(4)] * rounds)


def test_an_interrupt_is_seen_after_the_call() -> None:
    made = Native(["f32[?]"], [torch.empty(4)])
    raising = f"%r = call i32 @raise(i32 {int(signal.SIGINT)})"
    engine, address = compile_function(f"declare i32 @raise(i32)\ndefine i32 @call() {{\n{raising}\nret i32 %r\n}}")
    functions = dataclasses.replace(made.driver.functions, launch=address)
    call = made.build([torch.empty(4)], functions)
    with pytest.raises(KeyboardInterrupt):
        call(torch.empty(4))
        time.sleep(1)
    del engine
