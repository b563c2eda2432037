// RUN: %cutecc opt %s --pipeline='check-copies{least=32}' --split-input-file --verify-diagnostics

!global = !cute.memref<f16, gmem, align<16>, "((8),4):((1),?{i64 div=8})">
!registers = !cute.memref<f16, rmem, align<32>, "((8),4):((1),8)">

func.func @too_narrow(%source: !global, %destination: !registers) {
  // expected-note @below {{by this atom}}
  %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f16, 32 b>
  // expected-warning @below {{moves 32 bits at a time, 128 are possible}}
  cute.copy(%atom, %source, %destination) : (!cute_nvgpu.atom.universal_copy<f16, 32 b>, !global, !registers)
  return
}

// -----

!global = !cute.memref<f16, gmem, align<2>, "((8),4):((1),?{i64 div=8})">
!registers = !cute.memref<f16, rmem, align<32>, "((8),4):((1),8)">

func.func @unaligned(%source: !global, %destination: !registers) {
  %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f16>
  // expected-error @below {{moves 16 bits at a time, not 32}}
  cute.copy(%atom, %source, %destination) : (!cute_nvgpu.atom.universal_copy<f16>, !global, !registers)
  return
}

// -----

!global = !cute.memref<f16, gmem, align<16>, "((8),4):((1),?{i64 div=8})">
!registers = !cute.memref<f16, rmem, align<32>, "((8),4):((1),8)">

// Nothing to say.
func.func @wide(%source: !global, %destination: !registers) {
  %atom = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f16, 128 b>
  cute.copy(%atom, %source, %destination) : (!cute_nvgpu.atom.universal_copy<f16, 128 b>, !global, !registers)
  return
}
