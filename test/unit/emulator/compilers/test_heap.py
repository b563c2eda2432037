"""`malloc` and `free` in kernels: what they give and refuse, and what the checks find in the heap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cutecc
from cutecc.emulator.memory.heap import HEAP_BYTES
from cutecc.errors import EmulatorError

HEAD = """.version 8.0
.target sm_75
.address_size 64
.extern .func (.param .b64 result) malloc (.param .b64 size);
.extern .func free (.param .b64 address);
"""
ALLOCATE = """{ .param .b64 given; .param .b64 result; st.param.b64 [given], %size;
  call.uni (result), malloc, (given); ld.param.b64 %m, [result]; }
"""
FREE = "{ .param .b64 given; st.param.b64 [given], %m; call.uni free, (given); }\n"
CHECKED = cutecc.EmulatorOptions(check="all")


def kernel(body: str) -> str:
    """`%out` is the parameter, `%i` the thread's number in the grid; a block has its own `s`, and `%m` is malloc's."""
    return f"""{HEAD}.visible .entry k(.param .u64 out) {{
  .shared .align 8 .b64 s; .reg .b64 %out, %m, %size, %rd<6>; .reg .b32 %i, %t, %r<6>; .reg .pred %p, %first;
  ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x;
  mad.lo.u32 %i, %r0, %r1, %t; setp.eq.u32 %first, %t, 0; mov.u64 %size, 20;
  mul.wide.u32 %rd0, %i, 8; add.u64 %out, %out, %rd0;
  {body} ret; }}
"""


def run(body: str, threads: int = 32, blocks: int = 1, options: cutecc.EmulatorOptions = CHECKED) -> tuple[Any, Any]:
    out = np.zeros(threads * blocks, np.uint64)
    return out, cutecc.emulate_ptx(kernel(body), grid=blocks, block=threads, args=[out], options=options)


def kinds(body: str, **given: Any) -> list[str]:
    return [each.kind for each in run(body, **given)[1].findings]


def test_each_thread_has_its_own() -> None:
    """Of all blocks; each of its allocations is kept, which is no mistake."""
    body = f"{ALLOCATE} st.u32 [%m], %i; st.u32 [%m+16], %i; ld.u32 %r2, [%m+16]; st.global.u64 [%out], %m;"
    out, found = run(body, 64, 3)
    assert found.ok and len(set(out.tolist())) == 192 and not (out % 16).any() and out.all()
    assert np.diff(np.sort(out)).min() == 32


@pytest.mark.parametrize("size", [HEAP_BYTES + 1, 1 << 40, (1 << 64) - 1])
def test_null_where_there_is_no_room(size: int) -> None:
    out, found = run(f"mov.u64 %size, {size}; {ALLOCATE} {FREE} st.global.u64 [%out], %m;")
    assert found.ok and not out.any()


def test_all_of_it() -> None:
    """Three of four threads' quarters and a little more leave no room for the fourth; freed, it is given again."""
    once = f"{ALLOCATE} bar.sync 0; {FREE} bar.sync 0;"
    body = f"mov.u64 %size, {HEAP_BYTES // 4 + 16}; {once} {once} st.global.u64 [%out], %m;"
    out, found = run(body, 4)
    assert found.ok and np.count_nonzero(out) == 3


def test_memory_that_is_given_again_is_new() -> None:
    """Nothing orders the blocks, and nothing has to: none knows of the others' memory."""
    body = f"""mov.u64 %size, {HEAP_BYTES};\nagain: {ALLOCATE} setp.eq.u64 %p, %m, 0; @%p bra again;
      st.u32 [%m], %i; ld.u32 %r2, [%m]; {FREE} st.global.u64 [%out], %m;"""
    out, found = run(body, 1, 3)
    assert found.ok and out.all() and len(set(out.tolist())) == 1


