"""Two threads, a datum, and every kind of synchronisation between them: with it nothing is found, without it is."""

from __future__ import annotations

import checked_kernels as kernels
import pytest

from cutecc.emulator.machine.schedule import SCHEDULES

STORE, LOAD = "st.shared.b32 [%r5], %r1;", "ld.shared.b32 %r8, [%r6]; st.global.b32 [%rd3], %r8;"
INIT = "@%p1 mbarrier.init.shared.b64 [%r7], 64; bar.sync 0;"
WAIT = "{ .reg .pred q; AGAIN: mbarrier.try_wait.parity.shared.b64 q, [%r7], 0; @!q bra AGAIN; }"
ARRIVE = "mbarrier.arrive{}.shared.b64 %rd9, [%r7];"

RAW = [("race", "ld", "st")]


@pytest.mark.parametrize("schedule", ["round-robin", "random"])
@pytest.mark.parametrize(
    ("between", "found"),
    [
        ("", RAW),
        ("bar.sync 0;", []),
        ("bar.sync 1, 64;", []),
        ("bar.warp.sync -1;", []),
        ("shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;", RAW),
        ("membar.cta;", RAW),
        (INIT + ARRIVE.format("") + WAIT, []),
        (INIT + ARRIVE.format(".relaxed.cta") + WAIT, RAW[:0]),  # INIT has a barrier behind the store
    ],
)
def test_neighbours(between: str, found: list[tuple[str, str, str]], schedule: str) -> None:
    """Each thread reads what its neighbour in the warp wrote."""
    assert kernels.kinds(STORE + between + LOAD, schedule=schedule) == found


@pytest.mark.parametrize(("order", "found"), [("", []), (".relaxed.cta", RAW)])
def test_arrival(order: str, found: list[tuple[str, str, str]]) -> None:
    """An arrival without release orders nothing."""
    assert kernels.kinds(INIT + STORE + ARRIVE.format(order) + WAIT + LOAD) == found


@pytest.mark.parametrize(
    ("between", "found"),
    [("", [("race", "st", "ld")]), ("bar.sync 0;", []), ("shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;", [])],
)
def test_write_after_read(between: str, found: list[tuple[str, str, str]]) -> None:
    """Within a warp, what it executes together has taken earlier reads."""
    read = "bar.sync 0; ld.shared.b32 %r8, [%r6];"
    assert kernels.kinds(STORE + read + between + "st.shared.b32 [%r5], %r8;") == found


@pytest.mark.parametrize(
    ("release", "acquire", "racy"),
    [
        ("st.release.gpu.global.b32 [%rd1], 1;", "ld.acquire.gpu.global.b32 %r9, [%rd1];", False),
        ("fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%rd1], 1;", "ld.acquire.gpu.global.b32 %r9, [%rd1];", False),
        ("membar.gl; st.volatile.global.b32 [%rd1], 1;", "ld.acquire.gpu.global.b32 %r9, [%rd1];", False),
        ("atom.global.release.gpu.add.u32 %r9, [%rd1], 1;", "ld.acquire.gpu.global.b32 %r9, [%rd1];", False),
        ("st.relaxed.gpu.global.b32 [%rd1], 1;", "ld.acquire.gpu.global.b32 %r9, [%rd1];", True),
        ("st.release.gpu.global.b32 [%rd1], 1;", "ld.relaxed.gpu.global.b32 %r9, [%rd1];", True),
        ("fence.acq_rel.cta; st.relaxed.gpu.global.b32 [%rd1], 1;", "ld.acquire.gpu.global.b32 %r9, [%rd1];", True),
    ],
)
def test_message_between_blocks(release: str, acquire: str, racy: bool) -> None:
    """Block 0 writes a datum and raises a flag; block 1 polls the flag and reads the datum."""
    body = f"""
      @!%p2 bra POLL;
      st.global.b32 [%rd1+64], 7;
      {release}
      bra END;
      POLL: {acquire} setp.eq.u32 %p3, %r9, 0; @%p3 bra POLL;
      ld.global.b32 %r8, [%rd1+64]; st.global.b32 [%rd1+128], %r8;
      END:
    """
    found = kernels.kinds(body, blocks=2, threads=1)
    assert found == ([("race", "ld", "st")] if racy else [])


