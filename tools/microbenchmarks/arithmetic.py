"""Arithmetic and `mma.sync`: latencies of a chain, and how many a multiprocessor issues."""

from __future__ import annotations

from collections.abc import Iterator

from microbenchmarks.gpu import UNROLLED, WARP, Body, Gpu

F32 = ".reg .f32 %x, %y;", "mov.f32 %x, 0f3F800001; mov.f32 %y, 0f33000000;"
ARITHMETIC: dict[str, tuple[str, str, str]] = {
    # name: the type of registers, the instruction with r for its register, and what sets constants up
    "fma.f32": ("f32", "fma.rn.f32 {r}, {r}, %x, %y;", ""),
    "add.f32": ("f32", "add.rn.f32 {r}, {r}, %y;", ""),
    "mul.f32": ("f32", "mul.rn.f32 {r}, {r}, %x;", ""),
    "max.f32": ("f32", "max.f32 {r}, {r}, %x; add.rn.f32 {r}, {r}, %y;", ""),
    "ex2.f32": ("f32", "ex2.approx.ftz.f32 {r}, {r};", ""),
    "lg2.f32": ("f32", "lg2.approx.ftz.f32 {r}, {r};", ""),
    "rcp.f32": ("f32", "rcp.approx.ftz.f32 {r}, {r}; add.rn.f32 {r}, {r}, %y;", ""),
    "rsqrt.f32": ("f32", "rsqrt.approx.ftz.f32 {r}, {r};", ""),
    "sin.f32": ("f32", "sin.approx.ftz.f32 {r}, {r};", ""),
    "tanh.f32": ("f32", "tanh.approx.f32 {r}, {r};", ""),
    "fma.f64": ("f64", "fma.rn.f64 {r}, {r}, %dx, %dy;", ""),
    "fma.f16x2": ("b32", "fma.rn.f16x2 {r}, {r}, %u, %v;", ""),
    "mad.s32": ("b32", "mad.lo.s32 {r}, {r}, %u, %v;", ""),
    "add.s32": ("b32", "xor.b32 {r}, {r}, %u; add.s32 {r}, {r}, %v;", ""),
    "shf.b32": ("b32", "shf.l.wrap.b32 {r}, {r}, %u, %v;", ""),
    "mul.wide": ("b64", "cvt.u32.u64 %w, {r}; mul.wide.u32 {r}, %w, %u;", ""),
    "popc.b32": ("b32", "popc.b32 {r}, {r};", ""),
    "cvt.f16.f32": ("f32", "cvt.rn.f16.f32 %h, {r}; cvt.f32.f16 {r}, %h;", ""),
    "cvt.s32.f32": ("f32", "cvt.rzi.s32.f32 %w, {r}; cvt.rn.f32.s32 {r}, %w;", ""),
    "cvt.f64.f32": ("f32", "cvt.f64.f32 %dz, {r}; cvt.rn.f32.f64 {r}, %dz;", ""),
    "cvt.e4m3x2": ("f32", "cvt.rn.satfinite.e4m3x2.f32 %h16, {r}, %x; cvt.u32.u16 %w, %h16; mov.b32 {r}, %w;", ""),
    "div.f32": ("f32", "div.rn.f32 {r}, %x, {r};", ""),
    "sqrt.f32": ("f32", "sqrt.rn.f32 {r}, {r};", ""),
    "shfl": ("b32", "shfl.sync.bfly.b32 {r}, {r}, 1, 31, -1;", ""),
    "vote": ("b32", "setp.ne.u32 %q, {r}, %v; vote.sync.ballot.b32 {r}, %q, -1;", ""),
    "redux": ("b32", "redux.sync.add.u32 {r}, {r}, -1;", ""),
    "setp.selp": ("b32", "setp.lt.s32 %q, {r}, %u; selp.b32 {r}, %v, %u, %q;", ""),
}  # fmt: skip
CONSTANTS = (
    ".reg .f32 %x, %y; .reg .f64 %dx, %dy, %dz; .reg .b32 %u, %v, %w; .reg .b16 %h, %h16;",
    """mov.f32 %x, 0f3F800001; ld.global.f32 %y, [%data]; mul.f32 %y, %y, 0f00800000;
    cvt.f64.f32 %dx, %x; cvt.f64.f32 %dy, %y;
    ld.global.b32 %u, [%data+64]; or.b32 %u, %u, 3; ld.global.b32 %v, [%data+128];""",
)


