// RUN: cutecc opt %s --pipeline=llvm-to-binary --split-input-file --verify-diagnostics -o %t

// What LLVM has no instruction for is an error at its line, before anything is generated.
gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx88">] {
  llvm.func @kernel(%out: !llvm.ptr<1>, %a: f32) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @below {{LLVM 22 has no instruction for llvm.intr.exp: it becomes the intrinsic llvm.exp.f32}}
    %0 = llvm.intr.exp(%a) : (f32) -> f32
    llvm.store %0, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx88">] {
  llvm.func @kernel(%out: !llvm.ptr<1>, %a: f32) attributes {gpu.kernel, nvvm.kernel} {
    // Approximately there is one.
    %0 = llvm.intr.sin(%a) {fastmathFlags = #llvm.fastmath<afn>} : (f32) -> f32
    llvm.store %0, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx88">] {
  llvm.func @kernel(%out: !llvm.ptr<1>, %a: f32) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @below {{LLVM 22 has no instruction for llvm.intr.sin: it becomes the intrinsic llvm.sin.f32}}
    %0 = llvm.intr.sin(%a) : (f32) -> f32
    llvm.store %0, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// An instruction that came with a later chip.
gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx88">] {
  llvm.func @kernel(%to: !llvm.ptr<3>, %a: i32) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @below {{LLVM 22 has no instruction for nvvm.stmatrix: it becomes the intrinsic llvm.nvvm.stmatrix}}
    nvvm.stmatrix %to, %a {layout = #nvvm.mma_layout<row>} : !llvm.ptr<3>, i32
    llvm.return
  }
}

// -----

// One that this chip has, but not in the PTX version that the module asks for.
gpu.module @kernels [#nvvm.target<chip = "sm_90", features = "+ptx78">] {
  llvm.func @kernel(%out: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
    // expected-error @below {{LLVM 22 cannot select an instruction for nvvm.elect.sync in PTX 7.8, only in a later version: it becomes the intrinsic llvm.nvvm.elect.sync}}
    %0 = nvvm.elect.sync -> i1
    llvm.store %0, %out : i1, !llvm.ptr<1>
    llvm.return
  }
}
