"""Host functions in the form after `core-to-llvm-prepare`, written by hand to hold what no kernel here needs."""

ARGUMENTS = {
    "%p": "!llvm.ptr<1>",
    "%s": "!cuda.stream",
    "%b": "i1",
    "%x": "i8",
    "%y": "i8",
    "%i": "i32",
    "%j": "i32",
    "%l": "i64",
    "%m64": "i64",
    "%h": "f16",
    "%f": "f32",
    "%g": "f32",
    "%d": "f64",
    "%e": "!cuda.event",
}
"""Every host function's arguments; `%one` is the `i32` 1, `%none` the `i64` 0."""

CONFIGURATION = "!cuda.launch_cfg<max_attrs = 17>"

TARGET = "sm_90a"


def host_function(*operations: str, kernels: str = "", functions: str = "") -> str:
    """A module whose host function does `operations`."""
    body = "\n    ".join(operations)
    arguments = ", ".join(f"{name}: {type_}" for name, type_ in ARGUMENTS.items())
    return f"""
module attributes {{gpu.container_module}} {{
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @text("value %d, %f\\0A\\00") {{addr_space = 0 : i32}}
  {functions}
  gpu.module @kernels [#nvvm.target<O = 3, chip = "{TARGET}", features = "+ptx88">]
      attributes {{compute_targets = [#cuda.compute_target<sass, conditional, [sm_90]>]}} {{
    {kernel("takes_i32", "i32")}
    {kernel("takes_nothing")}
    {kernels}
  }}
  func.func @host({arguments}) -> i32 attributes {{llvm.emit_c_interface}} {{
    %one = arith.constant 1 : i32
    %none = arith.constant 0 : i64
    {body}
    %zero_status = arith.constant 0 : i32
    return %zero_status : i32
  }}
}}
"""


def kernel(name: str, *types: str) -> str:
    """A kernel that does nothing."""
    notes = {"!cuda.tensor_map": " {cuda.grid_constant}"}
    parameters = ", ".join(f"%a{index}: {type_}{notes.get(type_, '')}" for index, type_ in enumerate(types))
    return f"""cuda.kernel @{name}({parameters}) attributes {{cu_attrs = {{
        max_dynamic_shared_size_bytes = #cuda.dev_max_shared_memory_optin,
        non_portable_cluster_size_allowed = 1 : i32}}, cute.kernel, gpu.kernel}} {{
      cuda.return
    }}"""


def launch(
    kernel: str,
    values: str = "",
    types: str = "",
    *,
    shared: str = "%none",
    stream: str = "%s",
    attributes: str = "",
    name: str = "c",
) -> str:
    """The operations that launch a kernel, early return on error included; `attributes` may use `{c}`."""
    return f"""%{name} = cuda.launch_cfg.create<max_attrs = 17 : i32> (blockDim = (%one, %one, %one),
        dynamicSmemBytes = {shared}, gridDim = (%one, %one, %one), stream = {stream})
        : i32, i32, i32, i64, i32, i32, i32, !cuda.stream -> {CONFIGURATION}
    {attributes.format(c=f"%{name}")}
    %{name}r = cuda.launch_ex @kernels::@{kernel}<%{name}> ({values})
        {{assume_kernel_attr = #cuda.assume_kernel_attr<true>}} : {CONFIGURATION}, ({types}) -> !cuda.result
    %{name}i = cuda.cast %{name}r : !cuda.result -> i32
    cuda.return_if_error %{name}i : i32"""
