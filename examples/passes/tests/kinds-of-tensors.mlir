// RUN: %cutecc opt %s --pipeline=widen-copies 2>&1 | filecheck %s

!global = !cute.memref<f32, gmem, align<16>, "((4,2),2):((1,?{i64 div=4}),8)">
!columns = !cute.memref<f32, gmem, align<16>, "((4,2),2):((2,1),8)">
!bytes = !cute.memref<i8, gmem, align<16>, "((2,4,2),2):((1,2,8),64)">
!registers = !cute.memref<f32, rmem, align<32>, "((4,2),2):((1,4),8)">
!byte_registers = !cute.memref<i8, rmem, align<32>, "((2,4,2),2):((1,2,8),16)">
!swizzled = !cute.memref<f32, smem, align<16>, S<2,4,3>, "((4,2),2):((1,4),8)">
!tiled = !cute.tiled_copy<!cute_nvgpu.atom.universal_copy<f32, 32 b>, layout_copy_tv = <"(32,8):(8,1)">, tiler_mn = <"[256:1]">>

// The atom of a tiled copy; the other uses of the tiled copy keep theirs.
// CHECK-LABEL: func.func @tiled
// CHECK: %[[WIDE:.*]] = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32, 128 b>
// CHECK: cute.copy(%[[WIDE]],
func.func @tiled(%copy: !tiled, %source: !global, %destination: !registers) {
  cute.copy(%copy, %source, %destination) : (!tiled, !global, !registers)
  return
}

// Modes that continue each other are one: sixteen bytes. The atom that nothing uses any more goes.
// CHECK-LABEL: func.func @nested_modes
// CHECK-NOT: <i8, 8 b>
// CHECK: cute.copy({{.*}}) : (!cute_nvgpu.atom.universal_copy<i8, 128 b>,
func.func @nested_modes(%source: !bytes, %destination: !byte_registers) {
  %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<i8, 8 b>
  cute.copy(%atom, %source, %destination) : (!cute_nvgpu.atom.universal_copy<i8, 8 b>, !bytes, !byte_registers)
  return
}

// Elements that do not lie side by side, or are swizzled, stay single.
// CHECK-LABEL: func.func @single
// CHECK-COUNT-2: cute.copy({{.*}}) : (!cute_nvgpu.atom.universal_copy<f32, 32 b>,
func.func @single(%columns: !columns, %swizzled: !swizzled, %destination: !registers) {
  %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32, 32 b>
  cute.copy(%atom, %columns, %destination) : (!cute_nvgpu.atom.universal_copy<f32, 32 b>, !columns, !registers)
  cute.copy(%atom, %swizzled, %destination) : (!cute_nvgpu.atom.universal_copy<f32, 32 b>, !swizzled, !registers)
  return
}
