"""Planted bugs in PTX, `ptx/FOLDER/*.ptx`: what a file stands for, which lines each twin has, and the launch.

A file is the body of a kernel of some warps, with blocks in pairs where it says so. `$name` and `$name(…)` stand for
instructions that most kernels have, and that stay on the line that they are written in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from launched import addresses_of, allocations_of, launch_of, run_text

from cutecc.emulator.checks.finding import Finding, Place
from cutecc.emulator.checks.selection import parse_checks
from cutecc.emulator.options import EmulatorOptions
from cutecc.emulator.report import one_a_line

FILES = sorted((Path(__file__).parent / "ptx").glob("*/*.ptx"))
_HEAD = """\
.version 9.0
.target sm_100a
.address_size 64
.shared .align 1024 .b8 tiles[16384];
.shared .align 16 .b8 mbars[64];
.shared .align 16 .b8 place[32];
.visible .entry kernel(.param .u64 a0)
{
  .reg .pred %p<20>, %first, %lead, %done, %true, %false, %even;
  .reg .b32 %r<80>, %thread, %warp, %rank, %tiles, %mbar, %mbar1, %mbar2, %place, %tmem, %lanes, %mine, %zero, %idesc;
  .reg .b64 %rd<20>, %out, %a, %b;
  .reg .b16 %h<4>;
  ld.param.u64 %out, [a0];
  mov.u32 %thread, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %tiles, tiles;
  mov.u32 %mbar, mbars;
  add.u32 %mbar1, %mbar, 8;
  add.u32 %mbar2, %mbar, 16;
  mov.u32 %place, place;
  mov.u32 %zero, 0;
  shr.u32 %warp, %thread, 5;
  setp.eq.u32 %first, %thread, 0;
  setp.lt.u32 %lead, %thread, 32;
  setp.eq.u32 %even, %rank, 0;
  setp.eq.u32 %true, 0, 0;
  setp.ne.u32 %false, 0, 0;
  mad.lo.u32 %mine, %thread, 48, %tiles;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r1, %r1, %r2, %thread;
  mul.wide.u32 %rd1, %r1, 4;
  add.s64 %out, %out, %rd1;
"""
"""A of 128 and B of 64 rows of 16 elements of f16, without swizzle, are in `tiles`: 48 bytes for each thread."""
_LINES = _HEAD.count("\n")
_IDESC = 1 << 4 | (64 >> 3) << 17 | (128 >> 4) << 24
_IDESC_PAIR = 1 << 4 | (64 >> 3) << 17 | (256 >> 4) << 24
_A = 1 << 46 | 256 << 32 >> 4 | 128 << 16 >> 4
_SHORT = {
    "allocate": "@%lead tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%place], 64;",
    "relinquish": "@%lead tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;",
    "find": "ld.shared.b32 %tmem, [%place]; shl.b32 %lanes, %warp, 21; add.u32 %lanes, %lanes, %tmem;",
    "free": "@%lead tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;",
    "init": "@%first mbarrier.init.shared::cta.b64 [%mbar], 1; @%first mbarrier.init.shared::cta.b64 [%mbar1], 1; "
    "@%first fence.mbarrier_init.release.cluster;",
    "fill": "st.shared.v4.b32 [%mine], {%zero, %zero, %zero, %zero}; "
    "st.shared.v4.b32 [%mine+16], {%zero, %zero, %zero, %zero}; "
    "st.shared.v4.b32 [%mine+32], {%zero, %zero, %zero, %zero};",
    "proxy": "fence.proxy.async.shared::cta;",
    "sync": "bar.sync 0;",
    "before": "tcgen05.fence::before_thread_sync;",
    "after": "tcgen05.fence::after_thread_sync;",
    "operands": f"mov.u32 %idesc, {_IDESC}; cvt.u64.u32 %a, %tiles; shr.u64 %a, %a, 4; add.u64 %b, %a, 256; "
    f"or.b64 %a, %a, {_A}; or.b64 %b, %b, {_A};",
    "operands_of_pair": f"mov.u32 %idesc, {_IDESC_PAIR}; and.b32 %r70, %tiles, 0xffffff; cvt.u64.u32 %a, %r70; "
    f"shr.u64 %a, %a, 4; add.u64 %b, %a, 256; or.b64 %a, %a, {_A}; or.b64 %b, %b, {_A};",
    "scales": f"cvt.u64.u32 {{0}}, %tiles; shr.u64 {{0}}, {{0}}, 4; or.b64 {{0}}, {{0}}, {1 << 46 | 128 << 32 >> 4};",
    "multiply": "@%first tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, %idesc, %false;",
    "commit": "@%first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%mbar];",
    "load": "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r10}, [%lanes];",
    "store": "tcgen05.st.sync.aligned.32x32b.x1.b32 [%lanes], {%thread};",
    "wait_ld": "tcgen05.wait::ld.sync.aligned;",
    "wait_st": "tcgen05.wait::st.sync.aligned;",
    "result": "st.global.b32 [%out], %r10;",
    "cluster": "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
    "wait": "L{line}: mbarrier.try_wait.parity.shared::cta.b64 %done, [{0}], {1}; @!%done bra L{line};",
}
_USE = re.compile(r"\$(\w+)(?:\(([^)]*)\))?")
_TWIN = re.compile(r"//.*\b(buggy|mended)\b\s*$")
_DEFAULTS = (("threads", "128"), ("blocks", "1"), ("cluster", "1"))
_LAUNCH = re.compile(r"^//\s*(threads|blocks|cluster|check|schedule):\s*(\S+)", re.MULTILINE)


def expanded(path: Path, bug: bool) -> str:
    """The PTX of one of the twins."""
    lines = [
        "" if (twin := _TWIN.search(line)) and (twin[1] == "buggy") != bug else _USE.sub(_instructions(number), line)
        for number, line in enumerate(path.read_text().splitlines(), start=1)
    ]
    return "\n".join([_HEAD.removesuffix("\n"), *lines, "  ret;", "}"]) + "\n"


def _instructions(line: int) -> Callable[[re.Match[str]], str]:
    def of(use: re.Match[str]) -> str:
        arguments = [each.strip() for each in (use[2] or "").split(",")]
        text = _SHORT[use[1]]
        return text.format(*arguments, line=line) if use[2] else text

    return of


def in_lines_of_file(finding: Finding) -> Finding:
    """A finding whose lines are those of the file, where it has those of the whole text."""

    def moved(place: Place) -> Place:
        return replace(place, ptx_line=place.ptx_line - _LINES)

    message = re.sub(r"(?<=PTX line )\d+", lambda found: str(int(found[0]) - _LINES), finding.message)
    other = None if finding.other is None else moved(finding.other)
    return replace(finding, message=message, place=moved(finding.place), other=other)


def run(path: Path, bug: bool, schedule: str, seed: int = 0) -> list[Finding]:
    """What is found in one of the twins. Raises what ends it."""
    said = dict(_LAUNCH.findall(path.read_text()))
    threads, blocks, cluster = (int(said.get(name, default)) for name, default in _DEFAULTS)
    array = np.zeros(threads * blocks, np.uint32)
    # Some bugs show under one schedule alone.
    schedule = said.get("schedule", schedule) if bug else schedule
    checks = frozenset(parse_checks(said.get("check", "all")))
    options = EmulatorOptions(check=checks, schedule=schedule, seed=seed)  # pyright: ignore[reportArgumentType]
    launch = launch_of(addresses_of(array), blocks, threads, cluster=cluster)
    found = run_text(expanded(path, bug), launch, allocations_of(array), options)
    if found.failure is not None:
        raise found.failure
    assert not found.stopped, found.stopped[0].trace
    return [in_lines_of_file(each) for each in one_a_line(found.findings)]
