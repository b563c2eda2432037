// RUN: cutecc opt %s --pipeline=check-access-width --verify-diagnostics --allow-unregistered-dialect | filecheck %s

!row = !cute.memref<f32, gmem, align<16>, "(4,(1)):(1,(0))">
!elements = !cute.memref<f32, gmem, align<16>, "(1,(4)):(0,(1))">
!four = !cute.memref<f32, gmem, "(4,(1)):(1,(0))">
!strided = !cute.memref<f32, gmem, align<16>, "(4,(1)):(?{i64 div=4},(0))">
!half = !cute.memref<f16, gmem, align<16>, "(8,(1)):(1,(0))">
!swizzled = !cute.memref<f16, smem, align<16>, S<3,2,3>, "(8,(1)):(1,(0))">
!regs = !cute.memref<f32, rmem, align<32>, "(4,(1)):(1,(0))">
!reg_elements = !cute.memref<f32, rmem, align<32>, "(1,(4)):(0,(1))">
!reg_half = !cute.memref<f16, rmem, align<32>, "(8,(1)):(1,(0))">
!predicates = !cute.memref<i8, rmem, align<32>, "(1,(4)):(0,(1))">
!tile = !cute.memref<f32, gmem, align<16>, "((4,1),(1,1)):((1,0),(0,0))">
!smem_tile = !cute.memref<f32, smem, align<16>, "((4,1),(1,1)):((1,0),(0,0))">
!predicate = !cute.memref<i8, rmem, align<32>, "(1,(1,1)):(0,(0,0))">
!async = !cute.tiled_copy<!cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, layout_copy_tv = <"((16,8),4):((32,1),8)">, tiler_mn = <"[8:1;64:1]">>
!pairs = !cute.memref<f32, gmem, "((2,2),2):((1,?{i64 div=8}),?{i64 div=32})">
!aligned = !cute.memref<f32, gmem, align<16>, "(4):(1)">
!matrix = !cute.memref<f32, gmem, align<16>, "(?,?):(?{i64},1)">
!begin = !cute.memref<f32, gmem, "(4,(1)):(1,(0))">