def test_acquire_fence_after_relaxed_poll() -> None:
    """A fence behind the poll acquires what it saw."""
    body = """
      @!%p2 bra POLL;
      st.global.b32 [%rd1+64], 7; fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%rd1], 1;
      bra END;
      POLL: ld.relaxed.gpu.global.b32 %r9, [%rd1]; setp.eq.u32 %p3, %r9, 0; @%p3 bra POLL;
      fence.acq_rel.gpu; ld.global.b32 %r8, [%rd1+64]; st.global.b32 [%rd1+128], %r8;
      END:
    """
    assert kernels.kinds(body, blocks=2, threads=1) == []


COPY = "cp.async.ca.shared.global [%r5], [%rd3], 4; cp.async.commit_group;"


@pytest.mark.parametrize(
    ("between", "load", "racy"),
    [
        ("cp.async.wait_group 0;", "%r5", False),
        ("cp.async.wait_group 0; bar.sync 0;", "%r6", False),
        ("cp.async.wait_group 0;", "%r6", True),
        ("bar.sync 0;", "%r6", True),
        ("", "%r5", True),
    ],
)
def test_cp_async(between: str, load: str, racy: bool) -> None:
    """Waiting shows a thread its own copies; a barrier behind that shows them to others."""
    found = kernels.kinds(f"{COPY} {between} ld.shared.b32 %r8, [{load}]; st.shared.b32 [%r5+512], %r8;")
    assert found == ([("race", "ld", "cp")] if racy else [])


def test_same_value_in_one_instruction() -> None:
    """Threads of one warp may all write the same; not each its own."""
    assert kernels.kinds("st.shared.b32 [%r3], 5;", threads=32) == []
    assert kernels.kinds("st.shared.b32 [%r3], %r1;", threads=32) == [("race", "st", "st")]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_same_value_in_shared_memory(schedule: str) -> None:
    """Compilers have all warps write what all of them hold. Who writes another value, or reads, still races."""
    both = "st.shared.b32 [%r3], 5; "
    assert kernels.kinds(both, schedule=schedule) == []
    assert kernels.kinds("st.shared.v2.b32 [%r3], {5, 6};", schedule=schedule) == []
    assert kernels.kinds("@%p1 st.shared.b32 [%r3], 4; " + both, schedule=schedule) == [("race", "st", "st")]
    found = kernels.kinds(both + "@%p1 ld.shared.b32 %r8, [%r3]; @%p1 st.shared.b32 [%r5], %r8;", schedule=schedule)
    assert ("race", "ld", "st") in found or ("race", "st", "ld") in found


def test_atomics_do_not_race_with_each_other() -> None:
    """But with a plain access."""
    add = "atom.global.add.u32 %r9, [%rd1], 1;"
    assert kernels.kinds(add, blocks=2) == []
    assert kernels.kinds(add + "ld.global.b32 %r8, [%rd1]; st.shared.b32 [%r5], %r8;") == [("race", "ld", "atom")]
    within_block = "atom.cta.global.add.u32 %r9, [%rd1], 1;"
    assert kernels.kinds(2 * within_block) == []
    assert kernels.kinds(2 * within_block, blocks=2) == [("race", "atom", "atom")]


def bulk_store(before: str, after: str = "cp.async.bulk.wait_group 0;") -> str:
    return f"""
      st.shared.b32 [%r5], %r1;
      {before}
      @!%p1 bra END;
      cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 256;
      cp.async.bulk.commit_group;
      {after}
      END:
    """


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("fence.proxy.async.shared::cta; bar.sync 0;", []),
        ("fence.proxy.async; bar.sync 0;", []),
        ("bar.sync 0;", [("missing-proxy-fence", "cp", "st")]),
        ("fence.proxy.async.global; bar.sync 0;", [("missing-proxy-fence", "cp", "st")]),
        ("fence.proxy.async.shared::cta;", [("race", "cp", "st")]),
        ("bar.sync 0; @%p1 fence.proxy.async.shared::cta;", []),
    ],
)
def test_proxy_fence(before: str, found: list[tuple[str, str, str]]) -> None:
    """A fence between a write and a bulk copy's read, wherever on the way it is (PTX ISA, "Causality Order")."""
    assert kernels.kinds(bulk_store(before)) == found


