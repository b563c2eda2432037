// RUN: cutecc opt %s --pipeline=vectorize-predicated-copies --split-input-file --verify-diagnostics | filecheck %s
// RUN: not cutecc opt %s --pipeline='vectorize-predicated-copies{bits=24}' --split-input-file 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: error: {{.*}}bits is 16, 32, 64 or 128, not 24

!global = !cute.memref<f32, gmem, align<16>, "(1,(4,4)):(0,(1,?{i64 div=4}))">
!registers = !cute.memref<f32, rmem, align<32>, "(1,(4,4)):(0,(1,4))">
!predicates = !cute.memref<i8, rmem, align<32>, "(1,(4,4)):(0,(1,4))">
!atom = !cute_nvgpu.atom.universal_copy<f32>

// Four rows of four elements. Where all sixteen predicates hold, four vectors; elsewhere each row is asked for itself.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[SOURCE:.*]]: !{{.*}}, %[[DESTINATION:.*]]: !{{.*}}, %[[PREDICATES:.*]]: !{{.*}})
// CHECK: cute.make_atom
// CHECK-NEXT: %[[SINGLE:.*]] = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32>
// CHECK-NEXT: %[[WHOLE:.*]] = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f32, 128 b>
// CHECK-NEXT: %[[ORDER:.*]] = cute.make_layout() : !cute.layout<"((4),(4)):((1),(4))">
// CHECK-NEXT: %[[FROM:.*]] = cute.composition(%[[SOURCE]], %[[ORDER]])
// CHECK-NEXT: %[[TO:.*]] = cute.composition(%[[DESTINATION]], %[[ORDER]])
// CHECK-NEXT: %[[ASKED:.*]] = cute.composition(%[[PREDICATES]], %[[ORDER]])
// CHECK: %[[SINGLY:.*]] = cute.make_layout() : !cute.layout<"(1,(4),(4)):(0,(1),(4))">
// CHECK-NEXT: %[[FROM_EACH:.*]] = cute.composition(%[[SOURCE]], %[[SINGLY]])
// CHECK-COUNT-16: cute.memref.load(%[[ASKED]],
// CHECK-COUNT-15: arith.andi
// CHECK-NEXT: scf.if
// CHECK-NEXT: cute.copy(%[[WHOLE]], %[[FROM]], %[[TO]]) :
// CHECK-NEXT: } else {
// CHECK: scf.for %[[NUMBER:.*]] =
// CHECK: %[[VECTOR:.*]] = cute.slice(%[[FROM]],
// CHECK: %[[ELEMENTS:.*]] = cute.slice(%[[FROM_EACH]],
// CHECK-COUNT-4: cute.memref.load
// CHECK-COUNT-3: arith.andi
// CHECK-NEXT: scf.if
// CHECK-NEXT: cute.copy(%[[WHOLE]], %[[VECTOR]], %{{.*}}) :
// CHECK-NEXT: } else {
// CHECK-NEXT: cute.copy(%[[SINGLE]], %[[ELEMENTS]], %{{.*}}, %{{.*}}) :
// CHECK-NEXT: }
// CHECK-NEXT: } {loop_annotation = {{.*}}}
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @rows(%source: !global, %destination: !registers, %predicates: !predicates) {
  %atom = cute.make_atom() : () -> !atom
  // expected-remark @below {{copies 4 elements at a time, 128 bits, where all of their predicates hold}}
  cute.copy(%atom, %source, %destination, %predicates) : (!atom, !global, !registers, !predicates)
  return
}

// -----

!global = !cute.memref<f16, gmem, align<4>, "(1,2):(0,1)">
!registers = !cute.memref<f16, rmem, align<4>, "(1,2):(0,1)">
!predicates = !cute.memref<i8, rmem, "(1,2):(0,1)">
!atom = !cute_nvgpu.atom.universal_copy<f16, 16 b>

// One vector needs one test, whichever way the copy goes.
// CHECK-LABEL: func.func @pair(
// CHECK: %[[WHOLE:.*]] = cute.make_atom() : () -> !cute_nvgpu.atom.universal_copy<f16, 32 b>
// CHECK: scf.if
// CHECK-NEXT: cute.copy(%[[WHOLE]], %{{.*}}, %{{.*}}) :
// CHECK-NEXT: } else {
// CHECK-NEXT: cute.copy(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (!cute_nvgpu.atom.universal_copy<f16, 16 b>,
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func @pair(%source: !registers, %destination: !global, %predicates: !predicates) {
  %atom = cute.make_atom() : () -> !atom
  // expected-remark @below {{copies 2 elements at a time, 32 bits}}
  cute.copy(%atom, %source, %destination, %predicates) : (!atom, !registers, !global, !predicates)
  return
}

