// RUN: cutecc opt %s --pipeline='lower-conversions{chip=sm_90a}' --split-input-file --verify-diagnostics | filecheck %s
// RUN: cutecc opt %s --pipeline='lower-conversions{chip=sm_100a}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix=BLACKWELL
// RUN: cutecc opt %s --pipeline=lower-conversions --split-input-file --verify-diagnostics | filecheck %s --check-prefix=AMPERE
// RUN: not cutecc opt %s --pipeline='lower-conversions{chip=sm_9}' --split-input-file 2>&1 | filecheck %s --check-prefix=WRONG

// WRONG: error: {{.*}}unknown target 'sm_9'

// Two numbers become one register, the first in its lower half.
// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: %[[VECTOR:.*]]: vector<4xf32>)
// CHECK-NEXT: %[[E:.*]]:4 = vector.to_elements %[[VECTOR]]
// CHECK-NEXT: %[[LOW:.*]] = nvvm.convert.f32x2.to.f8x2 %[[E]]#1, %[[E]]#0 {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK-NEXT: %[[HIGH:.*]] = nvvm.convert.f32x2.to.f8x2 %[[E]]#3, %[[E]]#2 {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E4M3FN)
// CHECK-NEXT: %[[REGISTERS:.*]] = vector.from_elements %[[LOW]], %[[HIGH]] : vector<2xi16>
// CHECK-NEXT: %[[BYTES:.*]] = vector.bitcast %[[REGISTERS]] : vector<2xi16> to vector<4xi8>
// CHECK-NEXT: %[[NARROW:.*]] = arith.bitcast %[[BYTES]] : vector<4xi8> to vector<4xf8E4M3FN>
// CHECK-NEXT: return %[[NARROW]]
// AMPERE-LABEL: func.func @narrow(
// AMPERE-NOT: nvvm
// AMPERE: arith.addf {{.*}} : vector<4xf32>
// AMPERE-NOT: nvvm
// AMPERE: arith.trunci {{.*}} : vector<4xi32> to vector<4xi8>
// AMPERE-NEXT: arith.bitcast {{.*}} : vector<4xi8> to vector<4xf8E4M3FN>
func.func @narrow(%vector: vector<4xf32>) -> vector<4xf8E4M3FN> {
  %narrow = arith.truncf %vector : vector<4xf32> to vector<4xf8E4M3FN>
  return %narrow : vector<4xf8E4M3FN>
}

// Back, through f16: the instruction has no other result. A scalar is a vector of one, a zero beside it.
// CHECK-LABEL: func.func @widen(
// CHECK-SAME: %[[NUMBER:.*]]: f8E5M2)
// CHECK-NEXT: %[[VECTOR:.*]] = vector.from_elements %[[NUMBER]] : vector<1xf8E5M2>
// CHECK-NEXT: %[[CODES:.*]] = arith.bitcast %[[VECTOR]] : vector<1xf8E5M2> to vector<1xi8>
// CHECK-NEXT: %[[CODE:.*]] = vector.to_elements %[[CODES]]
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i8
// CHECK-NEXT: %[[PAIR:.*]] = vector.from_elements %[[CODE]], %[[ZERO]] : vector<2xi8>
// CHECK-NEXT: %[[HALVES:.*]] = nvvm.convert.f8x2.to.f16x2 %[[PAIR]] : vector<2xi8>(f8E5M2) -> vector<2xf16>
// CHECK: arith.extf {{.*}} : vector<1xf16> to vector<1xf64>
// AMPERE-LABEL: func.func @widen(
// AMPERE-NOT: nvvm
// AMPERE: arith.subf {{.*}} : vector<1xf32>
// AMPERE: arith.extf {{.*}} : vector<1xf32> to vector<1xf64>
func.func @widen(%number: f8E5M2) -> f64 {
  %wide = arith.extf %number : f8E5M2 to f64
  return %wide : f64
}

// f16 has an instruction of its own, bf16 goes through f32.
// CHECK-LABEL: func.func @halves(
// CHECK: nvvm.convert.f16x2.to.f8x2
// CHECK: arith.extf {{.*}} : vector<2xbf16> to vector<2xf32>
// CHECK: nvvm.convert.f32x2.to.f8x2
func.func @halves(%f16: vector<2xf16>, %bf16: vector<2xbf16>) -> (vector<2xf8E5M2>, vector<2xf8E5M2>) {
  %first = arith.truncf %f16 : vector<2xf16> to vector<2xf8E5M2>
  %second = arith.truncf %bf16 : vector<2xbf16> to vector<2xf8E5M2>
  return %first, %second : vector<2xf8E5M2>, vector<2xf8E5M2>
}

