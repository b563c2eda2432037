"""Evaluation against a plain interpreter, and how programs end."""

from __future__ import annotations

import random
import struct
import threading
from collections.abc import Callable

import pytest
from attacks import attacks
from hypothesis import given, settings
from hypothesis import strategies as st
from random_programs import Generator, Recorder, interpret

from cutecc.errors import LaunchError, SourceLocation
from cutecc.record.host_program import (
    Allocation,
    Block,
    HostArgument,
    HostProgram,
    Instruction,
    KernelEntry,
    KernelParameter,
    LaunchSite,
    Leaf,
    ParameterWrite,
)
from cutecc.runtime.launch import Launch
from cutecc.runtime.program import evaluation
from cutecc.runtime.program.allocations import AddressSpace, address_of
from cutecc.runtime.program.evaluation import Evaluator, StatusError
from cutecc.runtime.program.verification import verify

I = Instruction  # noqa: E741


def outcome(run: Callable[[Recorder], None], host: Recorder) -> tuple[list[object], object]:
    """What a program asked for, and how it ended."""
    try:
        run(host)
    except StatusError as failure:
        return host.events, ("status", failure.status, failure.kernel)
    except LaunchError as failure:
        return host.events, ("error", failure.message)
    return host.events, None


def random_leaves(generator: random.Random) -> list[int | float]:
    bits = [generator.getrandbits(count) for count in (57, 57, 40, 32)]
    return [*bits, generator.uniform(-1e6, 1e6)]


@given(st.integers(0, 2**32), st.sampled_from([3, 10, 30]), st.integers(-1, 2), st.integers(-1, 2))
@settings(max_examples=attacks(75), deadline=None)
def test_random_programs_do_what_an_interpreter_does(seed: int, size: int, launch: int, descriptor: int) -> None:
    program = Generator(seed, size).program
    verify(program)
    leaves = random_leaves(random.Random(seed))
    expected = outcome(lambda host: interpret(program, leaves, host), Recorder(launch, descriptor))
    evaluate = Evaluator(program)
    # A second time: nothing is left of the first.
    for _ in range(2):
        found = outcome(lambda host: evaluate(leaves, host), Recorder(launch, descriptor))
        assert repr(found) == repr(expected)


def build(
    *instructions: Instruction, types: str, leaves: int = 1, strings: tuple[str, ...] = (), status: int | None = None
) -> Evaluator:
    """A program over values of these types, of which the first are leaves; it ends well unless `status` is given."""
    names = types.split()
    body = Block(list(instructions), [], [len(names) if status is None else status])
    if status is None:
        body.instructions.append(I("constant", [], [len(names)], 0))
        names.append("i32")
    arguments = [HostArgument([Leaf("scalar", names[number])]) for number in range(leaves)]  # type: ignore[arg-type]
    kernel = KernelEntry("kernel", [KernelParameter(0, 8, 8), KernelParameter(8, 8, 8)], 16)
    allocations = [Allocation(16, 8), Allocation(128, 64)]
    program = HostProgram("host", arguments, names, [kernel], body, allocations, list(strings))  # type: ignore[arg-type]
    verify(program)
    return Evaluator(program)


def failure(evaluate: Evaluator, *leaves: int | float) -> LaunchError:
    with pytest.raises(LaunchError) as caught:
        evaluate(leaves, Recorder())
    return caught.value


def test_memory_ends_where_the_allocation_does() -> None:
    evaluate = build(
        I("address", [], [1], 0),
        I("add", [1, 0], [2]),
        I("store", [2, 0]),
        I("load", [2], [3]),
        types="i64 i64 i64 i64",
    )
    for offset in (0, 3, 8):
        evaluate([offset], Recorder())
    for offset in (9, 16, 1000):
        assert f"8 bytes at offset {offset} of allocation 0, which has 16 bytes" in failure(evaluate, offset).message
    assert "none of its own" in failure(evaluate, 2**64 - 1).message
    # Far behind the first allocation lies the second, whose memory is not reached by going on from the first.
    evaluate([address_of(1) - address_of(0)], Recorder())


def test_addresses_that_are_known_beforehand_are_checked_too() -> None:
    evaluate = build(
        I("address", [], [1], 0), I("constant", [], [2], 12), I("add", [1, 2], [3]), I("load", [3], [4]),
        types="i64 i64 i64 i64 i64",
    )  # fmt: skip
    assert "8 bytes at offset 12 of allocation 0" in failure(evaluate, 0).message


def test_pointers_are_not_memory() -> None:
    evaluate = build(I("load", [0], [1]), types="i64 i32")
    for pointer in (0, 0x7F00_0000_0000, 2**62 - 4, 2**64 - 2, address_of(2)):
        found = failure(evaluate, pointer)
        assert "none of its own" in found.message
        assert "only a kernel reads and writes elements" in found.hints[0]
    evaluate([address_of(1) + 124], Recorder())


def test_allocations_are_aligned_and_apart() -> None:
    space = AddressSpace([Allocation(1, 1), Allocation(1 << 20, 4096)])
    assert address_of(0) % 4096 == address_of(1) % 4096 == 0
    assert space.offset(address_of(1), 1 << 20) == 1
    assert address_of(1) - address_of(0) > 1 << 20


