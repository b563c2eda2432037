// RUN: cutecc opt %s --pipeline='legalize-llvm-types' | filecheck %s

// CHECK-LABEL: func.func @left_alone
// CHECK: arith.addi
// CHECK-NEXT: return
func.func @left_alone(%a: i32) -> i32 {
  %0 = arith.addi %a, %a : i32
  return %0 : i32
}

// CHECK-LABEL: func.func @narrow_floats
// CHECK: %[[BYTES:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xi8>
// CHECK-NEXT: %[[FLOATS:.*]] = vector.bitcast %[[BYTES]] : vector<4xi8> to vector<4xf8E4M3FN>
// CHECK-NEXT: %[[AGAIN:.*]] = vector.bitcast %[[FLOATS]] : vector<4xf8E4M3FN> to vector<4xi8>
// CHECK-NEXT: llvm.store %[[AGAIN]], %{{.*}} {alignment = 4 : i64} : vector<4xi8>, !llvm.ptr<1>
func.func @narrow_floats(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>) {
  %0 = llvm.load %from {alignment = 4 : i64} : !llvm.ptr<1> -> vector<4xf8E4M3FN>
  llvm.store %0, %to {alignment = 4 : i64} : vector<4xf8E4M3FN>, !llvm.ptr<1>
  return
}

// CHECK-LABEL: func.func @wider_floats
// CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> vector<4xf16>
func.func @wider_floats(%from: !llvm.ptr<1>) -> vector<4xf16> {
  %0 = llvm.load %from : !llvm.ptr<1> -> vector<4xf16>
  return %0 : vector<4xf16>
}