@pytest.mark.parametrize(
    ("wait", "after", "found"),
    [
        (".read", "st.shared.b32 [%r3], 9;", []),
        ("", "ld.global.b32 %r9, [%rd1]; st.shared.b32 [%r3], %r9;", []),
        (".read", "ld.global.b32 %r9, [%rd1]; st.shared.b32 [%r3], %r9;", [("race", "ld", "cp")]),
    ],
)
def test_waiting_for_reads_alone(wait: str, after: str, found: list[tuple[str, str, str]]) -> None:
    """`wait_group.read` is the end of what a bulk copy reads, not of what it writes."""
    fences = "fence.proxy.async.shared::cta; bar.sync 0;"
    assert kernels.kinds(bulk_store(fences, after=f"cp.async.bulk.wait_group{wait} 0; {after}")) == found


@pytest.mark.parametrize(
    ("wait", "found"),
    [
        ("cp.async.bulk.wait_group 0;", []),
        ("cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 0;", []),
        ("cp.async.bulk.wait_group.read 0; cp.async.bulk.wait_group 1;", [("race", "ld", "cp")]),
    ],
)
def test_a_full_wait_after_one_for_reads(wait: str, found: list[tuple[str, str, str]]) -> None:
    """It shows what the groups wrote that it names, and no more."""
    fences = "fence.proxy.async.shared::cta; bar.sync 0;"
    after = f"{wait} ld.global.b32 %r9, [%rd1]; st.shared.b32 [%r3], %r9;"
    assert kernels.kinds(bulk_store(fences, after)) == found


PRODUCT = """
  st.shared.b32 [%r5], 0;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  shr.u32 %r8, %r3, 4;
  cvt.u64.u32 %rd5, %r8;
  setp.ne.u32 %p3, %r1, %r1;
  mov.b32 %r10, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
    {%f0, %f1, %f2, %f3}, {%r10, %r10, %r10, %r10}, %rd5, %p3, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
"""
"""Its matrix B is 128 bytes of the tile."""


@pytest.mark.parametrize("schedule", ["round-robin", "adversarial"])
@pytest.mark.parametrize(
    ("between", "found"),
    [
        ("wgmma.wait_group.sync.aligned 0; bar.sync 0;", []),
        ("wgmma.wait_group.sync.aligned 0;", [("race", "st", "wgmma")]),
    ],
)
def test_a_warp_waits_for_its_own_part_of_a_wgmma(
    between: str, found: list[tuple[str, str, str]], schedule: str
) -> None:
    """The warpgroup's other warps may still read: a barrier has to come before their matrix B is overwritten."""
    body = PRODUCT + between + "@%p1 st.shared.b32 [%r3], 7;"
    assert kernels.kinds(body, threads=128, schedule=schedule) == found


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("cp.async.wait_group 0; fence.proxy.async.shared::cta;", []),
        ("cp.async.wait_group 0;", [("missing-proxy-fence", "cp", "cp")]),
        ("fence.proxy.async.shared::cta; cp.async.wait_group 0;", [("missing-proxy-fence", "cp", "cp")]),
    ],
)
def test_proxy_fence_of_copies(before: str, found: list[tuple[str, str, str]]) -> None:
    """`cp.async` writes through the generic proxy; a fence covers the copies that are known to be over."""
    assert kernels.kinds(COPY + before + bulk_store("bar.sync 0;").partition("%r1;")[2]) == found


@pytest.mark.parametrize("forgotten", range(4))
def test_write_after_reads_of_all_warps(forgotten: int) -> None:
    """All warps read one word; one of them does not come to the barrier before it is written again."""
    writer = 32 * ((forgotten + 1) % 4)
    body = f"""
      @%p1 st.shared.b32 [%r3], 5;
      bar.sync 0;
      ld.shared.b32 %r8, [%r3]; st.global.b32 [%rd3], %r8;
      shr.u32 %r9, %r1, 5; setp.eq.u32 %p4, %r9, {forgotten};
      @%p4 bra END;
      bar.sync 1, 96;
      setp.eq.u32 %p5, %r1, {writer};
      @%p5 st.shared.b32 [%r3], 6;
      END:
    """
    assert kernels.kinds(body, threads=128) == [("race", "st", "ld")]
    assert kernels.kinds(body.replace("@%p4 bra END;", "").replace("bar.sync 1, 96", "bar.sync 1"), threads=128) == []