// CHECK-LABEL: func.func @copies
// CHECK-COUNT-10: cute.copy
gpu.module @kernels {
  func.func @copies(%row: !row, %elements: !elements, %four: !four, %strided: !strided, %half: !half, %swizzled: !swizzled,
                    %regs: !regs, %reg_elements: !reg_elements, %reg_half: !reg_half, %predicates: !predicates,
                    %predicate: !predicate, %tile: !tile, %smem_tile: !smem_tile) {
    %any = "test.atom"() : () -> !cute_nvgpu.atom.universal_copy<f32>
    %wide = "test.atom"() : () -> !cute_nvgpu.atom.universal_copy<f32, 128 b>
    %narrow = "test.atom"() : () -> !cute_nvgpu.atom.universal_copy<f32, 64 b>
    %one = "test.atom"() : () -> !cute_nvgpu.atom.universal_copy<f32, 32 b>
    %any_half = "test.atom"() : () -> !cute_nvgpu.atom.universal_copy<f16>
    // As wide as can be: the atom says so, or leaves it to the compiler; a predicate of each vector does no harm.
    cute.copy(%wide, %row, %regs) : (!cute_nvgpu.atom.universal_copy<f32, 128 b>, !row, !regs)
    cute.copy(%any, %row, %regs) : (!cute_nvgpu.atom.universal_copy<f32>, !row, !regs)
    %async = "test.atom"() : () -> !async
    cute.copy(%async, %tile, %smem_tile, %predicate) : (!async, !tile, !smem_tile, !predicate)
    // expected-remark @below {{copy of f32 in global memory moves 32 bits at a time, one element, where 128 are possible: each element has a predicate of its own; give 4 elements one predicate}}
    cute.copy(%any, %elements, %reg_elements, %predicates) : (!cute_nvgpu.atom.universal_copy<f32>, !elements, !reg_elements, !predicates)
    // expected-remark @below {{moves 32 bits at a time, one element, where 128 are possible: the first mode of the copied tensors, which an instruction copies at once, has 1 element}}
    cute.copy(%any, %elements, %reg_elements) : (!cute_nvgpu.atom.universal_copy<f32>, !elements, !reg_elements)
    // expected-remark @below {{moves 64 bits at a time, 2 elements, where 128 are possible: the copy atom is made for 64 bits; make it with num_bits_per_copy=128}}
    cute.copy(%narrow, %row, %regs) : (!cute_nvgpu.atom.universal_copy<f32, 64 b>, !row, !regs)
    // expected-remark @below {{moves 32 bits at a time, one element, where 128 are possible: the tensor is known to be aligned to 4 bytes only; say align=16 in its spec}}
    cute.copy(%one, %four, %regs) : (!cute_nvgpu.atom.universal_copy<f32, 32 b>, !four, !regs)
    // expected-remark @below {{where 128 are possible: the 4 elements of a thread are not adjacent, their strides are (?{i64 div=4},(0))}}
    cute.copy(%one, %strided, %regs) : (!cute_nvgpu.atom.universal_copy<f32, 32 b>, !strided, !regs)
    // A swizzle that leaves pairs together allows no more than these.
    cute.copy(%any_half, %half, %swizzled) : (!cute_nvgpu.atom.universal_copy<f16>, !half, !swizzled)
    // Registers have no width.
    cute.copy(%one, %regs, %regs) : (!cute_nvgpu.atom.universal_copy<f32, 32 b>, !regs, !regs)
    return
  }

  // The way to the tensor loses what is known of its alignment.
  func.func @offsets(%matrix: !matrix, %at: !cute.coord<"(?,?)">, %regs: !regs) {
    %one = "test.atom"() : () -> !cute_nvgpu.atom.universal_copy<f32, 32 b>
    %begin = "test.view"(%matrix, %at) : (!matrix, !cute.coord<"(?,?)">) -> !begin
    // expected-remark @below {{it begins at an offset that is not known to be a multiple of 16 bytes: the tensor's strides are (?{i64},1)}}
    cute.copy(%one, %begin, %regs) : (!cute_nvgpu.atom.universal_copy<f32, 32 b>, !begin, !regs)
    return
  }

  func.func @elements(%pairs: !pairs, %aligned: !aligned, %other: !aligned, %value: f32) {
    %c0 = cute.make_coord() : () -> !cute.coord<"0">
    %c1 = cute.make_coord() : () -> !cute.coord<"1">
    %c2 = cute.make_coord() : () -> !cute.coord<"2">
    // Two of these are adjacent; one remark for all.
    // expected-remark @below {{store of f32 in global memory moves 32 bits at a time, one element, where 64 are possible: the tensor is known to be aligned to 4 bytes only}}
    cute.memref.store(%pairs, %c0, %value) : (!pairs, !cute.coord<"0">, f32) -> ()
    cute.memref.store(%pairs, %c1, %value) : (!pairs, !cute.coord<"1">, f32) -> ()
    cute.memref.store(%pairs, %c2, %value) : (!pairs, !cute.coord<"2">, f32) -> ()
    // The code generator joins these, which nothing lies between.
    %0 = cute.memref.load(%aligned, %c0) : (!aligned, !cute.coord<"0">) -> f32
    %1 = cute.memref.load(%aligned, %c1) : (!aligned, !cute.coord<"1">) -> f32
    "test.use"(%0, %1) : (f32, f32) -> ()
    return
  }

  func.func @between(%aligned: !aligned, %other: !aligned, %value: f32) {
    %c0 = cute.make_coord() : () -> !cute.coord<"0">
    %c1 = cute.make_coord() : () -> !cute.coord<"1">
    // expected-remark @below {{load of f32 in global memory moves 32 bits at a time, one element, where 64 are possible: stores of other tensors, which could be the same memory, lie between}}
    %0 = cute.memref.load(%aligned, %c0) : (!aligned, !cute.coord<"0">) -> f32
    cute.memref.store(%other, %c0, %0) : (!aligned, !cute.coord<"0">, f32) -> ()
    %1 = cute.memref.load(%aligned, %c1) : (!aligned, !cute.coord<"1">) -> f32
    "test.use"(%0, %1) : (f32, f32) -> ()
    return
  }
}
