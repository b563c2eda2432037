// RUN: not cutecc opt %s --pipeline='int-range-optimizations' 2>&1 | filecheck %s

// CHECK: int-range-optimizations met cf.br, a branch to another block of its region
func.func @branch(%a: i32) -> i32 {
  cf.br ^next(%a : i32)
^next(%0: i32):
  return %0 : i32
}