@pytest.mark.parametrize("schedule", ["round-robin", "random"])
@pytest.mark.parametrize("first", ["", "+4"])
def test_blocks_read_each_others_edge(first: str, schedule: str) -> None:
    """A thread and its neighbour read each word, some of them in another block; then its owner writes it."""
    second = "" if first else "+4"
    body = f"""
      mad.lo.u32 %r9, %r2, 64, %r1; mul.wide.u32 %rd4, %r9, 4; add.s64 %rd5, %rd1, %rd4;
      ld.global.b32 %r10, [%rd5{first}]; ld.global.b32 %r11, [%rd5{second}]; add.u32 %r10, %r10, %r11;
      bar.sync 0;
      st.global.b32 [%rd5], %r10;
    """
    # Either access may come second.
    assert {("race", "st", "ld"), ("race", "ld", "st")} & set(kernels.kinds(body, blocks=3, schedule=schedule))
    assert kernels.kinds(body, blocks=1, schedule=schedule) == []


def test_exit_without_waiting() -> None:
    """The block's shared memory may be gone before the copy has read it."""
    fences = "fence.proxy.async.shared::cta; bar.sync 0;"
    (found,) = kernels.findings(bulk_store(fences, after=""))
    assert found.kind == "race" and "exits without waiting" in found.message


def test_uninitialised() -> None:
    """Shared memory, and a register that only one way writes."""
    assert kernels.kinds("ld.shared.b32 %r8, [%r5]; st.global.b32 [%rd3], %r8;") == [("uninitialised-shared", "ld", "")]
    (found,) = kernels.findings("@%p1 mov.u32 %r8, 1; st.global.b32 [%rd3], %r8;")
    assert (found.kind, found.count) == ("uninitialised-register", 63)
    assert kernels.kinds("@%p1 mov.u32 %r8, 1; @%p1 st.global.b32 [%rd3], %r8;") == []


def test_element_that_nobody_reads() -> None:
    """Is loaded, but not read."""
    body = "st.shared.b32 [%r3], 1; ld.shared.v2.b32 {%r8, REST}, [%r3]; st.global.b32 [%rd3], %r8;"
    assert kernels.kinds(body.replace("REST", "%r9"), threads=1) == []
    body += "st.global.b32 [%rd3], %r9;"
    assert kernels.kinds(body.replace("REST", "%r9"), threads=1) == [("uninitialised-shared", "ld", "")]


def test_counts_and_places() -> None:
    """The first thread in full, the others by number."""
    (found,) = kernels.findings(STORE + LOAD)
    assert found.count == 64 and found.address == "shared+4"
    assert found.place.thread == (0, 0, 0)
    assert found.other is not None and found.other.thread == (1, 0, 0) and found.other.what == "written"


def test_bytes_that_never_came() -> None:
    """The last phase of an mbarrier misses what was announced."""
    body = INIT + "@%p1 mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r7], 16;"
    (found,) = kernels.findings(body)
    assert found.kind == "mbarrier" and "16 bytes and 63 arrivals missing" in found.message


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("value", ["5", "%r1"])
def test_stores_by_one_instruction(value: str, schedule: str) -> None:
    """Two warps store to one place: nothing orders them, be the value the same or not, and in step or not."""
    (found,) = kernels.findings(f"st.global.b32 [%rd1], {value};", schedule=schedule)
    assert found.kind == "race" and "that a thread of another warp writes here as well" in found.message
    assert "in one instruction" not in found.message
    (found,) = kernels.findings(f"st.global.b32 [%rd1], {value};", threads=32, blocks=2, schedule=schedule)
    assert found.kind == "race" and "that another block writes here as well" in found.message


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_stores_of_one_warp_in_one_instruction(schedule: str) -> None:
    assert kernels.kinds("st.global.b32 [%rd1], 5;", threads=32, schedule=schedule) == []
    (found,) = kernels.findings("st.global.b32 [%rd1], %r1;", threads=32, schedule=schedule)
    assert found.message.startswith("two threads of one warp write different values to the same global memory in one ")


