"""The code that records: what a warp does at its start, at each site and at its end.

The layout of what it writes, and of what arms it, is that of `cutecc.timelines.layout`.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.ir.inline_assembly import inline_assembly
from cutecc.ir.mlir import ir
from cutecc.timelines.layout import HEADER

_REGISTERS = """
    .reg .pred p, q;
    .reg .b32 tx, ty, tz, nx, ny, nz, warp, block, c, d, first, blocks, stride, warps, lane, size, clock;
    .reg .b64 base, offset, time;
"""
_PLACE = """
    mov.u32 tx, %tid.x; mov.u32 ty, %tid.y; mov.u32 tz, %tid.z;
    mov.u32 nx, %ntid.x; mov.u32 ny, %ntid.y; mov.u32 nz, %ntid.z;
    mad.lo.u32 ty, tz, ny, ty; mad.lo.u32 tx, ty, nx, tx;
    mul.lo.u32 size, nx, ny; mul.lo.u32 size, size, nz; add.u32 size, size, 31; shr.u32 size, size, 5;
    mov.u32 block, %ctaid.z; mov.u32 c, %nctaid.y; mov.u32 d, %ctaid.y; mad.lo.u32 block, block, c, d;
    mov.u32 c, %nctaid.x; mov.u32 d, %ctaid.x; mad.lo.u32 block, block, c, d;
    ld.const.b64 base, [$TABLE]; ld.const.b32 first, [$TABLE+8];
    ld.const.v2.b32 {stride, warps}, [$TABLE+16];
    sub.u32 block, block, first; setp.lt.u32 p, block, blocks;
    and.b32 lane, tx, 31; setp.eq.and.u32 p, lane, 0, p;
    shr.u32 warp, tx, 5; shr.u32 c, warps, warp; and.b32 c, c, 1; setp.ne.and.u32 p, c, 0, p;
    mad.lo.u32 warp, block, size, warp; mul.wide.u32 offset, warp, stride; add.s64 base, base, offset;
"""
"""Where this warp writes: `base`, where `p` holds, which is for the first lane of a warp that is recorded."""


def start(table: str) -> tuple[ir.Value, ir.Value]:
    """Behind what address to write next, and where to stop; zeros for who records nothing.

    `table` is the variable that arms the kernel. A region that has been written to is of an earlier launch: it is left
    alone, but for a note of that.
    """
    text = _text(
        f"""{_REGISTERS}
    .reg .b64 old, end; .reg .b16 again;
    mov.b64 $0, 0; mov.b64 $1, 0; ld.const.b32 blocks, [{table}+12]; setp.eq.u32 p, blocks, 0;
    @p bra idle${{:uid}};
{_PLACE.replace("$TABLE", table)}
    mov.b64 old, 0; @p ld.global.b64 old, [base];
    mov.b16 again, 1; setp.ne.and.u64 q, old, 0, p; @q st.global.b16 [base+14], again;
    setp.eq.and.u64 p, old, 0, p;
    @p mov.u64 time, %globaltimer; @p mov.u32 clock, %clock; @p mov.u32 c, %smid;
    @p st.global.b64 [base], time; @p st.global.v2.b32 [base+8], {{clock, c}};
    cvt.u64.u32 end, stride; add.s64 end, base, end; selp.b64 $1, end, 0, p;
    add.s64 base, base, {HEADER}; selp.b64 $0, base, 0, p;
idle${{:uid}}:
"""
    )
    cursor, limit = inline_assembly(text, ("=l", "=l"), (_integer(64), _integer(64)), ())
    return cursor, limit


def fits(cursor: ir.Value, limit: ir.Value, size: int) -> ir.Value:
    """Whether so many bytes have room, 1 or 0."""
    text = _text(
        f"""
    .reg .pred p; .reg .b64 end; add.s64 end, $1, {size}; setp.le.u64 p, end, $2; selp.b32 $0, 1, 0, p;
"""
    )
    (found,) = inline_assembly(text, ("=r", "l", "l"), (_integer(32),), (cursor, limit), side_effects=False)
    return found


def clock(converge: str, table: str) -> ir.Value:
    """The time now; where the kernel is armed, behind instructions that keep the order of a barrier and the clock."""
    order = f".reg .pred p; ld.const.b32 m, [{table}+12]; setp.ne.u32 p, m, 0; {converge}" if converge else ""
    (found,) = inline_assembly(_text(f".reg .b32 m; {order} mov.u32 $0, %clock;"), ("=r",), (_integer(32),), ())
    return found


def write(cursor: ir.Value, fits: ir.Value, offset: int, codes: Sequence[int], times: Sequence[ir.Value]) -> None:
    """Write one record, or two at a time, so many bytes from `cursor`, where `fits` is not 0."""
    pairs = ", ".join(f"{code}, ${number}" for number, code in enumerate(codes, 2))
    text = _text(
        f"""
    .reg .pred p; setp.ne.u32 p, $1, 0; @p st.global.v{2 * len(codes)}.b32 [$0+{offset}], {{{pairs}}};
"""
    )
    inline_assembly(text, ("l", "r", *("r" for _ in times)), (), (cursor, fits, *times))


def end(cursor: ir.Value, limit: ir.Value, table: str) -> None:
    """Write when the warp has ended, and how much it has or would have written."""
    text = _text(
        f"""{_REGISTERS}
    .reg .b32 used;
    setp.eq.u64 q, $1, 0; @q bra idle${{:uid}};
    ld.const.b32 blocks, [{table}+12];
{_PLACE.replace("$TABLE", table)}
    sub.s64 offset, $0, base; cvt.u32.u64 used, offset;
    @p mov.u64 time, %globaltimer; @p mov.u32 clock, %clock;
    @p st.global.b64 [base+16], time; @p st.global.v2.b32 [base+24], {{clock, used}};
idle${{:uid}}:
"""
    )
    inline_assembly(text, ("l", "l"), (), (cursor, limit))


def _text(lines: str) -> str:
    return "{ " + " ".join(lines.split()) + " }"


def _integer(bits: int) -> ir.Type:
    return ir.IntegerType.get_signless(bits)