def chains(kind: str, instruction: str, count: int, repeats: int) -> Body:
    """So many independent chains, each of so many of the instruction."""
    names = [f"%r{index}" for index in range(count)]
    start = {
        "f32": "cvt.rn.f32.u32 {r}, %thread;",
        "f64": "cvt.rn.f64.u32 {r}, %thread;",
        "b32": "mov.b32 {r}, %thread;",
    }
    start["b64"] = "cvt.u64.u32 {r}, %thread;"
    lines = [instruction.format(r=name) for _ in range(repeats) for name in names]
    width = {"f32": "b32", "b32": "b32", "f64": "b64", "b64": "b64"}[kind]
    shown = "".join(f"st.global.{width} [%data+{16 * index}], {name};" for index, name in enumerate(names))
    return Body(
        "\n  ".join(lines),
        f"{CONSTANTS[0]} .reg .{kind} {', '.join(names)};",
        CONSTANTS[1] + " ".join(start[kind].format(r=name) for name in names),
        after="bar.sync 0;",
        # Never true, which nobody but the GPU knows.
        sink=f"setp.eq.u64 %q, %t1, 1; @!%q bra DONE; {shown}\nDONE: ret;",
    )


def arithmetic(gpu: Gpu) -> Iterator[tuple[str, float]]:
    for name, (kind, instruction, _) in ARITHMETIC.items():
        yield f"latency/{name}", gpu.cycles(chains(kind, instruction, 1, UNROLLED)) / UNROLLED
        body, warps = chains(kind, instruction, 4, UNROLLED // 4), 32
        yield f"rate/{name}", warps * UNROLLED / gpu.cycles(body, block=warps * WARP)


MMA = {
    "mma.f16": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, "f32"),
    "mma.f16.f16": ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 4, 2, "b32"),
    "mma.tf32": ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 4, 2, "f32"),
    "mma.s8": ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 4, 2, "b32"),
    "mma.f64": ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 1, 1, "f64"),
}


def mma_body(name: str, count: int) -> Body:
    """So many independent chains of an `mma.sync`."""
    opcode, of_a, of_b, kind = MMA[name]
    operand = "f64" if kind == "f64" else "b32"
    results = 2 if name in ("mma.f16.f16", "mma.f64") else 4
    sums = [[f"%c{index}_{part}" for part in range(results)] for index in range(count)]
    a, b = [f"%a{part}" for part in range(of_a)], [f"%b{part}" for part in range(of_b)]
    registers = [each for group in sums for each in group]
    lines = [
        f"{opcode} {{{', '.join(each)}}}, {{{', '.join(a)}}}, {{{', '.join(b)}}}, {{{', '.join(each)}}};"
        for _ in range(UNROLLED // count)
        for each in sums
    ]
    zero = "0d0000000000000000" if kind == "f64" else "0f00000000" if kind == "f32" else "0"
    size = "64" if kind == "f64" else "32"
    return Body(
        "\n  ".join(lines),
        f".reg .{operand} {', '.join([*a, *b])}; .reg .{kind} {', '.join(registers)};",
        "".join(f"mov.{kind} {each}, {zero};" for each in registers)
        + "".join(f"ld.global.{operand} {each}, [%data+{64 * n}];" for n, each in enumerate([*a, *b])),
        after="bar.sync 0;",
        sink="setp.eq.u64 %q, %t1, 1; @!%q bra DONE;"
        + "".join(f"st.global.b{size} [%data+{16 * n}], {each};" for n, each in enumerate(registers))
        + "\nDONE: ret;",
    )


def products(gpu: Gpu) -> Iterator[tuple[str, float]]:
    """`mma.sync`: cycles of a chain, and warp instructions that a multiprocessor starts in a cycle."""
    for name in MMA:
        yield f"latency/{name}", gpu.cycles(mma_body(name, 1)) / UNROLLED
        yield f"rate/{name}", 16 * UNROLLED / gpu.cycles(mma_body(name, 4), block=16 * WARP)