// -----

!global = !cute.memref<f32, gmem, align<16>, "(1,(3,2)):(0,(?{i64 div=2},1))">
!registers = !cute.memref<f32, rmem, align<32>, "(1,(3,2)):(0,(2,1))">
!predicates = !cute.memref<i8, rmem, align<32>, "(1,(3,2)):(0,(1,3))">
!atom = !cute_nvgpu.atom.universal_copy<f32>

// The elements that stand side by side are those of the second mode: the order of all three tensors is changed.
// CHECK-LABEL: func.func @columns(
// CHECK: cute.make_layout() : !cute.layout<"((2),(3)):((3),(1))">
// CHECK: cute.copy(%{{.*}}, %{{.*}}, %{{.*}}) : (!cute_nvgpu.atom.universal_copy<f32, 64 b>,
func.func @columns(%source: !global, %destination: !registers, %predicates: !predicates) {
  %atom = cute.make_atom() : () -> !atom
  // expected-remark @below {{copies 2 elements at a time, 64 bits}}
  cute.copy(%atom, %source, %destination, %predicates) : (!atom, !global, !registers, !predicates)
  return
}

// -----

!global = !cute.memref<f32, gmem, align<16>, "(1,(4,4)):(0,(1,?{i64 div=4}))">
!unaligned = !cute.memref<f32, gmem, "(1,(4,4)):(0,(1,?{i64 div=4}))">
!strided = !cute.memref<f32, gmem, align<16>, "(1,(4,4)):(0,(1,?{i64}))">
!shared = !cute.memref<f32, smem, align<16>, "(1,(4,4)):(0,(1,4))">
!swizzled = !cute.memref<f32, smem, align<16>, S<2,4,3>, "(1,(4,4)):(0,(1,4))">
!registers = !cute.memref<f32, rmem, align<32>, "(1,(4,4)):(0,(1,4))">
!vectors = !cute.memref<f32, gmem, align<16>, "((4,1),4):((1,0),?{i64 div=4})">
!register_vectors = !cute.memref<f32, rmem, align<32>, "((4,1),4):((1,0),4)">
!predicates = !cute.memref<i8, rmem, align<32>, "(1,(4,4)):(0,(1,4))">
!of_vectors = !cute.memref<i8, rmem, align<32>, "(1,4):(0,1)">
!atom = !cute_nvgpu.atom.universal_copy<f32>
!fours = !cute_nvgpu.atom.universal_copy<f32, 128 b>

// What is left alone, and why; of a copy without predicates there is nothing to say.
// CHECK-LABEL: func.func @unchanged(
// CHECK-NOT: scf.if
// CHECK-COUNT-6: cute.copy
// CHECK-NEXT: return
func.func @unchanged(%global: !global, %unaligned: !unaligned, %strided: !strided, %shared: !shared,
                     %swizzled: !swizzled, %registers: !registers, %predicates: !predicates, %vectors: !vectors,
                     %register_vectors: !register_vectors, %of_vectors: !of_vectors) {
  %atom = cute.make_atom() : () -> !atom
  %fours = cute.make_atom() : () -> !fours
  cute.copy(%atom, %global, %registers) : (!atom, !global, !registers)
  // expected-remark @below {{not vectorised: its tensors are known to be aligned to 4 bytes only}}
  cute.copy(%atom, %unaligned, %registers, %predicates) : (!atom, !unaligned, !registers, !predicates)
  // expected-remark @below {{not vectorised: in the layouts (1,(4,4)):(0,(1,?{i64})) and (1,(4,4)):(0,(1,4)) elements are not known to stand side by side in vectors}}
  cute.copy(%atom, %strided, %registers, %predicates) : (!atom, !strided, !registers, !predicates)
  // expected-remark @below {{not vectorised: it is not between global memory and registers}}
  cute.copy(%atom, %shared, %registers, %predicates) : (!atom, !shared, !registers, !predicates)
  // expected-remark @below {{not vectorised: its layouts are swizzled}}
  cute.copy(%atom, %swizzled, %registers, %predicates) : (!atom, !swizzled, !registers, !predicates)
  // expected-remark @below {{not vectorised: its atom, !cute_nvgpu.atom.universal_copy<f32, 128 b>, does not move single elements}}
  cute.copy(%fours, %vectors, %register_vectors, %of_vectors) : (!fours, !vectors, !register_vectors, !of_vectors)
  return
}
