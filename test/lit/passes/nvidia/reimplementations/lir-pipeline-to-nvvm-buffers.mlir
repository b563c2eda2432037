// RUN: cutecc opt %s --pipeline='gpu.module(lir.func(lir-pipeline-to-nvvm))' | filecheck %s

!registers = !cute.memref<f32, rmem, align<16>, "(5,4):(4,1)">
!aligned = !cute.memref<f32, rmem, align<64>, "16:1">
!shared = !cute.memref<f16, smem, align<128>, S<3,4,3>, "(4,4):(8,1)">
!packed = !cute.memref<f6E3M2FN, smem, align<16>, "17:1">
!tensor = !cute.memref<f32, tmem, align<16>, "((128,100),1):((65536,1),0)">
!other = !cute.memref<i32, rmem, align<4>, "4:1">

// CHECK: ![[ALIGNED:memref.+]] = !cute.memref<f32, rmem, align<128>, "(5,4):(4,1)">

gpu.module @kernels {
  // Registers are aligned to the size of their elements, rounded up to a power of two.
  // CHECK-LABEL: lir.func public @allocates
  // CHECK: %[[REGISTERS:.+]] = cute.memref.alloca() : ![[ALIGNED]]
  // CHECK-NEXT: builtin.unrealized_conversion_cast %[[REGISTERS]]
  // CHECK-NEXT: %[[AS_IS:.+]] = cute.memref.alloca()
  //
  // Shared memory holds all that the layout reaches, in bytes.
  // CHECK-NEXT: static_alloc_smem<56> () : !cute.ptr<i8, smem, align<128>>
  // CHECK-NEXT: cute.recast_iter({{.+}}) : !cute.ptr<i8, smem, align<128>> to !cute.ptr<f16, smem, align<128>, S<3,4,3>>
  // CHECK-NEXT: %[[SHARED:.+]] = cute.make_view
  // CHECK-NEXT: static_alloc_smem<15> ()
  // CHECK: static_alloc_tmem<100, cta_2>() : !cute.ptr<i32, tmem, align<16>>
  // CHECK-NEXT: cute.recast_iter({{.+}}) : !cute.ptr<i32, tmem, align<16>> to !cute.ptr<f32, tmem, align<16>>
  // CHECK-NEXT: cute.make_view
  // CHECK-NOT: allocate_buffer
  // CHECK: func.call @use(%[[AS_IS]], %[[SHARED]])
  lir.func public @allocates() attributes {cc_attr = #core.compute_capability<arch = sm_100>, cluster_shape = #cute.shape<"(2,1,1)">, cute.kernel, gpu.kernel} {
    %0 = lir.allocate_buffer() : !registers
    %1 = lir.allocate_buffer() : !aligned
    %2 = lir.allocate_buffer() : !shared
    %3 = lir.allocate_buffer() : !packed
    %4 = lir.allocate_buffer() {is2cta} : !tensor
    func.call @use(%1, %2) : (!aligned, !shared) -> ()
    lir.return
  }
  func.func private @use(!aligned, !shared)

  // A memory that is there already stays, and so do the operations that later passes lower.
  // CHECK-LABEL: lir.func public @left_alone
  // CHECK-NEXT: cute.memref.alloca() : !memref_rmem_i32
  // CHECK-NEXT: static_alloc_smem<4> () : !cute.ptr<i64, smem>
  // CHECK-NEXT: return
  lir.func public @left_alone() attributes {cc_attr = #core.compute_capability<arch = sm_100>, cute.kernel, gpu.kernel} {
    %0 = cute.memref.alloca() : !other
    %1 = lir.static_alloc_smem<4> () : !cute.ptr<i64, smem>
    lir.return
  }
}
