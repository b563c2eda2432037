// RUN: not cutecc opt %s --pipeline='convert-math-to-funcs' 2>&1 | filecheck %s

// CHECK: hidden pass 'convert-math-to-funcs'{{.*}}math.ipowi
func.func @power(%a: i32) -> i32 {
  %0 = math.ipowi %a, %a : i32
  return %0 : i32
}
