"""Modules as they are just before code generation, small enough to read."""

_TENSOR = "!llvm.struct<(ptr<1>, struct<(i32, struct<()>)>)>"

_DEVICE = f"""
  gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {{
    llvm.func @first(%a: {_TENSOR})
        attributes {{gpu.kernel, nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>}} {{
      %i = nvvm.read.ptx.sreg.tid.x range <i32, 0, 1024> : i32
      %n = llvm.extractvalue %a[1, 0] : {_TENSOR}
      %in = llvm.icmp "slt" %i, %n : i32
      llvm.cond_br %in, ^store(%i : i32), ^store(%n : i32)
    ^store(%v: i32):
      %p = llvm.extractvalue %a[0] : {_TENSOR}
      %q = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %v, %q {{alignment = 4 : i64}} : i32, !llvm.ptr<1>
      llvm.return
    }}
    llvm.func @second() attributes {{gpu.kernel, nvvm.kernel}} {{
      llvm.return
    }}
  }}
"""

_CONFIGURATION = "!llvm.struct<(array<3 x i32>, array<3 x i32>, i64, ptr, ptr, i32)>"


def launch(kernel: str, arguments: str, types: str, shared: str, number: int) -> str:
    """The operations that launch `kernel` with `shared`, an SSA value, bytes of dynamic shared memory."""
    c = f"%c{number}"
    return f"""
    {c} = llvm.alloca %one x {_CONFIGURATION} : (i32) -> !llvm.ptr
    {c}b = llvm.getelementptr {c}[0, 1, 0] : (!llvm.ptr) -> !llvm.ptr, {_CONFIGURATION}
    llvm.store %block, {c}b : i32, !llvm.ptr
    {c}s = llvm.getelementptr {c}[0, 2] : (!llvm.ptr) -> !llvm.ptr, {_CONFIGURATION}
    llvm.store {shared}, {c}s : i64, !llvm.ptr
    {c}h = llvm.alloca %one x !llvm.array<1 x ptr> : (i32) -> !llvm.ptr
    {c}x = builtin.unrealized_conversion_cast {c}h : !llvm.ptr to !cuda.launch_cfg<max_attrs = 17>
    {c}t = llvm.getelementptr {c}h[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<1 x ptr>
    llvm.store {c}, {c}t : !llvm.ptr, !llvm.ptr
    {c}r = llvm.load {c}t : !llvm.ptr -> !llvm.ptr
    {c}n = llvm.getelementptr {c}r[0, 5] : (!llvm.ptr) -> !llvm.ptr, {_CONFIGURATION}
    {c}m = llvm.load {c}n : !llvm.ptr -> i32
    {c}e = cuda.launch_ex @kernels::@{kernel}<{c}x> ({arguments})
        {{assume_kernel_attr = #cuda.assume_kernel_attr<true>}}
        : !cuda.launch_cfg<max_attrs = 17>, ({types}) -> !cuda.result
"""


def host(*launches: str) -> str:
    """A module whose host function does `launches`; `%zero`, `%some` and `%argument` are i64 values in it."""
    return f"""
module attributes {{gpu.container_module}} {{
{_DEVICE}
  llvm.func @host(%a: {_TENSOR}, %argument: i64) {{
    %one = llvm.mlir.constant(1 : i32) : i32
    %block = llvm.mlir.constant(128 : i32) : i32
    %zero = llvm.mlir.constant(0 : i64) : i64
    %some = llvm.mlir.constant(2048 : i64) : i64
{"".join(launches)}
    llvm.return
  }}
}}
"""


FIRST = ("first", "%a", _TENSOR)
