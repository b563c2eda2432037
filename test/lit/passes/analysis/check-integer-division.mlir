// RUN: cutecc opt %s --pipeline=check-integer-division --verify-diagnostics --allow-unregistered-dialect | filecheck %s
// RUN: not cutecc opt %s --pipeline='check-integer-division{depth=2}' --allow-unregistered-dialect 2>&1 | filecheck %s --check-prefix=OPTION

// OPTION: error: {{.*}}depth

// The module stays as it is.
// CHECK-LABEL: func.func @divisions
// CHECK: scf.for
// CHECK-NEXT: arith.divsi
// CHECK-NEXT: arith.remsi
gpu.module @kernels {
  func.func @divisions(%n: i32, %d: i32, %wide: i64, %c: i1) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c7 = arith.constant 7 : i32
    %c7_wide = arith.extsi %c7 : i32 to i64
    // Not in a loop.
    %once = arith.divsi %n, %d : i32
    scf.for %i = %c0 to %n step %c1 : i32 {
      // One computation gives both.
      // expected-remark @below {{32-bit integer division and remainder by a value that is the same in every round inside a loop: pass cute.FastDivmodDivisor of it}}
      %q = arith.divsi %i, %d : i32
      %r = arith.remsi %i, %d : i32
      // A constant becomes a multiplication, also where it is widened.
      %k = arith.divsi %i, %c7 : i32
      %i_wide = arith.extsi %i : i32 to i64
      %kw = arith.remui %i_wide, %c7_wide : i64
      // The same in every round: the code generator moves it out, and what follows from it alone.
      %same = arith.divsi %n, %d : i32
      %then = arith.remsi %same, %d : i32
      // expected-remark @below {{64-bit integer remainder by a value that is the same in every round}}
      %rw = arith.remui %i_wide, %wide : i64
      // expected-remark @below {{32-bit integer division by a value that changes in the loop inside a loop: compute it without dividing}}
      %changes = arith.divui %n, %i : i32
      scf.if %c {
        // Not every round comes here, so that it stays where the divisor is known not to be zero.
        // expected-remark @below {{32-bit integer division}}
        %guarded = arith.divsi %n, %d : i32
        // The loop decides what changes, not the branch.
        // expected-remark @below {{division by a value that changes in the loop}}
        %by_round = arith.divsi %n, %i : i32
        "test.use"(%guarded, %by_round) : (i32, i32) -> ()
      }
      scf.for %j = %c0 to %n step %c1 : i32 {
        // It leaves the inner loop, not the outer one.
        // expected-remark @below {{inside a loop}}
        %outer = arith.floordivsi %i, %n : i32
        // expected-remark @below {{inside 2 nested loops}}
        %inner = arith.ceildivsi %j, %d : i32
        "test.use"(%outer, %inner) : (i32, i32) -> ()
      }
      "test.use"(%q, %r, %k, %kw, %same, %then, %rw, %changes) : (i32, i32, i32, i64, i32, i32, i64, i32) -> ()
    }
    return
  }
}

// Host code may divide.
func.func @host(%n: i32, %d: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %q = arith.divsi %i, %d : i32
    "test.use"(%q) : (i32) -> ()
  }
  return
}
