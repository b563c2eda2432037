"""Each kind of edit: what exactly comes of a small module, what is refused, and that no real module aborts it."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reduction_editing import ALL, after, canonical, check

from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline
from cutecc.target import Target
from cutecc.workbench.reduction.edits import KINDS
from cutecc.workbench.reduction.texts import TEXT_KINDS
from cutecc.workbench.reduction.working import Manner, count_sites, edited, normalised

# Operations.

CHAIN = """
func.func @f(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  %1 = arith.muli %0, %a : i32
  %2 = math.absi %1 : i32
  return %1 : i32
}
"""


@pytest.mark.parametrize(
    ("chosen", "body"),
    [
        ((3,), "%0 = arith.addi %a, %a : i32 %1 = arith.muli %0, %a : i32"),
        (
            (1,),
            "%p = builtin.unrealized_conversion_cast to i32 %1 = arith.muli %p, %a : i32 %2 = math.absi %1 : i32",
        ),
        # One placeholder for both.
        ((1, 2), "%1 = builtin.unrealized_conversion_cast to i32 %2 = math.absi %1 : i32"),
        ((1, 2, 3), "%1 = builtin.unrealized_conversion_cast to i32"),
    ],
)
def test_a_placeholder_stands_for_what_is_used(chosen: tuple[int, ...], body: str) -> None:
    check("operations", CHAIN, chosen, f"func.func @f(%a: i32) -> i32 {{ {body} return %1 : i32 }}")


def test_an_edit_takes_unused_placeholders_along() -> None:
    text = """func.func @f() {
      %p = builtin.unrealized_conversion_cast to i32 %0 = math.absi %p : i32 return
    }"""
    assert count_sites(canonical(text), "operations") == 2
    check("operations", text, (1,), "func.func @f() { return }")


def test_without_placeholders_only_what_nobody_uses_goes() -> None:
    assert after("operations", CHAIN, 1, manner=Manner(placeholders=False)) is None
    found = after("operations", CHAIN, 3, manner=Manner(placeholders=False))
    assert found is not None and "absi" not in found


CALLS = """
func.func private @h(%a: i32) -> i32 { return %a : i32 }
func.func @f(%a: i32) -> i32 {
  %0 = call @h(%a) : (i32) -> i32
  %1 = call @g(%0) : (i32) -> i32
  return %1 : i32
}
func.func @g(%a: i32) -> i32 { return %a : i32 }
"""


def test_with_a_function_go_its_calls() -> None:
    check(
        "operations",
        CALLS,
        (0,),
        """func.func @f(%a: i32) -> i32 {
             %p = builtin.unrealized_conversion_cast to i32
             %1 = call @g(%p) : (i32) -> i32
             return %1 : i32
           }
           func.func @g(%a: i32) -> i32 { return %a : i32 }""",
    )
    check("operations", CALLS, (ALL,), "module {}")


LAUNCH = """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @k(%a: i32, %b: f32) { %0 = math.absi %a : i32 return }
  }
  func.func @host(%a: i32, %b: f32, %s: !cuda.stream) {
    %c = arith.constant 1 : i32
    %m = arith.constant 0 : i64
    %g = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%c, %c, %c), dynamicSmemBytes = %m, gridDim = (%c, %c, %c), stream = %s) : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> !cuda.launch_cfg<max_attrs = 17>
    %r = cuda.launch_ex @kernels::@k<%g> (%a, %b) {assume_kernel_attr = #cuda.assume_kernel_attr<true>} : !cuda.launch_cfg<max_attrs = 17>, (i32, f32) -> !cuda.result
    return
  }
}
"""  # noqa: E501 - one operation is one line


def test_with_a_kernel_go_its_launches_and_arguments_are_dropped_from_both() -> None:
    found = after("operations", LAUNCH, 1)
    assert found is not None and "cuda.kernel" not in found and "launch_ex" not in found and "launch_cfg" in found
    # The kernel's arguments are the first two sites.
    found = after("arguments", LAUNCH, 0)
    assert found is not None
    assert "cuda.kernel @k(%arg0: f32)" in found
    assert "@kernels::@k<%0> (%arg1)" in found and "(f32) -> !cuda.result" in found


NEST = """
func.func @f(%n: index, %x: f32) -> f32 {
  %r = scf.for %i = %n to %n step %n iter_args(%c = %x) -> (f32) {
    %0 = arith.index_cast %i : index to i32
    %s = scf.for %j = %i to %n step %n iter_args(%d = %c) -> (f32) {
      %1 = math.exp2 %d : f32
      scf.yield %1 : f32
    }
    scf.yield %s : f32
  }
  return %r : f32
}
"""


@pytest.mark.parametrize(
    ("chosen", "body"),
    [
        (
            (0,),
            """%p = builtin.unrealized_conversion_cast to index
               %q = builtin.unrealized_conversion_cast to f32
               %0 = arith.index_cast %p : index to i32
               %r = scf.for %j = %p to %n step %n iter_args(%d = %q) -> (f32) {
                 %1 = math.exp2 %d : f32
                 scf.yield %1 : f32
               }""",
        ),
        (
            (ALL,),
            """%p = builtin.unrealized_conversion_cast to index
               %q = builtin.unrealized_conversion_cast to f32
               %0 = arith.index_cast %p : index to i32
               %r = math.exp2 %q : f32""",
        ),
    ],
)
def test_what_is_inside_stays_without_what_is_around_it(chosen: tuple[int | str, ...], body: str) -> None:
    found = after("regions", NEST, *chosen)
    assert found is not None
    # Placeholders come in the order in which they were needed.
    expected = canonical(f"func.func @f(%n: index, %x: f32) -> f32 {{ {body} return %r : f32 }}")
    assert sorted(re.sub(r"%\d+", "%", found).splitlines()) == sorted(re.sub(r"%\d+", "%", expected).splitlines())


# Values.


def test_another_value_of_the_same_type_stands_for_a_result() -> None:
    by_first, by_operand, by_zero = (f"values by {each}" for each in ("earlier ones", "operands", "0"))
    expected = """func.func @f(%a: i32) -> i32 {
      %0 = arith.addi %a, %a : i32 %2 = math.absi %NEW : i32 return %NEW : i32
    }"""
    assert count_sites(canonical(CHAIN), by_first) == 2, "what nobody uses is no site"
    check(by_first, CHAIN, (1,), expected.replace("NEW", "a"))
    check(by_operand, CHAIN, (1,), expected.replace("NEW", "0"))
    check(by_zero, CHAIN, (1,), expected.replace("{\n", "{ %z = arith.constant 0 : i32\n").replace("NEW", "z"))


def test_the_first_value_stands_before_what_it_replaces() -> None:
    text = """func.func @f() -> f32 {
      %0 = arith.constant 1.0 : f32
      %1 = math.exp2 %0 : f32
      return %1 : f32
    }"""
    assert count_sites(canonical(text), "values by earlier ones") == 1
    expected = "func.func @f() -> f32 { %0 = arith.constant 1.0 : f32 return %0 : f32 }"
    check("values by earlier ones", text, (0,), expected)


def test_constants_and_what_has_no_zero_are_no_sites() -> None:
    text = "func.func @f(%s: !cuda.stream) -> i32 { %0 = arith.constant 7 : i32 return %0 : i32 }"
    assert count_sites(canonical(text), "values by 0") == 0
    llvm = "llvm.func @f(%a: i32) -> i32 { %0 = llvm.add %a, %a : i32 llvm.return %0 : i32 }"
    check("values by 0", llvm, (0,), llvm.replace("llvm.add %a, %a", "llvm.mlir.constant(0 : i32)"))


# Control flow.

BRANCHES = """
func.func @f(%c: i1, %a: i32, %b: i32) -> i32 {
  cf.cond_br %c, ^one(%a : i32), ^two(%a, %b : i32, i32)
^one(%x: i32):
  %0 = math.absi %x : i32
  cf.br ^end(%0 : i32)
^two(%y: i32, %z: i32):
  %1 = arith.addi %y, %z : i32
  cf.br ^end(%1 : i32)
^end(%r: i32):
  return %r : i32
}
"""


@pytest.mark.parametrize(("way", "body"), [(0, "%r = math.absi %a : i32"), (1, "%r = arith.addi %a, %b : i32")])
@pytest.mark.parametrize("dialect", ["cf", "llvm"])
def test_a_branch_goes_one_way_and_its_blocks_become_one(way: int, body: str, dialect: str) -> None:
    text, expected = BRANCHES, f"func.func @f(%c: i1, %a: i32, %b: i32) -> i32 {{ {body} return %r : i32 }}"
    if dialect == "llvm":
        for old, new in (("func.func", "llvm.func"), ("return", "llvm.return"), ("cf.", "llvm.")):
            text, expected = text.replace(old, new), expected.replace(old, new)
    assert count_sites(canonical(text), "branches") == 2
    check("branches", text, (way,), expected)
    # Both ways at once: the first counts.
    check("branches", text, (ALL,), after("branches", text, 0))


LOOP = """
func.func @f(%n: i32) -> i32 {
  cf.br ^head(%n : i32)
^head(%i: i32):
  %c = arith.cmpi slt, %i, %n : i32
  cf.cond_br %c, ^body, ^end
^body:
  %0 = arith.addi %i, %n : i32
  cf.br ^head(%0 : i32)
^end:
  return %i : i32
}
"""


def test_a_loop_is_left_or_never_left() -> None:
    check("branches", LOOP, (1,), "func.func @f(%n: i32) -> i32 { %c = arith.cmpi slt, %n, %n : i32 return %n : i32 }")
    endless = after("branches", LOOP, 0)
    assert endless is not None and "cf.br ^bb1" in endless and "return" not in endless


def test_blocks_without_another_way_in_are_merged() -> None:
    text = "func.func @f(%a: i32) -> i32 { cf.br ^next(%a : i32) ^next(%b: i32): return %b : i32 }"
    assert count_sites(canonical(text), "branches") == 1
    check("branches", text, (0,), "func.func @f(%a: i32) -> i32 { return %a : i32 }")
    own = "func.func @f() { cf.br ^loop ^loop: cf.br ^loop }"
    assert count_sites(canonical(own), "branches") == 0, "a block does not go before itself"


def test_nested_control_flow_of_an_unreachable_block_goes_with_it() -> None:
    # What execute_region holds is control flow of its own.
    text = """func.func @f(%c: i1) {
      cf.cond_br %c, ^one, ^two
    ^one:
      return
    ^two:
      scf.execute_region { cf.cond_br %c, ^a, ^b ^a: scf.yield ^b: scf.yield }
      return
    }"""
    check("branches", text, (ALL,), "func.func @f(%c: i1) { return }")


# Arguments, operands, results.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("func.func @f(%a: i32, %b: f32 {x.y}) { return }", "func.func @f(%b: f32 {x.y}) { return }"),
        ("llvm.func @f(%a: i32, %b: f32) -> i1 { %0 = llvm.mlir.undef : i1 llvm.return %0 : i1 }",
         "llvm.func @f(%b: f32) -> i1 { %0 = llvm.mlir.undef : i1 llvm.return %0 : i1 }"),
        ('llvm.func @f(%a: i32, %b: !llvm.struct<"s (t", (i32, f32)>) -> !llvm.struct<(i32, f32)> { llvm.unreachable }',
         'llvm.func @f(%b: !llvm.struct<"s (t", (i32, f32)>) -> !llvm.struct<(i32, f32)> { llvm.unreachable }'),
        ("gpu.module @m { cuda.kernel @f(%a: i32, %b: f32) { return } }",
         "gpu.module @m { cuda.kernel @f(%b: f32) { return } }"),
        ("gpu.module @m { gpu.func @f(%a: i32, %b: f32) kernel { gpu.return } }",
         "gpu.module @m { gpu.func @f(%b: f32) kernel { gpu.return } }"),
    ],
    ids=["func", "llvm", "llvm-struct", "cuda", "gpu"],
)  # fmt: skip
def test_an_argument_of_a_function_goes(text: str, expected: str) -> None:
    assert count_sites(canonical(text), "arguments") == 2
    check("arguments", text, (0,), expected)
    assert "%arg0" not in (after("arguments", text, ALL) or "%arg0")


def test_a_used_argument_becomes_a_placeholder_and_a_callers_operand_goes() -> None:
    text = """
    func.func @g(%a: i32, %b: i32) -> i32 { %0 = arith.addi %a, %b : i32 return %0 : i32 }
    func.func @f(%x: i32, %y: i32) -> i32 { %0 = call @g(%x, %y) : (i32, i32) -> i32 return %0 : i32 }
    """
    check(
        "arguments",
        text,
        (0, 3),
        """
    func.func @g(%b: i32) -> i32 {
      %p = builtin.unrealized_conversion_cast to i32 %0 = arith.addi %p, %b : i32 return %0 : i32
    }
    func.func @f(%x: i32) -> i32 {
      %p = builtin.unrealized_conversion_cast to i32 %0 = call @g(%p) : (i32) -> i32 return %0 : i32
    }""",
    )
    llvm = """
    llvm.func @g(%a: i32, %b: f32) { llvm.return }
    llvm.func @f(%x: i32, %y: f32) { llvm.call @g(%x, %y) : (i32, f32) -> () llvm.return }
    """
    check("arguments", llvm, (0,), """
    llvm.func @g(%b: f32) { llvm.return }
    llvm.func @f(%x: i32, %y: f32) { llvm.call @g(%y) : (f32) -> () llvm.return }""")  # fmt: skip


def test_a_function_returns_less_and_so_do_its_calls() -> None:
    text = """
    func.func @g(%a: i32, %b: f32) -> (i32, f32) { return %a, %b : i32, f32 }
    func.func @f(%a: i32, %b: f32) -> f32 { %0:2 = call @g(%a, %b) : (i32, f32) -> (i32, f32) return %0#1 : f32 }
    """
    assert count_sites(canonical(text), "returned values") == 3
    check("returned values", text, (0,), """
    func.func @g(%a: i32, %b: f32) -> f32 { return %b : f32 }
    func.func @f(%a: i32, %b: f32) -> f32 { %0 = call @g(%a, %b) : (i32, f32) -> f32 return %0 : f32 }""")  # fmt: skip
    check("returned values", text, (1, 2), """
    func.func @g(%a: i32, %b: f32) -> i32 { return %a : i32 }
    func.func @f(%a: i32, %b: f32) { %0 = call @g(%a, %b) : (i32, f32) -> i32 return }""")  # fmt: skip


def test_a_loop_carries_less() -> None:
    check("carried values", NEST, (ALL,), """
    func.func @f(%n: index, %x: f32) -> f32 {
      %p = builtin.unrealized_conversion_cast to f32
      scf.for %i = %n to %n step %n {
        %0 = arith.index_cast %i : index to i32
        scf.for %j = %i to %n step %n { %1 = math.exp2 %p : f32 }
      }
      return %p : f32
    }""")  # fmt: skip
    loop = """func.func @f(%x: i32, %y: f32, %c: i1) -> f32 {
      %0:2 = scf.while (%a = %x, %b = %y) : (i32, f32) -> (i32, f32) {
        scf.condition(%c) %a, %b : i32, f32
      } do {
      ^bb0(%a: i32, %b: f32):
        scf.yield %a, %b : i32, f32
      }
      return %0#1 : f32
    }"""
    # What comes in, what goes on: two sites each.
    assert count_sites(canonical(loop), "carried values") == 4
    found = after("carried values", loop, 0, 2)
    assert found is not None and "scf.condition(%arg2) %arg3 : f32" in found and "scf.yield %arg3 : f32" in found
    assert "i32" not in found.partition("\n")[2].partition("{")[2]


def test_a_conditional_gives_less_and_a_block_takes_less() -> None:
    text = """func.func @f(%c: i1, %x: i32) -> i32 {
      %0:2 = scf.if %c -> (i32, i32) { scf.yield %x, %x : i32, i32 } else { scf.yield %x, %x : i32, i32 }
      return %0#1 : i32
    }"""
    check("carried values", text, (0,), """func.func @f(%c: i1, %x: i32) -> i32 {
      %0 = scf.if %c -> (i32) { scf.yield %x : i32 } else { scf.yield %x : i32 }
      return %0 : i32
    }""")  # fmt: skip
    found = after("carried values", BRANCHES, 1)
    assert found is not None
    assert "cf.cond_br %arg0, ^bb1(%arg1 : i32), ^bb2(%arg2 : i32)" in found, "the second block's first argument went"


def test_operands_and_results_go_where_there_may_be_any_number() -> None:
    text = """func.func @f(%a: i32, %b: i32) -> i32 {
      %0 = arith.addi %a, %b : i32
      %1:2 = builtin.unrealized_conversion_cast %a, %b : i32, i32 to i32, i32
      %2 = cute.make_coord(%a, %b) : (i32, i32) -> !cute.coord<"(?,?)">
      return %1#0 : i32
    }"""
    known = canonical(text)
    # Not those of addi, which always has two and one. `return` has as many as the function says.
    assert count_sites(known, "operands") == 5
    assert count_sites(known, "results") == 1
    found = after("results", text, 0)
    assert found is not None and "cast %arg0, %arg1 : i32, i32 to i32\n" in found
    found = after("operands", text, 1)
    assert found is not None and "cast %arg0 : i32 to i32, i32" in found


# Anything.


@dataclass(frozen=True)
class Real:
    """Modules of a real kernel, as text."""

    texts: list[str] = field(repr=False)


@pytest.fixture(scope="module")
def real(traced_kernels) -> Real:
    """Two small kernels as traced, without cute types, with branches, and as LLVM."""
    texts: list[str] = []
    for name in ("scalar_args", "control_flow"):
        with fresh_context():
            module = parse(traced_kernels[name].bytecode)
            texts.append(to_text(module))
            for pass_ in choose_pipeline("nvidia", Target.parse("sm_80")).until("cse#2"):
                manager.run(Pipeline((pass_,)), module)
                if pass_.name in ("cse", "convert-cute-to-core", "convert-scf-to-cf", "one-shot-convert-to-llvm"):
                    texts.append(to_text(module))
    return Real(texts)


@pytest.mark.slow
@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    which=st.integers(0, 99),
    kinds=st.lists(st.sampled_from([*KINDS, *TEXT_KINDS]), min_size=1, max_size=4),
    share=st.sampled_from([1.0, 0.5, 0.1, 0.0]),
    seed=st.integers(0, 1 << 16),
)
def test_a_real_module_becomes_one_that_can_be_read_or_none(
    real: Real, which: int, kinds: list[str], share: float, seed: int
) -> None:
    text, rng = real.texts[which % len(real.texts)], random.Random(seed)
    for kind in kinds:
        count = count_sites(text, kind)
        if count:
            found = edited(text, kind, sorted(rng.sample(range(count), max(1, int(count * share)))), Manner())
            if found is not None:
                assert found.text != text
                assert normalised(found.text.encode(), False) == found
                text = found.text
