"""What becomes of a host function that no stock run can show: leaves, layouts, sharing, and what is refused."""

from __future__ import annotations

import pytest
from conftest import TracedKernel
from host_functions import CONFIGURATION, host_function, kernel, launch

from cutecc.backend.host import UntranslatableError, launches_kernels, translate
from cutecc.errors import LaunchError
from cutecc.ir.modules import fresh_context, parse
from cutecc.record.host_program import HostProgram, KernelParameter, Op, decode, encode
from cutecc.runtime.program.evaluation import Evaluator
from cutecc.runtime.program.verification import verify


def translated(*operations: str, kernels: str = "", functions: str = "") -> HostProgram:
    text = host_function(*operations, kernels=kernels, functions=functions)
    with fresh_context():
        program = translate(parse(text.encode()))
    verify(program)
    assert decode(encode(program)) == program
    return program


def top(program: HostProgram) -> list[Op]:
    return [instruction.op for instruction in program.body.instructions]


TENSOR = "!llvm.struct<(ptr<1>, struct<(struct<(i32, struct<(i64, i32)>)>, struct<(i64, struct<()>)>)>)>"
STATIC = "!llvm.struct<(ptr<1>, struct<(struct<()>, struct<()>)>)>"


def test_leaves_say_what_they_are():
    text = host_function(launch("takes_nothing")).replace(
        "func.func @host(", f"func.func @host(%t: {TENSOR}, %u: {STATIC}, %v: !llvm.struct<(i32, i8)>, "
    )
    with fresh_context():
        program = translate(parse(text.encode()))
    kinds = [" ".join(f"{leaf.kind} {leaf.type}" for leaf in argument.leaves) for argument in program.arguments]
    scalars = ("i1", "i8", "i8", "i32", "i32", "i64", "i64", "f16", "f32", "f32", "f64", "i64")
    assert kinds == [
        "pointer i64 size i32 size i64 size i32 stride i64",
        "pointer i64",
        "scalar i32 scalar i8",
        "pointer i64",
        "stream i64",
        *(f"scalar {type_}" for type_ in scalars),
    ]


def test_parameters_are_laid_out_as_in_c():
    types = ["i8", "vector<4xi32>", "!llvm.struct<()>", "!llvm.struct<(i8, struct<(i64, i8)>)>", "i16"]
    values = [f"%v{index} = ub.poison : {type_}" for index, type_ in enumerate(types)]
    named = ", ".join(f"%v{index}" for index in range(len(types)))
    program = translated(*values, launch("takes", named, ", ".join(types)), kernels=kernel("takes", *types))
    (entry,) = program.kernels
    assert entry.parameters == [
        KernelParameter(0, 1, 1),
        KernelParameter(16, 16, 16),
        KernelParameter(32, 0, 1),
        KernelParameter(32, 24, 8),
        KernelParameter(56, 2, 2),
    ]
    assert entry.parameter_bytes == 58


def test_a_descriptor_by_value_is_aligned():
    struct = "!llvm.struct<(struct<(array<16 x i64>)>)>"
    taking = f"""cuda.kernel @takes(%a: i32, %b: !llvm.ptr {{llvm.align = 64 : i64, llvm.byval = {struct}}})
        attributes {{cute.kernel, gpu.kernel}} {{ cuda.return }}"""
    program = translated(f"%v = ub.poison : {struct}", launch("takes", "%i, %v", f"i32, {struct}"), kernels=taking)
    (entry,) = program.kernels
    assert entry.parameters == [KernelParameter(0, 4, 4), KernelParameter(64, 128, 64)]
    assert (entry.raise_shared_limit, entry.non_portable_cluster) == (False, False)


def test_the_alignment_of_what_a_pointer_points_to_moves_no_parameter():
    taking = """cuda.kernel @takes(%a: i32, %b: !llvm.ptr<1> {llvm.align = 128 : i64}, %c: i32)
        attributes {cute.kernel, gpu.kernel} { cuda.return }"""
    values = "%v = ub.poison : !llvm.ptr<1>"
    program = translated(values, launch("takes", "%i, %v, %i", "i32, !llvm.ptr<1>, i32"), kernels=taking)
    (entry,) = program.kernels
    assert entry.parameters == [KernelParameter(0, 4, 4), KernelParameter(8, 8, 8), KernelParameter(16, 4, 4)]