@pytest.mark.parametrize(("count", "found"), [("2", []), ("%r1", ["race"])])
def test_mbarriers_that_a_whole_warp_initialises(count: str, found: list[str]) -> None:
    all_found = kernels.findings(f"add.u32 %r1, %r1, 1; mbarrier.init.shared.b64 [%r7], {count};", threads=32)
    assert [each.kind for each in all_found] == found


@pytest.mark.parametrize(("phases", "found"), [(1, ["mbarrier"]), (2, [])])
def test_a_tile_that_is_announced_and_not_loaded_when_all_are(phases: int, found: list[str]) -> None:
    """As a producer does that waits for its last stage to be free."""
    announce = "mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r7], 256;"
    load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 256, [%r7];"
    wait = "{ .reg .pred q; AGAIN: mbarrier.try_wait.parity.shared.b64 q, [%r7], 0; @!q bra AGAIN; }"
    body = "@!%p1 bra END; mbarrier.init.shared.b64 [%r7], 1; fence.proxy.async.shared::cta;"
    body += (announce + load + wait if phases == 2 else "") + announce + "END:"
    assert [each.kind for each in kernels.findings(body)] == found


def test_a_deadlock_leaves_nothing_over() -> None:
    """A copy that reads still, and a barrier that half of the warps leave out: nobody has exited too early."""
    body = bulk_store("fence.proxy.async.shared::cta; bar.sync 0;", after="")
    body += "setp.lt.u32 %p4, %r1, 32; @%p4 bar.sync 1, 64;"
    assert [each.kind for each in kernels.findings(body)] == ["deadlock"]


BULK_LOAD = """
  @!%p1 bra END;
  mbarrier.init.shared.b64 [%r7], 1;
  fence.proxy.async.shared::cta;
  mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r7], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 256, [%r7];
  { .reg .pred q; AGAIN: mbarrier.try_wait.parity.shared.b64 q, [%r7], PARITY; @!q bra AGAIN; }
  ACCESS
  END:
"""


@pytest.mark.parametrize(
    ("access", "has"), [("ld.shared.b32 %r8, [%r3];", "read"), ("st.shared.b32 [%r3], 1;", "written")]
)
def test_a_thread_that_does_not_wait_for_its_own_copy(access: str, has: str) -> None:
    """The wait for the wrong parity passes at once. Nobody else is blamed for it."""
    body = BULK_LOAD.replace("ACCESS", access)
    assert [each for each in kernels.kinds(body.replace("PARITY", "0")) if each[0] == "race"] == []
    found = kernels.findings(body.replace("PARITY", "1"), schedule="adversarial")
    (race,) = [each for each in found if each.kind == "race" and each.other is not None]
    what, _, cure = race.message.partition(": nothing orders the two\n")
    assert what == f"a bulk copy writes shared memory that the same thread has {has} since starting it"
    assert cure.endswith("look at the parity that the wait takes")


@pytest.mark.parametrize("blocks", [1, 2])
@pytest.mark.parametrize("value", ["add.u32 %r8, %r8, 1;", "add.u32 %r8, %r8, %r1;"])
def test_an_update_of_an_element_that_others_update(value: str, blocks: int) -> None:
    """Is one finding: that the stores collide with each other, with the same values or others, goes without saying."""
    body = f"ld.global.b32 %r8, [%rd1]; {value} st.global.b32 [%rd1], %r8;"
    (found,) = kernels.findings(body, blocks=blocks)
    assert found.kind == "race" and "atomic_add" in found.message
    elsewhere = kernels.findings(body.replace("ld.global.b32 %r8, [%rd1]", "ld.global.b32 %r8, [%rd3]"))
    assert elsewhere and not any("atomic_add" in each.message for each in elsewhere)


def test_what_orders_two_accesses_is_said() -> None:
    (near,) = kernels.findings(STORE + LOAD, threads=32)
    assert "sync_warp()" in near.message
    (block,) = kernels.findings(
        "@%p1 st.global.b32 [%rd1], %r1; setp.eq.u32 %p4, %r1, 32; @%p4 st.global.b32 [%rd1], 7;"
    )
    assert "sync_threads()" in block.message
    (grid,) = kernels.findings("@%p2 st.global.b32 [%rd1], 1; @!%p2 st.global.b32 [%rd1], 2;", threads=1, blocks=2)
    assert "nothing orders blocks of a launch" in grid.message
