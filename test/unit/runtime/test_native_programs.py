"""Host programs as machine code do what a plain interpreter of them does: random programs, and every operation."""

from __future__ import annotations

import random
import struct
from contextlib import nullcontext, suppress

import pytest
import random_programs
from attacks import attacks
from hypothesis import given, settings
from hypothesis import strategies as st
from native_driver_double import NativeDriver
from random_programs import Generator, Recorder, interpret

from cutecc.errors import LaunchError
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
    Leaf,
    ParameterWrite,
)
from cutecc.runtime.native import builtin
from cutecc.runtime.parameters import call_parameters
from cutecc.runtime.program.evaluation import Evaluator, StatusError
from cutecc.runtime.program.number_expressions import (
    BITS,
    DIVISIONS,
    INTEGER_BINARY,
    INTEGER_COMPARISONS,
    INTEGER_UNARY,
    SIZES,
)
from cutecc.runtime.program.verification import verify

pytest.importorskip("llvmlite")

SPECS = ["ptr<i8>", "ptr<i8>", "stream", "i32", "f32"]
GROUPS = call_parameters(Signature("host", [Parameter(f"p{n}", spec) for n, spec in enumerate(SPECS)]))


class Quiet(Generator):
    """Programs that do not print: those stay in Python."""

    def print_(self, block: Block) -> None:
        self.arithmetic(block)


class Outcome:
    """What a builtin ended with besides returning."""

    def __init__(self) -> None:
        self.found: object = None

    def slow(self, *args: object, **kwargs: object) -> None:
        self.found = "slow"

    def report(self, status: int, kernel: int) -> None:
        self.found = (status, kernel)


def expected(program: HostProgram, leaves: list, recorder: Recorder) -> tuple[list, object]:
    """The events and the outcome by the interpreter."""
    outcome: object = None
    try:
        interpret(program, list(leaves), recorder)
    except LaunchError as failure:
        launches = [event for event in recorder.events if event[0] != "map"]
        failed = recorder.failing_launch <= len(launches) and recorder.failing_launch > 0
        if len(launches) - failed <= 0:
            outcome = "slow"
        else:
            status = failure.status if isinstance(failure, StatusError) else -1
            names = [kernel.name for kernel in program.kernels]
            outcome = (status - (1 << 32) if status >= 1 << 31 else status, names.index(launches[-1][0]))
    return recorder.events, outcome


def on_stream(events: list, stream: int) -> list:
    """Launches on stream 0 are on the stream that the call names."""
    return [event if event[0] == "map" else (*event[:4], event[4] or stream, *event[5:]) for event in events]


def makes_nan(program: HostProgram, leaves: list, recorder: Recorder) -> bool:
    """Whether some value of the program is not a number; of those only that is kept, not the bits."""
    interpreter = Interpreter(program, recorder)
    with suppress(LaunchError):
        interpreter.run(list(leaves))
    return interpreter.nan


class Interpreter(random_programs._Interpreter):
    nan = False

    def step(self, instruction: Instruction) -> list:
        results = super().step(instruction)
        self.nan = self.nan or any(result != result for result in results)
        return results


def compare(seed: int, prepared: bool) -> bool:
    """Whether the program of this seed is supported and computes with numbers only; asserts that it does the same."""
    program = Quiet(seed).program
    verify(program)
    chance = random.Random(seed)
    leaves = [chance.getrandbits(47), chance.getrandbits(47), chance.choice((0, 7, 1 << 40))]
    leaves += [chance.getrandbits(32), chance.uniform(-1e6, 1e6)]
    failing = (chance.choice((-1, -1, 1, 2, 3)), chance.choice((-1, -1, -1, 1, 2)))
    if makes_nan(program, leaves, Recorder(*failing)):
        return False
    wanted = expected(program, leaves, Recorder(*failing))
    driver = NativeDriver(program, lambda n: 719 * (n == failing[0]), lambda n: int(n == failing[1]))
    outcome = Outcome()
    signed = leaves[3] - (1 << 32) if leaves[3] >> 31 else leaves[3]
    arguments = [leaves[0], leaves[1], leaves[2], signed, leaves[4]]
    common = {"functions": driver.handles, "device": 0, "driver": driver.functions}
    try:
        if prepared:
            stream = leaves[2]
            call = builtin.build_prepared(
                program, leaves, **common, slow=outcome.slow, report=outcome.report, stream=stream
            )
            call()
        else:
            call = builtin.build(program, GROUPS, arguments, **common, slow=outcome.slow, report=outcome.report)
            call(*arguments)
    except builtin.Unsupported:
        return False
    assert (driver.events, outcome.found) == (on_stream(wanted[0], leaves[2]), wanted[1])
    return True


@pytest.mark.parametrize("prepared", [False, True])
def test_random_programs_do_what_the_interpreter_does(prepared: bool) -> None:
    supported = [compare(seed, prepared) for seed in range(40 if prepared else 80)]
    assert sum(supported) > len(supported) / 3


