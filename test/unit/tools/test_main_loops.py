"""What main loops have: the same however they are unrolled and their blocks are laid out."""

from __future__ import annotations

from main_loops import kernel_steps

WAIT = "mbarrier.try_wait.parity.shared.b64 %p2, [%r1], %r2; @!%p2 bra WAIT{n};"
PRODUCT = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r3}, {%r4}, {%r5}, {%r6};"
STEP = ((("mbarrier.try_wait", 1), ("mma", 2)),)


def steps(body: str) -> frozenset[tuple[tuple[str, int], ...]]:
    head = ".version 8.8\n.target sm_120a\n.address_size 64\n.visible .entry k() { .reg .pred %p<9>; .reg .b32 %r<9>;\n"
    return kernel_steps(f"{head}{body}\nret; }}")


def step(number: int) -> str:
    """One that waits in a loop of its own."""
    return f"WAIT{number}: {WAIT.format(n=number)} {PRODUCT} {PRODUCT}"


def test_unrolled_loops_have_the_steps_of_others() -> None:
    unrolled = f"LOOP: {step(0)} {step(1)} @%p1 bra LOOP; REST: {step(2)} @%p3 bra REST;"
    assert steps(f"LOOP: {step(0)} @%p1 bra LOOP;") == steps(unrolled) == {*STEP}


def test_a_block_that_is_laid_out_behind_the_loop_is_in_it() -> None:
    assert steps(f"LOOP: {PRODUCT} bra FAR; NEAR: ret; FAR: {step(0)} {PRODUCT} @%p1 bra LOOP; bra NEAR;") == {
        (("mbarrier.try_wait", 1), ("mma", 4))
    }


def test_loops_around_do_not_count_and_warps_that_copy_have_their_own() -> None:
    copy = "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%r2, {%r3, %r4}], [%r5];"
    multiply = f"OUTER: bar.sync 0; INNER: {step(0)} @%p1 bra INNER; barrier.cta.sync 0; @%p3 bra OUTER;"
    assert steps(f"COPY: {copy} {copy} @%p4 bra COPY; {multiply}") == {*STEP, (("cp.async.bulk.tensor", 1),)}


def test_without_a_loop_all_of_the_code_counts() -> None:
    assert steps(f"{PRODUCT} {PRODUCT} barrier.cta.sync 0; bar.sync 1;") == {(("barrier.sync", 2), ("mma", 2))}
