"""PTX that the backend's tests assemble: small kernels whose resources are known by reading them."""

THREE_KERNELS = """\
.version 8.8
.target {target}
.address_size 64
.extern .shared .align 16 .b8 dynamic[];
.visible .entry plain(.param .u64 out) .reqntid 128, 2, 1
{{
  .reg .b64 %d<3>; .reg .b32 %r<3>;
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; st.global.u32 [%d1], %r1; ret;
}}
.visible .entry shared(.param .u64 out) .maxntid 96
{{
  .shared .align 16 .b8 tile[4096];
  .reg .b64 %d<3>; .reg .b32 %r<5>;
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r3, tile; shl.b32 %r2, %r1, 2; add.u32 %r2, %r2, %r3;
  st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r4, [%r2+4]; st.global.u32 [%d1], %r4; ret;
}}
.visible .entry dynamically_shared(.param .u64 out)
{{
  .reg .b64 %d<3>; .reg .b32 %r<5>;
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r3, dynamic; shl.b32 %r2, %r1, 2; add.u32 %r2, %r2, %r3;
  st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r4, [%r2+4]; st.global.u32 [%d1], %r4; ret;
}}
"""

WITH_LINES = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 out)
{
  .reg .b64 %d<3>; .reg .b32 %r<5>;
  .loc 1 7 3
  ld.param.u64 %d1, [out];
  .loc 1 8 9
  mov.u32 %r1, %tid.x;
  .loc 1 2 5, function_name $name, inlined_at 1 8 9
  st.global.u32 [%d1], %r1;
  ret;
}
.file 1 "kernel.py"
.section .debug_str
{
$name:
.b8 102
.b8 0
}
"""
"""Lines 7 and 8 of kernel.py; the store is in a function that line 8 calls."""

RECURSIVE = """\
.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 result) factorial(.param .b32 x)
{
  .reg .b32 %r<4>; .reg .pred %p<2>; .param .b32 argument; .param .b32 returned;
  ld.param.b32 %r1, [x]; setp.lt.s32 %p1, %r1, 2; @%p1 bra done;
  sub.s32 %r2, %r1, 1; st.param.b32 [argument], %r2; call (returned), factorial, (argument);
  ld.param.b32 %r3, [returned]; mul.lo.s32 %r1, %r3, %r1;
done:
  st.param.b32 [result], %r1; ret;
}
.visible .entry kernel(.param .u64 out) .maxntid 32
{
  .reg .b64 %d<2>; .reg .b32 %r<3>; .param .b32 argument; .param .b32 returned;
  ld.param.u64 %d1, [out]; mov.u32 %r1, %tid.x;
  st.param.b32 [argument], %r1; call (returned), factorial, (argument); ld.param.b32 %r2, [returned];
  st.global.u32 [%d1], %r2; ret;
}
"""


def spilling(registers: int = 24, values: int = 64) -> str:
    """A kernel that keeps more values than it may have registers."""
    loads = "\n".join(f"ld.global.u32 %r{i}, [%d1+{4 * i}];" for i in range(values))
    barrier = "bar.sync 0;"
    stores = "\n".join(f"st.global.u32 [%d1+{4 * i + 4096}], %r{values - 1 - i};" for i in range(values))
    return f"""\
.version 8.0
.target sm_80
.address_size 64
.visible .entry spilling(.param .u64 out) .maxntid 64 .maxnreg {registers}
{{
.reg .b64 %d<3>; .reg .b32 %r<{values}>;
ld.param.u64 %d1, [out];
{loads}
{barrier}
{stores}
ret;
}}
"""
