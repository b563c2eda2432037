// RUN: cutecc opt %s --pipeline='ensure-debug-info-scope-on-llvm-func{emission-kind=DebugDirectivesOnly}' --mlir-print-debuginfo | filecheck %s

// CHECK: llvm.func @f
// CHECK: llvm.add {{.*}} loc(#[[SAME:loc[0-9]*]])
// CHECK: llvm.mul {{.*}} loc(#[[OTHER:loc[0-9]*]])
// CHECK: #[[FILE:di_file[0-9]*]] = #llvm.di_file<"k.py" in "/a">
// CHECK: emissionKind = DebugDirectivesOnly
// CHECK: #[[SCOPE:di_subprogram[0-9]*]] = #llvm.di_subprogram<{{.*}}name = "f"{{.*}}line = 3
// CHECK: #llvm.di_lexical_block_file<scope = #[[SCOPE]]
// CHECK: #[[OTHER]] = #llvm.di_location<
llvm.func @f(%a: i32) -> i32 {
  %0 = llvm.add %a, %a : i32 loc("/a/k.py":4:1)
  %1 = llvm.mul %0, %a : i32 loc("/b/other.py":9:1)
  llvm.return %1 : i32 loc("/a/k.py":5:1)
} loc("/a/k.py":3:1)
