"""Launch plans do what full evaluations do, and compute anew only what varies."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from attacks import attacks
from conftest import TracedKernel
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_programs import Generator, Recorder
from test_evaluation import outcome, random_leaves

from cutecc.backend.host import translate
from cutecc.compilation.planning import uses_lir
from cutecc.errors import LaunchError, SourceLocation
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
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
    TensorMapSite,
)
from cutecc.runtime.launch import Launch
from cutecc.runtime.program.evaluation import Evaluator
from cutecc.runtime.program.number_expressions import BITS, function
from cutecc.runtime.program.plan import Plan, make_plan
from cutecc.runtime.program.residual import BitField, Symbol
from cutecc.runtime.program.verification import verify

I = Instruction  # noqa: E741


class Launcher:
    """Runs a plan as a launcher does: one buffer per launch, written to again and again."""

    def __init__(self, plan: Plan) -> None:
        self.host = Recorder()
        buffers = [bytearray(launch.parameters) for launch in plan.launches]
        launchers = [self.launcher(*each) for each in zip(plan.launches, buffers, strict=True)]
        self.run = plan.bind(buffers, launchers, self)

    def launcher(self, launch: Launch, buffer: bytearray) -> Callable[[int], int]:
        fixed = (launch.kernel, launch.grid, launch.block, launch.shared_bytes)

        def start(stream: int) -> int:
            assert launch.stream in (-1, stream)
            return self.host.launch(Launch(*fixed, stream, launch.attributes, buffer))

        return start

    def launch(self, launch: Launch) -> int:
        raise AssertionError("a plan launches through its launchers")

    def encode_tensor_map(self, tensor_map: object) -> bytes | int:
        return self.host.encode_tensor_map(tensor_map)  # type: ignore[arg-type]

    def print(self, text: str) -> None:
        self.host.print(text)


def other_leaves(leaves: Sequence[int | float], varying: Sequence[int], generator: random.Random) -> list[int | float]:
    changed = list(leaves)
    for number, value in zip(varying, random_leaves(generator), strict=False):
        changed[number] = value if isinstance(leaves[number], float) else int(value) % 2**32
    return changed


@given(st.integers(0, 2**32), st.sampled_from([5, 15, 30]), st.sets(st.integers(0, 4)), st.integers(-1, 2))
@settings(max_examples=attacks(100), deadline=None)
def test_random_plans_do_what_evaluation_does(seed: int, size: int, varying: set[int], failing: int) -> None:
    program = Generator(seed, size).program
    verify(program)
    generator = random.Random(seed)
    leaves = random_leaves(generator)
    plan = make_plan(program, leaves, varying)
    assume(plan is not None)
    assert plan is not None and plan.varying == tuple(sorted(varying))
    evaluate, launcher = Evaluator(program), Launcher(plan)
    for _ in range(3):
        launcher.host = Recorder(failing, failing)
        values = [leaves[number] for number in plan.varying]
        found = outcome(lambda _, values=values: launcher.run(*values), launcher.host)
        expected = outcome(lambda host, leaves=leaves: evaluate(leaves, host), Recorder(failing, failing))
        assert repr(found) == repr(expected), plan.source
        leaves = other_leaves(leaves, plan.varying, generator)


KERNELS = [
    KernelEntry("kernel", [KernelParameter(0, 8, 8), KernelParameter(8, 8, 8)], 16),
    KernelEntry("tma", [KernelParameter(0, 128, 64)], 128),
]
ONE, STREAM, SHAPE = 20, 21, (20, 20, 20)
"""Value numbers: an i32 1 and an i64 0."""


def build(*instructions: Instruction, types: dict[int, str], strings: tuple[str, ...] = ()) -> HostProgram:
    """A program of two pointers, a size and an i1 (values 0 to 3); `types` are those of the others."""
    names = ["i64", "i64", "i32", "i1", *["i64"] * 16, "i32", "i64", "i32"]
    for number, type_ in types.items():
        names[number] = type_
    body = Block([I("constant", [], [ONE], 1), I("constant", [], [STREAM], 0), *instructions], [], [22])
    body.instructions.append(I("constant", [], [22], 0))
    leaves = [Leaf("pointer", "i64"), Leaf("pointer", "i64"), Leaf("size", "i32"), Leaf("scalar", "i1")]
    allocations = [Allocation(128, 64), Allocation(128, 64)]
    program = HostProgram("host", [HostArgument(leaves)], names, KERNELS, body, allocations, list(strings))  # type: ignore[arg-type]
    verify(program)
    return program


def launch(kernel: int, writes: list[tuple[int, int]], status: int, grid: int = ONE) -> list[Instruction]:
    parameters = [ParameterWrite(*write) for write in writes]
    site = LaunchSite(kernel, (grid, ONE, ONE), SHAPE, ONE, STREAM, [], parameters)
    return [I("launch", [], [status], launch=site), I("return_if_error", [status])]


def plan_of(program: HostProgram, varying: Sequence[int] = (0, 1)) -> Plan:
    plan = make_plan(program, [1, 2, 3, 1], varying)
    assert plan is not None
    return plan


def same(program: HostProgram, plan: Plan, *leaves: int) -> list[object]:
    """What the plan asks for, which is what the evaluation asks for."""
    launcher = Launcher(plan)
    launcher.run(*(leaves[number] for number in plan.varying))
    host = Recorder()
    Evaluator(program)(leaves, host)
    assert launcher.host.events == host.events
    return host.events


def test_a_pointer_costs_one_write() -> None:
    program = build(I("zext", [2], [4]), I("mul", [4, 4], [5]), *launch(0, [(0, 0), (8, 5)], 6), types={6: "i32"})
    plan = plan_of(program)
    # The write, the launch, the check of its status.
    assert plan.residual == 3
    assert plan.launches[0].parameters == bytes(8) + (9).to_bytes(8, "little")
    same(program, plan, 2**56 + 5, 0, 3, 0)


def test_the_address_in_a_descriptor_costs_one_mask_and_one_write() -> None:
    fields = [I("constant", [], [4], 16), I("udiv", [0, 4], [5]), I("constant", [], [6], 2**53 - 1)]
    fields += [I("and", [5, 6], [7]), I("constant", [], [8], 4), I("shl", [7, 8], [9])]
    memory = [I("address", [], [10], 0), I("store", [10, 9]), I("add", [10, 4], [11]), I("store", [11, 6])]
    loads = [I("load", [10], [12]), I("load", [11], [13])]
    program = build(*fields, *memory, *loads, *launch(1, [(0, 12), (16, 13)], 14), types={14: "i32"})
    plan = plan_of(program)
    assert plan.residual == 4
    same(program, plan, 2**60 + 0x123456789ABCDEF, 0, 3, 0)


def encoded(status: int = 5) -> list[Instruction]:
    site = TensorMapSite(7, 0, [4], [], [ONE], [ONE], 0, 0, 0, 0)
    made = I("encode_tensor_map", [6], [status], tensor_map=site)
    return [I("zext", [2], [4]), I("address", [], [6], 1), made]


def test_an_encoded_descriptor_is_copied_at_once() -> None:
    loads = [I("constant", [], [7], 8)]
    for index, address in enumerate((6, 8, 9, 10)):
        loads += [I("add", [6 if index == 1 else address - 1, 7], [address])] if index else []
        loads += [I("load", [address], [11 + index])]
    writes = [(8 * index, 11 + index) for index in range(4)]
    program = build(*encoded(), I("return_if_error", [5]), *loads, *launch(1, writes, 15), types={5: "i32", 15: "i32"})
    plan = plan_of(program)
    # Encoding, its check, one copy of 32 bytes, the launch, its check.
    assert plan.residual == 5
    events = same(program, plan, 77, 0, 3, 0)
    assert [event[0] for event in events] == ["map", "tma"]  # type: ignore[index]


def test_a_descriptor_that_cannot_be_made_ends_the_program() -> None:
    program = build(*encoded(), I("return_if_error", [5]), *launch(0, [], 7), types={5: "i32", 7: "i32"})
    launcher = Launcher(plan_of(program))
    launcher.host = Recorder(failing_map=1)
    with pytest.raises(LaunchError, match=r"CUDA error 1$"):
        launcher.run(77, 0)
    assert len(launcher.host.events) == 1


def test_branches_on_what_varies_keep_both_arms() -> None:
    arms = [
        Block([I("store", [4, 0]), *launch(0, [(0, 0)], 6)], [], [0]),
        Block([I("store", [4, 1])], [], [1]),
    ]
    after = [I("load", [4], [8]), *launch(0, [(0, 8), (8, 9)], 10)]
    program = build(
        I("address", [], [4], 0), I("ult", [0, 1], [5]), I("if", [5], [9], blocks=arms), *after,
        types={5: "i1", 6: "i32", 10: "i32"},
    )  # fmt: skip
    plan = plan_of(program)
    assert len(plan.launches) == 2
    assert len(same(program, plan, 5, 6, 3, 0)) == 2
    assert len(same(program, plan, 6, 5, 3, 0)) == 1


def test_branches_on_what_is_fixed_are_taken_now() -> None:
    arms = [Block(launch(0, [(0, 0)], 6)), Block(launch(1, [], 7))]
    program = build(I("if", [3], blocks=arms), types={6: "i32", 7: "i32"})
    for chosen, kernel in ((1, "kernel"), (0, "tma")):
        plan = make_plan(program, [1, 2, 3, chosen], [0])
        assert plan is not None
        assert [each.kernel.name for each in plan.launches] == [kernel]
        same(program, plan, 9, 2, 3, chosen)


def test_a_branch_whose_arm_fails() -> None:
    arms = [Block([I("constant", [], [6], 1), I("fail", [6], [], 0)], [], [0]), Block([], [], [1])]
    program = build(
        I("ult", [0, 1], [5]), I("if", [5], [7], blocks=arms), *launch(0, [(0, 7)], 8),
        types={5: "i1", 6: "i1", 8: "i32"}, strings=("the first is below",),
    )  # fmt: skip
    plan = plan_of(program)
    same(program, plan, 6, 5, 3, 0)
    with pytest.raises(LaunchError, match="the first is below"):
        Launcher(plan).run(5, 6)


def test_a_failure_is_at_its_line() -> None:
    program = build(
        I("ult", [0, 1], [5]), I("fail", [5], [], 0, location="kernel.py:12:5"), *launch(0, [(0, 1)], 8),
        types={5: "i1", 8: "i32"}, strings=("the first is below",),
    )  # fmt: skip
    for varying in ([0, 1], []):
        plan = make_plan(program, [5, 6, 3, 0], varying)
        assert plan is not None
        with pytest.raises(LaunchError, match="the first is below") as raised:
            Launcher(plan).run(*[5, 6][: len(varying)])
        assert raised.value.location == SourceLocation("kernel.py", 12, 5)


def test_divisions_that_may_fail_stay_though_unused() -> None:
    program = build(I("udiv", [0, 1], [4]), types={})
    run = Launcher(plan_of(program)).run
    run(5, 1)
    with pytest.raises(LaunchError, match="divides by zero"):
        run(5, 0)


def test_loops_of_a_fixed_length_are_run_now() -> None:
    step = launch(0, [(0, 8), (8, 0)], 9)
    condition = Block([I("ult", [5, 2], [6])], [5], [6, 5])
    body = Block([I("zext", [7], [8]), *step, I("add", [7, ONE], [10])], [7], [10])
    program = build(
        I("constant", [], [4], 0), I("while", [4], [11], blocks=[condition, body]),
        types={4: "i32", 5: "i32", 6: "i1", 7: "i32", 9: "i32", 10: "i32", 11: "i32"},
    )  # fmt: skip
    plan = make_plan(program, [1, 2, 3, 0], [0])
    assert plan is not None and len(plan.launches) == 3
    assert [each.parameters[0] for each in plan.launches] == [0, 1, 2]
    same(program, plan, 99, 2, 3, 0)
    assert make_plan(program, [1, 2, 3, 0], [2]) is None
    assert make_plan(program, [1, 2, 10**9, 0], [0]) is None


def test_what_is_no_plan() -> None:
    grid = build(*launch(0, [], 4, grid=2), types={4: "i32"})
    assert make_plan(grid, [1, 2, 3, 0], [0, 1]) is not None
    assert make_plan(grid, [1, 2, 3, 0], [2]) is None
    address = build(I("load", [0], [4]), types={})
    assert make_plan(address, [1, 2, 3, 0], [0]) is None


def test_prints_in_order_and_formatted_now_if_possible() -> None:
    program = build(
        I("print", [2], [4], 0), *launch(0, [], 5), I("print", [0], [6], 1),
        types={4: "i32", 5: "i32", 6: "i32"}, strings=("size %d", "pointer %p"),
    )  # fmt: skip
    events = same(program, plan_of(program), 255, 0, 3, 0)
    assert (events[0], events[2]) == (("print", "size 3"), ("print", "pointer 0xff"))


def test_plans_of_other_shapes_share_code_not_numbers() -> None:
    program = build(I("zext", [2], [4]), *launch(0, [(0, 0), (8, 4)], 6), types={6: "i32"})
    for size in (3, 4):
        plan = make_plan(program, [1, 2, size, 0], [0])
        assert plan is not None
        same(program, plan, 9, 2, size, 0)


@pytest.mark.parametrize(
    ("name", "residual"),
    [
        # A write for each pointer; the launch and its check.
        ("elementwise_add", 3 + 2),
        # A mask and a write for each of two descriptors.
        ("tma_copy", 2 * 2 + 2),
        ("hopper_gemm", 3 * 2 + 2),
        # Two launches, one of one pointer and one of four.
        ("cooperative_launch", 1 + 4 + 2 * 2),
        ("tcgen05_gemm", None),
        ("scalar_args", None),
    ],
)
def test_real_host_functions(name: str, residual: int | None, traced_kernels: dict[str, TracedKernel]) -> None:
    kernel = traced_kernels[name]
    with fresh_context():
        module = parse(kernel.bytecode)
        pipeline = nvidia_pipeline(kernel.target, WheelOptions(), lir=uses_lir(module))
        manager.run(pipeline.until("core-to-llvm-prepare"), module)
        program = translate(module)
    verify(program)
    generator = random.Random(name)
    leaves: list[int | float] = [_leaf(leaf, generator) for leaf in program.leaves]
    varying = [number for number, leaf in enumerate(program.leaves) if leaf.kind in ("pointer", "stream")]
    plan = make_plan(program, leaves, varying)
    assert plan is not None
    assert residual in (None, plan.residual), plan.source
    evaluate, launcher = Evaluator(program), Launcher(plan)
    for _ in range(4):
        launcher.host, host = Recorder(), Recorder()
        launcher.run(*(leaves[number] for number in varying))
        evaluate(leaves, host)
        assert host.events and launcher.host.events == host.events
        for number in varying:
            leaves[number] = _leaf(program.leaves[number], generator)


def _leaf(leaf: Leaf, generator: random.Random) -> int | float:
    if leaf.kind == "pointer":
        return generator.randrange(1 << 40, 1 << 57)
    if leaf.kind == "stream":
        return generator.randrange(1 << 40)
    return generator.uniform(0, 1) if leaf.type[0] != "i" else generator.randrange(1, 1 << min(BITS[leaf.type], 12))


@given(st.randoms(use_true_random=False), st.integers(0, 2**64 - 1))
@settings(max_examples=attacks(100), deadline=None)
def test_fields_of_bits(generator: random.Random, start: int) -> None:
    """Chains of masks and shifts are one mask and one shift."""
    type_, value, base = "i64", start, Symbol("base", "i64", 8)
    field = BitField(base, 2**64 - 1, 0)
    for _ in range(generator.randrange(1, 6)):
        op = generator.choice(["and", "shl", "lshr", "udiv", "trunc", "zext"])
        wider = [other for other in ("i8", "i16", "i32", "i64") if (BITS[other] > BITS[type_]) == (op == "zext")]
        result = type_
        operands: tuple[int, ...] = ()
        if op in ("trunc", "zext"):
            wider = [other for other in wider if other != type_]
            if not wider:
                continue
            result = generator.choice(wider)
        elif op == "and":
            operands = (generator.getrandbits(BITS[type_]),)
        else:
            amount = generator.randrange(BITS[type_])
            operands = (1 << amount if op == "udiv" else amount,)
        value = function(op, (type_,) * (1 + len(operands)), result)(value, *operands)
        following = field.then(op, operands[0] if operands else 0, BITS[result])
        if following is None:
            assert value == 0
            return
        field, type_ = following, result
    assert eval(field.text, {"base": start}) == value