// Numbers of 6 and 4 bits have instructions from Blackwell on; two of 4 bits share a byte.
// CHECK-LABEL: func.func @smaller(
// CHECK-NOT: nvvm
// CHECK-LABEL: func.func @powers(
// BLACKWELL-LABEL: func.func @smaller(
// BLACKWELL-SAME: %[[VECTOR:.*]]: vector<2xf6E2M3FN>)
// BLACKWELL-NEXT: %[[CODES:.*]] = arith.bitcast %[[VECTOR]] : vector<2xf6E2M3FN> to vector<2xi6>
// BLACKWELL-NEXT: %[[BYTES:.*]] = arith.extui %[[CODES]] : vector<2xi6> to vector<2xi8>
// BLACKWELL: nvvm.convert.f6x2.to.f16x2 {{.*}} : vector<2xi8>(f6E2M3FN) -> vector<2xf16>
// BLACKWELL: arith.extf {{.*}} : vector<2xf16> to vector<2xf32>
// BLACKWELL: %[[BYTE:.*]] = nvvm.convert.f32x2.to.f4x2 {{.*}} : i8(f4E2M1FN)
// BLACKWELL-NEXT: %[[REGISTER:.*]] = vector.from_elements %[[BYTE]] : vector<1xi8>
// BLACKWELL-NEXT: %[[BITS:.*]] = vector.bitcast %[[REGISTER]] : vector<1xi8> to vector<2xi4>
// BLACKWELL-NEXT: arith.bitcast %[[BITS]] : vector<2xi4> to vector<2xf4E2M1FN>
func.func @smaller(%vector: vector<2xf6E2M3FN>) -> vector<2xf4E2M1FN> {
  %narrow = arith.truncf %vector : vector<2xf6E2M3FN> to vector<2xf4E2M1FN>
  return %narrow : vector<2xf4E2M1FN>
}

// Powers of two are rounded up, also where nothing is said, or toward zero.
// BLACKWELL-LABEL: func.func @powers(
// BLACKWELL: nvvm.convert.f32x2.to.f8x2 {{.*}} {rnd = #nvvm.fp_rnd_mode<rp>} : i16(f8E8M0FNU)
// BLACKWELL: nvvm.convert.f32x2.to.f8x2 {{.*}} {rnd = #nvvm.fp_rnd_mode<rz>} : i16(f8E8M0FNU)
// BLACKWELL: nvvm.convert.f8x2.to.bf16x2
func.func @powers(%vector: vector<2xf32>) -> (vector<2xf8E8M0FNU>, vector<2xbf16>) {
  %up = arith.truncf %vector : vector<2xf32> to vector<2xf8E8M0FNU>
  %down = arith.truncf %vector toward_zero : vector<2xf32> to vector<2xf8E8M0FNU>
  %back = arith.extf %down : vector<2xf8E8M0FNU> to vector<2xbf16>
  return %up, %back : vector<2xf8E8M0FNU>, vector<2xbf16>
}

// Integers go through f32.
// CHECK-LABEL: func.func @integers(
// CHECK: %[[FLOATS:.*]] = arith.uitofp {{.*}} : vector<2xi8> to vector<2xf32>
// CHECK: nvvm.convert.f32x2.to.f8x2
// CHECK: nvvm.convert.f8x2.to.f16x2
// CHECK: arith.extf {{.*}} : vector<2xf16> to vector<2xf32>
// CHECK: arith.fptosi {{.*}} : vector<2xf32> to vector<2xi32>
func.func @integers(%vector: vector<2xi8>) -> vector<2xi32> {
  %narrow = arith.uitofp %vector : vector<2xi8> to vector<2xf8E4M3FN>
  %integers = arith.fptosi %narrow : vector<2xf8E4M3FN> to vector<2xi32>
  return %integers : vector<2xi32>
}

// f32 stands for tf32, of which a trace takes the bits by a cast. Other casts stay.
// CHECK-LABEL: func.func @tf32(
// CHECK-NEXT: arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK-NEXT: arith.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT: builtin.unrealized_conversion_cast %{{.*}} : i32 to index
func.func @tf32(%vector: vector<4xf32>, %number: i32) -> (vector<4xi32>, f32, index) {
  %bits = builtin.unrealized_conversion_cast %vector : vector<4xf32> to vector<4xi32>
  %float = builtin.unrealized_conversion_cast %number : i32 to f32
  %other = builtin.unrealized_conversion_cast %number : i32 to index
  return %bits, %float, %other : vector<4xi32>, f32, index
}

// Between wider formats everything stays.
// CHECK-LABEL: func.func @wide(
// CHECK-NEXT: arith.truncf %{{.*}} : vector<2xf32> to vector<2xf16>
// CHECK-NEXT: arith.truncf %{{.*}} : f64 to bf16
// CHECK-NEXT: arith.sitofp %{{.*}} : vector<2xi4> to vector<2xf16>
// CHECK-NEXT: return
func.func @wide(%vector: vector<2xf32>, %number: f64, %integers: vector<2xi4>) -> (vector<2xf16>, bf16, vector<2xf16>) {
  %halves = arith.truncf %vector : vector<2xf32> to vector<2xf16>
  %half = arith.truncf %number : f64 to bf16
  %others = arith.sitofp %integers : vector<2xi4> to vector<2xf16>
  return %halves, %half, %others : vector<2xf16>, bf16, vector<2xf16>
}

// -----

func.func @unknown_format(%vector: vector<2xf32>) {
  // expected-error @below {{the open lowering does not know conversions of fnv8E5M3FNU}}
  %narrow = arith.truncf %vector : vector<2xf32> to vector<2xfnv8E5M3FNU>
  return
}

// -----

func.func @rounding(%number: f32) {
  // expected-error @below {{numbers are not rounded toward_zero to f8E4M3FN}}
  %narrow = arith.truncf %number toward_zero : f32 to f8E4M3FN
  return
}

// -----

func.func @matrix(%matrix: vector<2x2xf32>) {
  // expected-error @below {{arith.truncf of vector<2x2xf32>: vectors have one dimension here}}
  %narrow = arith.truncf %matrix : vector<2x2xf32> to vector<2x2xf8E4M3FN>
  return
}