def one_operation(op: str, kind: str, operands: int, result: str) -> HostProgram:
    """Launches a kernel with the result of `op` on scalar leaves."""
    types = [kind] * operands + [result, "i32", "i32", "i64", "i32"]
    one, zero, stream, status = operands + 1, operands + 2, operands + 3, operands + 4
    size = SIZES[result]
    site = LaunchSite(0, (one,) * 3, (one,) * 3, zero, stream, [], [ParameterWrite(0, operands)])
    body = Block(
        [
            Instruction(op, list(range(operands)), [operands]),
            Instruction("constant", [], [one], 1),
            Instruction("constant", [], [zero], 0),
            Instruction("constant", [], [stream], 0),
            Instruction("launch", [], [status], launch=site),
        ],
        yields=[status],
    )
    kernel = KernelEntry("kernel", [KernelParameter(0, size, size)], size)
    arguments = [HostArgument([Leaf("scalar", kind)]) for _ in range(operands)]
    program = HostProgram("host", arguments, types, [kernel], body)
    verify(program)
    return program


OPERATIONS = [
    (op, kind, 1 if op in INTEGER_UNARY else 2, "i1" if op in INTEGER_COMPARISONS else kind)
    for op in sorted(INTEGER_BINARY | INTEGER_UNARY | INTEGER_COMPARISONS)
    for kind in ("i1", "i8", "i16", "i32", "i64")
]


def scalars(kind: str, count: int) -> tuple:
    name = "bool" if kind == "i1" else "u" + kind[1:]
    return call_parameters(Signature("host", [Parameter(f"p{n}", name) for n in range(count)]))


@pytest.mark.parametrize("op", sorted(INTEGER_BINARY | INTEGER_UNARY | INTEGER_COMPARISONS))
def test_integer_operations_of_every_width(op: str) -> None:
    chance = random.Random(op)
    for name, kind, count, result in OPERATIONS:
        if name != op:
            continue
        program = one_operation(op, kind, count, result)
        driver, outcome = NativeDriver(program), Outcome()
        bits = BITS[kind]
        call = builtin.build(
            program,
            scalars(kind, count),
            [kind == "i1" if kind == "i1" else 1] * count,
            functions=driver.handles,
            device=0,
            driver=driver.functions,
            slow=outcome.slow,
            report=outcome.report,
        )
        # 64-bit numbers from 2**63 go the slow way.
        special = [0, 1, 2, bits - 1, bits, bits + 1, (1 << bits) - 1, 1 << bits - 1, (1 << bits - 1) - 1]
        numbers = sorted(
            {number & ((1 << min(bits, 63)) - 1) for number in special} | {chance.getrandbits(min(bits, 63))}
        )
        for first in numbers:
            for second in numbers if count == 2 else [0]:
                leaves = [first, second][:count]
                driver.events.clear()
                outcome.found = None
                call(*[bool(leaf) for leaf in leaves] if kind == "i1" else leaves)
                assert (driver.events, outcome.found) == expected(program, leaves, Recorder()), (op, kind, leaves)


@given(st.integers(0, 2**64 - 1), st.sampled_from(["f16", "bf16", "f32"]))
@settings(max_examples=attacks(100), deadline=None)
def test_floats_are_rounded_as_the_evaluator_does(bits: int, kind: str) -> None:
    number = struct.unpack("<d", struct.pack("<Q", bits))[0]
    check_rounding(kind, number)


@given(st.floats(-70000, 70000), st.sampled_from(["f16", "bf16", "f32"]))
@settings(max_examples=attacks(100), deadline=None)
def test_usual_floats_are_rounded_as_the_evaluator_does(number: float, kind: str) -> None:
    check_rounding(kind, number)


ROUNDING: dict[str, tuple] = {}


def check_rounding(kind: str, number: float) -> None:
    if kind not in ROUNDING:
        program = one_operation("fneg", kind, 1, kind)
        driver, outcome = NativeDriver(program), Outcome()
        groups = call_parameters(Signature("host", [Parameter("x", kind)]))
        common = {"functions": driver.handles, "device": 0, "driver": driver.functions}
        call = builtin.build(program, groups, [1.0], **common, slow=outcome.slow, report=outcome.report)
        ROUNDING[kind] = program, driver, outcome, call
    program, driver, outcome, call = ROUNDING[kind]
    driver.events.clear()
    outcome.found = None
    call(number)
    if outcome.found == "slow":
        assert abs(number) >= {"f16": 65520.0, "bf16": 2.0**128 - 2.0**119, "f32": 2.0**128 - 2.0**103}[kind]
        return
    wanted, _ = expected(program, [number], Recorder())
    if number == number:
        assert driver.events == wanted
    else:
        assert driver.events[0][:6] == wanted[0][:6]


def test_divisions_are_among_the_operations() -> None:
    assert {op for op, *_ in OPERATIONS} >= DIVISIONS


def test_a_program_that_prints_stays_in_python() -> None:
    program = HostProgram(
        "host",
        [],
        ["i32", "i32"],
        [],
        Block([Instruction("print", [], [0], 0), Instruction("constant", [], [1], 0)], yields=[1]),
        strings=["hello\n"],
    )
    verify(program)
    driver = NativeDriver(program)
    with pytest.raises(builtin.Unsupported, match="prints"):
        builtin.build(
            program, [], [], functions=[], device=0, driver=driver.functions, slow=print, report=lambda s, k: None
        )


