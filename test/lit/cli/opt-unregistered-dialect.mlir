// RUN: cutecc opt %s --allow-unregistered-dialect --pipeline=cse | filecheck %s
// CHECK: "test.source"() {some = 1 : i64} : () -> !test.type
// CHECK-NEXT: "test.sink"

// RUN: not cutecc opt %s 2>&1 | filecheck %s --check-prefix=REFUSED
// REFUSED: opt-unregistered-dialect.mlir:7:19: error: {{.*}}unregistered dialect
%0 = "test.source"() {some = 1} : () -> !test.type
"test.sink"(%0) : (!test.type) -> ()