def test_nothing_has_written_it() -> None:
    assert kinds(f"{ALLOCATE} ld.u32 %r2, [%m+4]; st.global.u32 [%out], %r2;") == ["uninitialised-heap"]
    assert kinds(f"{ALLOCATE} st.u32 [%m+4], 1; ld.u32 %r2, [%m+4]; st.global.u32 [%out], %r2;") == []


def test_undefined_bytes_that_nobody_uses() -> None:
    """A struct with padding is copied as a whole, within the heap and from there."""
    body = f"""{ALLOCATE} st.u8 [%m], 1; st.u32 [%m+4], 2; ld.u64 %rd1, [%m]; st.u64 [%m+8], %rd1;
      ld.u32 %r2, [%m+12]; st.global.u32 [%out], %r2;"""
    assert kinds(body) == []
    assert kinds(body.replace("[%m+12]", "[%m+8]")) == ["uninitialised-heap"]


def test_other_memory_is_left_alone_by_what_follows_undefined_values() -> None:
    """Of one store some threads' go to the heap, others' to an argument."""
    body = f"""{ALLOCATE} st.u32 [%m+8], 7; and.b32 %r2, %t, 1; setp.eq.u32 %p, %r2, 0; ld.u32 %r3, [%m];
      selp.u32 %r3, %r3, 5, %p; selp.b64 %rd1, %m, %out, %p; st.u32 [%rd1], %r3;"""
    out, found = run(body)
    assert found.ok and out.tolist() == [0, 5] * 16


def test_beyond_its_end() -> None:
    _, found = run(f"{ALLOCATE} st.u32 [%m+20], 1;", 1)
    (finding,) = found.findings
    assert finding.kind == "out-of-bounds" and "writes 4 bytes of the heap that are not allocated" in finding.message
    assert str(finding.address) == "heap+20, 0 bytes past the end of 20 that were allocated at heap+0"


def test_what_was_freed() -> None:
    assert kinds(f"{ALLOCATE} st.u32 [%m], 1; {FREE} ld.u32 %r2, [%m];", threads=1) == ["out-of-bounds"]


def test_a_gpu_lets_that_pass() -> None:
    body = f"{ALLOCATE} st.u32 [%m+20], 1; {FREE} ld.u32 %r2, [%m];"
    assert run(body, options=cutecc.EmulatorOptions())[1].ok


@pytest.mark.parametrize(
    ("before", "message"),
    [
        (FREE, "frees memory that has been freed already"),
        ("add.u64 %m, %m, 4;", "frees an address in the midst of what malloc has given"),
        ("mov.u64 %m, %out;", "frees an address that malloc has not given"),
        ("add.u64 %m, %m, 65536;", "frees an address that malloc has not given"),
    ],
)
def test_what_cannot_be_freed(before: str, message: str) -> None:
    body = f"{ALLOCATE} {before} {FREE}"
    _, found = run(body, 1)
    assert [each.kind for each in found.findings] == ["heap"] and message in found.findings[0].message
    with pytest.raises(EmulatorError, match=message):
        run(body, 1, options=cutecc.EmulatorOptions())


SHARED = f"@!%first bra all; {ALLOCATE} st.u32 [%m], 1; st.shared.u64 [s], %m;\nall: bar.sync 0; ld.shared.u64 %m, [s];"


def test_races() -> None:
    assert kinds(f"{SHARED} st.u32 [%m], %t;", threads=64) == ["race"]
    assert kinds(f"{SHARED} ld.u32 %r2, [%m]; st.global.u32 [%out], %r2;", threads=64) == []


def test_freed_while_others_read() -> None:
    body = f"{SHARED} ld.u32 %r2, [%m]; st.global.u32 [%out], %r2; BARRIER @!%first bra end; {FREE}\nend:"
    assert "race" in kinds(body.replace("BARRIER", ""), threads=64)
    assert kinds(body.replace("BARRIER", "bar.sync 0;"), threads=64) == []