def test_an_endless_loop_is_given_up() -> None:
    loop = Instruction(
        "while", [], [], blocks=[Block([Instruction("constant", [], [0], 1)], yields=[0]), Block([], yields=[])]
    )
    program = HostProgram("host", [], ["i1", "i32"], [], Block([loop, Instruction("constant", [], [1], 0)], yields=[1]))
    verify(program)
    driver, outcome = NativeDriver(program), Outcome()
    call = builtin.build(
        program, [], [], functions=[], device=0, driver=driver.functions, slow=outcome.slow, report=outcome.report
    )
    call()
    assert outcome.found == "slow"


def counting(rounds: int) -> HostProgram:
    """A loop of this many rounds, each of 4 steps, one more for the last look at its condition."""
    condition = Block([Instruction("ne", [4, 0], [5])], parameters=[4], yields=[5, 4])
    body = Block([Instruction("add", [6, 2], [7]), Instruction("add", [7, 1], [8])], parameters=[6], yields=[8])
    instructions = [
        Instruction("constant", [], [0], rounds),
        Instruction("constant", [], [1], 0),
        Instruction("constant", [], [2], 1),
        Instruction("while", [1], [3], blocks=[condition, body]),
        Instruction("constant", [], [9], 0),
    ]
    types = ["i32"] * 5 + ["i1"] + ["i32"] * 4
    return HostProgram("host", [], types, [], Block(instructions, yields=[9]))


@pytest.mark.parametrize("more", [0, 1])
def test_loops_end_when_the_evaluator_ends_them(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("program.evaluation", "native.program"):
        monkeypatch.setattr(f"cutecc.runtime.{module}.MAX_STEPS", 4000)
    program = counting(999 + more)
    verify(program)
    driver, outcome = NativeDriver(program), Outcome()
    builtin.build(
        program, [], [], functions=[], device=0, driver=driver.functions, slow=outcome.slow, report=outcome.report
    )()
    with pytest.raises(LaunchError, match="does not end") if more else nullcontext():
        Evaluator(program)([], Recorder())
    assert outcome.found == ("slow" if more else None)


def launches_of(kernel: KernelEntry, count: int) -> HostProgram:
    site = LaunchSite(0, (0, 0, 0), (0, 0, 0), 0, 1, [], [])
    instructions = [Instruction("constant", [], [0], 1), Instruction("constant", [], [1], 0)]
    instructions += [Instruction("launch", [], [2 + number], launch=site) for number in range(count)]
    types = ["i32", "i64", *["i32"] * count]
    return HostProgram("host", [], types, [kernel], Block(instructions, yields=[2]))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (launches_of(KernelEntry("k", [KernelParameter(0, 32000, 8)], 32000), 20), "needs much memory"),
        (launches_of(KernelEntry("k", [KernelParameter(0, 0, 1)] * 4000, 0), 100), "is long"),
        (launches_of(KernelEntry("k", [], 0), 6000), "is long"),
    ],
    ids=["parameters", "pointers", "instructions"],
)
def test_what_would_not_fit_the_stack_or_take_llvm_long_stays_in_python(program: HostProgram, reason: str) -> None:
    verify(program)
    driver = NativeDriver(program)
    common = {"functions": driver.handles, "device": 0, "driver": driver.functions}
    with pytest.raises(builtin.Unsupported, match=reason):
        builtin.build(program, [], [], **common, slow=print, report=lambda s, k: None)


@pytest.mark.parametrize("name", ["shared memory", "attribute"])
def test_launch_settings_that_do_not_fit_are_not_cut(name: str) -> None:
    """The driver has 32 bits for them."""
    wide = name == "shared memory"
    attributes = [] if wide else [LaunchAttribute("programmatic_serialization", [0])]
    site = LaunchSite(0, (2, 2, 2), (2, 2, 2), 0 if wide else 2, 1, attributes, [])
    instructions = [
        Instruction("constant", [], [1], 0),
        Instruction("constant", [], [2], 1),
        Instruction("launch", [], [3], launch=site),
    ]
    program = HostProgram(
        "host",
        [HostArgument([Leaf("scalar", "i64")])],
        ["i64", "i64", "i32", "i32"],
        [KernelEntry("k", [], 0)],
        Block(instructions, yields=[3]),
    )
    verify(program)
    driver, outcome = NativeDriver(program), Outcome()
    groups = call_parameters(Signature("host", [Parameter("x", "i64")]))
    common = {"functions": driver.handles, "device": 0, "driver": driver.functions}
    call = builtin.build(program, groups, [1], **common, slow=outcome.slow, report=outcome.report)
    call(1)
    assert outcome.found is None and len(driver.events) == 1
    for number in (1 << 32, (1 << 32) + 1, -1):
        outcome.found = None
        call(number)
        assert outcome.found == "slow" and len(driver.events) == 1
