// RUN: cutecc opt %s --pipeline=check-bulk-copies --verify-diagnostics --allow-unregistered-dialect | filecheck %s

!global = !cute.memref<f32, gmem, align<16>, "(64,(1)):(1,(0))">
!shared = !cute.memref<f32, smem, align<128>, "(64,(1)):(1,(0))">
!in = !cute_nvgpu.atom.bulk_copy_g2s<f32 copy_bits = 2048>
!out = !cute_nvgpu.atom.bulk_copy_s2g<f32 copy_bits = 2048>
!load = !cute_nvgpu.atom.tma_load<f32, copy_bits = 16384, mode = tiled, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(32,16):(1@1,1@0)">>
!load_pixels = !cute_nvgpu.atom.im2col_tma_load<f32, copy_bits = 16384, num_cta = 1, g_stride = <"()"> tma_gbasis = <"(32,16):(1@1,1@0)">>
!place = !cute.coord_tensor<"(0,0)", "(((32,16),1),(1)):(((1@0,1@1),0),(0))">
!pixels = !cute.coord_tensor<"(0,(0),0,(0))", "((9,2),(32,1)):((1@0@1,1@2),(1@0,1@0@3)) o (0,(0,0)) o (((32,16),1),(1)):(((1@0@1,1@0),0),(0))">
!tile = !cute.memref<f32, smem, align<128>, "((512,1),(1)):((1,0),(0))">

// CHECK-LABEL: cuda.kernel @bulk
// CHECK: cute.copy
gpu.module @kernels {
  cuda.kernel @bulk(%x: !global, %t: !shared, %n: i32, %p: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %in = "test.atom"() : () -> !in
    %out = "test.atom"() : () -> !out
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    // expected-warning @below {{128 threads issue this bulk copy, of the same bytes each; an mbarrier counts the bytes of each: let one thread issue it: with cute.arch.elect_one(), if warp_idx == 0}}
    cute.copy(%in, %x, %t) : (!in, !global, !shared)
    %warp = arith.cmpi ult, %tid, %c32 : i32
    scf.if %warp {
      // expected-warning @below {{32 threads of a warp issue this bulk copy, of the same bytes each; the same is written again and again: let one thread issue it: with cute.arch.elect_one()}}
      cute.copy(%out, %t, %x) : (!out, !shared, !global)
      // One of them.
      %elected = nvvm.elect.sync -> i1
      scf.if %elected {
        cute.copy(%in, %x, %t) : (!in, !global, !shared)
      }
    }
    // One of each warp is four.
    %elected = nvvm.elect.sync -> i1
    scf.if %elected {
      // expected-warning @below {{4 threads issue this bulk copy}}
      cute.copy(%in, %x, %t) : (!in, !global, !shared)
    }
    %first = arith.cmpi eq, %tid, %c0 : i32
    scf.if %first {
      cute.copy(%in, %x, %t) : (!in, !global, !shared)
    }
    // Who comes is not known: it may be one.
    %one = arith.cmpi eq, %tid, %n : i32
    scf.if %one {
      cute.copy(%in, %x, %t) : (!in, !global, !shared)
    }
    // One of each warp, by inline assembly, of which nothing else is known.
    %asm = llvm.inline_asm has_side_effects "{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.b32 $0, 1, 0, p; }", "=r" : () -> i32
    %chosen = arith.cmpi ne, %asm, %c0 : i32
    scf.if %chosen {
      cute.copy(%in, %x, %t) : (!in, !global, !shared)
    }
    // Each thread has a copy of its own.
    %own = "test.own"(%t, %tid) : (!shared, i32) -> !shared
    cute.copy(%in, %x, %own) : (!in, !global, !shared)
    cuda.return
  }

  // Of those that come, one thread of each warp issues it.
  cuda.kernel @tensor(%place: !place, %t: !tile, %pixels: !pixels) attributes {nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : i32
    %c32 = arith.constant 32 : i32
    %load = "test.atom"() : () -> !load
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    // expected-warning @below {{4 warps come to this tensor copy, and each issues it; an mbarrier counts the bytes of each: let one warp come: if warp_idx == 0}}
    cute.copy(%load, %place, %t) : (!load, !place, !tile)
    %load_pixels = "test.atom"() : () -> !load_pixels
    // expected-warning @below {{4 warps come to this tensor copy, and each issues it; an mbarrier counts the bytes of each: let one warp come: if warp_idx == 0}}
    cute.copy(%load_pixels, %pixels, %t) : (!load_pixels, !pixels, !tile)
    %warp = arith.floordivsi %tid, %c32 : i32
    %same = cute_nvgpu.arch.make_warp_uniform(%warp) : i32
    %first = arith.cmpi eq, %same, %c0 : i32
    scf.if %first {
      cute.copy(%load, %place, %t) : (!load, !place, !tile)
    }
    // A tile for each warp.
    %own = "test.own"(%t, %same) : (!tile, i32) -> !tile
    cute.copy(%load, %place, %own) : (!load, !place, !tile)
    cuda.return
  }
}