def test_parts_of_what_was_stored() -> None:
    evaluate = build(
        I("address", [], [1], 0), I("constant", [], [2], 3), I("add", [1, 2], [3]),
        I("store", [1, 0]), I("load", [3], [4]), I("print", [4], [5], 0), I("load", [1], [6]), I("print", [6], [7], 1),
        types="i64 i64 i64 i64 i16 i32 i1 i32", strings=("%hx", " %d"),
    )  # fmt: skip
    host = Recorder()
    evaluate([0x1122334455667788], host)
    assert host.events == [("print", "4455"), ("print", " 0")]


def test_a_failing_status_ends_the_program() -> None:
    site = LaunchSite(0, (1, 1, 1), (1, 1, 1), 1, 2, [], [ParameterWrite(8, 0)])
    evaluate = build(
        I("constant", [], [1], 1), I("constant", [], [2], 0),
        I("launch", [], [3], launch=site), I("return_if_error", [3]), I("launch", [], [4], launch=site),
        types="i64 i32 i64 i32 i32", status=4,
    )  # fmt: skip
    host = Recorder()
    evaluate([7], host)
    block = struct.pack("<QQ", 0, 7)
    assert host.events == [("kernel", (1, 1, 1), (1, 1, 1), 1, 0, {}, block)] * 2
    for number, launches in ((1, 1), (2, 2)):
        host = Failing(number)
        with pytest.raises(StatusError, match="launching 'kernel' failed with CUDA error 719") as caught:
            evaluate([7], host)
        assert (caught.value.status, caught.value.kernel, host.launches) == (719, "kernel", launches)


class Failing(Recorder):
    """A host whose launch of a given number fails."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number, self.launches = number, 0

    def launch(self, launch: Launch) -> int:
        self.launches += 1
        return 719 if self.launches == self.number else 0


def test_a_status_of_the_programs_own() -> None:
    evaluate = build(I("return_if_error", [0]), types="i32")
    evaluate([0], Recorder())
    error = failure(evaluate, 5)
    assert isinstance(error, StatusError)
    assert (error.status, error.kernel, error.message) == (5, "", "the host program failed with CUDA error 5")


def test_fail_gives_its_message() -> None:
    message = "sizes differ: {0} %d '''\n\"); import os"
    evaluate = build(I("fail", [0], [], 0), types="i1", strings=(message,))
    evaluate([0], Recorder())
    assert failure(evaluate, 1).message == message
    assert failure(evaluate, 1).location is None


def test_fail_is_at_its_line() -> None:
    file = "/it's {0} \\ \"); import os.py"
    evaluate = build(I("fail", [0], [], 0, location=f"{file}:12:5"), types="i1", strings=("it failed",))
    assert failure(evaluate, 1).location == SourceLocation(file, 12, 5)


def test_endless_loops_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MAX_STEPS", 10_000)
    evaluate = build(I("while", [], [], blocks=[Block([], [], [0]), Block()]), types="i1")
    evaluate([0], Recorder())
    assert "does not end within 10,000 steps" in failure(evaluate, 1).message


def test_steps_count_what_is_in_conditionals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "MAX_STEPS", 10_000)
    counted = [I("constant", [], [number], 0) for number in range(6, 500)]
    arms = [Block(counted), Block()]
    body = Block([I("if", [5], blocks=arms), I("add", [3, 1], [4])], [3], [4])
    condition = Block([I("ult", [2, 0], [500])], [2], [500, 2])
    types = ["i32"] * 506
    types[5] = types[500] = "i1"
    start = [I("constant", [], [1], 1), I("constant", [], [5], 1), I("constant", [], [504], 0)]
    evaluate = build(*start, I("while", [504], [505], blocks=[condition, body]), types=" ".join(types))
    evaluate([10], Recorder())
    assert "steps" in failure(evaluate, 30).message


def test_floats_are_rounded_as_they_enter() -> None:
    evaluate = build(I("print", [0, 1], [2], 0), types="f32 f16 i32", leaves=2, strings=("%.9g %.9g",))
    host = Recorder()
    evaluate([0.1, 0.1], host)
    assert host.events == [("print", "0.100000001 0.0999755859")]


def test_the_number_of_leaves() -> None:
    evaluate = build(types="i64 i64", leaves=2)
    assert "takes 2 numbers, not 3" in failure(evaluate, 1, 2, 3).message


def test_text_of_the_program_is_data_not_code() -> None:
    name = "kernel'); raise SystemExit #\n"
    launch = LaunchSite(0, (0, 0, 0), (0, 0, 0), 0, 1, [], [])
    body = Block([I("constant", [], [1], 0), I("launch", [], [2], launch=launch)], [], [2])
    kernel = KernelEntry(name, [], 0)
    program = HostProgram(name, [HostArgument([Leaf("scalar", "i32")])], ["i32", "i64", "i32"], [kernel], body)
    verify(program)
    with pytest.raises(StatusError) as caught:
        Evaluator(program)([1], Failing(1))
    assert caught.value.kernel == name
    assert "SystemExit" not in Evaluator(program).source


def test_threads_share_nothing() -> None:
    # Stores its leaf and loads it many times over, through an address that is not known beforehand.
    evaluate = build(
        I("address", [], [2], 1), I("add", [2, 1], [3]), I("store", [3, 0]),
        *(I("load", [3], [number]) for number in range(4, 40)), I("print", [39], [40], 0),
        types=" ".join(["i64"] * 40) + " i32", leaves=2, strings=("%lld",),
    )  # fmt: skip
    wrong: list[object] = []

    def work(number: int) -> None:
        for _ in range(300):
            host = Recorder()
            evaluate([number, 8], host)
            if host.events != [("print", str(number))]:
                wrong.append(host.events)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
