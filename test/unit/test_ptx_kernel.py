"""`cutecc.emulate_ptx`: what it takes as arguments and launches, and what it refuses."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import cutecc
from cutecc.errors import ArgumentError, LaunchError, ParseError, UsageError

HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n"
SCALE = """.visible .entry scale(.param .u64 x, .param .f32 by, .param .u32 n) {
  .reg .b32 %r<5>; .reg .f32 %f<3>; .reg .b64 %rd<3>; .reg .pred %p;
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1;
  ld.param.u32 %r4, [n]; setp.ge.u32 %p, %r1, %r4; @%p ret;
  ld.param.u64 %rd1, [x]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
  ld.param.f32 %f1, [by]; ld.global.f32 %f2, [%rd1]; mul.f32 %f2, %f2, %f1; st.global.f32 [%rd1], %f2; ret;
}
"""
OLD = ["sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72", "sm_75"]
NAMED = "{0}.visible .entry {1}(.param .u64 x) {{ ret; }}\n"


def scale(**changed: Any) -> cutecc.Emulation:
    options: dict[str, Any] = {"grid": 2, "block": 32, "args": [np.ones(40, np.float32), 2.0, 40], **changed}
    return cutecc.emulate_ptx(HEAD + changed.pop("directive", "") + SCALE, **options)


def test_it_works_in_place() -> None:
    x = np.arange(40, dtype=np.float32)
    found = scale(args=[x, 2.0, 40], options=cutecc.EmulatorOptions(check="all", counters=True))
    assert x.tolist() == [2.0 * each for each in range(40)]
    assert found.ok and found.blocks == 2 and found.counters is not None


@pytest.mark.parametrize("number", [np.float32(3), 3, np.float64(3)])
def test_numbers_are_what_the_parameter_is(number: Any) -> None:
    x = np.ones(4, np.float32)
    scale(args={"x": x, "by": number, "n": np.int64(4)})
    assert x.tolist() == [3.0] * 4


def test_a_finding_names_the_callers_argument() -> None:
    found = scale(
        args={"mine": np.ones(30, np.float32), "by": 1.0, "n": 40}, options=cutecc.EmulatorOptions(check="all")
    )
    assert "mine" in str(found.findings[0].address)


def test_mends_are_instructions_of_ptx() -> None:
    text = """.visible .entry k(.param .u64 x) { .shared .b32 s; .reg .b32 %r<3>; .reg .pred %p; .reg .b64 %rd<2>;
      mov.u32 %r1, %tid.x; setp.ne.u32 %p, %r1, 40; @!%p st.shared.u32 [s], %r1; ld.shared.u32 %r2, [s];
      ld.param.u64 %rd1, [x]; @!%p st.global.u32 [%rd1], %r2; ret; }"""
    options = cutecc.EmulatorOptions(check="races", shared="zero")
    found = cutecc.emulate_ptx(HEAD + text, grid=1, block=64, args=[np.zeros(1, np.uint32)], options=options)
    (race,) = found.findings
    assert "bar.sync belongs between the two" in race.message and "sync_threads" not in race.message
    assert "nvcc -lineinfo" in str(found.line_hint)


def test_structs_and_null_pointers() -> None:
    """A struct is bytes, of any size and alignment; where others follow, they are where the PTX has them."""
    text = """.visible .entry k(.param .u64 out, .param .align 4 .b8 s[11], .param .u64 null, .param .b16 last) {
      .reg .b32 %r<4>; .reg .b64 %rd<3>; .reg .b16 %h<3>;
      ld.param.u64 %rd1, [out]; ld.param.u32 %r1, [s+4]; ld.param.u8 %h1, [s+10]; cvt.u32.u16 %r2, %h1;
      ld.param.u64 %rd2, [null]; ld.param.u16 %h2, [last]; cvt.u32.u16 %r3, %h2;
      st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u64 [%rd1+8], %rd2;
      st.global.u32 [%rd1+16], %r3; ret; }"""
    out = np.ones(6, np.uint32)
    given = struct.pack("<iiHB", 1, 70000, 3, 9)
    cutecc.emulate_ptx(HEAD + text, grid=1, block=1, args=[out, given, None, 12])
    assert out.tolist() == [70000, 9, 0, 0, 12, 1]


def test_dynamic_shared_memory() -> None:
    text = """.extern .shared .align 4 .b8 all[];
    .visible .entry k(.param .u64 x) { .reg .b32 %r<3>; .reg .b64 %rd<2>;
      mov.u32 %r1, %dynamic_smem_size; st.shared.u32 [all+60], %r1; ld.shared.u32 %r2, [all+60];
      ld.param.u64 %rd1, [x]; st.global.u32 [%rd1], %r2; ret; }"""
    x = np.zeros(1, np.uint32)
    cutecc.emulate_ptx(HEAD + text, grid=1, block=1, args=[x], shared_bytes=64)
    assert x == [64]
    with pytest.raises(LaunchError, match="outside of the block's shared memory"):
        cutecc.emulate_ptx(HEAD + text, grid=1, block=1, args=[x], shared_bytes=32)


RANK = """.visible .entry k(.param .u64 x) DIRECTIVE { .reg .b32 %r<3>; .reg .b64 %rd<3>;
  mov.u32 %r1, %cluster_nctarank; ld.param.u64 %rd1, [x]; st.global.u32 [%rd1], %r1; ret; }"""


@pytest.mark.parametrize(
    ("directive", "given", "size"), [("", {}, 1), ("", {"cluster": (2, 2)}, 4), (".reqnctapercluster 2, 1, 1", {}, 2)]
)
def test_clusters(directive: str, given: dict[str, Any], size: int) -> None:
    """What the kernel was compiled for, where nothing else is said."""
    x = np.zeros(1, np.uint32)
    cutecc.emulate_ptx(HEAD + RANK.replace("DIRECTIVE", directive), grid=(4, 2), block=1, args=[x], **given)
    assert x == [size]


def test_a_kernel_by_a_part_of_its_name() -> None:
    text = HEAD + NAMED.format(NAMED.format("", "_Z5firstPf"), "_Z6secondPf") + NAMED.format("", "_Z7second2Pf")
    for kernel in ("first", "_Z6secondPf"):
        assert cutecc.emulate_ptx(text, kernel, grid=1, block=1, args=[None]).kernel.endswith("Pf")
    for kernel, message in {
        None: "has 3 kernels, and nothing says which one",
        "second": "has 2 kernels with 'second' in their names",
        "_Z6secondPg": "has no kernel '_Z6secondPg'",
    }.items():
        with pytest.raises(UsageError, match=message) as caught:
            cutecc.emulate_ptx(text, kernel, grid=1, block=1, args=[None])
        assert any("_Z6secondPf" in hint for hint in caught.value.hints)


def test_arrays_of_numba() -> None:
    """Its kernels take an array as seven parameters or more, which are made of it."""
    array = ", ".join(f".param .u64 p{index}" for index in range(9))
    name = "_ZN6cudapy8__main__1kE"
    reads = "".join(f"ld.param.u64 %rd1, [p{n}]; st.global.u64 [%rd2+{8 * n}], %rd1;\n" for n in range(9))
    text = f"{HEAD}.visible .entry {name}({array}) {{ .reg .b64 %rd<3>; ld.param.u64 %rd2, [p4]; {reads} ret; }}"
    x = np.zeros((3, 4), np.float64)
    cutecc.emulate_ptx(text, grid=1, block=1, args=[x])
    found = x.view(np.uint64).reshape(-1).tolist()
    assert found[:4] == [0, 0, 12, 8] and found[5:9] == [3, 4, 32, 8]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"block": 1025}, "a block of .* has 1025 threads: 1024 is the most"),
        ({"grid": 0}, "a grid of .* has nothing in it"),
        ({"grid": (1, 1, 1, 1)}, "a grid has up to three extents"),
        ({"grid": 3, "cluster": 2}, "is not made of clusters of"),
        ({"args": [None, 2.0]}, "scale has 3 parameters, and 2 are given"),
        ({"args": [None, 2.0, "four"]}, "argument 'arg2' is str: neither an array, a number, bytes nor None"),
        ({"args": [None, b"12345", 4]}, r"argument 'arg1', bytes, takes 5 bytes, and the parameter .f32 by has 4"),
        ({"args": [3, 2.0, np.zeros(2)]}, r"argument 'arg2', .* takes 8 bytes, and the parameter .u32 n has 4"),
    ],
)
def test_what_does_not_fit(changed: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, ArgumentError), match=message):
        scale(**changed)


WARPS = """.visible .entry warps(.param .u64 x, .param .u64 result) .maxntid 64, 1, 1 {
  .reg .b32 %r<9>; .reg .b64 %rd<5>; .reg .pred %p<4>;
  ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [result]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3; ld.global.nc.u32 %r2, [%rd1];
  shfl.bfly.b32 %r3|%p1, %r2, 16, 0x1f;
  setp.gt.u32 %p2, %r2, %r3; vote.ballot.b32 %r4, %p2; vote.any.pred %p3, %p2; selp.u32 %r5, 1, 0, %p3;
  bar.sync 0; bar.red.popc.u32 %r6, 0, %p2;
  xor.b32 %r7, %r4, %r6; add.u32 %r7, %r7, %r5;
  add.u64 %rd2, %rd2, %rd3; st.global.u32 [%rd2], %r7; ret; }"""


@pytest.mark.parametrize("target", OLD)
def test_old_targets(target: str) -> None:
    """With what their instructions were before `.sync`."""
    x = np.random.default_rng(0).integers(0, 100, 64).astype(np.uint32)
    result = np.zeros_like(x)
    version = "6.0" if target < "sm_70" else "6.3"
    text = f".version {version}\n.target {target}\n.address_size 64\n{WARPS}"
    options = cutecc.EmulatorOptions(check="all")
    found = cutecc.emulate_ptx(text, grid=1, block=64, args=[x, result], options=options)
    larger = x > x.reshape(2, 2, 16)[:, ::-1].reshape(64)
    ballots = [sum(int(each) << lane for lane, each in enumerate(warp)) for warp in larger.reshape(2, 32)]
    assert found.ok and result.tolist() == np.repeat([(each ^ larger.sum()) + 1 for each in ballots], 32).tolist()


def test_a_target_that_never_was() -> None:
    text = HEAD.replace("sm_90a", "sm_65") + SCALE
    with pytest.raises(UsageError, match="unknown target 'sm_65'") as caught:
        cutecc.emulate_ptx(text, grid=2, block=32, args=[np.ones(40, np.float32), 2.0, 40])
    assert "known targets: sm_50, sm_52" in caught.value.hints[-1]


@pytest.mark.parametrize(("target", "most"), [("sm_61", 48), ("sm_70", 96), ("sm_75", 64), ("sm_88", 99)])
def test_shared_memory_of_old_targets(target: str, most: int) -> None:
    text = HEAD.replace("sm_90a", target) + ".visible .entry k(.param .u64 x) { ret; }"
    cutecc.emulate_ptx(text, grid=1, block=1, args=[None], shared_bytes=most << 10)
    with pytest.raises(LaunchError, match=f"{target} has {most << 10:,} for a block"):
        cutecc.emulate_ptx(text, grid=1, block=1, args=[None], shared_bytes=(most << 10) + 4)


@pytest.mark.parametrize(
    ("directive", "message"),
    [
        (".reqntid 64", "compiled for blocks of .64, 1, 1. threads, and these have .32, 1, 1."),
        (".maxntid 16, 1, 1", "compiled for blocks of up to 16 threads, and these have 32"),
        (".reqnctapercluster 2", "compiled for clusters of .2, 1, 1. blocks, and these have .1, 1, 1."),
    ],
)
def test_what_a_kernel_was_compiled_for(directive: str, message: str) -> None:
    text = HEAD + RANK.replace("DIRECTIVE", directive)
    with pytest.raises(UsageError, match=message):
        cutecc.emulate_ptx(text, grid=2, block=32, args=[None], cluster=1)


def test_triton_s_own_parameters_are_hinted_at() -> None:
    text = ".visible .entry k(.param .u64 x, .param .u64 y, .param .u64 z) { ret; }"
    with pytest.raises(ArgumentError) as caught:
        cutecc.emulate_ptx(HEAD + text, grid=1, block=1, args=[None])
    assert any("Triton" in hint for hint in caught.value.hints)


@pytest.mark.parametrize("text", ["", "int main() {}", HEAD + ".visible .entry k( {"])
def test_what_is_no_ptx(text: str) -> None:
    with pytest.raises(ParseError):
        cutecc.emulate_ptx(text, grid=1, block=1, args=[])


def test_the_text_is_text() -> None:
    with pytest.raises(UsageError, match="PTX is text, not bytes"):
        cutecc.emulate_ptx(b".version 9.0", grid=1, block=1, args=[])  # pyright: ignore[reportArgumentType]