def test_constants_and_equal_steps_are_shared_and_what_nobody_needs_is_dropped():
    program = translated(
        "%a = arith.constant 5 : i32",
        "%b2 = arith.constant 5 : i32",
        "%c0 = arith.addi %i, %a : i32",
        "%c1 = arith.addi %i, %b2 : i32",
        "%sum = arith.muli %c0, %c1 : i32",
        "%unused = arith.muli %sum, %i : i32",
        "%never = scf.if %b -> (i32) { scf.yield %i : i32 } else { scf.yield %sum : i32 }",
        launch("takes_i32", "%sum", "i32"),
    )
    assert top(program) == [*["constant"] * 4, "add", "mul", "launch", "return_if_error"]


def test_one_branch_does_not_use_what_the_other_computed():
    program = translated(
        """%v = scf.if %b -> (i32) {
          %t = arith.muli %i, %j : i32
          scf.yield %t : i32
        } else {
          %t = arith.muli %i, %j : i32
          %u = arith.addi %t, %i : i32
          scf.yield %u : i32
        }""",
        launch("takes_i32", "%v", "i32"),
    )
    (branch,) = [each for each in program.body.instructions if each.op == "if"]
    assert [[each.op for each in block.instructions] for block in branch.blocks] == [["mul"], ["mul", "add"]]


class Nowhere:
    """A host that must not be asked for anything."""


def test_an_assertion_that_does_not_hold_ends_the_program():
    program = translated('cf.assert %b, "rows must be even" loc("kernel.py":12:4)', launch("takes_nothing"))
    leaves = [0 for _ in program.leaves]
    with pytest.raises(LaunchError, match=r"^kernel\.py:12:5: rows must be even"):
        Evaluator(program)(leaves, Nowhere())  # pyright: ignore


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        (["%v = math.sqrt %f : f32", launch("takes_nothing")], "`math.sqrt`"),
        (["%v = arith.cmpf ueq, %f, %g : f32", launch("takes_nothing")], "compares floating-point numbers"),
        (["%v = llvm.alloca %i x i64 : (i32) -> !llvm.ptr", launch("takes_nothing")], "only a constant will do"),
        (["func.call @other() : () -> ()", launch("takes_nothing")], "`func.call`"),
        (["%v = llvm.mlir.addressof @number : !llvm.ptr", launch("takes_nothing")], "@number`, which is not a string"),
        (
            [
                "%n = arith.constant 20 : i32",
                "%v = llvm.alloca %one x !llvm.array<4 x i64> : (i32) -> !llvm.ptr",
                "%w = llvm.getelementptr %v[0, 4] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x i64>",
                launch("takes_nothing"),
            ],
            "beyond the end of an array",
        ),
        (["%v = ub.poison : !llvm.array<100000 x i8>", launch("takes_nothing")], "too large"),
        (["%v = ub.poison : i37", launch("takes_nothing")], "`i37`"),
        (
            [
                launch(
                    "takes_nothing",
                    attributes="scf.if %b {{ cuda.launch_cfg.cooperative[{c}] %one : " + CONFIGURATION + ", i32 }}",
                )
            ],
            "under a condition",
        ),
        (["\n".join(["scf.if %b {"] * 41), launch("takes_nothing"), "}" * 41], "deeper than 40"),
    ],
)
def test_what_a_program_cannot_say_is_refused(operations: list[str], message: str):
    functions = "func.func private @other()\nllvm.mlir.global internal constant @number(1 : i32) : i32"
    with pytest.raises(UntranslatableError, match=message):
        translated(*operations, functions=functions)


def test_the_refusal_names_the_line():
    text = host_function('%v = math.sqrt %f : f32 loc("mine.py":7:3)', launch("takes_nothing"))
    with fresh_context(), pytest.raises(UntranslatableError) as refused:
        translate(parse(text.encode()))
    assert str(refused.value.location) == "mine.py:7:4"


def test_exactly_one_function_launches():
    text = host_function(launch("takes_nothing"))
    twice = text.replace("func.func @host(", "func.func @again(", 1).partition("  func.func @again")
    both = text.rstrip().removesuffix("}") + twice[1] + twice[2]
    with fresh_context():
        with pytest.raises(UntranslatableError, match="several functions launch kernels: host, again"):
            translate(parse(both.encode()))
        none = parse(host_function().encode())
        assert not launches_kernels(none)
        with pytest.raises(UntranslatableError, match="no function of the module launches"):
            translate(none)
        assert launches_kernels(parse(text.encode()))


def test_the_traced_module_still_has_its_host_function(small_kernel: TracedKernel):
    with fresh_context():
        assert not launches_kernels(parse(b"module {}"))
        with pytest.raises(UntranslatableError):
            translate(parse(small_kernel.bytecode))
