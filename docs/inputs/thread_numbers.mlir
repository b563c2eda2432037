gpu.module @kernels {
  cuda.kernel @numbers() {
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    %1 = nvvm.read.ptx.sreg.tid.z : i32
    %2 = nvvm.read.ptx.sreg.ctaid.y : i32
    %3 = nvvm.read.ptx.sreg.ntid.x : i32
    %4 = nvvm.read.ptx.sreg.laneid : i32
    %5 = nvvm.read.ptx.sreg.warpid : i32
    return
  }
}
